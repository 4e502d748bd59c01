"""Tests of tests/long/first_hour.py: that its rows are well formed and can fail, and that a row can be interrupted."""

import os
import re
import signal
import sys

import pytest
from first_hour import ROWS, Seen, chosen_rows, faults, readme_commands, type_in
from first_hour_corpora import write_corpora
from first_hour_rows import EXTRAS, INSTALL, Row


@pytest.fixture
def seen(tmp_path):
    """Returns a function that types a row in an empty folder; what is seen."""
    (tmp_path / "python").symlink_to(sys.executable)
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "TERM": "xterm"}
    return lambda row, **options: type_in(row, tmp_path, environment, **options)


@pytest.mark.parametrize("name", ROWS)
def test_rows_are_well_formed(name):
    row = ROWS[name]
    assert row.name == name and (row.typed or name == INSTALL)
    assert not name.startswith("-"), "no argument of --only"
    assert row.status or row.out or row.err or row.name == "folder of a run", "nothing is expected"
    for pattern in (row.out, row.err, row.stop[0] if row.stop else ""):
        re.compile(pattern, re.M)
    names = [*ROWS]
    assert not row.after or names.index(row.after) < names.index(name)
    if row.code:
        compile(row.typed, name, "exec")


def test_commands_of_the_readme_are_found():
    assert readme_commands().splitlines()[:2] == [
        "python3 -m venv .venv && . .venv/bin/activate",
        "pip install --editable .",
    ]


def test_rows_fail_for_status_output_and_tracebacks(seen):
    row = Row("row", "echo one; echo two >&2; exit 3", out="^one$", err=r"\Atwo\n\Z", status=3)
    assert seen(row) == Seen(3, "one\n", "two\n")
    assert faults(row, seen(row)) == []
    assert faults(row._replace(status=0), seen(row)) == ["status 3 instead of 0"]
    assert faults(row._replace(out="two", err="^one"), seen(row)) == [
        "stdout has no match of two",
        "stderr has no match of ^one",
    ]
    failing = Row("row", "raise SystemError('x')", err="^SystemError: x$", status=1, code=True)
    assert faults(failing, seen(failing)) == [], "in Python a traceback is usual"
    assert faults(failing._replace(code=False), seen(failing)) == ["'Traceback (most' is shown"]
    command = Row("row", "echo python -m zoo prints oneDNN", out="zoo")
    assert faults(command, seen(command)) == ["'oneDNN' is shown"]


def test_rows_have_a_time_limit(seen):
    row = Row("row", "echo one; sleep 30 & sleep 30")
    assert seen(row, seconds=0.5) == Seen(None, "one\n", "")
    assert faults(row, seen(row, seconds=0.5)) == ["status None instead of 0"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_are_sent_when_the_output_is_seen(number, seen):
    code = """
import signal, sys, time
def end(number, frame):
    print("ended by", number)
    sys.exit(100 + number)
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, end)
print("terminal", sys.stderr.isatty())
for step in range(3):
    print("\\033[1mstep", step, file=sys.stderr, flush=True)
time.sleep(30)
"""
    row = Row("row", code, stop=("step 2\n", number), code=True)
    status, out, err = seen(row)
    assert status == 100 + number and out == f"terminal True\nended by {int(number)}\n"
    assert err == "step 0\nstep 1\nstep 2\n"


def test_rows_come_with_those_that_they_need():
    def names(wanted, has_extras):
        return [row.name for row in chosen_rows(wanted, has_extras)]

    assert names([], None) == names([], True) == [*ROWS]
    assert names(["finish"], False) == ["train, SIGTERM", "run without checkpoint", "finish"]
    assert names(["list"], None) == names(["list"], True) == [INSTALL, "list"], "other rows need one without extras"
    assert names(["parse"], None) == [INSTALL, EXTRAS, "parse"]
    assert (names(["parse"], False), names(["parse"], True)) == ([EXTRAS, "parse"], ["parse"])


def test_corpora_have_what_their_names_say(tmp_path):
    write_corpora(tmp_path)

    def lines(name):
        return (tmp_path / name).read_text("utf-8").splitlines()

    sets = [{*lines(f"{name}.tsv")} for name in ("pairs", "dev", "other-dev")]
    assert all(sets) and not sets[0] & sets[1] and not sets[1] & sets[2]
    assert len(lines("en.txt")) == len(lines("de.txt")) + 1
    assert {len(line.split("\t")) for line in lines("questions.tsv")} == {3}
    assert {line.split("\t")[1] for line in lines("swapped.tsv")} == {"glad", "sad"}
    with pytest.raises(UnicodeDecodeError):
        lines("latin1.tsv")
