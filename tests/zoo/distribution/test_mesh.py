"""On a mesh of logical devices each has its part of a model, and training gives the weights of one device."""

import os
import pathlib
import subprocess
import sys

import pytest
from mesh_checks import check

ROOT = pathlib.Path(__file__).parents[3]
CODE = """
import dataclasses
import jax
import keras
import numpy as np
from jax.sharding import PartitionSpec as P
from zoo.config import ModelConfig
from zoo.distribution.mesh import MeshParallel, bytes_per_device, shard_optimizer
from zoo.models.seq2seq import Seq2Seq
from zoo.training.devices import DEVICES
from zoo.training.estimates import estimate
from zoo.translation.recipes import RECIPES

def build():
    keras.utils.set_random_seed(1)
    model = Seq2Seq(ModelConfig(
        vocabulary_size=302, num_encoder_layers=1, num_decoder_layers=1, hidden_dim=64, num_heads=8,
        intermediate_dim=128,
    ))
    model.build()
    optimizer = keras.optimizers.Adam()
    optimizer.build(model.trainable_variables)
    return model, optimizer

one, _ = build()
devices = keras.distribution.list_devices()
for wrong in (3, 0, 16):
    try:
        MeshParallel(devices, wrong)
        raise SystemExit("accepted")
    except ValueError as error:
        assert f"8. Received: {wrong}." in str(error), error
keras.distribution.set_distribution(MeshParallel(devices, 4))
model, optimizer = build()
before = [np.asarray(variable) for variable in optimizer.variables]
shard_optimizer(optimizer)
divided = 0
for weight, same in zip(model.weights, one.weights, strict=True):
    np.testing.assert_array_equal(np.asarray(weight), np.asarray(same))
    (size,) = {*bytes_per_device([weight]).values()}
    whole = np.asarray(weight).nbytes
    product = weight.path.endswith("dense/kernel")
    assert size == (whole // 4 if product else size) and size in (whole, whole // 4), weight.path
    assert product or not weight.path.endswith("embedding/embeddings") or size == whole  # 302 is odd for four.
    divided += product
assert divided == 16
for variable, value in zip(optimizer.variables, before):
    np.testing.assert_array_equal(np.asarray(variable), value)
    (size,) = {*bytes_per_device([variable]).values()}
    if "kernel" in variable.path:
        assert size == value.nbytes // 8, variable.path
    if "gamma" in variable.path:
        assert size == value.nbytes // 2, variable.path

# Estimates of memory are what the devices have.
recipe = dataclasses.replace(RECIPES["small"], model=model.config)
found = estimate(recipe, DEVICES["h100"], 2, 4).memory
assert found["weights"] == max(bytes_per_device(model.trainable_variables).values())
moments = [variable for variable in optimizer.variables if variable.shape]
assert found["Adam's two moments"] == max(bytes_per_device(moments).values())

# Each device attends with its own heads: a block exchanges sums only.
ids = jax.ShapeDtypeStruct((4, 6), "int32", sharding=jax.NamedSharding(model.weights[0].value.sharding.mesh, P("data")))
state = [[variable.value for variable in group] for group in (model.trainable_variables, model.non_trainable_variables)]

def loss(trainable, others, source, target):
    inputs = {"source": source, "target": target}
    return model.stateless_call(trainable, others, inputs, training=True)[0].sum()

program = jax.jit(jax.grad(loss)).lower(*state, ids, ids).compile().as_text()
assert "all-reduce(" in program and "all-to-all(" not in program
assert not [line for line in program.splitlines() if " all-gather(" in line and "attention" in line]
print("done")
"""


FAMILIES = """
import jax
import keras
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec as P
from test_training_argument import MODELS
from zoo.distribution.mesh import MeshParallel, bytes_per_device

def gradients(model_class, config, inputs, mesh=None):
    keras.utils.set_random_seed(1)
    model = model_class(config)
    model.build()
    groups = model.trainable_variables, model.non_trainable_variables
    state = [[variable.value for variable in group] for group in groups]
    if mesh is not None:
        place = NamedSharding(mesh, P("data"))
        inputs = {name: jax.device_put(np.asarray(array), place) for name, array in inputs.items()}

    def loss(trainable, others, inputs):
        outputs = keras.tree.flatten(model.stateless_call(trainable, others, inputs, training=True)[0])
        return sum((output.astype("float32") ** 2).mean() for output in outputs)

    value, found = jax.jit(jax.value_and_grad(loss))(*state, inputs)
    return model, float(value), [np.asarray(each) for each in found]

one = [gradients(*case) for case in MODELS]
keras.distribution.set_distribution(MeshParallel(keras.distribution.list_devices(), 4))
mesh = None
for case, (same, loss, expected) in zip(MODELS, one):
    mesh = mesh or gradients(*case)[0].trainable_variables[-1].value.sharding.mesh
    model, value, found = gradients(*case, mesh)
    np.testing.assert_allclose(value, loss, rtol=1e-4, err_msg=case[0].__name__)
    for weight, array, wanted in zip(model.trainable_variables, found, expected, strict=True):
        scale = np.abs(wanted).max() + 1e-3
        np.testing.assert_allclose(array, wanted, atol=1e-3 * scale, err_msg=f"{case[0].__name__} {weight.path}")
    blocks = [weight for weight in model.trainable_variables if "/block_" in weight.path]
    share = max(bytes_per_device(blocks).values()) / (4 * sum(weight.value.size for weight in blocks))
    print(case[0].__name__, f"{share:.2f}")
    assert share < 0.4, case[0].__name__
print("done")
"""


def run_on_devices(code):
    path = os.pathsep.join(map(str, (ROOT, ROOT / "tests", ROOT / "tests/zoo/models")))
    own = {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu", "JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}
    own |= {"XLA_FLAGS": "--xla_force_host_platform_device_count=8", "PYTHONPATH": path}
    return subprocess.run([sys.executable, "-c", code], env={**os.environ, **own}, capture_output=True, text=True)


@pytest.mark.slow
@pytest.mark.long
def test_each_device_has_its_part_of_weights_and_moments():
    pytest.importorskip("jax", reason="jax is not installed")
    result = run_on_devices(CODE)
    assert result.stdout.endswith("done\n"), result.stdout + result.stderr


@pytest.mark.slow
@pytest.mark.long
def test_gradients_of_all_families_are_those_of_one_device():
    """With dropout, in groups of four devices, which hold parts of most of their weights."""
    pytest.importorskip("jax", reason="jax is not installed")
    result = run_on_devices(FAMILIES)
    assert result.stdout.endswith("done\n"), result.stdout + result.stderr


@pytest.mark.slow
@pytest.mark.long
def test_training_on_meshes_equals_that_of_one_device(tmp_path):
    """`python tests/long/mesh_checks.py` trains on more meshes."""
    pytest.importorskip("jax", reason="jax is not installed")
    check(tmp_path, meshes=[(2, 4)])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--model-devices", "2"], "for --strategy mirrored on JAX. Received: --strategy not given on tensorflow"),
        (["--model-devices", "2", "--strategy", "mirrored"], "Received: --strategy mirrored on tensorflow"),
    ],
)
def test_other_backends_are_told(options, message, tmp_path, capsys):
    from zoo.translation.__main__ import main

    (tmp_path / "a.tsv").write_text("a\tb\n")
    data = str(tmp_path / "a.tsv")
    arguments = ["train", "--data", data, "--dev-data", data, "--output", str(tmp_path / "run"), *options]
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
