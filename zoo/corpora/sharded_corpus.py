"""Corpora that several processes encode once into shards, for use in many training runs. NumPy only.

A shard is a folder of flat arrays, as `zoo.corpora.encoded_corpus` writes them. It is not a TFRecord file, since rows
are read in any order: batches collect rows of similar lengths from the whole corpus, and a training run resumes at any
batch.
"""

import hashlib
import json
import multiprocessing
import os
import pathlib
import signal
import threading
import types
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

import numpy as np

from zoo.corpora.encoded_corpus import EncodedCorpus, chunks, encode_corpus
from zoo.corpora.numbering import numbered
from zoo.corpora.reports import LineNotes
from zoo.corpora.token_rows import TokenRows
from zoo.storage.arrays import write_atomically
from zoo.storage.lock import folder_lock
from zoo.text.vocabularies import Vocabulary, load_vocabulary, read_vocabulary

_FACTS = "shards.json"
_VOCABULARY = "vocabulary.model"


def prepare_corpus(
    pairs: Iterable[tuple[str, str]],
    tokenizer: Vocabulary,
    folder: str | os.PathLike,
    *,
    max_tokens: int = 0,
    shard_pairs: int = 250_000,
    processes: int = 1,
    progress: Callable[[int], None] | None = None,
) -> "ShardedCorpus":
    """Encodes sentence pairs into shards; after an interruption, another call encodes the missing shards.

    Args:
        pairs, tokenizer, max_tokens: As for `zoo.corpora.encoded_corpus.encode_corpus`. The text is read once.
        folder: New folder, or that of an interrupted call with the same arguments.
        shard_pairs: Pairs of a shard. For each process, the text of two shards is held in memory.
        processes: Number of processes that encode.
        progress: Called with the number of pairs encoded since the last call.

    Raises:
        ValueError: If the folder is complete, contains other files, or was started with another corpus or other
            arguments; or if no pair is left.
    """
    if shard_pairs < 1 or processes < 1:
        raise ValueError(f"`shard_pairs` and `processes` must be at least 1. Received: {shard_pairs} and {processes}.")
    folder = pathlib.Path(folder)
    if (folder / _FACTS).exists():
        raise ValueError(f"{folder} holds a prepared corpus. Train on it, or prepare into another folder.")
    if not (folder / _VOCABULARY).exists() and folder.exists() and any(folder.iterdir()):
        raise ValueError(f"{folder} is not empty and holds no corpus to resume. Use another folder.")
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / _VOCABULARY, tokenizer.model)
    threads = -1 if processes == 1 else 1  # Of each process; -1 for the number of cores.
    progress = progress or (lambda pairs: None)
    digests, settings = [], {"max_tokens": max_tokens, "shard_pairs": shard_pairs, "tokenizer": tokenizer.digest}
    context = multiprocessing.get_context("spawn")
    with folder_lock(folder), ProcessPoolExecutor(processes, context, initializer=_end_with_parent) as pool:
        running: list[Future] = []
        try:
            for number, chunk in enumerate(chunks(numbered(pairs), shard_pairs)):
                digests.append(_digest(chunk, settings))
                path = folder / f"shard-{number:05d}"
                if path.exists():
                    _check_shard(path, digests[-1])
                    progress(len(chunk))
                    continue
                if len(running) >= 2 * processes:
                    progress(running.pop(0).result())
                arguments = path, tokenizer.model, threads, chunk, max_tokens, digests[-1]
                running.append(pool.submit(_encode_shard, *arguments))
            for work in running:
                progress(work.result())
        except BrokenProcessPool as error:
            raise ChildProcessError(
                "A process that encodes was killed. Run the same command again to resume."
            ) from error
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    facts = {**settings, "shards": digests}
    corpus = ShardedCorpus.of(folder, facts)
    if not len(corpus):
        raise ValueError(
            f"No pair is left to train on: there are none, or all exceed max_tokens={max_tokens}. Raise it."
        )
    write_atomically(folder / _FACTS, (json.dumps(facts, indent=1) + "\n").encode())
    return corpus


