"""Tests of resuming: an interrupted run has the result of an uninterrupted one, on TensorFlow and on JAX."""

import errno
import itertools
import os
import pathlib
import subprocess
import sys
import types
import warnings

import keras
import numpy as np
import pytest
from trainer_checks import (
    CONFIG,
    assert_close,
    assert_same,
    history,
    make,
    make_real,
    run_interrupted,
    train,
    whole_batches,
)

from zoo.storage.arrays import load_arrays, named_arrays
from zoo.storage.lock import folder_lock
from zoo.training.trainer import Trainer


@pytest.mark.parametrize("micro_batch_tokens", [0, 32])
def test_interrupted_run_resumes_bit_for_bit(tmp_path, micro_batch_tokens):
    changes = {"steps": 12, "micro_batch_tokens": micro_batch_tokens}
    through, expected = run_interrupted(lambda: make(dropout=0.3), tmp_path / "a", [], **changes)
    # Interrupted at its first evaluation; the new run at its second; the next run at its third.
    resumed, found = run_interrupted(lambda: make(dropout=0.3), tmp_path / "b", [1, 2, 3], **changes)
    assert through.position[0] >= 1, "the runs should see more than one epoch"
    assert (resumed.step, resumed.position) == (through.step, through.position)
    assert_same(found, expected)
    assert_same(resumed.best(), through.best())
    assert_same(named_arrays(resumed.model), named_arrays(through.model))
    without_speed = [
        [{k: v for k, v in line.items() if k != "tokens_per_second"} for line in history(tmp_path / name)]
        for name in "ab"
    ]
    assert without_speed[0] == without_speed[1] and len(without_speed[0]) == 6


def test_dropout_is_active_in_these_tests(tmp_path):
    def without():
        model = make(dropout=0.3)
        model.dropout.rate = 0.0
        return model

    kernels = [
        run_interrupted(make_model, tmp_path / name, [])[1]["output/kernel"]
        for name, make_model in (("a", lambda: make(dropout=0.3)), ("b", without))
    ]
    assert np.abs(kernels[0] - kernels[1]).max() > 1e-3


@pytest.mark.parametrize("number", [1, 3, 7, 11])
def test_full_disk_raises_and_run_resumes(number, tmp_path, monkeypatch):
    """The disk is full at the n-th written file; with free space, the run resumes with the same result."""
    _, expected = run_interrupted(lambda: make(dropout=0.3), tmp_path / "whole", [])
    fsync, calls = os.fsync, itertools.count(1)

    def full(descriptor):
        if next(calls) == number:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match=r"safetensors could not be written|log\.jsonl could not be written") as error:
            run_interrupted(lambda: make(dropout=0.3), tmp_path / "run", [])
    assert error.value.errno == errno.ENOSPC and not [*tmp_path.glob("run/**/*.part")]
    _, found = run_interrupted(lambda: make(dropout=0.3), tmp_path / "run", [])
    assert_same(found, expected)


def test_finished_run_is_not_trained_again(tmp_path):
    _, expected = train(make(), whole_batches(), tmp_path)
    trainer = Trainer(make(seed=2), CONFIG, tmp_path)
    assert trainer.step == 6
    assert_same(trainer.fit(iter([])), expected)
    assert_same(named_arrays(trainer.model), load_arrays(tmp_path / "step-0000006.safetensors")[0])


def test_state_of_another_model_raises(tmp_path):
    train(make(), whole_batches(), tmp_path)
    with pytest.raises(
        ValueError,
        match="state-0000006.safetensors is the state of another model .* has the shape",
    ):
        Trainer(make_real(dropout=False), CONFIG, tmp_path)


@pytest.mark.parametrize("damage", [lambda content: content[:-10], lambda content: content[:-7] + b"x" + content[-6:]])
def test_damaged_state_falls_back_to_older_one(tmp_path, damage):
    """The newest state is truncated or altered: the run resumes from the one before, with the same result."""
    _, expected = run_interrupted(lambda: make(dropout=0.3), tmp_path / "whole", [])
    run_interrupted(lambda: make(dropout=0.3), tmp_path / "cut", [], steps=4)
    folder = tmp_path / "cut"
    newest = folder / "state-0000004.safetensors"
    newest.write_bytes(damage(newest.read_bytes()))
    with pytest.warns(UserWarning, match="state-0000004.safetensors .* Resuming from state-0000002.safetensors"):
        trainer = Trainer(make(dropout=0.3), CONFIG, folder)
    assert trainer.step == 2
    with pytest.warns(UserWarning, match="Resuming from"):
        assert_same(run_interrupted(lambda: make(dropout=0.3), folder, [])[1], expected)
    for path in folder.glob("state-*"):
        path.write_bytes(damage(path.read_bytes()))
    with (
        pytest.raises(ValueError, match="There is no older state. Train into another folder"),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        Trainer(make(dropout=0.3), CONFIG, folder)


def test_folder_lock_excludes_other_processes(tmp_path):
    message = f"in use by another process, {os.getpid()} on .* nothing was changed"
    with folder_lock(tmp_path), pytest.raises(ValueError, match=message), folder_lock(tmp_path):
        pass
    (tmp_path / "training").mkdir()
    for name in ("state-0000002.safetensors.123.part", "training/best.safetensors.4.part"):
        (tmp_path / name).write_bytes(b"not whole")
    with folder_lock(tmp_path):
        assert [*tmp_path.glob("**/*.part")] == []


def run_on_jax(folder):
    """Code that the test below runs in a separate process."""
    assert keras.backend.backend() == "jax"
    folder = pathlib.Path(folder)
    _, whole = train(make(eager=False), whole_batches(), folder / "whole", steps=3)
    _, micro = train(make(eager=False), whole_batches(), folder / "micro", steps=3, micro_batch_tokens=32)
    assert_close(micro, whole)
    assert np.abs(whole["output/bias"] - named_arrays(make())["output/bias"]).max() > 1e-3
    expected = run_interrupted(lambda: make(dropout=0.3, eager=False), folder / "a", [])[1]
    assert_same(run_interrupted(lambda: make(dropout=0.3, eager=False), folder / "b", [2])[1], expected)
    model = make(eager=False)
    model.text_encoder = types.SimpleNamespace(layers_bottom_up=lambda: [[model.embedding]])
    before = named_arrays(model)
    _, after = train(model, whole_batches(), folder / "rates", steps=1, evaluate_every=1, layer_decay=0.5)
    moves = {name: np.abs(after[name] - array).max() for name, array in before.items()}
    np.testing.assert_allclose(moves["embedding/kernel"], moves["output/kernel"] / 2, rtol=1e-2)
    _, real = train(make_real(dropout=True), whole_batches(), folder / "real", steps=2)
    assert all(np.isfinite(array).all() for array in real.values())
    print("done on", keras.backend.backend())


@pytest.mark.slow
@pytest.mark.long
def test_training_on_jax(tmp_path):
    code = f"import runpy; runpy.run_path({__file__!r})['run_on_jax']({str(tmp_path)!r})"
    root = pathlib.Path(__file__).parents[3]
    jax = {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu", "JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}
    path = os.pathsep.join(str(root / name) for name in ("", "tests", "tests/long"))
    environment = {**os.environ, **jax, "PYTHONPATH": path}
    command = [sys.executable, "-W", "error", "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=root, timeout=300)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1] == "done on jax"
