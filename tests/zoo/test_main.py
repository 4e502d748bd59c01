"""`python -m zoo list`, and that listing needs no deep-learning library."""

import dataclasses
import json
import re
import subprocess
import sys

import pytest

import zoo
from zoo import __main__ as command
from zoo.commands import checking, doctor
from zoo.storage import checkpoints
from zoo.translation.predictor import Translator


def run(*arguments):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=120)


def test_importing_and_listing_load_no_backend():
    code = (
        "import sys, zoo; zoo.list(); import zoo.__main__; "
        "print(sorted({'keras', 'tensorflow', 'jax', 'torch'} & {name.split('.')[0] for name in sys.modules}))"
    )
    result = run("-c", code)
    assert (result.returncode, result.stdout, result.stderr) == (0, "[]\n", "")


def test_list_prints_every_shipped_checkpoint():
    result = run("-m", "zoo", "list")  # As in a terminal of 80 columns.
    assert result.returncode == 0 and not result.stderr
    lines = result.stdout.splitlines()
    assert "licence" in lines[0] and max(map(len, lines)) <= 80 and len(lines) <= 24
    for card in zoo.list():
        (line,) = (line for line in lines if line.startswith(f"{card['name']} "))
        score = "{value:.2f} {metric}".format(**card["scores"][0]) if "scores" in card else "none"
        for text in (f"{card['parameters']:,}", str(card["megabytes"]), score):
            assert f" {text} " in line, "a line for each checkpoint"
        assert line.strip().endswith(card["licence_short"])


@pytest.fixture
def invented(trained, tmp_path, monkeypatch):
    """The only checkpoint of the catalogue, and its folder."""
    monkeypatch.setattr(checkpoints, "WEIGHTS_FOLDER", tmp_path)
    translator, folder = trained.translator, tmp_path / "translation" / "invented"
    card = {**translator.card, "data": "[test] data", "licence": "CC0", "labels": ["A B", ",", "\x1b"]}
    Translator(translator.model, translator.tokenizer, card).save(folder)
    return translator, folder


def test_list_without_short_licence(invented, capsys):
    translator, _ = invented
    assert command.main(["list"]) == 0
    header, line, *_ = capsys.readouterr().out.splitlines()
    bleu = translator.card["scores"][0]
    size, score = f"{translator.model.count_params():,}", f"{bleu['value']:.2f} BLEU"
    name, parameters, _, *rest = line.split()
    assert (name, parameters, " ".join(rest)) == ("translation/invented", size, f"{score} CC0")
    assert header.split() == ["task/name", "parameters", "MB", "score", "licence"]


@pytest.mark.parametrize("width", [80, 250])
def test_show_prints_whole_card(invented, width, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(width))
    translator, folder = invented
    shown = []
    for name in ("translation/invented", str(folder)):
        assert command.main(["show", name]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1] and max(map(len, shown[0].splitlines())) <= width
    card = json.loads((folder / "card.json").read_text("utf-8"))
    text, bleu = re.sub(r"\s", "", shown[0]), card["scores"][0]
    values = [f"{bleu['value']:.2f}±{bleu['interval']:.2f}BLEU", bleu["signature"], "beam4,lengthpenalty0.6"]
    values += [
        "[test]data",
        "settings",
        "beam_size4",
        "length_penalty0.6",
        f"parameters{card['parameters']:,}",
        *card["files"].values(),
        'labels"AB",\\x1b',
    ]
    values += [f"{name}{value:,}" for name, value in card["recipe"]["training"].items() if type(value) is int]
    for value in values:
        assert value in text
    assert all(f"\n{name}" in f"\n{shown[0]}" for name in card), "a value of the card is missing"


def test_show_of_unknown_name_raises(capsys):
    assert command.main(["show", "translation/nonsense"]) == 2
    assert "translation/en-de" in capsys.readouterr().err, "the names that there are"


def test_unknown_commands_raise(capsys):
    with pytest.raises(SystemExit, match="2"):
        command.main(["play"])
    assert "'list'" in capsys.readouterr().err


