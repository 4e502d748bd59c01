"""Digests of the corpora of a training run, which must stay the same when it resumes."""

import hashlib
import pathlib

import numpy as np

from zoo.corpora.batching import Corpus
from zoo.storage.arrays import write_atomically
from zoo.training.runs import TrainingData


def check_corpus(corpus: Corpus, folder: pathlib.Path) -> None:
    """Writes the digest of the training corpus to the folder of a run, or compares it with the one written there.

    Raises:
        ValueError: If the run was started with another corpus.
    """
    _check(folder / "corpus.sha256", corpus_digest(corpus), len(corpus), "corpus")


def check_dev(data: TrainingData, folder: pathlib.Path) -> None:
    """Does the same for the dev set.

    Evaluations on two dev sets cannot be compared, so that the best weights of such a run would be arbitrary.

    Raises:
        ValueError: If the run was started with another dev set.
    """
    digest = hashlib.sha256(repr(data.dev).encode("utf-8", "surrogatepass")).hexdigest()
    _check(folder / "dev.sha256", digest, data.dev_size, "dev set")


def _check(path, digest, count, name):
    if not path.exists():
        write_atomically(path, f"{digest} {count}".encode())
        return
    started, _, examples = path.read_text("utf-8").partition(" ")
    if started != digest:
        examples = f" of {int(examples):,} examples" if examples else ""
        raise ValueError(
            f"The training run in {path.parent} was started with another {name}{examples}. Received: {count:,} "
            f"examples. Use that {name} to resume it, or another folder; nothing was changed."
        )


def corpus_digest(corpus: Corpus) -> str:
    """Computes the SHA-256 of all arrays of a corpus; prepared corpora have it stored."""
    if hasattr(corpus, "digest"):
        return corpus.digest
    digest = hashlib.sha256()
    for array in corpus.arrays():
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
