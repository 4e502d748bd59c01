"""Encoding of sentence pairs as flat arrays of token ids, in memory or in memory-mapped files. NumPy only."""

import contextlib
import itertools
import json
import operator
import os
import pathlib
import typing
from dataclasses import asdict, dataclass, field

import numpy as np

from zoo.config import START_ID
from zoo.corpora.batching import Batch, Corpus
from zoo.corpora.numbering import Pairs, numbered
from zoo.corpora.reports import LineNotes
from zoo.corpora.token_rows import TokenRows
from zoo.storage.arrays import atomic_folder, write_atomically, write_errors

_CHUNK = 10_000
_SIDES = ("source", "target")


@dataclass(frozen=True, eq=False)
class EncodedCorpus(Corpus):
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
    limit: str = "max_tokens",
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
        limit: Name of the setting that `max_tokens` comes from, for a message.

    Raises:
        ValueError: If `folder` exists, or fewer than `min_pairs` are left.
    """
    dtype = "uint16" if tokenizer.vocabulary_size <= 2**16 else "int32"
    lengths, memory, too_long = [[0], [0]], [bytearray(), bytearray()], LineNotes()
    with contextlib.nullcontext() if folder is None else atomic_folder(folder) as part:
        for encoded in _encode_chunks(numbered(pairs), tokenizer, max_tokens, dropout, seed, too_long):
            for i, rows in enumerate(encoded):
                lengths[i] += map(len, rows)
                ids = np.fromiter(itertools.chain.from_iterable(rows), dtype).tobytes()
                if part is None:
                    memory[i] += ids
                else:
                    path = part / f"{_SIDES[i]}.ids"
                    with write_errors(path), open(path, "ab") as file:
                        file.write(ids)
        if len(lengths[0]) <= min_pairs:
            raise ValueError(
                f"No pair is left to train on. Received: {too_long.count} pairs, all "
                f"with more than {limit}={max_tokens} tokens. Use a corpus that has pairs, or raise it."
            )
        offsets = [np.cumsum(counts, dtype="int64") for counts in lengths]
        if part is None:
            sides = (TokenRows(np.frombuffer(ids, dtype), ends) for ids, ends in zip(memory, offsets))
            return EncodedCorpus(*sides, too_long)
        found = {"dtype": dtype, "tokenizer": tokenizer.digest, "pairs": len(offsets[0]) - 1}
        for side, ends in zip(_SIDES, offsets):
            write_atomically(part / f"{side}.offsets", ends.tobytes())
            found[f"{side}_tokens"] = int(ends[-1])
        found = {**(facts or {}), **found, "too_long": asdict(too_long)}
        write_atomically(part / "corpus.json", json.dumps(found, indent=1).encode())
    return EncodedCorpus.open(folder, tokenizer)


def _encode_chunks(numbered, tokenizer, max_tokens, dropout, seed, too_long):
    """Yields the rows of ids of source and target, chunk by chunk, and notes the lines of pairs that it leaves out."""
    for number, chunk in enumerate(chunks(numbered, _CHUNK)):
        lines, pairs = zip(*chunk)
        sides = [_encode(side, tokenizer, max_tokens, dropout, seed, (number, i)) for i, side in enumerate(zip(*pairs))]
        short = [not max_tokens or max(map(len, rows)) < max_tokens for rows in zip(*sides)]
        for line in itertools.compress(lines, map(operator.not_, short)):
            too_long.add(line)
        yield [[*itertools.compress(rows, short)] for rows in sides]


def _encode(texts, tokenizer, max_tokens, dropout, seed, place):
    sampled = tokenizer.with_dropout(dropout, (*np.atleast_1d(seed).tolist(), *place)) if dropout else tokenizer
    rows = (sampled.encode_targets if place[1] else sampled.encode)(texts)
    long = [i for i, row in enumerate(rows) if dropout and max_tokens and len(row) >= max_tokens]
    for i, row in zip(long, tokenizer.encode([texts[i] for i in long])):
        rows[i] = row
    return rows


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


def teacher_forced(batch: Batch) -> tuple[Batch, np.ndarray]:
    """Splits a batch for a decoder, which reads `target[:, :-1]` and predicts `target[:, 1:]`, `[B, T]` each."""
    return {"source": batch["source"], "target": batch["target"][:, :-1]}, batch["target"][:, 1:]
