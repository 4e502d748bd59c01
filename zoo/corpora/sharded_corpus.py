"""Corpora encoded by several processes into shards, once, for trainings that map them. NumPy only.

A shard is a folder of flat arrays, as `zoo.corpora.encoded_corpus` writes them, and no TFRecord file: batches of like
lengths from the whole corpus, and a training that goes on at the very batch it stopped at, read rows in any order.
"""

import hashlib
import itertools
import json
import multiprocessing
import os
import pathlib
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

import numpy as np

from zoo.corpora.encoded_corpus import EncodedCorpus, encode_corpus, numbered
from zoo.corpora.reading import LineNotes
from zoo.corpora.token_rows import TokenRows
from zoo.storage.arrays import write_whole
from zoo.storage.lock import locked
from zoo.text.tokenizer import Tokenizer

_FACTS = "shards.json"
_VOCABULARY = "vocabulary.model"


def prepare_corpus(
    pairs: Iterable[tuple[str, str]],
    tokenizer: Tokenizer,
    folder: str | os.PathLike,
    *,
    max_tokens: int = 0,
    shard_pairs: int = 250_000,
    processes: int = 1,
    progress: Callable[[int], None] | None = None,
) -> "ShardedCorpus":
    """Encodes a corpus of any size into shards; run again after an interruption, it encodes those that are missing.

    Args:
        pairs, tokenizer, max_tokens: As for `zoo.corpora.encoded_corpus.encode_corpus`. The text is read once.
        folder: New, or what an interrupted call with the same arguments left.
        shard_pairs: Pairs read into a shard. Each process holds the text of two shards.
        processes: How many encode.
        progress: Called with the number of pairs done since the last call.

    Raises:
        ValueError: If the folder is finished, holds anything else, or was begun with another corpus or other
            arguments; or no pair is left.
    """
    if shard_pairs < 1 or processes < 1:
        raise ValueError(f"`shard_pairs` and `processes` must be at least 1. Received: {shard_pairs} and {processes}.")
    folder = pathlib.Path(folder)
    if (folder / _FACTS).exists():
        raise ValueError(f"{folder} holds a prepared corpus. Train on it, or prepare into another folder.")
    if not (folder / _VOCABULARY).exists() and folder.exists() and any(folder.iterdir()):
        raise ValueError(f"{folder} is not empty and holds no corpus to go on with. Use another folder.")
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / _VOCABULARY, tokenizer.model)
    threads = -1 if processes == 1 else 1  # Of each process; -1: as many as there are cores.
    digests, settings = [], {"max_tokens": max_tokens, "shard_pairs": shard_pairs, "tokenizer": tokenizer.digest}
    context = multiprocessing.get_context("spawn")
    with locked(folder), ProcessPoolExecutor(processes, context, initializer=_end_with_parent) as pool:
        running: dict[Future, int] = {}
        try:
            for number, chunk in enumerate(_chunks(numbered(pairs), shard_pairs)):
                while len(running) >= 2 * processes:
                    _collect(running, progress)
                digests.append(_digest(chunk, settings))
                path = folder / f"shard-{number:05d}"
                if path.exists():
                    _check_begun(path, digests[-1])
                    if progress is not None:
                        progress(len(chunk))
                else:
                    given = path, tokenizer.model, threads, chunk, max_tokens, digests[-1]
                    work = pool.submit(_encode_shard, *given)
                    running[work] = len(chunk)
            while running:
                _collect(running, progress)
        except BrokenProcessPool as error:
            raise ChildProcessError("A process that encodes was killed. The same command goes on.") from error
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    facts = {**settings, "shards": digests}
    corpus = ShardedCorpus.of(folder, facts)
    if not len(corpus):
        raise ValueError(f"No pair is left to train on: all have more than max_tokens={max_tokens} tokens, or none is.")
    write_whole(folder / _FACTS, (json.dumps(facts, indent=1) + "\n").encode())
    return corpus


