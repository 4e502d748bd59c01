"""Sentence pairs as flat arrays of token ids, in memory or in memory-mapped files. NumPy only."""

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
from zoo.storage.arrays import told_if_unwritable, write_whole

Pairs = typing.Iterable[tuple[str, str]]

_CHUNK = 10_000
_SIDES = ("source", "target")


@dataclass(frozen=True, eq=False)
class EncodedCorpus:
    """Pairs encoded once, the same in every epoch.

    Args:
        source, target: Ids without special ids, one row a pair.
        too_long: Lines left out because a side, with its end token, has more than `max_tokens`.
    """

    source: TokenRows
    target: TokenRows
    too_long: LineNotes = field(default_factory=LineNotes)

    def __len__(self):
        return len(self.source.offsets) - 1

    def epoch(self, epoch: int) -> "EncodedCorpus":
        """The pairs as training sees them in this epoch: here, itself."""
        return self

    def arrays(self) -> list[np.ndarray]:
        """All ids, which tell two corpora apart."""
        return [*self.source, *self.target]

    def lengths(self) -> list[np.ndarray]:
        """Positions `[rows]` that each side takes, with its end."""
        return [side.lengths + 1 for side in (self.source, self.target)]

    def gather(self, rows: np.ndarray, widths: list[int], fill: int) -> dict[str, np.ndarray]:
        """The chosen rows, and `fill` of padding, as int32 arrays.

        `source` `[B, S]`: ids and END_ID; `target` `[B, T + 1]`: START_ID, ids and END_ID. A decoder reads
        `target[:, :-1]` and predicts `target[:, 1:]`, T positions each. PAD_ID (0) fills up.
        """
        source, target = (side.with_end(rows, width) for side, width in zip((self.source, self.target), widths))
        target = np.pad(target, ((0, 0), (1, 0)), constant_values=START_ID)
        return {name: np.pad(ids, ((0, fill), (0, 0))) for name, ids in (("source", source), ("target", target))}

    @classmethod
    def open(cls, folder: str | os.PathLike, tokenizer=None) -> "EncodedCorpus":
        """Maps what `encode_corpus` wrote into `folder`, without reading it into memory.

        Raises:
            ValueError: If `folder` holds no whole corpus, or one of another vocabulary than `tokenizer`.
        """
        folder = pathlib.Path(folder)
        try:
            facts = json.loads((folder / "corpus.json").read_text("utf-8"))
        except FileNotFoundError:
            raise ValueError(f"{folder} holds no encoded corpus (no corpus.json). Make it by encode_corpus.") from None
        if tokenizer is not None and tokenizer.digest != facts["tokenizer"]:
            raise ValueError(f"The corpus in {folder} was encoded with another vocabulary. Delete it and encode again.")
        sides = []
        for side in _SIDES:
            ids = _map(folder / f"{side}.ids", facts["dtype"], facts[f"{side}_tokens"])
            sides.append(TokenRows(ids, _map(folder / f"{side}.offsets", "int64", facts["pairs"] + 1)))
        return cls(*sides, LineNotes(**facts["too_long"]))


