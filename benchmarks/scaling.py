"""How does the loss of a translator fall with its size and its corpus? Trains, fits a law, predicts a larger run.

    python benchmarks/scaling.py train --data train.tsv.gz --dev-data dev.tsv --output grid \
        --widths 24 36 52 76 --pairs 2500 5000 10000 20000 --held-out 108 40000
    python benchmarks/scaling.py fit grid/runs.jsonl --picture scaling.png

`train` trains a translator of every width on every number of pairs, each until its loss on the dev set does not fall
any more, and the held-out one, larger than all in both. Smaller corpora are parts of the larger ones; the vocabulary,
batches and schedule are the same for all. It can be interrupted: finished runs are kept and the others resume.

`fit` fits the loss in nats a token on the dev set, for corpora that are read until it stops falling,

    1 / L^4 = 1 / K^4 + 1 / U^4    with    K(N, D)^s = (M / N)^(a s) + (C / D)^(b s)

to all but the held-out run, with N the parameters without embeddings and D the pairs. The law K says that the loss
would be (M / N)^a of a model and (C / D)^b of a corpus without the other limit (Kaplan et al. 2020, equation 1.5, where
s is 1 / b; Gordon et al. 2021 for translators). Where K is large, a model cannot do worse than U, the loss of one that
knows hardly more than the frequency of tokens (a smoothly broken power law: Caballero et al. 2022). It prints intervals
of 95 % from fits to resampled runs, and the prediction for the held-out run beside its loss.
"""

import argparse
import gzip
import itertools
import json
import os
import pathlib
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from zoo.extras import exit_without
from zoo.storage.arrays import write_atomically

SEED = 1
LAYERS = 2  # Blocks of the encoder, and of the decoder.
BREAK = 4  # How sharply the power law goes over into the loss U.


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    train = commands.add_parser("train", help="train the grid of translators")
    train.add_argument("--data", required=True, help="pairs, separated by a tab, gzip or not")
    train.add_argument("--dev-data", required=True, help="pairs of the dev set")
    train.add_argument("--widths", nargs="+", type=int, default=[24, 36, 52, 76], help="d_model of the models")
    train.add_argument("--pairs", nargs="+", type=int, default=[2500, 5000, 10_000, 20_000], help="sizes of corpora")
    train.add_argument("--held-out", nargs=2, type=int, metavar=("WIDTH", "PAIRS"), default=[108, 40_000])
    train.add_argument("--steps", type=int, default=6000, help="updates at most")
    train.add_argument("--jobs", type=int, default=2, help="runs at the same time, with one thread each")
    train.add_argument("--output", required=True, help="folder of the runs")
    fit = commands.add_parser("fit", help="fit the law to the runs of `train`")
    fit.add_argument("runs", help="runs.jsonl of `train`")
    fit.add_argument("--picture", help="draws the runs and the law")
    options = parser.parse_args()
    train_grid(options) if options.command == "train" else fit_law(options)


def train_grid(options):
    folder = pathlib.Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    with (gzip.open if options.data.endswith(".gz") else open)(options.data, "rt", encoding="utf-8") as file:
        lines = file.readlines()
    random.Random(SEED).shuffle(lines)
    sizes = sorted({*options.pairs, options.held_out[1]})
    if len(lines) < sizes[-1]:
        raise SystemExit(f"The corpus has {len(lines):,} pairs. Expected: at least {sizes[-1]:,}. Lower --pairs.")
    for pairs in sizes:
        write_atomically(folder / f"{pairs}.tsv", "".join(lines[:pairs]).encode())
    grid = [(*options.held_out, True), *((*cell, False) for cell in itertools.product(options.widths, options.pairs))]
    grid.sort(key=lambda cell: -cell[0] * cell[1])  # The longest first.
    vocabulary = folder / "vocabulary.model"
    if not vocabulary.exists():
        from zoo.text.tokenizer_training import train_tokenizer

        cells = itertools.chain.from_iterable(line.rstrip("\n").split("\t")[:2] for line in lines[: sizes[-1]])
        write_atomically(vocabulary, train_tokenizer(cells, 2000).model)
    with ThreadPoolExecutor(options.jobs) as pool:
        for _ in pool.map(lambda cell: train_one(folder, options, *cell), grid):
            rows = [row for cell in grid if (row := outcome(folder, *cell))]
            write_atomically(folder / "runs.jsonl", "".join(json.dumps(row) + "\n" for row in rows).encode())


def name_of(width, pairs):
    return f"width-{width}-pairs-{pairs}"


def train_one(folder, options, width, pairs, held_out):
    run = folder / name_of(width, pairs)
    if (run / "checkpoint" / "config.json").exists():
        return
    settings = {
        "model.hidden_dim": width,
        "model.intermediate_dim": 4 * width,
        "model.num_heads": 4,
        "model.num_encoder_layers": LAYERS,
        "model.num_decoder_layers": LAYERS,
        "model.normalize_first": "true",
        "model.dropout": 0.1,
        "training.label_smoothing": 0,
        "training.peak_learning_rate": 0.004,
        "training.warmup_steps": 300,
        "training.cooldown_steps": 0,
        "training.batch_tokens": 2048,
        "training.steps": options.steps,
        "training.evaluate_every": 250,
        "training.patience": 3,
        "training.score": "loss",
        "training.average": 1,
        "training.seed": SEED,
    }
    command = [sys.executable, "-m", "zoo.translation", "train", "--data", str(folder / f"{pairs}.tsv")]
    command += ["--dev-data", options.dev_data, "--vocabulary", str(folder / "vocabulary.model"), "--output", str(run)]
    command += itertools.chain.from_iterable(("--set", f"{name}={value}") for name, value in settings.items())
    environment = os.environ | {"TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1", "OMP_NUM_THREADS": "1"}
    with open(folder / f"{run.name}.log", "ab") as log:
        subprocess.run(command, stdout=log, stderr=log, env=environment, check=True)
    print(f"{run.name}: {outcome(folder, width, pairs, held_out)}", flush=True)