class ShardedCorpus(EncodedCorpus):
    """A corpus that `prepare_corpus` wrote; its ids stay on disk."""

    tokenizer: Tokenizer
    digest: str

    @classmethod
    def open(cls, folder: str | os.PathLike) -> "ShardedCorpus":
        """Maps a prepared corpus.

        Raises:
            ValueError: If there is none, it is not finished, or a shard is missing or cut.
        """
        folder = pathlib.Path(folder)
        if not (folder / _FACTS).exists():
            raise ValueError(f"{folder} holds no whole prepared corpus (no {_FACTS}). Run the preparation to its end.")
        return cls.of(folder, json.loads((folder / _FACTS).read_text("utf-8")))

    @classmethod
    def of(cls, folder: pathlib.Path, facts: dict) -> "ShardedCorpus":
        """The shards of a folder that its facts tell of."""
        tokenizer = Tokenizer.load(folder / _VOCABULARY)
        shards, too_long = [], LineNotes()
        for number, digest in enumerate(facts["shards"]):
            path = folder / f"shard-{number:05d}"
            shards.append(EncodedCorpus.open(path, tokenizer))
            _check_begun(path, digest)
            notes = shards[-1].too_long
            too_long.count, too_long.first = too_long.count + notes.count, (too_long.first + notes.first)[:10]
        sides = [joined([getattr(shard, side) for shard in shards]) for side in ("source", "target")]
        corpus = cls(*sides, too_long)
        text = json.dumps(facts, sort_keys=True).encode()
        object.__setattr__(corpus, "tokenizer", tokenizer)  # Past the dataclass, which is frozen.
        object.__setattr__(corpus, "digest", hashlib.sha256(text).hexdigest())
        return corpus


def is_prepared(path: str | os.PathLike | None) -> bool:
    """Whether a path is the folder of a preparation, finished or not."""
    return path is not None and os.path.exists(os.path.join(path, _VOCABULARY))


class JoinedIds:
    """Flat arrays one behind the other, without a copy; for `TokenRows`, which asks for elements by number."""

    def __init__(self, parts: list[np.ndarray]):
        self._parts, self.dtype, self.shape = parts, parts[0].dtype, (sum(map(len, parts)),)
        self._ends = np.cumsum([len(part) for part in parts])

    def __getitem__(self, numbers: np.ndarray) -> np.ndarray:
        owners, result = np.searchsorted(self._ends, numbers, "right"), np.empty(len(numbers), self.dtype)
        for owner in np.unique(owners):
            chosen, part = owners == owner, self._parts[owner]
            result[chosen] = part[numbers[chosen] - (self._ends[owner] - len(part))]
        return result


def joined(sides: list[TokenRows]) -> TokenRows:
    """The rows of several, one behind the other."""
    if not sides:
        return TokenRows(np.zeros(0, "uint16"), np.zeros(1, "int64"))
    starts = np.cumsum([0, *(side.offsets[-1] for side in sides)])
    offsets = [side.offsets[:-1] + start for side, start in zip(sides, starts)]
    return TokenRows(JoinedIds([side.ids for side in sides]), np.concatenate([*offsets, starts[-1:]]))


def _end_with_parent():
    """Makes a process of the pool end when that which began it is killed or interrupted.

    Else it would wait for work forever after the first, and print a traceback after the second.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)

    def watch():
        multiprocessing.parent_process().join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _encode_shard(path, model, threads, chunk, max_tokens, digest):
    tokenizer = Tokenizer(model, threads)
    encode_corpus(_Lines(chunk), tokenizer, max_tokens=max_tokens, folder=path, least=0, facts={"text": digest})


class _Lines(list):
    """(line, source, target) of each pair."""

    def numbered(self):
        return iter(self)


def _collect(running, progress):
    """Waits for a shard; its error, if it has one, is raised here."""
    for work in wait(running, return_when=FIRST_COMPLETED).done:
        work.result()
        if progress is not None:
            progress(running[work])
        del running[work]


def _digest(chunk, settings):
    found = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for line, source, target in chunk:
        found.update(f"{line}\t{source}\t{target}\n".encode("utf-8", "surrogatepass"))
    return found.hexdigest()


def _check_begun(path, digest):
    if json.loads((path / "corpus.json").read_text("utf-8")).get("text") != digest:
        raise ValueError(
            f"{path} was encoded from another corpus or with other settings. Prepare with those that it was begun "
            "with, or into another folder; nothing was changed."
        )


def _chunks(items: Iterable, size: int) -> Iterator[list]:
    items = iter(items)
    while chunk := list(itertools.islice(items, size)):
        yield chunk
