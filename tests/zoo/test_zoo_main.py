"""`python -m zoo list`, and that listing needs no deep-learning library."""

import subprocess
import sys

import pytest

import zoo
from zoo import __main__ as command
from zoo import checkpoints
from zoo.translation.translator import Translator


def run(*arguments):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=120)


def test_importing_and_listing_load_no_backend():
    code = (
        "import sys, zoo; zoo.list(); import zoo.__main__; "
        "print(sorted({'keras', 'tensorflow', 'jax', 'torch'} & {name.split('.')[0] for name in sys.modules}))"
    )
    result = run("-c", code)
    assert (result.returncode, result.stdout, result.stderr) == (0, "[]\n", "")


def test_the_command_lists_every_shipped_checkpoint():
    result = run("-m", "zoo", "list")  # As in a terminal of 80 columns.
    assert result.returncode == 0 and not result.stderr
    assert "licence" in result.stdout and max(map(len, result.stdout.splitlines())) <= 80
    for card in zoo.list():
        assert card["name"] in result.stdout and f"{card['parameters']:,}" in result.stdout


def test_the_table_tells_size_and_score(trained, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "250")
    monkeypatch.setattr(checkpoints, "CATALOGUE", tmp_path)
    translator = trained.translator
    card = {**translator.card, "data": "[test] data"}
    Translator(translator.model, translator.tokenizer, card).save(tmp_path / "translation" / "invented")
    monkeypatch.setattr(sys, "argv", ["zoo", "list"])
    command.main()
    table = capsys.readouterr().out
    bleu = card["scores"][0]
    size, score = f"{translator.model.count_params():,}", f"{bleu['value']:.2f} BLEU"
    for text in ("translation/invented", size, score, "tok:13a", "beam 4, length penalty 0.6", "[test] data"):
        assert text in table


def test_other_commands_are_refused(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["zoo", "play"])
    with pytest.raises(SystemExit, match="2"):
        command.main()
    assert "'list'" in capsys.readouterr().err