class SampledCorpus:
    """Pairs encoded anew in every epoch with BPE-dropout, from one seed.

    Args:
        pairs: Can be run over again and again in the same order, such as a list or a
            reader of `zoo.translation.data`.
        tokenizer, max_tokens: As for `encode_corpus`.
        dropout: Probability of skipping a merge.
        seed: With the number of the epoch, decides every encoding.
        folder: Keeps the current epoch in files here instead of in memory; older epochs are deleted.
    """

    def __init__(self, pairs: Pairs, tokenizer, *, dropout: float, seed: int, max_tokens: int = 0, folder=None):
        if iter(pairs) is pairs:
            raise ValueError(
                "`pairs` must be something to run over once an epoch, such as a list or a reader. "
                f"Received: {type(pairs).__name__}, which ends after one pass."
            )
        self._pairs, self._tokenizer = pairs, tokenizer
        self._dropout, self._seed, self._max_tokens = dropout, seed, max_tokens
        self._folder = None if folder is None else pathlib.Path(folder)
        self._current = (None, None)

    def epoch(self, epoch: int) -> EncodedCorpus:
        """The pairs as training sees them in this epoch."""
        if self._current[0] != epoch:
            self._current = (None, None)  # Two epochs in memory would be one too many.
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
    least: int = 1,
    facts: typing.Mapping | None = None,
) -> EncodedCorpus:
    """Encodes pairs in one pass.

    Args:
        pairs: Runs over (source, target). If it has a method `numbered`, as the readers of
            `zoo.translation.data` do, that runs over (line, source, target); else pairs count from 1.
        tokenizer: A `zoo.text.tokenizer.Tokenizer`.
        max_tokens: Pairs with more tokens on a side, end token included, are left out; 0 leaves out none.
        dropout: Rate of BPE-dropout. An encoding that this makes too long is replaced by the usual one, so
            that dropout never changes which pairs are in.
        seed: Non-negative integers that decide the dropout.
        folder: Where to write the corpus, if it should lie in memory-mapped files; None keeps it in memory.
            The folder appears only when it is complete.
        least: How many pairs must be left.
        facts: What else `corpus.json` of the folder shall say.

    Raises:
        ValueError: If `folder` exists already, or fewer pairs are left.
    """
    if folder is not None and os.path.exists(folder):
        raise ValueError(f"{folder} exists already. Read it by EncodedCorpus.open, or delete it to encode again.")
    part = None if folder is None else pathlib.Path(f"{os.fspath(folder)}.{os.getpid()}.part")
    if part is not None:
        part.mkdir(parents=True)
    try:
        found, sides = _encode_into(part, numbered(pairs), tokenizer, max_tokens, dropout, seed)
        if found["pairs"] < least:
            raise ValueError(
                f"No pair is left to train on. Received: {found['too_long']['count']} pairs, all "
                f"with more than max_tokens={max_tokens} tokens. Give a corpus that has pairs, or raise it."
            )
        if part is None:
            return EncodedCorpus(*sides, LineNotes(**found["too_long"]))
        write_whole(part / "corpus.json", json.dumps({**(facts or {}), **found}, indent=1).encode())
        os.replace(part, folder)
    except BaseException:
        if part is not None:
            shutil.rmtree(part, ignore_errors=True)
        raise
    return EncodedCorpus.open(folder, tokenizer)


def _encode_into(part, numbered, tokenizer, max_tokens, dropout, seed):
    dtype = "uint16" if tokenizer.vocabulary_size <= 2**16 else "int32"
    writers = [_RowWriter(dtype, part and part / side) for side in _SIDES]
    too_long = LineNotes()
    try:
        for number, chunk in enumerate(_chunks(numbered)):
            lines, *texts = zip(*chunk)
            encoded = _encode_chunk(texts, tokenizer, max_tokens, dropout, seed, number)
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
    encoded = [tokenizer.encode(rows, dropout, (*seed, number, side)) for side, rows in enumerate(texts)]
    for side, rows in zip(texts, encoded):
        long = [i for i, row in enumerate(rows) if max_tokens and len(row) >= max_tokens]
        for i, row in zip(long, tokenizer.encode([side[i] for i in long])):
            rows[i] = row
    return encoded


class _RowWriter:
    """Collects rows of ids, in memory or in the files `<path>.ids` and `<path>.offsets`."""

    def __init__(self, dtype, path=None):
        self._dtype, self._path = dtype, path
        self._file = None if path is None else open(f"{path}.ids", "wb")  # noqa: SIM115  Closed by `close`.
        self._ids, self._lengths = [], [np.zeros(1, "int64")]

    def add(self, rows):
        self._lengths.append(np.fromiter(map(len, rows), "int64", len(rows)))
        ids = np.fromiter(itertools.chain.from_iterable(rows), self._dtype)
        if self._file is None:
            self._ids.append(ids)
        else:
            with told_if_unwritable(self._file.name):
                self._file.write(ids.tobytes())

    def close(self):
        offsets = np.cumsum(np.concatenate(self._lengths))
        if self._file is None:
            return TokenRows(np.concatenate([np.zeros(0, self._dtype), *self._ids]), offsets)
        with told_if_unwritable(self._file.name):
            self._file.close()
        write_whole(f"{self._path}.offsets", offsets.tobytes())
        return TokenRows(np.zeros(0, self._dtype), offsets)


def numbered(pairs: Pairs) -> typing.Iterator[tuple[int, str, str]]:
    """(line, source, target) of each pair."""
    if hasattr(pairs, "numbered"):
        return pairs.numbered()
    return ((number, source, target) for number, (source, target) in enumerate(pairs, start=1))


def _chunks(items):
    items = iter(items)
    while chunk := list(itertools.islice(items, _CHUNK)):
        yield chunk


def _map(path, dtype, count):
    expected = count * np.dtype(dtype).itemsize
    found = path.stat().st_size if path.exists() else 0
    if found != expected:
        raise ValueError(f"{path} must have {expected} bytes. Received: {found}. Delete its folder and encode again.")
    return np.memmap(path, dtype, "r", shape=(count,)) if count else np.zeros(0, dtype)