@pytest.fixture
def folder(trained, tmp_path):
    trained.translator.save(tmp_path / "checkpoint")
    return tmp_path / "checkpoint"


def test_check_compares_recorded_answers(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    assert command.main(["check", str(folder)]) == 0
    assert "note  " in capsys.readouterr().out
    (tmp_path / "texts").write_text("abc\n\n", "utf-8")
    assert command.main(["check", str(folder), "--record", str(tmp_path / "texts")]) == 0
    assert "those of the card to 2 texts" in capsys.readouterr().out
    card = checkpoints.read_card(folder)
    card["checks"]["answers"][0] += " x"
    checkpoints.write_card(folder, card)
    assert command.main(["check", str(folder)]) == 1
    assert "FAIL" in (out := capsys.readouterr().out) and "'abc' gives" in out
    weights = folder / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    assert command.main(["check", str(folder)]) == 1
    assert "does not match its hash in card.json" in capsys.readouterr().out


def test_check_without_an_optional_package_goes_on(folder, tmp_path, capsys, monkeypatch):
    """The first one cannot be checked, the second one passes, the third one fails; the exit status tells."""
    monkeypatch.setenv("COLUMNS", "400")
    (tmp_path / "texts").write_text("abc\n", "utf-8")
    checking.record(folder, ["abc"], [])
    checkpoint = checkpoints.read_checkpoint(folder)
    parser = dataclasses.replace(checkpoint, card={**checkpoint.card, "task": "parsing"})
    checkpoints.write_checkpoint(parsing := tmp_path / "parsing", parser)
    monkeypatch.setitem(sys.modules, "nltk", None)
    assert command.main(["check", str(parsing), str(folder)]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["ok", "note", "ok", "ok"]
    assert "answers: not checked: Parsing needs NLTK" in lines[1] and "those of the card" in lines[3]
    assert command.main(["check", str(folder)]) == 0
    (folder / "model.safetensors").write_bytes(b"")
    assert command.main(["check", str(parsing), str(folder)]) == 1


@pytest.mark.slow
def test_check_compares_scores(trained, folder, tmp_path, capsys, monkeypatch):
    pairs = [("abc", "cba"), ("bca", "acb")] * 4
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "dev.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in pairs), "utf-8")
    checking.record(folder, ["abc"], ["--data", "{data}/dev.tsv"])
    monkeypatch.setenv("KERAS_TRANSFORMER_DATA", str(tmp_path / "data"))
    value = -1.0
    for status in (1, 0):  # The first time, the card has a wrong score, and the second time, the one that was found.
        card = checkpoints.read_card(folder)
        card["scores"][0]["value"] = value
        checkpoints.write_card(folder, card)
        assert command.main(["check", str(folder), "--scores"]) == status
        found = re.search(r"BLEU (\d+\.\d+); the card has (-?\d+\.\d+)", capsys.readouterr().out)
        assert float(found[2]) == value
        value = float(found[1])
    monkeypatch.delenv("KERAS_TRANSFORMER_DATA")
    assert command.main(["check", str(folder), "--scores"]) == 2
    assert "Set KERAS_TRANSFORMER_DATA" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("found", "expected", "same"),
    [
        ("1\t0.9412", "1\t0.9450", True),
        ("1\t0.94", "0\t0.94", False),
        ("0.5", "0.6", False),
        ("a b", "a b", True),
        ("cell\t0.91\t12.3", "cell\t0.92\t12.5", True),
        ("12.3", "13.3", False),
        ("13", "12", False),
    ],
)
def test_check_tolerates_small_differences(found, expected, same):
    assert checking.alike(found, expected) is same


def test_doctor_checks_machine(monkeypatch, capsys, tmp_path):
    """Versions that do not fit, a device that adds wrongly, a full disk, a folder that is not there."""
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.setenv("KERAS_TRANSFORMER_DATA", str(tmp_path))
    monkeypatch.setattr(doctor, "all_reduce", lambda pair: doctor.Result(f"all-reduce {pair}", True, "right"))
    assert command.main(["doctor"]) == 0
    assert "tensorflow: 2." in capsys.readouterr().out
    versions = {"tensorflow": "2.21.0", "tensorflow-text": "2.20.1"}
    monkeypatch.setattr(doctor, "_version", lambda package: versions.get(package, "1.0"))
    monkeypatch.setattr(doctor, "LEAST_FREE", 1e18)
    monkeypatch.setenv("KERAS_TRANSFORMER_DATA", str(tmp_path / "gone"))
    assert command.main(["doctor"]) == 1
    printed = capsys.readouterr().out
    failed = [line for line in printed.splitlines() if line.startswith("FAIL")]
    assert any("2.20.1 does not fit TensorFlow 2.21.0" in line for line in failed)
    assert any("names no folder" in line for line in failed) and any("GB free" in line for line in failed)


@pytest.mark.slow
def test_plan_shows_no_start_up_log(monkeypatch, tmp_path):
    monkeypatch.delenv("TF_CPP_MIN_LOG_LEVEL", raising=False)
    result = run("-m", "zoo", "plan", "translation", "--data", str(tmp_path / "x"), "--dev-share", "0.1")
    assert result.returncode == 2 and result.stderr.startswith("error: ") and result.stderr.count("\n") == 1


@pytest.mark.slow
@pytest.mark.long
def test_plan_leaves_no_files(tmp_path, capsys, monkeypatch):
    """Counts what a training run counts; invalid arguments print the error of `train`."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    lines = [f"{'abc' * (i % 5 + 1)}{i}\t{'cba' * (i % 7 + 1)}{i}\n" for i in range(200)]
    (tmp_path / "pairs.tsv").write_text("".join(lines), "utf-8")
    data = ["--data", "pairs.tsv", "--dev-data", "pairs.tsv", "--recipe", "tiny"]
    sizes = ["model.vocabulary_size=300", "training.batch_tokens=256", "training.steps=100"]
    sizes += ["training.cooldown_steps=0", "model.num_encoder_layers=1", "model.num_decoder_layers=1"]
    settings = [part for size in sizes for part in ("--set", size)]
    assert command.main(["plan", "translation", *data, *settings]) == 0
    printed = capsys.readouterr().out
    epochs, per_epoch = re.search(r"100: ([0-9.]+) epochs of (\d+)", printed).groups()
    assert float(epochs) == pytest.approx(100 / int(per_epoch), abs=0.05)
    parts = [int(count.replace(",", "")) for count in re.findall(r"│   (?:\w+) +│ ([0-9,]+) +│", printed)]
    total = int(re.search(r"parameters +│ ([0-9,]+) ", printed).group(1).replace(",", ""))
    assert sum(parts) == total
    for name, bytes_each in (("memory for weights", 4), ("gradients", 4), ("Adam's two moments", 8)):
        size, unit = re.search(rf"{name} +│ ([0-9.,]+) (\w+) ", printed).groups()
        assert float(size.replace(",", "")) * {"kB": 1e3, "MB": 1e6}[unit] == pytest.approx(
            bytes_each * total, rel=0.05
        )
    assert re.search(r"measured update +│ [0-9.]+ s", printed)
    assert re.search(r"making its batch +│ [0-9.e-]+ s in a thread beside it, [0-9.]+ % of its time", printed)
    once = re.search(r"evaluation on dev +│ (\d+ min \d+ s) with random weights", printed).group(1)
    assert re.search(r"its 1 evaluations +│ (\d+ min \d+ s) ", printed).group(1) == once
    assert [path.name for path in tmp_path.iterdir()] == ["pairs.tsv"]
    assert command.main(["plan", "translation", *data, "--set", "training.nonsense=1"]) == 2


@pytest.mark.slow
def test_all_reduce_reports_a_failure():
    """See `tests/zoo/tf/test_self_test.py` for wrong sums, and `tests/test_installation.py` for right ones."""
    found = doctor.all_reduce(("nonsense", "GPU:98"))
    assert found.passed is False and found.detail
