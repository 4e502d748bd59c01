"""Tests of hostile texts, which must not control a terminal; tests/long/hostile_checks.py sends them to all models."""

import io

import pytest
import rich.table
from rich.console import Console

from zoo.text import terminal


@pytest.mark.parametrize("character", ["\x00", "\x1b", "\x7f", "\x9b", "\u202e", "\u2066", "\r", "\ud800"])
def test_control_characters_are_escaped_on_terminals(character, capsys, monkeypatch):
    text = f"a{character}b\tc"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    terminal.print_result(text)
    shown = capsys.readouterr().out
    assert shown == f"a\\{ascii(character)[2:-1]}b\tc\n" and character not in shown


def test_files_receive_text_unchanged(capsys):
    terminal.print_result("a\x1b[31m\u202e\x00 é 🙂")
    terminal.print_result("\ud800!")
    assert capsys.readouterr().out == "a\x1b[31m\u202e\x00 é 🙂\n\ufffd!\n"


def test_table_cell_escapes_markup():
    table = rich.table.Table("label")
    table.add_row(terminal.table_cell("[bold]x\x1b[31m"))
    console = Console(record=True, width=60, file=io.StringIO())
    console.print(table)
    assert "[bold]x\\x1b[31m" in console.export_text()
