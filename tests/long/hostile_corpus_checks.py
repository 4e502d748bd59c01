"""Trains on hostile corpora by the commands; each must succeed or print a clear error, on a terminal.

python tests/long/hostile_corpus_checks.py --texts 500 --long 1000000
"""

import argparse
import os
import pathlib
import sys
import tempfile

import hostile_checks
from hostile_checks import ROOT, on_terminal

SIZES = ["hidden_dim=16", "intermediate_dim=32", "num_heads=2", "vocabulary_size=400"]
TRAINING = ["steps=4", "warmup_steps=1", "cooldown_steps=1", "evaluate_every=2", "batch_tokens=512", "max_tokens=64"]
LABELS = ["a", "[bold]b", "\x1b[31m", "ü \u202e", "-LRB-", "</s>", "%s"]


def lines(count: int, longest: int) -> list[bytes]:
    """Returns hostile texts as lines of a file, some of which are not UTF-8."""
    texts = [" ".join(text.split()) for text in hostile_checks.texts(count, longest)]
    return [text.encode("utf-8", "surrogatepass") for text in texts]


def translation(folder, given):
    """Writes a corpus with itself as translation, in which some sides are missing."""
    sides = folder / "source.txt", folder / "target.txt"
    for path, rows in zip(sides, (given, given[::-1])):
        path.write_bytes(b"\n".join(rows) + b"\n")
    corpus = ["--source", sides[0], "--target", sides[1]]
    vocabulary = folder / "vocabulary.model"
    dev = ["--dev-source", sides[0], "--dev-target", sides[1]]
    layers = ["--set", "model.num_encoder_layers=1", "--set", "model.num_decoder_layers=1"]
    yield ["vocabulary", *corpus, "--size", "400", "--output", vocabulary]
    yield ["prepare", *corpus, "--vocabulary", vocabulary, "--processes", "2", "--output", folder / "shards"]
    yield ["train", "--recipe", "tiny", *corpus, *dev, *layers, "--set", "training.score=loss"]
    yield ["evaluate", *corpus]


def classification(folder, given):
    """Writes lines of a class and a text."""
    path = folder / "texts.tsv"
    labels = [label.encode() for label in LABELS]
    path.write_bytes(b"".join(labels[i % len(labels)] + b"\t" + row + b"\n" for i, row in enumerate(given)))
    yield ["train", "--data", path, "--dev-data", path, "--set", "model.num_layers=1"]
    yield ["evaluate", "--data", path]


def labelling(folder, given):
    """Writes lines of a word and its label, with at most a hundred words in a sentence."""
    path = folder / "words.tsv"
    labels = [label.encode() for label in LABELS]
    words = [row.split()[:100] for row in given]
    sentences = [[word + b"\t" + labels[len(word) % len(labels)] for word in row] for row in words]
    path.write_bytes(b"\n\n".join(b"\n".join(rows) for rows in sentences if rows) + b"\n")
    yield ["train", "--data", path, "--dev-data", path, "--set", "model.num_layers=1"]
    yield ["evaluate", "--data", path]


def parsing(folder, given):
    """Writes trees over hostile words, and one of depth 150, in valid UTF-8, which files of trees must be."""
    path = folder / "trees.txt"
    given = [row.decode("utf-8", "replace").encode() for row in given]
    words = [row.replace(b"(", b"").replace(b")", b"").split()[:60] or [b"x"] for row in given]
    trees = [b"(TOP (S " + b" ".join(b"([x] " + word + b")" for word in row) + b"))" for row in words]
    deep = b"(NP " * 150 + b"(N x)" + b")" * 150
    path.write_bytes(b"\n".join([*trees, b"(TOP (S (N deep) " + deep + b"))"]) + b"\n")
    yield ["train", "--data", path, "--dev-data", path, "--set", "model.num_layers=1"]
    yield ["evaluate", "--data", path]


def pretraining(folder, given):
    """Writes lines of text."""
    path = folder / "texts.txt"
    path.write_bytes(b"\n".join(given) + b"\n")
    yield ["train", "--data", path, "--dev-data", path, "--set", "model.num_layers=1"]
    yield ["evaluate", "--data", path]


TASKS = {task.__name__: task for task in (translation, classification, labelling, parsing, pretraining)}


def check(task: str, count: int, longest: int, log=print) -> None:
    """Raises `AssertionError` if a command neither succeeds nor prints one line, or output controls a terminal."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name, *arguments in TASKS[task](folder, lines(count, longest)):
            if name == "train":
                sizes = [f"model.{size}" for size in SIZES] + [f"training.{item}" for item in TRAINING]
                arguments += [part for change in sizes for part in ("--set", change)]
                arguments += ["--output", folder / "run"]
            if name == "evaluate":
                arguments += ["--checkpoint", folder / "run" / "checkpoint"]
            command = [sys.executable, "-m", f"zoo.{task}", name, *map(str, arguments)]
            status, shown = on_terminal(command, environment, errors=True)
            text = shown.decode("utf-8", "replace")
            assert status == 0 or (status == 2 and "error: " in text and "Traceback" not in text), text[-3000:]
            last = text.strip().splitlines()[-1]
            log(f"{task} {name}: status {status}, {len(shown):,} bytes shown, the last: {last[:150]}", flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--texts", type=int, default=500, help="random mixtures")
    arguments.add_argument("--long", type=int, default=1_000_000, help="characters of the long texts")
    arguments.add_argument("--tasks", nargs="*", choices=TASKS, default=[*TASKS])
    options = arguments.parse_args()
    for task in options.tasks:
        check(task, options.texts, options.long)


if __name__ == "__main__":
    main()
