"""Estimates of training runs: sizes against those of the real model, and what must hold between meshes."""

import dataclasses

import numpy as np
import pytest

from zoo.__main__ import main
from zoo.config import change_recipe
from zoo.distribution.mesh import parts_of_moments, parts_of_weight
from zoo.images.recipes import RECIPES as IMAGES
from zoo.language_modelling.recipes import RECIPES as LANGUAGE_MODELS
from zoo.models.language_model import LanguageModel
from zoo.models.seq2seq import Seq2Seq
from zoo.training.device_speed import measure_device
from zoo.training.devices import DEVICES, Device
from zoo.training.estimates import estimate
from zoo.translation.recipes import RECIPES

H100 = DEVICES["h100"]
SMALL = change_recipe(RECIPES["small"], ["model.hidden_dim=16", "model.num_heads=2", "model.intermediate_dim=24"])


@pytest.mark.parametrize(
    ("recipe", "model_class"), [(SMALL, Seq2Seq), (LANGUAGE_MODELS["small"], LanguageModel)], ids=["pairs", "texts"]
)
def test_parameters_are_those_of_the_model(recipe, model_class):
    model = model_class(recipe.model)
    model.build()
    found = estimate(recipe, H100)
    assert found.parameters == model.count_params()
    assert found.memory["weights"] == 4 * model.count_params()
    assert found.memory["Adam's two moments"] == 8 * model.count_params()


def test_products_of_an_update_are_those_of_the_equations():
    """Vaswani et al. 2017, with six of multiplications and additions for each weight and position in training."""
    width, inner, steps, vocabulary = 16, 24, 8, 8000
    block = 4 * width * width + 2 * width * inner
    weights = 3 * block + 3 * (block + 4 * width * width) + vocabulary * width
    scores = 2 * steps * width * (3 + 2 * 3)  # Of the query with each key, and each value by its weight.
    expected = 6 * (weights + scores) * SMALL.training.batch_tokens
    assert estimate(SMALL, H100, length=steps).flops == expected


def test_times_of_an_h100_are_near_the_measured_ones():
    """38.5 ms for `base` and 85.9 ms for `big`, 390 pairs of 64 tokens in bfloat16: benchmarks/README.md."""
    for name, milliseconds in (("base", 38.5), ("big", 85.9)):
        recipe = change_recipe(RECIPES[name], ["training.precision=mixed_bfloat16"])
        assert 1000 * estimate(recipe, H100, length=64).update == pytest.approx(milliseconds, rel=0.1)


def test_meshes_divide_memory_and_products():
    one, pairs, eight = (estimate(RECIPES["base"], H100, *mesh) for mesh in ((1, 1), (4, 2), (1, 8)))
    assert one.memory["weights"] / pairs.memory["weights"] == pytest.approx(2, rel=0.01)
    assert one.memory["weights"] / eight.memory["weights"] == pytest.approx(8, rel=0.01)
    assert one.memory["Adam's two moments"] / pairs.memory["Adam's two moments"] == pytest.approx(8, rel=0.01)
    assert one.flops == 8 * pairs.flops == 8 * eight.flops
    assert one.seconds["sums of gradients"] == eight.seconds["sums of gradients"] == 0
    assert pairs.seconds["sums of gradients"] > 0 < eight.seconds["sums among model devices"]


def test_parts_follow_the_paths():
    kernel = "seq2seq/encoder/block_0/self_attention/query_dense/kernel"
    assert parts_of_weight(kernel, (16, 32), 4) == 4
    assert parts_of_weight(kernel, (16, 30), 4) == 1
    assert parts_of_moments(kernel, (16, 32), 2, 4) == 8
    assert parts_of_moments(kernel, (15, 32), 2, 4) == 4
    assert parts_of_weight("seq2seq/encoder/block_0/norm/gamma", (16,), 4) == 1
    assert parts_of_moments("seq2seq/encoder/block_0/norm/gamma", (16,), 2, 4) == 2


def test_as_few_micro_batches_as_fit():
    small = Device(2e9, 1e12, 1e11, 1e10)
    found = estimate(RECIPES["base"], small)
    assert found.micro_batches > 1
    assert sum(found.memory.values()) <= 0.9 * small.memory
    fewer = estimate(RECIPES["base"], small, micro_batches=found.micro_batches // 2)
    assert sum(fewer.memory.values()) > 0.9 * small.memory
    again = dataclasses.replace(RECIPES["base"].training, remat=True)
    assert estimate(dataclasses.replace(RECIPES["base"], training=again), small).micro_batches < found.micro_batches


def test_what_cannot_be_estimated():
    with pytest.raises(ValueError, match="does not fit.*Received.*Take more devices"):
        estimate(RECIPES["big"], Device(1e9, 1e12, 1e11, 1e10))
    with pytest.raises(ValueError, match="Received: a recipe with a ImageClassifierConfig"):
        estimate(IMAGES["small"], H100)


def test_the_command(capsys):
    line = ["estimate", "translation", "--recipe", "base", "--device", "h200", "--devices", "8", "--price", "2"]
    assert main(line) == 0
    shown = capsys.readouterr().out
    assert "63,082,496" in shown and "price" in shown
    for wrong, message in (
        (["--model-devices", "3"], "divide the number of devices, 8. Received: 3"),
        (["--devices", "0"], "--devices must be at least 1"),
        (["--price", "-1"], "--price must not be negative"),
        (["--recipe", "none"], "--recipe must be one of"),
    ):
        assert main([*line, *wrong]) == 2
        assert message in capsys.readouterr().err.replace("\n", " ")


def test_this_machine_is_measured():
    found = measure_device("float32")
    assert 1e8 < found.flops < 1e16 and 1e8 < found.bandwidth < 1e14 and found.memory > 1e8
    assert np.isinf(found.link)
