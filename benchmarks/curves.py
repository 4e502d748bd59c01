"""Loss curves of the same training by several versions: do they lie on each other?

    python benchmarks/curves.py --before CHECKOUT --output curves.png

Trains the recipe `tiny` on Multi30k from the same weights on the same batches: by this package in float32 and in
mixed_bfloat16 and, with --before, by another checkout of it in float32. Random numbers of the dropout may differ
between versions; `--set model.dropout=0` leaves them out. Prints and draws the mean loss of every ten steps.
"""

import argparse
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("KERAS_TRANSFORMER_DATA"), help="folder of the corpora")
    parser.add_argument("--before", help="another checkout of this package")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="change the recipe")
    parser.add_argument("--output", default="curves.png", help="the picture")
    parser.add_argument("--only", help=argparse.SUPPRESS)  # In a process of its own.
    options = parser.parse_args()
    if not options.data:
        parser.error("where are the corpora? Use --data or KERAS_TRANSFORMER_DATA")
    if options.only:
        print(json.dumps(losses(options)))
        return
    from zoo.extras import exit_without  # Not in the processes of older versions.

    exit_without("This benchmark", "matplotlib")
    runs = {"float32": (ROOT, "float32"), "mixed_bfloat16": (ROOT, "mixed_bfloat16")}
    if options.before:
        runs["before, float32"] = pathlib.Path(options.before).resolve(), "float32"
    curves = {}
    for name, (checkout, precision) in runs.items():
        command = [sys.executable, __file__, *sys.argv[1:], "--only", precision]
        environment = {**os.environ, "PYTHONPATH": str(checkout)}
        result = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
        curves[name] = json.loads(result.stdout.splitlines()[-1])
        print(f"{name:18}", *(f"{loss:.3f}" for loss in curves[name][4::5]), flush=True)
    first = curves["float32"]
    for name, curve in curves.items():
        print(f"{name:18} largest difference {max(abs(a - b) for a, b in zip(first, curve)):.4f}")
    draw(curves, options.output)


def losses(options):
    """The mean losses of every ten updates."""
    import keras

    from zoo.corpora.batching import BatchStream

    try:
        from zoo.config_values import override
    except ImportError:  # A checkout from before that module.
        from zoo.config import override
    from zoo.corpora.encoded_corpus import encode_corpus
    from zoo.models.seq2seq import Seq2Seq
    from zoo.text.tokenizer import Tokenizer
    from zoo.training.trainer import Trainer
    from zoo.translation.data import ParallelText
    from zoo.translation.recipes import TINY

    tok = pathlib.Path(options.data) / "translation" / "multi30k" / "tok"
    text = ParallelText(tok / "train.lc.norm.tok.en.gz", tok / "train.lc.norm.tok.de.gz")
    pairs = list(itertools.islice(text, 20_000))
    tokenizer = Tokenizer.load(ROOT / "zoo" / "weights" / "translation" / "multi30k-en-de" / "vocabulary.model")
    sizes = [f"model.vocabulary_size={tokenizer.vocabulary_size}", f"training.steps={options.steps}"]
    fixed = ["training.cooldown_steps=0", "training.evaluate_every=10", f"training.precision={options.only}"]
    recipe = override(TINY, [*options.set, *sizes, *fixed])
    keras.utils.set_random_seed(1)
    model = Seq2Seq(recipe.model, dtype=options.only)
    model.build()
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(model, recipe.training, folder)
        corpus = encode_corpus(pairs, tokenizer)
        trainer.fit(BatchStream(corpus, recipe.training.batch_tokens, seed=1, start=(0, 0), pad_multiple=1))
    return [figures["train_loss"] for figures in trainer.facts["history"]]


def draw(curves, path):
    from matplotlib.figure import Figure

    axes = Figure(figsize=(7, 4)).subplots()
    for name, curve in curves.items():
        axes.plot([10 * (i + 1) for i in range(len(curve))], curve, label=name, linewidth=1)
    axes.set(xlabel="update", ylabel="loss per token")
    axes.legend()
    axes.figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
