"""A small model, batches and runs for the tests of the trainer."""

import dataclasses
import itertools
import json
import types

import keras
import numpy as np
from keras import ops

from zoo.config import ModelConfig, TrainingConfig
from zoo.corpora.batching import BatchStream
from zoo.corpora.encoded_corpus import EncodedCorpus
from zoo.corpora.token_rows import TokenRows
from zoo.models.seq2seq import Seq2Seq
from zoo.training.trainer import Trainer

VOCABULARY = 13
CONFIG = TrainingConfig(
    batch_tokens=64,
    steps=6,
    warmup_steps=3,
    peak_learning_rate=0.01,
    evaluate_every=2,
    average=2,
    score="loss",
)
REAL = ModelConfig(
    vocabulary_size=VOCABULARY,
    num_encoder_layers=1,
    num_decoder_layers=1,
    hidden_dim=8,
    intermediate_dim=12,
    num_heads=2,
    dropout=0.1,
    attention_dropout=0.1,
    activation_dropout=0.1,
)


class Bag(keras.Model):
    """Predicts the next target token from the mean of the source and the last target token, with or without a graph."""

    def __init__(self, dropout=0.0, eager=True, **arguments):
        super().__init__(name="bag", **arguments)
        self.eager = eager
        self.config = types.SimpleNamespace(hidden_dim=4)
        # Not an Embedding: Keras's Adam adds squares of the rows of its sparse gradient, not rows first. Tied tables
        # have dense gradients.
        self.embedding = keras.layers.Dense(4, use_bias=False, name="embedding", dtype=self.dtype_policy)
        self.dropout = keras.layers.Dropout(dropout, name="dropout", dtype=self.dtype_policy)
        self.output_dense = keras.layers.Dense(VOCABULARY, name="output", dtype=self.dtype_policy)

    def compile(self, **arguments):
        super().compile(**arguments, run_eagerly=self.eager)

    def build(self, inputs_shape=None):
        self.embedding.build((None, None, VOCABULARY))
        self.output_dense.build((None, None, 4))
        self.built = True

    def call(self, inputs, training=None):
        real = ops.cast(ops.not_equal(inputs["source"], 0), self.compute_dtype)[..., None]
        source = ops.sum(self.embed(inputs["source"]) * real, 1, keepdims=True)
        source = source / ops.maximum(ops.sum(real, 1, keepdims=True), 1)
        return self.output_dense(self.dropout(self.embed(inputs["target"]) + source))

    def embed(self, token_ids):
        return self.embedding(ops.one_hot(token_ids, VOCABULARY, dtype=self.compute_dtype))


def make(seed=1, **arguments):
    keras.utils.set_random_seed(seed)
    model = Bag(**arguments)
    model.build()
    return model


def make_real(dropout, precision="float32"):
    keras.utils.set_random_seed(1)
    rates = {} if dropout else {"dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0}
    model = Seq2Seq(dataclasses.replace(REAL, **rates), dtype=precision)
    model.build()
    return model


def batch_of(pairs):
    """Pads pairs of ids to a batch."""
    rows = [[*source, 3] for source, _ in pairs], [[2, *target, 3] for _, target in pairs]
    return {name: padded(side) for name, side in zip(("source", "target"), rows)}


def padded(rows):
    width = max(map(len, rows))
    return np.array([[*row, *[0] * (width - len(row))] for row in rows], "int32")


def random_pairs(count, longest=9, seed=0):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest, (count, 2))
    return [tuple(rng.integers(4, VOCABULARY, n).tolist() for n in pair) for pair in lengths]


# Long and short pairs, so that the micro-batches of an update have different numbers of tokens.
UPDATES = [sorted(random_pairs(6, seed=number), key=lambda pair: len(pair[1])) for number in range(3)]


def whole_batches():
    return itertools.cycle(map(batch_of, UPDATES))


def train(model, batches, folder, evaluate=None, **changes):
    trainer = Trainer(model, dataclasses.replace(CONFIG, **changes), folder, evaluate)
    return trainer, trainer.fit(batches)


def history(folder):
    return [json.loads(line) for line in (folder / "log.jsonl").read_text("utf-8").splitlines()]


def assert_same(arrays, others):
    assert arrays.keys() == others.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, others[name], err_msg=name)


def assert_close(arrays, others, tolerance=1e-5):
    assert arrays.keys() == others.keys()
    for name, array in arrays.items():
        if "key_dense/bias" in name:  # No softmax depends on it: its gradient is noise, which Adam makes large.
            continue
        np.testing.assert_allclose(array, others[name], rtol=0, atol=tolerance, err_msg=name)


def corpus():
    sides = []
    for rows in zip(*random_pairs(40, seed=5)):
        sides.append(TokenRows(np.concatenate(rows).astype("uint16"), np.cumsum([0, *map(len, rows)])))
    return EncodedCorpus(*sides)


def stream(trainer):
    return BatchStream(corpus(), 64, seed=3, start=trainer.position)


class Interruption(Exception):
    pass


def interrupted_at(evaluation):
    """Returns an `evaluate` that raises at the n-th evaluation."""
    counter = itertools.count(1)

    def evaluate(model):
        if next(counter) == evaluation:
            raise Interruption
        return {"score": float(np.asarray(model.trainable_weights[0])[5, 0])}

    return evaluate


def run_interrupted(make_model, folder, stops, **changes):
    """Trains with an interruption at each of `stops`; returns the last trainer and its weights."""
    for number, stop in enumerate([*stops, 0]):
        keras.utils.set_random_seed(100 + number)  # A new process would have another state here.
        trainer = Trainer(make_model(), dataclasses.replace(CONFIG, **changes), folder, interrupted_at(stop))
        try:
            return trainer, trainer.fit(stream(trainer))
        except Interruption:
            assert stop
