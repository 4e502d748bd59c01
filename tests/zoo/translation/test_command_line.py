"""Tests of `python -m zoo.translation`: results on stdout line by line, other output on stderr."""

import gzip
import json
import os
import pathlib
import re
import subprocess
import sys

import keras
import pytest
import sacrebleu
from strategies import REPLICAS, mirrored

import zoo
from zoo.distribution import on_tensorflow
from zoo.text.tokenizer import Tokenizer
from zoo.translation.__main__ import main


@pytest.fixture(scope="module")
def checkpoint(trained):
    return str(trained.folder / "checkpoint")


@pytest.fixture(scope="module")
def loaded(trained, checkpoint):
    """Returns one translator for all commands of this file, as each load would compile again."""
    translator = zoo.load(checkpoint)
    patch = pytest.MonkeyPatch()
    load = zoo.load
    patch.setattr(zoo, "load", lambda name, dtype=None: translator if str(name) == checkpoint else load(name, dtype))
    yield translator
    patch.undo()


@pytest.fixture(scope="module")
def files(corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    for name, pairs in (("train", corpus.train[:200]), ("dev", corpus.dev[:8]), ("test", corpus.test[:10])):
        for number, side in enumerate(("source", "target")):
            (folder / f"{name}.{side}").write_text("".join(f"{pair[number]}\n" for pair in pairs), "utf-8")
        (folder / f"{name}.tsv").write_text("".join(f"{t}\t{s}\tmore\n" for s, t in pairs), "utf-8")
    return folder


def call(capsys, *arguments):
    """Runs a command; returns its exit status, stdout and stderr."""
    status = main([str(argument) for argument in arguments])
    return status, *capsys.readouterr()


def test_translate_files(loaded, checkpoint, corpus, tmp_path, capsys):
    sources = [source for source, _ in corpus.test[:6]]
    lines = [sources[0], "", sources[1], "   ", *sources[2:5], ""]
    (tmp_path / "plain").write_bytes("\n".join(lines).encode() + b"\n")
    with gzip.open(tmp_path / "packed", "wb") as file:
        file.write(sources[5].encode() + b"\r\n")  # Windows ends lines like this.
    status, out, err = call(capsys, "translate", "--checkpoint", checkpoint, tmp_path / "plain", tmp_path / "packed")
    expected = loaded.translate([*lines, sources[5]])
    assert (status, out.split("\n")) == (0, [*expected, ""])
    assert err == ""
    assert out.split("\n")[1] == out.split("\n")[3] == out.split("\n")[7] == ""


def test_translate_text(loaded, checkpoint, capsys):
    command = ["translate", "--checkpoint", checkpoint, "--beam-size", 1, "--text", "mano tek.", "--text", "luri\npim!"]
    status, out, err = call(capsys, *command)
    first, second, third = loaded.translate(["mano tek.", "luri", "pim!"], beam_size=1)
    assert (status, out, err) == (0, f"{first}\n{second} {third}\n", "")


def test_glossary(loaded, checkpoint, tmp_path, capsys, monkeypatch):
    (tmp_path / "terms.tsv").write_text("Vienna\tWien\n", "utf-8")
    command = ["translate", "--checkpoint", checkpoint, "--glossary", tmp_path / "terms.tsv", "--text", "Vienna"]
    assert "placeholders=False" in call(capsys, *command)[2]
    monkeypatch.setattr(loaded, "placeholders", True)
    monkeypatch.setattr(loaded, "glossary", {"mano": "Hand", "Vienna": "Bécs"})
    status, out, err = call(capsys, *command)
    assert (status, err) == (0, "") and loaded.glossary == {"mano": "Hand", "Vienna": "Wien"}
    assert out == f"{loaded.translate(['Vienna'])[0]}\n"


def test_n_best_with_scores(loaded, checkpoint, capsys):
    status, out, _ = call(capsys, "translate", "--checkpoint", checkpoint, "--n-best", 3, "--text", "mano tek.")
    expected = loaded.n_best(["mano tek."], num_return=3, beam_size=4)[0]
    assert status == 0
    assert out.splitlines() == [f"{candidate.score:.4f}\t{candidate.text}" for candidate in expected]


def test_alignments(loaded, checkpoint, capsys):
    status, out, _ = call(capsys, "translate", "--checkpoint", checkpoint, "--alignments", "--text", "mano tek.")
    text, links = out.rstrip("\n").split("\t")
    assert status == 0 and text == loaded.translate(["mano tek."])[0]
    assert re.fullmatch(r"\d-\d( \d-\d)*", links)


def test_line_breaks_become_spaces(loaded, checkpoint, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(loaded.tokenizer, "decode", lambda rows: ["a\rb\u2028c\x85d\x0be\nf" for _ in rows])
    status, out, _ = call(capsys, "translate", "--checkpoint", checkpoint, "--text", "mano", "--text", "tek")
    assert status == 0 and out.splitlines() == ["a b c d e f"] * 2
    (tmp_path / "corpus").write_text("mano\tBrund\ntek\tølk\n", "utf-8")
    hypotheses = tmp_path / "hypotheses"
    call(capsys, "evaluate", "--checkpoint", checkpoint, "--data", tmp_path / "corpus", "--hypotheses", hypotheses)
    assert hypotheses.read_text("utf-8").splitlines() == ["a b c d e f"] * 2


@pytest.mark.slow
def test_translate_standard_input(loaded, checkpoint, corpus):
    """In a new process, stdout has only translations, and stderr is empty."""
    sources = [source for source, _ in corpus.test[:3]]
    lines = [sources[0], "", "\u2028", sources[1] + "\r", sources[2]]
    sent = "\n".join(lines).encode() + b"\nmano \xff tek"  # Not UTF-8, and no line feed at the end.
    environment = {name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"}
    result = subprocess.run(
        [sys.executable, "-m", "zoo.translation", "translate", "--checkpoint", checkpoint, "--beam-size", "1"],
        input=sent,
        capture_output=True,
        env=environment,
        cwd=pathlib.Path(__file__).parents[3],
        timeout=200,
    )
    expected = loaded.translate([*sources, "mano \ufffd tek"], beam_size=1)
    assert result.returncode == 0 and result.stderr == b""
    found = result.stdout.decode("utf-8").split("\n")
    assert found == [expected[0], "", "", expected[1], expected[2], expected[3], ""]


def test_evaluate(loaded, checkpoint, files, tmp_path, capsys):
    hypotheses = tmp_path / "hypotheses"
    command = ["evaluate", "--checkpoint", checkpoint, "--source", files / "test.source"]
    status, out, err = call(capsys, *command, "--target", files / "test.target", "--hypotheses", hypotheses)
    lines = [path.read_text("utf-8").splitlines() for path in (hypotheses, files / "test.target")]
    expected = sacrebleu.corpus_bleu(lines[0], [lines[1]], force=True).score
    source = (files / "test.source").read_text("utf-8").splitlines()[0]
    assert status == 0 and err == f"corpus, line 1: source: {source}   target: {lines[1][0]}\n"
    bleu, chrf = out.splitlines()
    assert re.fullmatch(rf"BLEU {expected:.2f}( ± .*)?  nrefs:1\|bs:1000.*case:mixed.*tok:13a.*", bleu)
    assert chrf.startswith("chrF2 ")
    # The same corpus as a table, and another protocol.
    command = ["evaluate", "--checkpoint", checkpoint, "--data", files / "test.tsv", "--columns", 1, 0]
    status, out, _ = call(capsys, *command, "--tokenize", "none", "--lowercase")
    assert status == 0 and "case:lc" in out and "tok:none" in out


TINY = [
    *("model.num_encoder_layers=1", "model.num_decoder_layers=1", "model.hidden_dim=8", "model.num_heads=2"),
    *("training.steps=2", "training.cooldown_steps=0", "training.evaluate_every=2", "training.batch_tokens=256"),
    *("training.score=loss", "model.intermediate_dim=16"),
]


def test_export(loaded, checkpoint, files, tmp_path, capsys):
    command = ["export", "--checkpoint", checkpoint, *corpus_of(files, "test"), "--ids-only", "--beam-size", 1]
    status, out, err = call(capsys, *command, "--output", tmp_path / "model")
    assert status == 0 and f"written: {tmp_path / 'model'}" in err
    assert [line.split()[0] for line in out.splitlines()] == ["BLEU", "chrF2"]
    assert (tmp_path / "model" / "saved_model.pb").exists()
    status, out, err = call(capsys, *command, "--output", tmp_path / "model")
    assert (status, out) == (2, "") and "exists already, and nothing is overwritten" in err


@pytest.mark.slow
def test_vocabulary_and_train_on_two_devices(files, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(on_tensorflow, "mirrored_strategy", lambda cross_device_ops: mirrored())
    corpus = ["--source", files / "train.source", "--target", files / "train.target"]
    status, out, err = call(capsys, "vocabulary", *corpus, "--size", 300, "--output", tmp_path / "vocabulary")
    assert (status, out) == (0, "")
    assert "200 pairs from 200 lines" in err and f"300 pieces in {tmp_path / 'vocabulary'}" in err
    assert Tokenizer.load(tmp_path / "vocabulary").vocabulary_size == 300

    (tmp_path / "card.json").write_text('{"name": "mine", "licence": "CC0"}')
    settings = [part for name in TINY for part in ("--set", name)]
    dev = ["--dev-source", files / "dev.source", "--dev-target", files / "dev.target"]
    command = ["train", "--recipe", "tiny", *settings, *corpus, *dev, "--vocabulary", tmp_path / "vocabulary"]
    command += ["--card", tmp_path / "card.json", "--tokenize", "none", "--output", tmp_path / "run"]
    command += ["--strategy", "mirrored"]
    status, out, err = call(capsys, *command)
    assert (status, out) == (0, ""), err
    assert f"tokens a step: {REPLICAS} devices, 1 micro-batch each" in err
    assert "step 2" in err and f"written: {tmp_path / 'run' / 'checkpoint'}" in err
    card = zoo.load(tmp_path / "run" / "checkpoint").card
    assert card["name"] == "mine" and card["licence"] == "CC0" and card["recipe"]["training"]["steps"] == 2
    assert card["bleu"] == {"tokenize": "none", "lowercase": False}
    assert card["command"].startswith("python -m zoo.translation")

    status, out, err = call(capsys, *command)
    assert (status, out) == (2, "")
    assert "holds a finished checkpoint" in err.splitlines()[-1]
    assert json.loads((tmp_path / "run" / "checkpoint" / "card.json").read_text("utf-8")) == card


def test_strategy_needs_tensorflow_or_jax(files, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "torch")
    command = ["train", *corpus_of(files), "--dev-data", files / "dev.tsv", "--output", tmp_path / "run"]
    status, out, err = call(capsys, *command, "--strategy", "mirrored")
    assert (status, out) == (2, "") and "needs the backend TensorFlow or JAX. Received: KERAS_BACKEND=torch" in err
    assert not (tmp_path / "run").exists()


def corpus_of(files, name="train"):
    return ["--source", files / f"{name}.source", "--target", files / f"{name}.target"]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["translate", "--checkpoint", "nowhere", "--text", "x"], "'nowhere' is neither the name of a checkpoint"),
        (["translate", "--checkpoint", "CHECKPOINT", "nowhere.txt"], "nowhere.txt, which does not exist"),
        (["translate", "--checkpoint", "CHECKPOINT", "FOLDER"], "which is a folder. Pass the files in it"),
        (
            ["translate", "--checkpoint", "CHECKPOINT", "--beam-size", "0", "--n-best", "0", "--text", "x"],
            "num_return=0",
        ),
        (["translate", "--checkpoint", "CHECKPOINT", "--glossary", "TSV", "--text", "x"], "Lines of a glossary must"),
        (["translate", "--checkpoint", "CHECKPOINT", "--glossary", "nowhere.tsv", "--text", "x"], "nowhere.tsv"),
        (["evaluate", "--checkpoint", "CHECKPOINT"], "A corpus is two files"),
        (["evaluate", "--checkpoint", "CHECKPOINT", "--data", "EMPTY"], "at least one pair"),
        (
            ["evaluate", "--checkpoint", "CHECKPOINT", "--data", "TSV", "--columns", "0", "9"],
            "columns 0, 9 of 3, from 0",
        ),
        (
            ["evaluate", "--checkpoint", "CHECKPOINT", "--data", "TSV", "--beam-size", "0"],
            "`beam_size` must be at least 1",
        ),
        (["vocabulary", "--data", "TSV", "--size", "3", "--output", "out"], "`vocabulary_size` must be above 260"),
        (["vocabulary", "--data", "TSV", "--size", "300", "--output", "FOLDER/no/such"], "file in an existing folder"),
        (["train", "--data", "TSV", "--dev-data", "TSV", "--output", "o", "--set", "training.step=1"], "Unknown field"),
        (["train", "--data", "TSV", "--dev-data", "TSV", "--output", "o", "--card", "nowhere"], "nowhere"),
        (
            ["train", "--data", "TSV", "--dev-data", "TSV", "--output", "o", "--vocabulary", "TSV"],
            "sentencepiece model",
        ),
        (["train", "--data", "TSV", "--output", "o"], "or --dev-share 0.02"),
    ],
)
def test_errors_are_one_line(loaded, checkpoint, files, tmp_path, capsys, monkeypatch, command, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").write_text("")
    places = {"CHECKPOINT": checkpoint, "FOLDER": tmp_path, "EMPTY": tmp_path / "empty", "TSV": files / "test.tsv"}
    for name, place in places.items():
        command = [str(place) + part.removeprefix(name) if part.startswith(name) else part for part in command]
    status, out, err = call(capsys, *command)
    assert (status, out) == (2, "")
    lines = [line for line in err.splitlines() if not line.startswith(("corpus, line 1: ", "warning: "))]
    assert len(lines) == 1 and lines[0].startswith("error: ") and message in lines[0]
    assert os.listdir(tmp_path) == ["empty"]


@pytest.mark.parametrize("command", ["", "fly", "train", "translate --beam-size x", "train --recipe x"])
def test_unknown_options_show_usage(command, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(command.split())
    out, err = capsys.readouterr()
    assert out == "" and "usage: python -m zoo.translation" in err


def test_interruption_is_reported(capsys, monkeypatch, checkpoint):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(zoo, "load", interrupt)
    status, out, err = call(capsys, "translate", "--checkpoint", checkpoint, "--text", "x")
    assert (status, out) == (130, "") and err.startswith("interrupted")
