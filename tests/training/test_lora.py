"""Tests of LoRA inside encoder blocks: trainable weights, merged kernels, saved files."""

import keras
import numpy as np
import pytest

from keras_transformer import Encoder
from keras_transformer.layers.dense import Dense
from keras_transformer.training import enable_lora, merged_kernel


def make_model():
    inputs = keras.Input((None, 8))
    encoder = Encoder(2, 2, 12, name="encoder")
    return keras.Model(inputs, keras.layers.Dense(3, name="head")(encoder(inputs)))


def adapted(alpha=None):
    keras.utils.set_random_seed(1)
    model = make_model()
    found = enable_lora(model.get_layer("encoder"), 2, alpha)
    for dense in found:
        dense.lora_kernel_b.assign(np.random.default_rng(0).normal(size=dense.lora_kernel_b.shape))
    return model, found


X = np.random.default_rng(1).normal(size=(3, 5, 8)).astype("float32")


def test_only_low_rank_matrices_are_trained():
    model, found = adapted()
    assert len(found) == 2 * 6 and {type(dense) for dense in found} == {Dense}
    learning = [variable.path for variable in model.get_layer("encoder").trainable_variables]
    assert len(learning) == 2 * 12 and all("lora_kernel" in path for path in learning)
    before = {v.path: np.array(v) for v in model.variables}
    model.compile("sgd", "mse")
    model.fit(X, np.ones((3, 5, 3)), verbose=0)
    changed = {v.path for v in model.variables if v.path in before and (np.array(v) != before[v.path]).any()}
    assert changed == {*learning, "head/kernel", "head/bias"}


@pytest.mark.parametrize(("alpha", "scale"), [(None, 1.0), (6.0, 3.0)])
def test_merged_kernels(alpha, scale):
    """The model equals one without LoRA whose kernels are W + alpha / rank A B."""
    model, found = adapted(alpha)
    plain = make_model()
    layers = [layer for layer in plain.get_layer("encoder")._flatten_layers() if isinstance(layer, Dense)]
    kept = {w.path: w for w in plain.weights}
    for weight in model.weights:
        if weight.path in kept:
            kept[weight.path].assign(np.array(weight))
    for dense, own in zip(found, layers, strict=True):
        a, b = np.array(dense.lora_kernel_a), np.array(dense.lora_kernel_b)
        own.kernel.assign(np.array(dense._kernel) + scale * a @ b)
        np.testing.assert_allclose(merged_kernel(dense), own.kernel, atol=1e-6)
    np.testing.assert_allclose(model.predict(X, verbose=0), plain.predict(X, verbose=0), atol=1e-5)


@pytest.mark.parametrize("name", ["model.keras", "model.weights.h5"])
def test_files_hold_the_merged_kernels(name, tmp_path):
    model, _ = adapted()
    expected, path = model.predict(X, verbose=0), tmp_path / name
    if name == "model.keras":
        with pytest.warns(UserWarning, match="has no LoRA, nothing in it is frozen"):
            model.save(path)
        plain = keras.saving.load_model(path)
    else:
        with pytest.warns(UserWarning, match="has no LoRA, nothing in it is frozen"):
            model.save_weights(path)
        plain = make_model()
        plain.load_weights(path)
    np.testing.assert_allclose(plain.predict(X, verbose=0), expected, atol=1e-6)
    assert not [weight.path for weight in plain.weights if "lora" in weight.path]


def test_enabling_changes_no_outputs():
    model = make_model()
    before = model.predict(X, verbose=0)
    enable_lora(model, 4)
    model.compile()
    np.testing.assert_allclose(model.predict(X, verbose=0), before, atol=1e-6)


@pytest.mark.parametrize(
    ("make", "rank", "message"),
    [
        (make_model, 0, "`rank` must be a positive integer. Received: rank=0"),
        (lambda: Encoder(1, 2, 12), 2, "must be built.*Received: encoder.*1 dense layers, of which 0 are built"),
        (lambda: keras.layers.Dropout(0.1), 2, "with 0 dense layers"),
        (lambda: adapted()[0], 2, "and 12 have it"),
    ],
)
def test_invalid_arguments_raise(make, rank, message):
    layer = make()
    with pytest.raises(ValueError, match=message):
        enable_lora(layer, rank)
