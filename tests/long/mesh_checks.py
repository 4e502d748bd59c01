"""Trains on meshes of 8 logical devices on JAX: the weights must equal those of one device, also if the mesh changes.

python tests/long/mesh_checks.py
python tests/long/mesh_checks.py --memory base
"""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np
from worker_checks import ROOT, STEPS, command, largest_difference, outcomes, weights

DEVICES = 8
MESHES = (8, 1), (4, 2), (2, 4), (1, 8)
WORDS = "a b c d e f g h i j k l m n o p q r s t u v w x y z".split()


def environment(devices: int) -> dict[str, str]:
    """Returns the environment of a process with logical devices."""
    flags = f"--xla_force_host_platform_device_count={devices}"
    own = {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags, "PYTHONPATH": str(ROOT)}
    return {**os.environ, **own}


def train(arguments: list, output: pathlib.Path, model_devices: int, steps: int = STEPS) -> list[dict]:
    """Trains on 8 devices, or on one for 0 `model_devices`; returns the lines of the run's log."""
    several = ["--strategy", "mirrored", "--model-devices", str(model_devices)] if model_devices else []
    several += ["--set", "model.num_heads=8", "--set", f"training.steps={steps}"]
    line = [sys.executable, *arguments, *several]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "cwd": ROOT}
    process = subprocess.Popen(line, env=environment(DEVICES if model_devices else 1), **pipes)
    ((status, text),) = outcomes([process])
    assert status == 0, text
    return [json.loads(line) for line in (output / "training" / "log.jsonl").read_text().splitlines()]


def write_corpora(folder: pathlib.Path, pairs: int = 600) -> list[pathlib.Path]:
    """Writes a corpus whose target is its source, backwards; returns source, target, dev source and dev target."""
    generator, files = random.Random(0), []
    for part, count in (("train", pairs), ("dev", 8)):
        texts = [generator.choices(WORDS, k=generator.randrange(1, 20)) for _ in range(count)]
        for language, step in (("en", 1), ("de", -1)):
            files.append(folder / f"{part}.{language}")
            files[-1].write_text("".join(" ".join(words[::step]) + "\n" for words in texts))
    return files


def check(folder: pathlib.Path, meshes=MESHES, log=print) -> None:
    """Raises `AssertionError` if a mesh differs from one device by more than rounding.

    Adam enlarges differences of rounding, so that they are compared with what the last ten updates have changed.
    """
    corpora = write_corpora(folder)

    def arguments(name):
        return command(corpora, folder / name, 10, workers=1)

    losses = [line["train_loss"] for line in train(arguments("one"), folder / "one", 0)]
    one = weights(folder / "one", STEPS)
    moved = largest_difference(weights(folder / "one", STEPS - 10), one)
    for data, model in meshes:
        name = f"{data}x{model}"
        found = [line["train_loss"] for line in train(arguments(name), folder / name, model)]
        compare(name, weights(folder / name, STEPS), one, found, losses, moved, log)
    train(arguments("changed"), folder / "changed", 2, 10)
    found = [line["train_loss"] for line in train(arguments("changed"), folder / "changed", 4)]
    compare("4x2, after 10 updates 2x4", weights(folder / "changed", STEPS), one, found, losses, moved, log)


def compare(name, arrays, one, found, losses, moved, log):
    difference, loss = largest_difference(arrays, one), np.abs(np.subtract(found, losses)).max()
    log(f"{name}: weights differ by {difference:.1e} (ten updates changed {moved:.1e}), losses by {loss:.1e}")
    assert difference < 1e-5 + 0.001 * moved and loss < 1e-5 * max(losses)


MEMORY = """
import sys
import keras
from zoo.distribution.mesh import bytes_per_device, shard_optimizer
from zoo.distribution.on_jax import set_parallel
from zoo.models.seq2seq import Seq2Seq
from zoo.translation.recipes import RECIPES
recipe, model_devices = RECIPES[sys.argv[1]], int(sys.argv[2])
if model_devices:
    set_parallel(None, model_devices)
"""


def measure_memory(recipe: str, log=print) -> None:
    """Prints the bytes of weights and of Adam's moments on each device, for each mesh."""
    code = MEMORY + (
        "from zoo.training.optimizers import make_optimizer\n"
        "model = Seq2Seq(recipe.model)\n"
        "model.build()\n"
        "optimizer = make_optimizer(recipe.training, model, 1)\n"
        "optimizer.build(model.trainable_variables)\n"
        "shard_optimizer(optimizer)\n"
        "for variables in (model.weights, optimizer.variables):\n"
        "    print('bytes', max(bytes_per_device(variables).values()))\n"
    )
    log("| mesh, data x model | weights, MB a device | moments, MB a device |\n|---|---:|---:|")
    for data, model in ((1, 0), *MESHES):
        line = [sys.executable, "-c", code, recipe, str(model)]
        process = subprocess.run(line, env=environment(DEVICES), capture_output=True, text=True, cwd=ROOT)
        assert process.returncode == 0, process.stderr
        sizes = [int(row.split()[1]) / 1e6 for row in process.stdout.splitlines() if row.startswith("bytes")]
        name = f"{data}x{model}" if model else "one device"
        log(f"| {name} | {sizes[0]:.1f} | {sizes[1]:.1f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memory", metavar="RECIPE", help="instead: the memory of a recipe's model on each device")
    options = parser.parse_args()
    if options.memory:
        measure_memory(options.memory)
        return
    with tempfile.TemporaryDirectory() as folder:
        check(pathlib.Path(folder))


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
