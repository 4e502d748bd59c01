"""Encoding of sentence pairs as flat arrays of token ids, in memory or in memory-mapped files. NumPy only."""

import contextlib
import io
import itertools
import json
import os
import pathlib
import shutil
import typing
from dataclasses import asdict, dataclass, field

import numpy as np

from zoo.config import START_ID
from zoo.corpora.reading import LineNotes
from zoo.corpora.token_rows import TokenRows
from zoo.storage.arrays import atomic_folder, write_atomically, write_errors

Pairs = typing.Iterable[tuple[str, str]]

_CHUNK = 10_000
_SIDES = ("source", "target")


@dataclass(frozen=True, eq=False)
class EncodedCorpus:
    """Pairs that are encoded once, the same in every epoch.

    Args:
        source, target: Ids without special ids, one row for each pair.
        too_long: Lines left out because a side has more than `max_tokens` tokens, end token included.
    """

    source: TokenRows
    target: TokenRows
    too_long: LineNotes = field(default_factory=LineNotes)

    def __len__(self):
        return len(self.source.offsets) - 1

    def epoch(self, epoch: int) -> "EncodedCorpus":
        """Returns the corpus of this epoch: itself."""
        return self

    def arrays(self) -> list[np.ndarray]:
        """Returns all ids, which identify the corpus."""
        return [*self.source, *self.target]

    def lengths(self) -> list[np.ndarray]:
        """Returns the number of positions `[rows]` of each side, end token included."""
        return [side.lengths + 1 for side in (self.source, self.target)]

    def gather(self, rows: np.ndarray, widths: list[int], fill: int) -> dict[str, np.ndarray]:
        """Returns the chosen rows, followed by `fill` rows of padding, as int32 arrays.

        `source` `[B, S]`: ids and END_ID; `target` `[B, T + 1]`: START_ID, ids and END_ID; both padded with PAD_ID. A
        decoder reads `target[:, :-1]` and predicts `target[:, 1:]`, T positions each.
        """
        source, target = (side.padded_with_end(rows, width) for side, width in zip((self.source, self.target), widths))
        target = np.pad(target, ((0, 0), (1, 0)), constant_values=START_ID)
        return {name: np.pad(ids, ((0, fill), (0, 0))) for name, ids in (("source", source), ("target", target))}

    @classmethod
    def open(cls, folder: str | os.PathLike, tokenizer=None) -> "EncodedCorpus":
        """Opens a corpus that `encode_corpus` wrote to `folder`, as memory-mapped files.

        Raises:
            ValueError: If `folder` has no complete corpus, or one of another vocabulary than `tokenizer`.
        """
        folder = pathlib.Path(folder)
        try:
            facts = json.loads((folder / "corpus.json").read_text("utf-8"))
        except FileNotFoundError:
            raise ValueError(
                f"{folder} holds no encoded corpus (no corpus.json). Write one by encode_corpus."
            ) from None
        if tokenizer is not None and tokenizer.digest != facts["tokenizer"]:
            raise ValueError(f"The corpus in {folder} was encoded with another vocabulary. Delete it and encode again.")
        sides = []
        for side in _SIDES:
            ids = _map(folder / f"{side}.ids", facts["dtype"], facts[f"{side}_tokens"])
            sides.append(TokenRows(ids, _map(folder / f"{side}.offsets", "int64", facts["pairs"] + 1)))
        return cls(*sides, LineNotes(**facts["too_long"]))


class SampledCorpus:
    """Pairs that are encoded again in every epoch, with BPE-dropout.

    Args:
        pairs: Can be iterated repeatedly in the same order, such as a list or a reader of `zoo.translation.data`.
        tokenizer, max_tokens: As for `encode_corpus`.
        dropout: Probability of skipping a merge.
        seed: Seed, which together with the number of the epoch determines every encoding.
        folder: Folder for the files of the current epoch, older ones are deleted; None to keep it in memory.
    """

    def __init__(self, pairs: Pairs, tokenizer, *, dropout: float, seed: int, max_tokens: int = 0, folder=None):
        if iter(pairs) is pairs:
            raise ValueError(
                "`pairs` must be iterable once for each epoch. "
                f"Received: {type(pairs).__name__}, which ends after one pass. Use a list or a reader."
            )
        self._pairs, self._tokenizer = pairs, tokenizer
        self._dropout, self._seed, self._max_tokens = dropout, seed, max_tokens
        self._folder = None if folder is None else pathlib.Path(folder)
        self._current = (None, None)

    def epoch(self, epoch: int) -> EncodedCorpus:
        """Returns the corpus of this epoch."""
        if self._current[0] != epoch:
            self._current = (None, None)  # Frees the memory of the last epoch first.
            self._current = (epoch, self._encode(epoch))
        return self._current[1]

    def _encode(self, epoch):
        settings = dict(max_tokens=self._max_tokens, dropout=self._dropout, seed=(self._seed, epoch))
        if self._folder is None:
            return encode_corpus(self._pairs, self._tokenizer, **settings)
        for old in self._folder.glob("epoch-*"):
            shutil.rmtree(old)
        return encode_corpus(self._pairs, self._tokenizer, folder=self._folder / f"epoch-{epoch}", **settings)


