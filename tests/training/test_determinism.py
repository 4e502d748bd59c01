"""Tests of `set_reproducible`, in fresh processes, as it cannot be undone."""

import os
import subprocess
import sys

import keras
import pytest

CODE = """
import keras, numpy as np
from keras_transformer.training import set_reproducible
set_reproducible(3)
model = keras.Sequential([keras.layers.Embedding(50, 8), keras.layers.Dropout(0.5), keras.layers.Dense(50)])
model.compile("adam", "mse")
ids = np.random.randint(0, 50, (64, 20))
model.fit(ids, np.random.rand(64, 20, 50), epochs=2, verbose=0)
if keras.backend.backend() == "tensorflow":
    from tensorflow.python.framework import config
    assert config.is_op_determinism_enabled()
print(model.get_weights()[0].tobytes().hex())
"""


def run(**environment):
    result = subprocess.run(
        [sys.executable, "-c", CODE], env={**os.environ, **environment}, capture_output=True, text=True
    )
    return result.stdout.split()[-1:] if result.returncode == 0 else result.stderr


@pytest.mark.slow
def test_two_processes_compute_the_same_bits():
    first, second = run(PYTHONHASHSEED="1"), run(PYTHONHASHSEED="2")
    assert isinstance(first, list) and len(first[0]) == 50 * 8 * 4 * 2, first
    assert first == second


@pytest.mark.skipif(keras.backend.backend() != "jax", reason="a flag of XLA")
def test_jax_on_a_gpu_needs_a_flag(monkeypatch):
    import jax

    from keras_transformer.training import set_reproducible

    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setenv("XLA_FLAGS", "--xla_other=1")
    with pytest.raises(ValueError, match="--xla_gpu_deterministic_ops=true .* Received: XLA_FLAGS='--xla"):
        set_reproducible(1)
    monkeypatch.setenv("XLA_FLAGS", "--xla_other=1 --xla_gpu_deterministic_ops=true")
    set_reproducible(1)
