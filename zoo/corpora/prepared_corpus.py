"""Corpora that `zoo.preparation` encoded once, for many training runs: shards of records with an index. NumPy only."""

import functools
import hashlib
import json
import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from zoo.corpora.batching import Corpus
from zoo.corpora.encoded_corpus import EncodedCorpus
from zoo.corpora.records import RecordFile, decode_examples
from zoo.corpora.token_rows import TokenRows
from zoo.storage.remote import exists, join, local_copy, read_bytes
from zoo.text.vocabularies import Vocabulary, read_vocabulary

FACTS, VOCABULARY = "corpus.json", "vocabulary.model"


def shard_name(number: int, num_shards: int) -> str:
    """Returns the name of a shard, without the ending of a file."""
    return f"shard-{number:05d}-of-{num_shards:05d}"


def facts_bytes(facts: dict) -> bytes:
    """Returns the content of the file of facts, with its hash."""
    return (json.dumps({**facts, "sha256": _facts_digest(facts)}, indent=1) + "\n").encode()


def read_facts(folder: str | os.PathLike) -> dict:
    """Reads the file of facts of a prepared corpus.

    Raises:
        ValueError: If it is missing, as of a corpus that is incomplete, or altered.
    """
    path = join(folder, FACTS)
    try:
        facts = json.loads(read_bytes(path))
        digest = facts.pop("sha256")
    except FileNotFoundError:
        raise ValueError(
            f"{folder} holds no complete prepared corpus (no {FACTS}). Run the preparation again."
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} does not describe a prepared corpus: {error}. Prepare the corpus again.") from error
    if digest != _facts_digest(facts):
        raise ValueError(f"{path} was altered after it was written. Prepare the corpus again.")
    return facts


def _facts_digest(facts):
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def is_prepared(path: str | os.PathLike | None) -> bool:
    """Returns whether a path or an address is the folder of a prepared corpus, complete or not."""
    return path is not None and exists(join(path, VOCABULARY))


@dataclass(frozen=True, eq=False)
class PreparedCorpus(Corpus):
    """Examples of a prepared corpus, which are read when they are needed.

    Of a corpus on this machine, the files are mapped into memory. Those at an address are copied into the cache, each
    when its first example is read. The places and lengths of the examples, 24 bytes for each pair, are in memory.

    Args:
        shards: The shards that have examples.
        names: Names of the sides.
        tokenizer: The vocabulary that the examples are encoded with.
        digest: Hash of the texts and settings.
    """

    shards: list[RecordFile] = field(repr=False)
    names: tuple[str, ...]
    tokenizer: Vocabulary = field(repr=False)
    digest: str

    @classmethod
    def open(cls, folder: str | os.PathLike) -> "PreparedCorpus":
        """Opens a prepared corpus.

        Args:
            folder: Path, or address that fsspec knows, such as "s3://bucket/prepared".

        Raises:
            ValueError: If the corpus is incomplete, or a file is missing or altered.
        """
        facts = read_facts(folder)
        tokenizer = read_vocabulary(_read(folder, VOCABULARY))
        if tokenizer.digest != facts["tokenizer"]:
            raise ValueError(
                f"{join(folder, VOCABULARY)} is not the vocabulary that the corpus was encoded with. Restore it."
            )
        shards = [_open_shard(folder, shard) for shard in facts["shards"]]
        return cls(shards, tuple(facts["names"]), tokenizer, _facts_digest(facts))

    def __len__(self):
        return int(self._ends[-1])

    @functools.cached_property
    def _ends(self):
        """Numbers of the examples behind each shard, `[1 + shards]`, from 0."""
        return np.cumsum([0, *map(len, self.shards)])

    @functools.cached_property
    def _lengths(self):
        found = [[shard.lengths[name] for shard in self.shards] for name in self.names]
        return [np.concatenate(parts) for parts in found]

    def lengths(self) -> list[np.ndarray]:
        """Returns the number of positions `[rows]` of each side, end token included."""
        return [lengths + 1 for lengths in self._lengths]

    def gather(self, rows: np.ndarray, widths: list[int], fill: int) -> dict[str, np.ndarray]:
        """Returns the chosen rows as `zoo.corpora.encoded_corpus.EncodedCorpus` does."""
        sides = self.token_rows(rows)
        return EncodedCorpus(*sides).gather(np.arange(len(rows)), widths, fill)

    def token_rows(self, rows: np.ndarray) -> list[TokenRows]:
        """Returns the ids of the chosen rows, for each side."""
        rows = np.asarray(rows)
        owners = np.searchsorted(self._ends, rows, "right") - 1
        contents = [b""] * len(rows)
        for owner in np.unique(owners):
            (chosen,) = np.nonzero(owners == owner)
            for place, content in zip(chosen, self.shards[owner].contents(rows[chosen] - self._ends[owner])):
                contents[place] = content
        return [TokenRows.of(side) for side in decode_examples(contents, self.names)]


def encoded_rows(train: Any, tokenizer: Vocabulary) -> list:
    """Returns the ids of each text of a corpus: encoded now, or before in a prepared one."""
    if not isinstance(train, PreparedCorpus):
        return tokenizer.encode([*train])
    (rows,) = train.token_rows(np.arange(len(train)))
    return [rows.row(number).tolist() for number in range(len(train))]


def prepared_vocabulary(train: Any, tokenizer: Vocabulary | None) -> Vocabulary | None:
    """Returns the vocabulary of a prepared corpus, or the given one of another corpus.

    Raises:
        ValueError: If the given vocabulary is not that of the prepared corpus.
    """
    if not isinstance(train, PreparedCorpus):
        return tokenizer
    if tokenizer is not None and tokenizer.digest != train.tokenizer.digest:
        raise ValueError(
            f"A prepared corpus is used with its own vocabulary, {train.tokenizer.digest[:8]}. Received: another "
            f"vocabulary, {tokenizer.digest[:8]}. Leave it out."
        )
    return train.tokenizer


def check_sides(train: Any, names: tuple[str, ...]) -> None:
    """Raises `ValueError` if a prepared corpus has other sides than a task reads."""
    if isinstance(train, PreparedCorpus) and train.names != names:
        raise ValueError(
            f"The prepared corpus must have {' and '.join(names)}. Received: {' and '.join(train.names)}. Prepare it "
            "by the command of this task."
        )


def _open_shard(folder, shard):
    name = shard["name"]
    index = _read(folder, f"{name}.index")
    if hashlib.sha256(index).hexdigest() != shard["index_sha256"]:
        raise ValueError(f"{join(folder, name)}.index was altered after it was written. Prepare the corpus again.")
    path = join(folder, f"{name}.tfrecord")
    if not exists(path):
        raise ValueError(f"{path} is missing. Restore it, or prepare the corpus again.")
    return RecordFile(index, functools.partial(local_copy, path), path)


def _read(folder, name):
    try:
        return read_bytes(join(folder, name))
    except FileNotFoundError:
        raise ValueError(f"{join(folder, name)} is missing. Restore it, or prepare the corpus again.") from None