@dataclass(frozen=True, eq=False)
class ShardedCorpus(EncodedCorpus):
    """Corpus that `prepare_corpus` wrote, as memory-mapped files.

    Args:
        tokenizer: The vocabulary that it was encoded with.
        digest: Hash of its texts and settings.
    """

    tokenizer: Vocabulary | None = None
    digest: str = ""

    @classmethod
    def open(cls, folder: str | os.PathLike) -> "ShardedCorpus":
        """Opens a prepared corpus.

        Raises:
            ValueError: If it is missing or incomplete, or a shard is missing or truncated.
        """
        folder = pathlib.Path(folder)
        if not (folder / _FACTS).exists():
            raise ValueError(f"{folder} holds no complete prepared corpus (no {_FACTS}). Run the preparation again.")
        return cls.of(folder, json.loads((folder / _FACTS).read_text("utf-8")))

    @classmethod
    def of(cls, folder: pathlib.Path, facts: dict) -> "ShardedCorpus":
        """Opens the shards of a folder that its facts list."""
        tokenizer = load_vocabulary(folder / _VOCABULARY)
        shards, too_long = [], LineNotes()
        for number, digest in enumerate(facts["shards"]):
            path = folder / f"shard-{number:05d}"
            shards.append(EncodedCorpus.open(path, tokenizer))
            _check_shard(path, digest)
            notes = shards[-1].too_long
            too_long.count, too_long.first = too_long.count + notes.count, (too_long.first + notes.first)[:10]
        sides = [concatenate_rows([getattr(shard, side) for shard in shards]) for side in ("source", "target")]
        text = json.dumps(facts, sort_keys=True).encode()
        return cls(*sides, too_long, tokenizer, hashlib.sha256(text).hexdigest())


def is_prepared(path: str | os.PathLike | None) -> bool:
    """Returns whether a path is the folder of a prepared corpus, complete or not."""
    return path is not None and os.path.exists(os.path.join(path, _VOCABULARY))


class ConcatenatedIds:
    """Concatenation of flat arrays without a copy, for `TokenRows`, which reads elements by their indices."""

    def __init__(self, parts: list[np.ndarray]):
        self._parts, self.dtype, self.shape = parts, parts[0].dtype, (sum(map(len, parts)),)
        self._ends = np.cumsum([len(part) for part in parts])

    def __getitem__(self, indices: np.ndarray) -> np.ndarray:
        owners, result = np.searchsorted(self._ends, indices, "right"), np.empty(len(indices), self.dtype)
        for owner in np.unique(owners):
            chosen, part = owners == owner, self._parts[owner]
            result[chosen] = part[indices[chosen] - (self._ends[owner] - len(part))]
        return result


def concatenate_rows(sides: list[TokenRows]) -> TokenRows:
    """Concatenates rows, without a copy of the ids."""
    if not sides:
        return TokenRows(np.zeros(0, "uint16"), np.zeros(1, "int64"))
    starts = np.cumsum([0, *(side.offsets[-1] for side in sides)])
    offsets = [side.offsets[:-1] + start for side, start in zip(sides, starts)]
    return TokenRows(ConcatenatedIds([side.ids for side in sides]), np.concatenate([*offsets, starts[-1:]]))


def _end_with_parent():
    """Makes a process of the pool end when its parent is killed or interrupted.

    Otherwise it would wait for work forever in the first case, and print a traceback in the second.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)

    def exit_after_parent():
        multiprocessing.parent_process().join()
        os._exit(1)

    threading.Thread(target=exit_after_parent, daemon=True).start()


def _encode_shard(path, model, threads, chunk, max_tokens, digest):
    tokenizer = read_vocabulary(model, threads)
    pairs = types.SimpleNamespace(numbered=lambda: chunk)
    encode_corpus(pairs, tokenizer, max_tokens=max_tokens, folder=path, min_pairs=0, facts={"text": digest})
    return len(chunk)


def _digest(chunk, settings):
    found = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for line, (source, target) in chunk:
        found.update(f"{line}\t{source}\t{target}\n".encode("utf-8", "surrogatepass"))
    return found.hexdigest()


def _check_shard(path, digest):
    if json.loads((path / "corpus.json").read_text("utf-8")).get("text") != digest:
        raise ValueError(
            f"{path} was encoded from another corpus or with other settings. Use the same corpus and settings, or "
            "another folder; nothing was changed."
        )
