"""The fit of `benchmarks/scaling.py` finds a law from noisy losses, and predicts a larger run by it."""

import json
import pathlib
import sys
import types

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "benchmarks"))
import scaling

LAW = np.array([1.5e6, 2e5, 0.3, 0.35, 4.0, 5.0])


def rows(noise):
    rng, found = np.random.default_rng(0), []
    cells = [(n, d, False) for n in (3e4, 7e4, 1.5e5, 3e5) for d in (2500, 5000, 10_000, 20_000)]
    for parameters, pairs, held_out in [*cells, (6e5, 40_000, True)]:
        loss = scaling.predicted(LAW, np.array([[parameters], [pairs]]))[0] * np.exp(noise * rng.normal())
        found.append({"parameters": parameters, "pairs": pairs, "loss": float(loss), "held_out": held_out})
    return found


def test_the_law_is_found():
    grid = [row for row in rows(0.0) if not row["held_out"]]
    found = scaling.fitted(scaling.sizes_of(grid), np.array([row["loss"] for row in grid]))
    np.testing.assert_allclose(found, LAW, rtol=0.02)


def test_each_limit_alone_is_a_power_and_a_model_without_data_has_the_loss_of_frequencies():
    model, data, a, b, _, nothing = LAW
    large, tiny = 1e30, 1e-30
    few, many = np.array([1e8]), np.array([1e9])
    for sizes, power, base in [((few, large), a, model / few), ((large, many), b, data / many)]:
        found = scaling.predicted(LAW, np.array([np.broadcast_to(size, 1) for size in sizes]))
        np.testing.assert_allclose(1 / found**4, 1 / base ** (4 * power) + 1 / nothing**4, rtol=1e-6)
    np.testing.assert_allclose(scaling.predicted(LAW, np.array([[large], [tiny]])), nothing, rtol=1e-6)


def test_the_larger_run_is_predicted(tmp_path, capsys):
    path, picture = tmp_path / "runs.jsonl", tmp_path / "law.png"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows(0.005)))
    scaling.fit_law(types.SimpleNamespace(runs=str(path), picture=str(picture)))
    shown = capsys.readouterr().out
    assert "16 runs" in shown and picture.stat().st_size > 1000
    assert float(shown.split("off by ")[-1].removesuffix("%\n")) < 3


def test_too_few_runs_are_refused(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows(0.0)[:7]))
    with pytest.raises(SystemExit, match="at least 8 runs. Received: 7"):
        scaling.fit_law(types.SimpleNamespace(runs=str(path), picture=None))
