"""Training: accumulated is as good as whole, interrupted as good as not, and what is reported is what happened."""

import dataclasses
import itertools
import json
import os
import pathlib
import subprocess
import sys
import types

import keras
import numpy as np
import pytest
from keras import ops

from zoo.arrays import load_arrays, named_arrays
from zoo.batching import BatchStream
from zoo.config import ModelConfig, TrainingConfig
from zoo.encoded_corpus import EncodedCorpus, TokenRows
from zoo.models.seq2seq import Seq2Seq
from zoo.trainer import Trainer

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
    """A small model, from the mean of the source and one target token to the next, that may run without a graph."""

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
    """Pairs of ids, padded together."""
    rows = [[*source, 3] for source, _ in pairs], [[2, *target, 3] for _, target in pairs]
    return {name: padded(side) for name, side in zip(("source", "target"), rows)}


def padded(rows):
    width = max(map(len, rows))
    return np.array([[*row, *[0] * (width - len(row))] for row in rows], "int32")


def random_pairs(count, longest=9, seed=0):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest, (count, 2))
    return [tuple(rng.integers(4, VOCABULARY, n).tolist() for n in pair) for pair in lengths]


# The two micro-batches of an update have 5 short and 1 long pair, of different widths.
MICRO = [
    [sorted(random_pairs(6, seed=number), key=lambda pair: len(pair[1]))[half] for half in (slice(5), slice(5, 6))]
    for number in range(3)
]


def whole_batches():
    return itertools.cycle([batch_of(short + long) for short, long in MICRO])


def micro_batches():
    return itertools.cycle([batch_of(half) for update in MICRO for half in update])


def train(model, batches, folder, evaluate=None, **changes):
    trainer = Trainer(model, dataclasses.replace(CONFIG, **changes), folder, evaluate)
    return trainer, trainer.fit(batches)


def history(folder):
    return [json.loads(line) for line in (folder / "log.jsonl").read_text("utf-8").splitlines()]


def assert_same(arrays, others):
    assert arrays.keys() == others.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, others[name], err_msg=name)


def assert_close(arrays, others):
    assert arrays.keys() == others.keys()
    for name, array in arrays.items():
        if "key_dense/bias" in name:  # No softmax depends on it: its gradient is noise, which Adam makes large.
            continue
        np.testing.assert_allclose(array, others[name], rtol=0, atol=1e-5, err_msg=name)


def test_accumulated_updates_are_whole_updates(tmp_path):
    before = named_arrays(make_real(dropout=False))
    _, whole = train(make_real(dropout=False), whole_batches(), tmp_path / "whole")
    trainer, micro = train(make_real(dropout=False), micro_batches(), tmp_path / "micro", micro_batch_tokens=32)
    assert trainer.accumulation == 2 and trainer.step == 6
    assert_close(micro, whole)
    assert np.abs(whole["embedding/embeddings"] - before["embedding/embeddings"]).max() > 0.01
    losses = [[line["train_loss"] for line in history(tmp_path / name)] for name in ("whole", "micro")]
    np.testing.assert_allclose(*losses, rtol=1e-5)


def test_three_micro_batches_with_an_empty_one(tmp_path):
    """A micro-batch without a pair neither harms nor counts."""
    nothing = {"source": np.zeros((2, 3), "int32"), "target": np.zeros((2, 3), "int32")}
    batches = [batch for update in MICRO for batch in (*map(batch_of, update), nothing)]
    _, whole = train(make(), whole_batches(), tmp_path / "whole")
    changes = {"batch_tokens": 63, "micro_batch_tokens": 21}
    _, micro = train(make(), itertools.cycle(batches), tmp_path / "micro", **changes)
    assert all(np.isfinite(array).all() for array in micro.values())
    assert_close(micro, whole)


