"""The largest batch of a recipe that fits into some memory, with and without rematerialisation.

    python benchmarks/largest_batch.py --recipe base --limit 16

Each figure is the most that was resident of a fresh process (VmHWM, Linux), libraries and tracing included, that trains
a translator of random sentences for three updates. A line through two sizes says which batch fits; it is trained, too,
and a line through it and the one before says better. Tokens are those of the targets; the sources have as many.
"""

import argparse
import dataclasses
import os
import subprocess
import sys
import tempfile

import numpy as np
from rematerialisation import resident

LENGTH = 32  # Tokens of a sentence.


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recipe", default="base")
    parser.add_argument("--vocabulary", type=int, default=37_000)
    parser.add_argument("--limit", type=float, default=16, help="GiB of memory")
    parser.add_argument("--tokens", nargs=2, type=int, default=[1024, 4096], help="two sizes to begin with")
    parser.add_argument("--worker", nargs=2, metavar=("KIND", "TOKENS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return work(options, options.worker[0] == "remat", int(options.worker[1]))
    for kind in ("plain", "remat"):
        found = [(tokens, measured(kind, tokens)) for tokens in options.tokens]
        for _ in range(2):
            slope, start = np.polyfit(*np.array(found[-2:]).T, 1)
            largest = int((options.limit * 1024 - start) / slope) // LENGTH * LENGTH
            print(f"{kind}: {1024 * slope:.0f} KiB a token; {largest:,} tokens should fit into {options.limit:g} GiB")
            found.append((largest, measured(kind, largest)))


def measured(kind, tokens):
    """Returns MiB of a fresh process, and prints them."""
    environment = {name: value for name, value in os.environ.items() if name != "GLIBC_TUNABLES"}
    command = [sys.executable, *sys.argv, "--worker", kind, str(tokens)]
    peak, seconds = map(float, subprocess.check_output(command, text=True, env=environment).split()[-2:])
    print(f"{kind}, {tokens:,} tokens: {peak:,.0f} MiB, {seconds:.1f} s an update", flush=True)
    return peak


def work(options, remat, tokens):
    from zoo.models.seq2seq import Seq2Seq
    from zoo.training.trainer import Trainer
    from zoo.translation.predictor import Translator
    from zoo.translation.recipes import RECIPES

    recipe = RECIPES[options.recipe]
    model = Seq2Seq(dataclasses.replace(recipe.model, vocabulary_size=options.vocabulary))
    model.build()
    training = dataclasses.replace(recipe.training, remat=remat, batch_tokens=tokens, micro_batch_tokens=0)
    rng = np.random.default_rng(0)

    def batches():
        while True:
            shapes = {"source": (tokens // LENGTH, LENGTH), "target": (tokens // LENGTH, LENGTH + 1)}
            yield {name: rng.integers(4, options.vocabulary, shape, "int32") for name, shape in shapes.items()}

    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(model, training, folder, split=Translator.split, pad_label=Translator.pad_label)
        seconds, _ = trainer.measure(batches(), 1)
    print(resident("VmHWM"), seconds)


if __name__ == "__main__":
    main()
