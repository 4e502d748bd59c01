"""Smaller copies of checkpoints from the command line, with the scores that they have then."""

import pytest

import zoo
from zoo.__main__ import main
from zoo.storage.checkpoints import read_card


def test_a_copy_in_8_bits_has_its_own_scores(trained, corpus, tmp_path, capsys):
    original = trained.folder / "checkpoint"
    (tmp_path / "dev.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in corpus.dev), "utf-8")
    (tmp_path / "card.json").write_text('{"name": "mine", "use": "tests"}')
    arguments = ["pack", str(original), "--output", str(tmp_path / "copy"), "--card", str(tmp_path / "card.json")]
    assert main([*arguments, "--evaluate", f"--data {tmp_path / 'dev.tsv'}", "--data-name", "held out"]) == 0
    assert "BLEU, held out: " in capsys.readouterr().out
    card = read_card(tmp_path / "copy")
    assert (card["dtype"], card["name"], card["use"]) == ("int8", "mine", "tests")
    metrics = {score["metric"]: (score["data"], score["beam_size"]) for score in card["scores"]}
    assert metrics == {"BLEU": ("held out", 4), "chrF2": ("held out", 4)}
    sizes = [sum(file.stat().st_size for file in folder.glob("model.*")) for folder in (original, tmp_path / "copy")]
    assert sizes[1] < sizes[0] / 2
    sources, references = zip(*corpus.test)
    found = zoo.load(tmp_path / "copy").translate(sources)
    assert sum(text == reference for text, reference in zip(found, references)) > 0.9 * len(references)
    assert main(arguments) == 2 and "copy exists already" in capsys.readouterr().err


def test_a_base_that_is_no_base(trained, tmp_path, capsys):
    arguments = ["pack", str(trained.folder / "checkpoint"), "--output", str(tmp_path / "copy")]
    assert main([*arguments, "--base", "encoder/minilm"]) == 2
    assert (
        "Received: the base encoder/minilm, whose 'text_encoder/" in capsys.readouterr().err
        and not (tmp_path / "copy").exists()
    )
    with pytest.raises(SystemExit):
        main([*arguments, "--dtype", "int4"])
