"""Tests of the command `convert`, and of the file of `--card`: what they refuse, and when."""

import pytest

import zoo
from zoo.__main__ import main
from zoo.commands.card_values import read_card_values


def test_what_a_folder_lacks_is_named(tmp_path, capsys):
    arguments = ["convert", "labelling/masc-pos", "--format", "huggingface", "--output", str(tmp_path / "h")]
    assert main(arguments) == 0
    printed = capsys.readouterr()
    line = "left out: characters, head; a BertModel is the encoder of labelling/masc-pos alone\n"
    assert line in printed.err and not printed.out
    assert main(["convert", "encoder/minilm", "--format", "huggingface", "--output", str(tmp_path / "e")]) == 0
    assert "left out" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "command, names", [("convert", ["any"]), ("pack", ["any"]), ("average", ["any", "other"])], ids=lambda value: value
)
def test_existing_folders_are_found_before_the_work(command, names, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(zoo, "load", lambda name: pytest.fail("loaded before the check"))
    monkeypatch.setattr("zoo.conversion.hugging_face.load_folder", lambda name: pytest.fail("loaded before the check"))
    (tmp_path / "card.json").write_text("[1]")
    arguments = [command, *names, "--card", str(tmp_path / "card.json"), "--output"]
    assert main([*arguments, str(tmp_path)]) == 2
    assert f"{tmp_path} exists already" in capsys.readouterr().err
    assert main([*arguments, str(tmp_path / "new")]) == 2
    assert "--card must be a JSON file of one object. Received: " in capsys.readouterr().err


def test_checkpoints_need_no_conversion(tmp_path, capsys):
    for name in ("translation/en-de", str(zoo.checkpoints.find("encoder/minilm"))):
        assert main(["convert", name, "--output", str(tmp_path / "c")]) == 2
        error = capsys.readouterr().err
        assert f"Received: {name}, which is a checkpoint already. " in error and "pass --format huggingface" in error


@pytest.mark.parametrize("content, message", [('"text"', "str"), ('[["a", "b"]]', "list"), ("no JSON", "Expecting")])
def test_cards_must_be_objects(content, message, tmp_path):
    path = tmp_path / "card.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=f"--card must be a JSON file.* Received: {path}.*{message}"):
        read_card_values(path)
    path.write_text('{"licence": "CC0"}')
    assert read_card_values(path) == {"licence": "CC0"} and read_card_values(None) == {}