@pytest.mark.parametrize("micro_batch_tokens", [0, 32])
def test_the_reported_loss_is_the_mean_over_updates_of_the_mean_over_tokens(tmp_path, micro_batch_tokens):
    model = make()
    batches = micro_batches() if micro_batch_tokens else whole_batches()
    # A rate so small that the model stays what it is.
    small = {"peak_learning_rate": 1e-9, "steps": 3, "evaluate_every": 3, "label_smoothing": 0.2}
    train(model, batches, tmp_path, micro_batch_tokens=micro_batch_tokens, **small)
    losses = []
    for batch in map(batch_of, (short + long for short, long in MICRO)):
        logits = np.asarray(model({"source": batch["source"], "target": batch["target"][:, :-1]}), "float64")
        labels = batch["target"][:, 1:]
        log_probs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
        gold = np.take_along_axis(log_probs, labels[..., None], -1)[..., 0]
        losses.append((-0.8 * gold - 0.2 * log_probs.mean(-1))[labels != 0].mean())
    assert history(tmp_path)[0]["train_loss"] == pytest.approx(np.mean(losses), rel=1e-5)


def corpus():
    sides = []
    for rows in zip(*random_pairs(40, seed=5)):
        sides.append(TokenRows(np.concatenate(rows).astype("uint16"), np.cumsum([0, *map(len, rows)])))
    return EncodedCorpus(*sides)


