"""Which planted faults `keras_transformer.verify` finds.

    python benchmarks/faults.py [NAME ...]

A small Transformer written by hand, causal or not, in which one mistake that people make is planted at a time; and
sound models of other kinds, in which nothing must be found. Prints for each which probes failed.
"""

import argparse
import functools
import sys
import time
import warnings

import keras
import numpy as np
from keras import layers, ops

from keras_transformer import verify

VOCABULARY, WIDTH, HEADS, STEPS = 40, 16, 2, 12
REGISTERED = keras.saving.register_keras_serializable("benchmarks.faults")


@REGISTERED
class Attention(layers.Layer):
    """Self-attention, with a fault or none."""

    def __init__(self, causal=False, fault="", **kwargs):
        super().__init__(**kwargs)
        self.causal, self.fault, self.supports_masking = causal, fault, True
        self.projections = [layers.Dense(WIDTH, dtype=self.dtype_policy) for _ in range(4)]
        self.dropout = layers.Dropout(0.3, dtype=self.dtype_policy)

    def build(self, shape):
        for projection in self.projections:
            projection.build(shape)

    def call(self, x, mask=None, training=None):
        fault, (batch, steps) = self.fault, ops.shape(x)[:2]
        if fault == "mask ignored in a graph" and not _eager(x):
            mask = None
        query, key, value = (
            ops.reshape(projection(x), (batch, steps, HEADS, WIDTH // HEADS)) for projection in self.projections[:3]
        )
        if fault == "attention over the batch":
            query, key, value = (ops.swapaxes(part, 0, 1) for part in (query, key, value))
            mask = None
        if fault == "heads mixed by a wrong reshape":
            query, key, value = (
                ops.reshape(part, (batch, HEADS, steps, WIDTH // HEADS)) for part in (query, key, value)
            )
            query, key, value = (ops.swapaxes(part, 1, 2) for part in (query, key, value))
        scores = ops.einsum("btnh,bsnh->bnts", query, key)
        if fault != "no scale":
            scores = scores * (WIDTH // HEADS) ** -0.5
        allowed = None
        if mask is not None:
            allowed = mask[:, None, None, :]
            if fault == "mask of the queries":
                allowed = mask[:, None, :, None]
            if fault == "inverted mask":
                allowed = ops.logical_not(allowed)
            if fault == "last real step masked":
                allowed = ops.logical_and(allowed, ops.roll(allowed, -1, axis=-1))
        seen, by = ops.arange(steps)[None, :], ops.arange(steps)[:, None]
        ahead = {"sees one step ahead": 1, "does not see itself": -1}.get(fault, 0)
        own = seen <= by + ahead if self.causal else None
        if fault == "transposed causal mask":
            own = seen >= by
        if fault == "first five steps only":
            own = seen < 5 if own is None else ops.logical_and(own, ops.logical_or(seen < 5, seen == by))
        if fault == "sees itself only":
            own = seen == by
        if fault == "does not see the previous step":
            own = ops.logical_and(seen <= by if own is None else own, seen != by - 1)
        if own is not None:
            own = ops.broadcast_to(own, (1, 1, steps, steps))
            allowed = own if allowed is None else ops.logical_and(allowed, own)
        axis = {"softmax over queries": 2, "softmax over heads": 1}.get(fault, -1)
        weights = ops.softmax(scores, axis=axis) if allowed is None else _masked(scores, allowed, axis, fault)
        if fault == "dropout at inference":
            weights = keras.random.dropout(weights, 0.3, seed=self.dropout.seed_generator)
        outputs = ops.einsum("bnts,bsnh->btnh", weights, value)
        if fault == "attention over the batch":
            outputs = ops.swapaxes(outputs, 0, 1)
        return self.projections[3](ops.reshape(outputs, (batch, steps, WIDTH)))

    def get_config(self):
        return {**super().get_config(), "causal": self.causal, "fault": self.fault}


def _masked(scores, allowed, axis, fault):
    real = ops.cast(allowed, scores.dtype)
    if fault == "mask added after the softmax":
        return ops.softmax(scores, axis=axis) + (1 - real) * -1e-3
    if fault == "mask multiplied after the softmax":
        return ops.softmax(scores, axis=axis) * real
    if fault == "mask multiplied before the softmax":
        return ops.softmax(scores * real, axis=axis)
    if fault == "mask too small":
        return ops.softmax(scores + (1 - real) * -5, axis=axis)
    if fault == "mask of 1e9 in half precision":
        return ops.softmax(scores + (1 - real) * ops.cast(-1e9, scores.dtype), axis=axis)
    weights = ops.softmax(ops.where(allowed, ops.cast(scores, "float32"), -1e9), axis=axis)
    if fault == "does not see itself":  # Else the first step would see all.
        weights = weights * ops.cast(allowed, "float32")
    return ops.cast(weights, scores.dtype)


def _eager(x):
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        return tf.executing_eagerly()
    return "Traced" not in repr(x) and "Tracer" not in repr(x)


@REGISTERED
class Positions(layers.Layer):
    def __init__(self, fault="", **kwargs):
        super().__init__(**kwargs)
        self.fault, self.supports_masking = fault, True

    def build(self, shape):
        self.table = self.add_weight(name="table", shape=(64, WIDTH), initializer="random_normal")

    def call(self, x, mask=None):
        batch, steps = ops.shape(x)[:2]
        if self.fault == "positions by example":
            return x + ops.take(self.table, ops.arange(batch), axis=0)[:, None]
        if self.fault == "positions from the end":
            return x + ops.take(self.table, steps - 1 - ops.arange(steps), axis=0)
        if self.fault == "positions of half precision":
            numbers = ops.cast(ops.arange(steps) + 2000, x.dtype)[:, None] * ops.ones((1, WIDTH), x.dtype)
            return x + ops.sin(numbers)
        return x + ops.take(self.table, ops.arange(steps), axis=0)

    def get_config(self):
        return {**super().get_config(), "fault": self.fault}


@REGISTERED
class Step(layers.Layer):
    """Small faults between the blocks."""

    def __init__(self, fault="", **kwargs):
        super().__init__(**kwargs)
        self.fault = fault
        self.supports_masking = fault not in ("mask dropped after the first block", "mean counts padding")

    def call(self, x, training=None):
        if self.fault == "statistics of the batch":
            return x - ops.mean(x, axis=0, keepdims=True)
        if self.fault == "normalised over the steps":
            return (x - ops.mean(x, axis=1, keepdims=True)) / (ops.std(x, axis=1, keepdims=True) + 1e-6)
        if self.fault == "next step leaks":
            return x + ops.roll(x, -1, axis=1)
        if self.fault == "squares overflow":
            return x / ops.sqrt(ops.sum(ops.square(x * 100), axis=-1, keepdims=True) + 1e-6) * 100
        if self.fault == "epsilon vanishes":
            centred = x - ops.mean(x, axis=-1, keepdims=True)
            zero = ops.zeros_like(centred[..., :1])
            return x + zero / (zero + ops.cast(1e-9, x.dtype))
        return x * 1

    def get_config(self):
        return {**super().get_config(), "fault": self.fault}


@REGISTERED
class Forgets(layers.Layer):
    """Its factor is not in its configuration."""

    def __init__(self, factor=1.0, **kwargs):
        super().__init__(**kwargs)
        self.factor, self.supports_masking = factor, True

    def call(self, x):
        return x * self.factor

    def get_config(self):
        config = super().get_config()
        config.pop("factor", None)
        return config


def transformer(fault="", causal=False):
    keras.utils.set_random_seed(1)
    ids = keras.Input((None,), dtype="int32")
    x = Positions(fault)(layers.Embedding(VOCABULARY, WIDTH, mask_zero=fault != "mask_zero forgotten")(ids))
    if fault == "factor not saved":
        x = Forgets(2.0)(x)
    for _ in range(2):
        x = layers.LayerNormalization()(layers.Add()([x, Attention(causal, fault)(x)]))
        x = Step(fault)(x)
        inner = layers.Dense(WIDTH)(layers.Dense(32, activation="relu")(x))
        x = layers.LayerNormalization()(layers.Add()([x, inner]))
    if fault == "mean counts padding":
        x = layers.GlobalAveragePooling1D()(x)
    return keras.Model(ids, layers.Dense(5)(x))


def sound(kind):
    keras.utils.set_random_seed(1)
    ids = keras.Input((None,), dtype="int32")
    x = layers.Embedding(VOCABULARY, WIDTH, mask_zero=True)(ids)
    if kind == "sound: GRU, last state":
        x = layers.GRU(WIDTH)(x)
    if kind == "sound: GRU, every step":
        x = layers.GRU(WIDTH, return_sequences=True)(x)
    if kind == "sound: mean of vectors":
        x = layers.GlobalAveragePooling1D()(x)
    if kind == "sound: causal convolution":
        x = layers.Conv1D(WIDTH, 3, padding="causal", activation="relu")(x)
    return keras.Model(ids, layers.Dense(5)(x))


FAULTS = """softmax over queries|softmax over heads|mask added after the softmax|mask multiplied after the softmax
mask multiplied before the softmax|mask too small|inverted mask|mask of the queries|last real step masked
mask ignored in a graph|mask dropped after the first block|mask_zero forgotten|mask of 1e9 in half precision
first five steps only|sees itself only|does not see the previous step|attention over the batch
heads mixed by a wrong reshape|dropout at inference|positions by example|positions from the end
positions of half precision|statistics of the batch|normalised over the steps|squares overflow|epsilon vanishes
factor not saved|mean counts padding|no scale"""
CAUSAL = """softmax over queries|softmax over heads|mask added after the softmax|mask multiplied after the softmax
mask multiplied before the softmax|mask too small|inverted mask|last real step masked|mask of 1e9 in half precision
first five steps only|sees itself only|does not see the previous step|heads mixed by a wrong reshape
normalised over the steps|sees one step ahead|does not see itself|transposed causal mask|next step leaks"""
SOUND = """sound: embedding and dense|sound: GRU, last state|sound: GRU, every step|sound: mean of vectors
sound: causal convolution"""


def cases():
    for name in _names(SOUND):
        yield name, functools.partial(sound, name), "every step" in name or "causal" in name
    for causal, faults in ((False, FAULTS), (True, CAUSAL)):
        yield "sound: Transformer" + ", causal" * causal, functools.partial(transformer, "", causal), causal
        for fault in _names(faults):
            yield fault + ", causal" * causal, functools.partial(transformer, fault, causal), causal


def _names(text):
    return text.replace("\n", "|").split("|")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("names", nargs="*", help="only those whose name has one of these in it")
    options = arguments.parse_args()
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(1)
    print("|planted|failed|seconds|\n|---|---|---|")
    for name, make, causal in cases():
        if options.names and not any(part in name for part in options.names):
            continue
        ids = rng.integers(1, VOCABULARY, (4, 300 if "GRU" in name else STEPS))
        ids[1, 7:] = ids[2, 3:] = 0
        start = time.monotonic()
        report = verify(make(), ids, causal=causal, show=False)
        print(f"|{name}|{', '.join(report.failed) or 'nothing'}|{time.monotonic() - start:.0f}|", flush=True)
        if options.names:
            print(report, file=sys.stderr)


if __name__ == "__main__":
    main()
