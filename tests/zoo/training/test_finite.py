"""Tests of updates that are not finite: training stops, names the cause, and keeps the weights before."""

import itertools

import keras
import numpy as np
import pytest
from keras import ops
from strategies import REPLICAS, mirrored
from trainer_checks import UPDATES, Bag, assert_same, batch_of, history, train, whole_batches

from zoo.storage.arrays import load_arrays, named_arrays

MARK = 1  # An id that is not in the batches.


class Poison(keras.layers.Layer):
    """Identity layer whose output, or the gradient of whose weight, is NaN for marked rows."""

    def __init__(self, where, **kwargs):
        super().__init__(**kwargs)
        self.where = where

    def build(self, inputs_shape):
        self.weight = self.add_weight(name="weight", shape=(), initializer="zeros")

    def call(self, inputs, marked):
        marked = marked[:, None, None]
        if self.where == "output":
            return ops.where(marked, np.float32("nan"), inputs + 0.0 * self.weight)
        quotient = self.weight / ops.where(marked, self.weight, 1.0)
        return inputs + ops.where(marked, 0.0, 0.0 * quotient)


class Poisoned(Bag):
    def __init__(self, where, **kwargs):
        super().__init__(eager=False, **kwargs)
        self.poison = Poison(where, name="poison")

    def build(self, inputs_shape=None):
        super().build()
        self.poison.build(None)

    def call(self, inputs, training=None):
        return self.poison(super().call(inputs), ops.any(inputs["source"] == MARK, axis=1))


def make(where):
    keras.utils.set_random_seed(1)
    model = Poisoned(where)
    model.build()
    return model


def batches_with_a_mark(update):
    """Yields batches, in which the last row of one update is marked."""
    for number, batch in enumerate(whole_batches(), start=1):
        if number == update:
            batch = {name: side.copy() for name, side in batch.items()}
            batch["source"][-1, 0] = MARK
        yield batch


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("output", "first in the output of layer bag/poison, a Poison"),
        ("gradient", "first in the gradient of bag/poison/weight"),
    ],
)
@pytest.mark.parametrize("micro_batch_tokens", [0, pytest.param(32, marks=pytest.mark.slow)])
def test_nonfinite_update_stops_training(tmp_path, where, message, micro_batch_tokens):
    place = r" \(micro-batch 1\)" if micro_batch_tokens else ""
    changes = {"steps": 8, "evaluate_every": 2, "micro_batch_tokens": micro_batch_tokens}
    model = make(where)
    with pytest.raises(FloatingPointError, match=f"Update 6 is not finite: {message}{place}. The last checkpoint"):
        train(model, batches_with_a_mark(6), tmp_path / "run", **changes)
    assert [line["step"] for line in history(tmp_path / "run")] == [2, 4]
    kept = load_arrays(tmp_path / "run" / "step-0000004.safetensors")[0]
    assert all(np.isfinite(array).all() for array in kept.values())
    _, before = train(make(where), whole_batches(), tmp_path / "five", **{**changes, "steps": 5, "average": 1})
    assert_same(named_arrays(model), before)
    # Without the mark, the run resumes with the same result.
    _, found = train(make(where), itertools.islice(whole_batches(), 4, None), tmp_path / "run", **changes)
    assert_same(found, train(make(where), whole_batches(), tmp_path / "whole", **changes)[1])


@pytest.mark.slow
def test_nonfinite_update_names_replica(tmp_path):
    with mirrored().scope():
        model = make("output")
    rows = len(batch_of(UPDATES[0])["source"])
    assert rows >= REPLICAS
    with pytest.raises(FloatingPointError, match=rf"layer bag/poison, a Poison \(replica {REPLICAS - 1}\)"):
        train(model, batches_with_a_mark(1), tmp_path)


def test_nonfinite_weights_are_detected_at_once(tmp_path):
    """Weights overflow in a large update whose loss and gradients are finite."""
    with pytest.raises(FloatingPointError, match="Update 1 is not finite: .* perhaps the update was too large"):
        train(make("output"), whole_batches(), tmp_path, peak_learning_rate=3e38, warmup_steps=1)
