"""The planted faults of `tests/long/mutations.py` still fit the sources, and its outcomes are what they say."""

import pathlib
import subprocess

import pytest
from faults import Fault
from mutations import FAULTS, ROOT, Copy, Outcome, check_faults, key, selected, show


def test_every_fault_can_be_planted():
    assert not check_faults(FAULTS)


def test_faults_are_different_and_change_something():
    assert len({key(fault) for fault in FAULTS}) == len(FAULTS) >= 100
    assert all(fault.before != fault.after and fault.targets for fault in FAULTS)


def test_all_folders_have_faults():
    folders = {
        str(path.parent.relative_to(ROOT))
        for top in ("keras_transformer", "zoo")
        for path in ROOT.glob(f"{top}/*/*.py")
    }
    assert len(folders) >= 20
    assert folders <= {fault.folder for fault in FAULTS}


@pytest.mark.parametrize(
    "before, tests, message",
    [
        ("text that is not there", "tests", "occurs 0 times"),
        ("PAD_ID, UNKNOWN_ID", "tests/none.py", "no tests/none.py"),
    ],
)
def test_faults_that_do_not_fit_are_named(before, tests, message):
    [line] = check_faults([Fault("zoo/config.py", before, "", tests)])
    assert message in line


@pytest.mark.parametrize("survivors, status", [(len(FAULTS) // 20, 0), (len(FAULTS) // 20 + 1, 1)])
def test_status_tells_whether_95_of_100_are_found(survivors, status, capsys):
    outcomes = {key(fault): Outcome(number >= survivors, 1.0) for number, fault in enumerate(FAULTS)}
    assert show(FAULTS, outcomes) == status
    assert capsys.readouterr().out.count("SURVIVED") == survivors


def test_places_select_their_faults(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    parsing = selected(["zoo/parsing"])
    assert parsing and all(pathlib.PurePath(fault.file).parent.name == "parsing" for fault in parsing)
    assert selected([str(ROOT / "zoo" / "config.py")]) == [fault for fault in FAULTS if fault.file == "zoo/config.py"]
    assert selected([]) == FAULTS


@pytest.mark.slow
def test_fault_is_planted_in_a_copy_and_taken_out_again(tmp_path, monkeypatch):
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "double.py").write_text("def double(x):\n    return 2 * x  # twice\n")
    (sources / "test_double.py").write_text("import double\n\n\ndef test_double():\n    assert double.double(3) == 6\n")
    subprocess.run("git init -q && git add .", shell=True, cwd=sources, check=True)
    monkeypatch.setattr("mutations.ROOT", sources)
    copy = Copy(tmp_path / "copy")
    found = copy.plant(Fault("double.py", "2 * x", "3 * x", "test_double.py"), 60)
    survived = copy.plant(Fault("double.py", "# twice", "# thrice", "test_double.py"), 60)
    assert (found.found, found.by, survived.found) == (True, "FAILED test_double.py::test_double", False)
    assert all((tmp_path / "copy" / path.name).read_text() == path.read_text() for path in sources.glob("*.py"))