def stream(trainer):
    return BatchStream(corpus(), 64 // trainer.accumulation, seed=3, start=trainer.position)


class Interruption(Exception):
    pass


def interrupted_at(looks):
    """An `evaluate` that fails at the given look."""
    counter = itertools.count(1)

    def evaluate(model):
        if next(counter) == looks:
            raise Interruption
        return {"score": float(np.asarray(model.trainable_weights[0])[5, 0])}

    return evaluate


def run_interrupted(make_model, folder, stops, **changes):
    """Trains in as many runs as there are `stops`, and one more; returns the last trainer and its weights."""
    for number, stop in enumerate([*stops, 0]):
        keras.utils.set_random_seed(100 + number)  # A new process would have another state here.
        trainer = Trainer(make_model(), dataclasses.replace(CONFIG, **changes), folder, interrupted_at(stop))
        try:
            return trainer, trainer.fit(stream(trainer))
        except Interruption:
            assert stop


@pytest.mark.parametrize("micro_batch_tokens", [0, 32])
def test_an_interrupted_run_ends_with_the_same_bits(tmp_path, micro_batch_tokens):
    changes = {"steps": 12, "micro_batch_tokens": micro_batch_tokens}
    through, expected = run_interrupted(lambda: make(dropout=0.3), tmp_path / "a", [], **changes)
    # Fails in the first stretch, then in the second of a run that begins anew, then in the third of the next.
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


def test_dropout_is_on_in_the_tests_above(tmp_path):
    def without():
        model = make(dropout=0.3)
        model.dropout.rate = 0.0
        return model

    kernels = [
        run_interrupted(make_model, tmp_path / name, [])[1]["output/kernel"]
        for name, make_model in (("a", lambda: make(dropout=0.3)), ("b", without))
    ]
    assert np.abs(kernels[0] - kernels[1]).max() > 1e-3


def test_every_dropout_of_the_real_model_is_on_in_training_and_off_in_evaluation(tmp_path):
    def draws(model):
        return [int(np.asarray(v)[1]) for v in model.variables if "seed_generator_state" in v.path]

    seen = []

    def evaluate(model):
        before = draws(model)
        model({name: batch_of(MICRO[0][0])[name] for name in ("source", "target")})
        assert draws(model) == before
        seen.append(before)
        return {"score": 0.0}

    train(make_real(dropout=True), whole_batches(), tmp_path, evaluate, steps=4)
    # After the embeddings (of both sides), 2 sublayers of the encoder and 3 of the decoder; inside 2 feed-forward
    # layers; on the weights of 3 attentions.
    assert len(seen[0]) == 1 + 5 + 2 + 3
    assert all(2 <= count <= 4 for count in seen[0]) and [2 * count for count in seen[0]] == seen[1]


def test_a_finished_run_is_not_trained_again(tmp_path):
    _, expected = train(make(), whole_batches(), tmp_path)
    trainer = Trainer(make(seed=2), CONFIG, tmp_path)
    assert trainer.step == 6
    assert_same(trainer.fit(iter([])), expected)
    assert_same(named_arrays(trainer.model), load_arrays(tmp_path / "step-0000006.safetensors")[0])


def test_the_last_stretch_may_be_shorter(tmp_path):
    for name, steps, updates in (("short", 1, [1]), ("odd", 5, [2, 4, 5])):
        trainer, _ = train(make(), whole_batches(), tmp_path / name, steps=steps)
        assert int(trainer.model.optimizer.iterations) == trainer.step == steps
        assert [line["step"] for line in history(tmp_path / name)] == updates


def scripted(scores):
    scores = iter(scores)
    return lambda model: {"score": next(scores), "dev_loss": 1.5}


def checkpoints(folder):
    return sorted(path.name for path in folder.glob("step-*"))


def test_the_best_is_kept_and_the_last_are_averaged(tmp_path):
    kept = []

    def evaluate(model):
        kept.append(named_arrays(model))
        return {"score": [1.0, 5.0, 5.0, 2.0][len(kept) - 1]}

    trainer, mean = train(make(), whole_batches(), tmp_path, evaluate, steps=8, average=3)
    assert_same(trainer.best(), kept[1])
    assert load_arrays(tmp_path / "best.safetensors")[1] == {"step": 4, "score": 5.0}
    for name, array in mean.items():
        np.testing.assert_allclose(array, np.mean([arrays[name] for arrays in kept[-3:]], 0), rtol=1e-6, atol=1e-7)
    assert np.abs(kept[0]["output/bias"] - kept[3]["output/bias"]).max() > 1e-3
    assert checkpoints(tmp_path) == [f"step-{step:07d}.safetensors" for step in (4, 6, 8)]


def test_an_average_of_one_is_the_last_checkpoint(tmp_path):
    trainer, last = train(make(), whole_batches(), tmp_path, average=1)
    assert_same(last, named_arrays(trainer.model))
    assert checkpoints(tmp_path) == ["step-0000006.safetensors"]


def test_a_score_that_is_no_number_is_never_the_best_for_long(tmp_path):
    trainer, _ = train(make(), whole_batches(), tmp_path, scripted([float("nan"), 1.0, float("nan")]))
    assert trainer.facts["best_step"] == 4


@pytest.mark.parametrize(
    ("patience", "steps"),
    [(1, 6), (2, 8), (3, 14), (0, 14)],
)
def test_patience_counts_looks_without_a_better_score(tmp_path, patience, steps):
    scores = [1, 2, 2, 1, 3, 2, 1]
    trainer, _ = train(make(), whole_batches(), tmp_path, scripted(scores), steps=14, patience=patience)
    assert trainer.step == steps
    # Started again, it still has none.
    again = Trainer(make(), trainer.config, tmp_path, scripted([9] * 9))
    again.fit(iter([]))
    assert again.step == steps


def test_without_a_score_patience_has_no_meaning(tmp_path):
    trainer, _ = train(make(), whole_batches(), tmp_path, patience=1)
    assert trainer.step == 6


def test_the_log_has_a_line_for_each_look(tmp_path, capsys):
    train(make(), whole_batches(), tmp_path, scripted([1.0, 2.0, 3.0]))
    lines = history(tmp_path)
    assert [(line["step"], line["score"], line["dev_loss"]) for line in lines] == [
        (2, 1, 1.5),
        (4, 2, 1.5),
        (6, 3, 1.5),
    ]
    assert all(line["tokens_per_second"] > 0 and line["train_loss"] > 0 for line in lines)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert [line.split("  ")[0] for line in shown.err.splitlines() if line.startswith("step")] == [
        "step 2",
        "step 4",
        "step 6",
    ]


def test_the_state_of_another_model_is_refused(tmp_path):
    train(make(), whole_batches(), tmp_path)
    with pytest.raises(ValueError, match="state.safetensors is the state of another model or optimiser"):
        Trainer(make_real(dropout=False), CONFIG, tmp_path)
    state = tmp_path / "state.safetensors"
    state.write_bytes(state.read_bytes()[:-10])
    with pytest.raises(ValueError, match="state.safetensors is missing, truncated"):
        Trainer(make(), CONFIG, tmp_path)


def test_a_bad_corpus_is_a_value_error(tmp_path):
    trainer = Trainer(make(), CONFIG, tmp_path)
    with pytest.raises(ValueError, match="`batch_tokens` must hold the longest pair"):
        trainer.fit(BatchStream(corpus(), 4, seed=0))


@pytest.fixture(scope="module")
def whole_losses(tmp_path_factory):
    """What float32 comes to."""
    folder = tmp_path_factory.mktemp("whole")
    train(make(eager=False), whole_batches(), folder, steps=60, evaluate_every=20)
    return [line["train_loss"] for line in history(folder)]


@pytest.mark.parametrize("micro_batch_tokens", [0, 32])
@pytest.mark.parametrize("precision", ["mixed_bfloat16", "mixed_float16"])
def test_half_precision_trains(tmp_path, whole_losses, precision, micro_batch_tokens):
    batches = micro_batches() if micro_batch_tokens else whole_batches()
    changes = {"micro_batch_tokens": micro_batch_tokens, "precision": precision, "steps": 60, "evaluate_every": 20}
    trainer, mean = train(make(eager=False, dtype=precision), batches, tmp_path, **changes)
    scaled = isinstance(trainer.model.optimizer, keras.optimizers.LossScaleOptimizer)
    assert scaled == (precision == "mixed_float16")
    losses = [line["train_loss"] for line in history(tmp_path)]
    assert np.isfinite(losses).all() and losses[2] < losses[0] - 0.05
    assert all(array.dtype == np.float32 and np.isfinite(array).all() for array in mean.values())
    np.testing.assert_allclose(losses, whole_losses, rtol=0.02)


def test_an_overflow_costs_an_update_and_nothing_else(tmp_path):
    """The loss scale is lowered, weights stay finite, and steps and positions go on as the data does."""
    model = make(dtype="mixed_float16")
    config = dataclasses.replace(CONFIG, precision="mixed_float16", steps=8)
    trainer = Trainer(model, config, tmp_path)
    trainer.model.optimizer.dynamic_scale.assign(2.0**40)
    trainer.fit(stream(trainer))
    assert trainer.step == 8
    assert float(trainer.model.optimizer.dynamic_scale) < 2.0**40
    assert all(np.isfinite(array).all() for array in named_arrays(model).values())
    expected = BatchStream(corpus(), 64, seed=3)
    assert len([*itertools.islice(expected, 9)]) == 9
    assert trainer.position == expected.position(8)


def test_the_real_model_trains_in_half_precision_with_accumulation(tmp_path):
    model = make_real(dropout=True, precision="mixed_float16")
    _, mean = train(model, micro_batches(), tmp_path, precision="mixed_float16", micro_batch_tokens=32, steps=4)
    assert all(np.isfinite(array).all() for array in mean.values())
    assert np.isfinite([line["train_loss"] for line in history(tmp_path)]).all()


def run_on_jax(folder):
    """What the test below runs in a process of its own."""
    assert keras.backend.backend() == "jax"
    folder = pathlib.Path(folder)
    _, whole = train(make(eager=False), whole_batches(), folder / "whole", steps=3)
    _, micro = train(make(eager=False), micro_batches(), folder / "micro", steps=3, micro_batch_tokens=32)
    assert_close(micro, whole)
    assert np.abs(whole["output/bias"] - named_arrays(make())["output/bias"]).max() > 1e-3
    expected = run_interrupted(lambda: make(dropout=0.3, eager=False), folder / "a", [])[1]
    assert_same(run_interrupted(lambda: make(dropout=0.3, eager=False), folder / "b", [2])[1], expected)
    _, real = train(make_real(dropout=True), whole_batches(), folder / "real", steps=2)
    assert all(np.isfinite(array).all() for array in real.values())
    print("done on", keras.backend.backend())


def test_training_on_jax(tmp_path):
    code = f"import runpy; runpy.run_path({__file__!r})['run_on_jax']({str(tmp_path)!r})"
    environment = {**os.environ, "KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu", "JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}
    root = pathlib.Path(__file__).parents[2]
    command = [sys.executable, "-W", "error", "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=root, timeout=300)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1] == "done on jax"
