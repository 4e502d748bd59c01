"""Every example runs; what it shows in full is in its docstring."""

import gzip
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[1]
SHOWN = {
    "layers_in_fit.py": "accuracy on 50 numbers never seen: ",
    "number_words.py": "exact on 50 numbers never seen: ",
}


def smoke(name, folder, *options):
    """What the example prints; it may leave nothing in the folder it is run in."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"}
    result = subprocess.run(
        [sys.executable, ROOT / "examples" / name, "--smoke", *options],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
        timeout=400,
    )
    assert result.returncode == 0, result.stderr
    assert not os.listdir(folder)
    return result.stdout


def test_every_example_is_tested():
    assert {path.name for path in (ROOT / "examples").glob("*.py")} == {*SHOWN, "multi30k.py"}


@pytest.mark.slow
@pytest.mark.parametrize("name", SHOWN)
def test_number_examples(name, tmp_path):
    pytest.importorskip("num2words", reason="num2words is not installed")
    assert SHOWN[name] in smoke(name, tmp_path)


@pytest.mark.slow
def test_multi30k_takes_further_files_and_the_other_direction(tmp_path, tmp_path_factory):
    tok = pathlib.Path(os.environ.get("KERAS_TRANSFORMER_DATA", ""), "translation", "multi30k", "tok")
    if not tok.is_dir():
        pytest.skip("KERAS_TRANSFORMER_DATA names no folder with translation/multi30k/tok")
    folder = tmp_path_factory.mktemp("more")
    more = [folder / f"more.{language}" for language in ("de", "en")]
    for path, text in zip(more, ("ein hund .\nzwei hunde .\n", "a dog .\ntwo dogs .\n")):
        path.write_text(text, "utf-8")
    printed = smoke("multi30k.py", tmp_path, "--reverse", "--more", *more)
    assert "test2016, length penalty " in printed
    assert "202 pairs" in printed, "the further pairs are missing"
    with gzip.open(tok / "val.lc.norm.tok.de.gz", "rt", encoding="utf-8") as file:
        assert f"  {file.readline().strip()}\n    -> " in printed, "German is no source"