def encode_corpus(
    pairs: Pairs,
    tokenizer,
    *,
    max_tokens: int = 0,
    dropout: float = 0.0,
    seed: int | typing.Sequence[int] = 0,
    folder: str | os.PathLike | None = None,
    min_pairs: int = 1,
    facts: typing.Mapping | None = None,
) -> EncodedCorpus:
    """Encodes sentence pairs in one pass.

    Args:
        pairs: Iterable of (source, target). If it has a method `numbered`, as the readers of
            `zoo.translation.data` do, that yields (line, pair); otherwise pairs are numbered from 1.
        tokenizer: A `zoo.text.tokenizer.Tokenizer`.
        max_tokens: Pairs with more tokens on a side, end token included, are left out; 0 for no limit.
        dropout: Rate of BPE-dropout. If this makes an encoding too long, the encoding without dropout is used, so
            that dropout never changes which pairs are left out.
        seed: Non-negative integers that determine the dropout.
        folder: Folder for the corpus as memory-mapped files, which exists only once it is complete; None to keep
            the corpus in memory.
        min_pairs: Minimum number of pairs that must be left.
        facts: Further entries of `corpus.json` in the folder.

    Raises:
        ValueError: If `folder` exists, or fewer than `min_pairs` are left.
    """
    with contextlib.nullcontext() if folder is None else atomic_folder(folder) as part:
        found, sides = _encode_into(part, numbered(pairs), tokenizer, max_tokens, dropout, seed)
        if found["pairs"] < min_pairs:
            raise ValueError(
                f"No pair is left to train on. Received: {found['too_long']['count']} pairs, all "
                f"with more than max_tokens={max_tokens} tokens. Use a corpus that has pairs, or raise it."
            )
        if part is None:
            return EncodedCorpus(*sides, LineNotes(**found["too_long"]))
        write_atomically(part / "corpus.json", json.dumps({**(facts or {}), **found}, indent=1).encode())
    return EncodedCorpus.open(folder, tokenizer)


def _encode_into(part, numbered, tokenizer, max_tokens, dropout, seed):
    dtype = "uint16" if tokenizer.vocabulary_size <= 2**16 else "int32"
    writers = [_RowWriter(dtype, part and part / side) for side in _SIDES]
    too_long = LineNotes()
    try:
        for number, chunk in enumerate(chunks(numbered, _CHUNK)):
            lines, pairs = zip(*chunk)
            encoded = _encode_chunk([*zip(*pairs)], tokenizer, max_tokens, dropout, seed, number)
            short = [not max_tokens or max(len(s), len(t)) < max_tokens for s, t in zip(*encoded)]
            for line in itertools.compress(lines, (not kept for kept in short)):
                too_long.add(line)
            for writer, rows in zip(writers, encoded):
                writer.add(list(itertools.compress(rows, short)))
    finally:
        sides = [writer.close() for writer in writers]
    facts = {
        "dtype": dtype,
        "tokenizer": tokenizer.digest,
        "pairs": len(sides[0].offsets) - 1,
        "source_tokens": int(sides[0].offsets[-1]),
        "target_tokens": int(sides[1].offsets[-1]),
        "too_long": asdict(too_long),
    }
    return facts, sides


def _encode_chunk(texts, tokenizer, max_tokens, dropout, seed, number):
    if not dropout:
        return [tokenizer.encode(side) for side in texts]
    seed = np.atleast_1d(seed).tolist()
    encoded = [tokenizer.with_dropout(dropout, (*seed, number, side)).encode(rows) for side, rows in enumerate(texts)]
    for side, rows in zip(texts, encoded):
        long = [i for i, row in enumerate(rows) if max_tokens and len(row) >= max_tokens]
        for i, row in zip(long, tokenizer.encode([side[i] for i in long])):
            rows[i] = row
    return encoded


class _RowWriter:
    """Writes rows of ids to memory or to the files `<path>.ids` and `<path>.offsets`."""

    def __init__(self, dtype, path=None):
        self._dtype, self._path = dtype, path
        self._file = io.BytesIO() if path is None else open(f"{path}.ids", "wb")  # noqa: SIM115  Closed by `close`.
        self._lengths = [np.zeros(1, "int64")]

    def add(self, rows):
        self._lengths.append(np.fromiter(map(len, rows), "int64", len(rows)))
        ids = np.fromiter(itertools.chain.from_iterable(rows), self._dtype)
        with write_errors(f"{self._path}.ids"):
            self._file.write(ids.tobytes())

    def close(self):
        offsets = np.cumsum(np.concatenate(self._lengths))
        if self._path is None:
            return TokenRows(np.frombuffer(self._file.getbuffer(), self._dtype), offsets)
        with write_errors(f"{self._path}.ids"):
            self._file.close()
        write_atomically(f"{self._path}.offsets", offsets.tobytes())
        return TokenRows(np.zeros(0, self._dtype), offsets)


def numbered(pairs: Pairs) -> typing.Iterator[tuple[int, tuple[str, str]]]:
    """Iterates over (line, pair)."""
    if hasattr(pairs, "numbered"):
        return pairs.numbered()
    return enumerate(pairs, start=1)


def chunks(items: typing.Iterable, size: int) -> typing.Iterator[list]:
    """Splits items into lists of `size`; the last one may be shorter."""
    items = iter(items)
    while chunk := list(itertools.islice(items, size)):
        yield chunk


def _map(path, dtype, count):
    expected = count * np.dtype(dtype).itemsize
    found = path.stat().st_size if path.exists() else 0
    if found != expected:
        raise ValueError(f"{path} must have {expected} bytes. Received: {found}. Delete its folder and encode again.")
    return np.memmap(path, dtype, "r", shape=(count,)) if count else np.zeros(0, dtype)
