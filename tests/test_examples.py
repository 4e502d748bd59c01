"""Every example runs; what it shows in full is in its docstring."""

import gzip
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[1]
EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.py"))
SHOWN = {
    "layers_in_fit.py": "accuracy on 50 numbers never seen: ",
    "number_words.py": "exact on 50 numbers never seen: ",
    "multi30k.py": "test2016, length penalty ",
}


def more_files(folder):
    """Two pairs to train on as well."""
    paths = [folder / f"more.{language}" for language in ("de", "en")]
    for path, text in zip(paths, ("ein hund .\nzwei hunde .\n", "a dog .\ntwo dogs .\n")):
        path.write_text(text, "utf-8")
    return paths


@pytest.mark.parametrize("name", EXAMPLES)
def test_smoke(name, tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("empty")
    options = ["--reverse", "--more", *more_files(tmp_path_factory.mktemp("more"))] if name == "multi30k.py" else []
    data = os.environ.get("KERAS_TRANSFORMER_DATA")
    if name == "multi30k.py" and not (data and pathlib.Path(data, "translation", "multi30k", "tok").is_dir()):
        pytest.skip("KERAS_TRANSFORMER_DATA names no folder with translation/multi30k/tok")
    if name in ("layers_in_fit.py", "number_words.py"):
        pytest.importorskip("num2words", reason="num2words is not installed")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"}
    result = subprocess.run(
        [sys.executable, ROOT / "examples" / name, "--smoke", *options],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
        timeout=400,
    )
    assert result.returncode == 0, result.stderr
    assert SHOWN[name] in result.stdout
    if name == "multi30k.py":
        with gzip.open(
            pathlib.Path(data, "translation", "multi30k", "tok", "val.lc.norm.tok.de.gz"), "rt", encoding="utf-8"
        ) as file:
            assert f"  {file.readline().strip()}\n    -> " in result.stdout, "German is no source"
        assert "202 pairs" in result.stdout, "the further pairs are missing"
    assert not os.listdir(tmp_path)
