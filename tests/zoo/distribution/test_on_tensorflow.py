"""Training on several devices equals training on one."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
from strategies import REPLICAS, mirrored, run_with_four_replicas
from trainer_checks import assert_close, history, make, make_real, train, whole_batches

from zoo.commands.command_line import make_strategy
from zoo.config import ModelConfig, Recipe, TrainingConfig
from zoo.config_values import override
from zoo.distribution.on_tensorflow import mirrored_strategy
from zoo.storage.arrays import named_arrays
from zoo.training_config import AugmentConfig
from zoo.translation import task
from zoo.translation.recipes import RECIPES


def make_small(**arguments):
    return make(eager=False, **arguments)


def make_mirrored(maker=make_small, **arguments):
    with mirrored().scope():
        return maker(**arguments)


@pytest.fixture(scope="module")
def one_device(tmp_path_factory):
    folder = tmp_path_factory.mktemp("one")
    return folder, train(make_small(), whole_batches(), folder, steps=20, evaluate_every=5)[1]


@pytest.mark.parametrize("micro_batch_tokens", [0, 8])
def test_the_same_weights_and_losses_as_on_one_device(micro_batch_tokens, one_device, tmp_path):
    folder, expected = one_device
    changes = {"steps": 20, "evaluate_every": 5, "micro_batch_tokens": micro_batch_tokens}
    trainer, found = train(make_mirrored(), whole_batches(), tmp_path, **changes)
    assert trainer.replicas == REPLICAS
    assert trainer.accumulation == (64 // (8 * REPLICAS) if micro_batch_tokens else 1)
    assert_close(found, expected)
    losses = [[line["train_loss"] for line in history(path)] for path in (folder, tmp_path)]
    np.testing.assert_allclose(*losses, rtol=1e-4)


@pytest.mark.slow
def test_four_replicas():
    files = __file__, "tests/training/test_replicas.py", "tests/zoo/training/test_optimizers.py"
    run_with_four_replicas(*files, tests="one_device or (equals_the_equations and 4-)")


@pytest.mark.slow
def test_the_real_model(tmp_path):
    steps = {"steps": 20, "evaluate_every": 10}
    _, expected = train(make_real(dropout=False), whole_batches(), tmp_path / "one", **steps)
    several = make_mirrored(make_real, dropout=False)
    _, found = train(several, whole_batches(), tmp_path / "two", micro_batch_tokens=16, **steps)
    assert_close(found, expected)


@pytest.mark.slow
def test_a_run_resumes_with_and_without_a_strategy(one_device, tmp_path):
    for steps, maker in zip((5, 10, 15, 20), itertools.cycle((make_mirrored, make_small))):
        batches = itertools.islice(whole_batches(), steps - 5, None)
        _, found = train(maker(), batches, tmp_path, steps=steps, evaluate_every=5)
    assert_close(found, one_device[1])


@pytest.mark.parametrize("precision", [pytest.param("mixed_bfloat16", marks=pytest.mark.slow), "mixed_float16"])
def test_half_precision_and_dropout(precision, tmp_path):
    changes = {"precision": precision, "micro_batch_tokens": 16, "steps": 20, "evaluate_every": 10}
    _, mean = train(make_mirrored(dropout=0.1, dtype=precision), whole_batches(), tmp_path, **changes)
    losses = [line["train_loss"] for line in history(tmp_path)]
    assert all(np.isfinite(array).all() for array in mean.values()) and losses[1] < losses[0]


@pytest.mark.slow
@pytest.mark.long
def test_augmented_pairs_and_dropped_merges_are_the_same(corpus, tokenizer, tmp_path):
    """The settings of the recipe `robust` that draw random numbers."""
    sizes = {"hidden_dim": 8, "intermediate_dim": 16, "num_heads": 2, "num_encoder_layers": 1, "num_decoder_layers": 1}
    augment = AugmentConfig(upper=0.2, lower=0.2, typos=0.3, joined=0.2, copies=0.2, names=0.5, numbers=0.5)
    settings = {"batch_tokens": 256, "steps": 12, "evaluate_every": 4, "subword_dropout": 0.3, "score": "loss"}
    recipe = Recipe(
        ModelConfig(vocabulary_size=400, dropout=0.0, **sizes),
        TrainingConfig(**settings, warmup_steps=2, peak_learning_rate=0.02, augment=augment, placeholders=True),
    )

    def trained(name, strategy=None):
        found = task.train(
            recipe, corpus.train, corpus.dev, tmp_path / name, {}, tokenizer, log=lambda line: None, strategy=strategy
        )
        losses = [line["train_loss"] for line in history(tmp_path / name / "training")]
        return named_arrays(found.model), losses

    (one, losses), (several, found) = trained("one"), trained("several", mirrored())
    np.testing.assert_allclose(found, losses, rtol=1e-4)
    assert_close(several, one, tolerance=2e-4)  # Rare pieces have gradients near 0.


def test_xla_under_a_strategy_is_refused(tmp_path):
    recipe = override(RECIPES["small"], ["training.jit_compile=true"])
    with pytest.raises(ValueError, match="XLA cannot compile updates under a tf.distribute strategy"):
        task.train(recipe, None, None, tmp_path, strategy=mirrored_strategy())
    assert not [*tmp_path.iterdir()]


def test_the_default_strategy_uses_all_devices():
    devices = len(keras.distribution.list_devices("gpu")) or 4  # Logical CPUs of tests/conftest.py.
    assert mirrored_strategy().num_replicas_in_sync == devices


@pytest.mark.parametrize(
    "name, operations",
    [
        ("nccl", tf.distribute.NcclAllReduce),
        ("hierarchical", tf.distribute.HierarchicalCopyAllReduce),
        ("one-device", tf.distribute.ReductionToOneDevice),
        (None, type(None)),
    ],
)
def test_cross_device_operations(name, operations, monkeypatch):
    monkeypatch.setattr(tf.distribute, "MirroredStrategy", lambda cross_device_ops: cross_device_ops)
    assert type(make_strategy("mirrored", name)) is operations


@pytest.mark.parametrize("strategy", [None, "workers"])
def test_cross_device_operations_need_a_mirrored_strategy(strategy):
    with pytest.raises(ValueError, match="--cross-device-ops is for --strategy mirrored on TensorFlow. Received: "):
        make_strategy(strategy, "nccl")