def outcome(folder, width, pairs, held_out):
    """Returns the best evaluation of a run, or None if it is not finished."""
    run = folder / name_of(width, pairs)
    if not (run / "checkpoint" / "config.json").exists():
        return None
    history = [json.loads(line) for line in (run / "training" / "log.jsonl").read_text().splitlines()]
    best = min(history, key=lambda figures: figures["dev_loss"])
    return {
        "width": width,
        "parameters": LAYERS * (4 + 8 + 2 * 8) * width**2,  # Kernels of attention and feed-forward layers.
        "pairs": pairs,
        "loss": best["dev_loss"],
        "step": best["step"],
        "last_step": history[-1]["step"],
        "held_out": held_out,
    }


def fit_law(options):
    exit_without("The fit", "scipy", *(["matplotlib"] if options.picture else []))
    rows = [json.loads(line) for line in pathlib.Path(options.runs).read_text("utf-8").splitlines()]
    grid, held_out = ([row for row in rows if row["held_out"] == wanted] for wanted in (False, True))
    if len(grid) < 8:
        raise SystemExit(f"Six numbers are fitted. Expected: at least 8 runs. Received: {len(grid)}.")
    sizes, losses = sizes_of(grid), np.array([row["loss"] for row in grid])
    law = fitted(sizes, losses)
    errors = np.log(losses / predicted(law, sizes))
    rng = np.random.default_rng(SEED)
    again = [fitted(sizes, predicted(law, sizes) * np.exp(rng.choice(errors, len(errors))), law) for _ in range(200)]
    for name, value, low, high in zip("M C a b s U".split(), law, *np.percentile(again, (2.5, 97.5), axis=0)):
        print(f"{name} = {value:.3g} [{low:.3g}, {high:.3g}]")
    print(
        f"{len(grid)} runs; the law is off by {np.abs(np.expm1(errors)).mean():.1%} on average, at most "
        f"{np.abs(np.expm1(errors)).max():.1%}"
    )
    for row in held_out:
        where = sizes_of([row])
        guess = predicted(law, where)[0]
        spread = [predicted(each, where)[0] * np.exp(rng.choice(errors)) for each in again]
        low, high = np.percentile(spread, (2.5, 97.5))
        print(
            f"held out: {row['parameters']:,} parameters, {row['pairs']:,} pairs: predicted {guess:.3f} [{low:.3f}, "
            f"{high:.3f}], found {row['loss']:.3f}, off by {abs(guess / row['loss'] - 1):.1%}"
        )
    if options.picture:
        draw(grid, held_out, law, options.picture)


def sizes_of(rows) -> np.ndarray:
    """Returns parameters and pairs of some runs, `[2, runs]`."""
    return np.array([[row[name] for row in rows] for name in ("parameters", "pairs")], "float64")


def predicted(law, sizes):
    """The law at `[2, runs]` of parameters and pairs."""
    model, data, a, b, sharpness, nothing = law
    limits = a * np.log(model / sizes[0]), b * np.log(data / sizes[1])
    power = np.logaddexp(*(sharpness * limit for limit in limits)) / sharpness
    return np.exp(-np.logaddexp(-BREAK * power, -BREAK * np.log(nothing)) / BREAK)


def fitted(sizes, losses, start=None):
    """Returns (M, C, a, b, s, U) of the least Huber loss between logarithms (Hoffmann et al. 2022, D.2)."""
    from scipy.optimize import least_squares

    def distance(values):
        return np.log(predicted(np.exp(values), sizes) / losses)

    bounds = np.array([(-5, 60), (-5, 60), (-4, 1.1), (-4, 1.1), (-1, 5), (0, 3)]).T
    starts = itertools.product((12, 17), (10, 13), np.log((0.2, 0.4)), np.log((0.2, 0.5)), (0, 2), (1.6,))
    if start is not None:
        starts = [np.log(start)]
    found = []
    for values in starts:
        inside = np.clip(values, np.add(bounds[0], 1e-6), np.subtract(bounds[1], 1e-6))
        found.append(least_squares(distance, inside, bounds=bounds, loss="huber", f_scale=0.01))
    return np.exp(min(found, key=lambda result: result.cost).x)


def draw(grid, held_out, law, path):
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(7, 4.5))
    pairs = np.geomspace(min(row["pairs"] for row in grid) / 1.3, 1.3 * max(row["pairs"] for row in grid + held_out))
    for number, parameters in enumerate(sorted({row["parameters"] for row in grid + held_out})):
        own = [row for row in grid + held_out if row["parameters"] == parameters]
        colour = plt.get_cmap("viridis")(number / 5)
        axis.plot(pairs, predicted(law, np.array([np.full_like(pairs, parameters), pairs])), color=colour, lw=1)
        for row in own:
            axis.plot(
                row["pairs"], row["loss"], "*" if row["held_out"] else "o", color=colour, ms=6 + 8 * row["held_out"]
            )
        axis.plot(
            [], [], "o", color=colour, label=f"{parameters:,} parameters{', held out' if own[0]['held_out'] else ''}"
        )
    axis.set(xscale="log", yscale="log", xlabel="pairs", ylabel="loss on dev, nats a token")
    axis.legend(fontsize=8)
    axis.grid(alpha=0.3, which="both")
    figure.tight_layout()
    figure.savefig(path)


if __name__ == "__main__":
    main()
