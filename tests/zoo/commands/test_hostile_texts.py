"""Texts that nobody should send get an answer, which does not steer the terminal that it is shown on."""

import io

import hostile_checks
import pytest
import rich.table
from rich.console import Console

from zoo.text import terminal


@pytest.mark.parametrize("character", ["\x00", "\x1b", "\x7f", "\x9b", "\u202e", "\u2066", "\r", "\ud800"])
def test_what_steers_a_terminal_is_written_out(character, capsys, monkeypatch):
    text = f"a{character}b\tc"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    terminal.print_result(text)
    shown = capsys.readouterr().out
    assert shown == f"a\\{ascii(character)[2:-1]}b\tc\n" and character not in shown


def test_a_file_gets_the_text_as_it_is(capsys):
    terminal.print_result("a\x1b[31m\u202e\x00 é 🙂")
    terminal.print_result("\ud800!")
    assert capsys.readouterr().out == "a\x1b[31m\u202e\x00 é 🙂\n\ufffd!\n"


def test_a_cell_shows_markup_as_text():
    table = rich.table.Table("label")
    table.add_row(terminal.table_cell("[bold]x\x1b[31m"))
    console = Console(record=True, width=60, file=io.StringIO())
    console.print(table)
    assert "[bold]x\\x1b[31m" in console.export_text()


@pytest.mark.slow
def test_every_text_has_an_answer():
    """A few, to one; `python tests/long/hostile_checks.py` sends more, and longer ones, to all that is shipped."""
    hostile_checks.check("classification/sst2", 10, 2_000)
