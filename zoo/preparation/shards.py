"""Stages of a preparation that clean examples and write shards, each a function of its input alone."""

import hashlib
import itertools
import os
import typing
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator

import apache_beam
import google_crc32c
import numpy as np
from apache_beam.io.filesystem import CompressionTypes
from apache_beam.io.filesystems import FileSystems

from zoo.corpora import records
from zoo.corpora.prepared_corpus import VOCABULARY, shard_name
from zoo.corpora.token_rows import TokenRows
from zoo.preparation.rules import Duplicates, Rules, Sides, example_key
from zoo.text.vocabularies import read_vocabulary

NOTES = "notes"  # The output of stages that is no example.
LINES = "lines"  # All lines that are read.

_CHUNK = 10_000  # Texts that are encoded at once.
_SHOWN = 10


class Settings(typing.NamedTuple):
    """What decides the shards of a preparation, beside its inputs and its vocabulary.

    Args:
        names: Names of the sides: ("source", "target") or ("text",).
        rules: Rules that examples must keep to.
        max_tokens: Examples with more tokens on a side, end token included, are left out; 0 for no limit.
        num_shards: Number of shards.
        seed: Seed of the order of the examples of a shard.
    """

    names: tuple[str, ...]
    rules: Rules
    max_tokens: int
    num_shards: int
    seed: int


Example = tuple[int, int, Sides]  # The number of the input, the line, and the texts.


class Counts:
    """Numbers of examples by what became of them, with the places of the first ten."""

    def __init__(self):
        self._counts, self._first = defaultdict(int), defaultdict(list)

    def add(self, name: str, number: int, line: int) -> None:
        """Counts one example."""
        self._counts[name] += 1
        if name != LINES and len(self._first[name]) < _SHOWN:
            self._first[name].append([number, line])

    def merge(self, note: dict) -> None:
        """Adds what `note` of other counts returned."""
        for name, (count, first) in note.items():
            self._counts[name] += count
            self._first[name] = sorted([*self._first[name], *first])[:_SHOWN]

    def note(self) -> dict[str, tuple[int, list[list[int]]]]:
        """Returns the counts and the places of the first examples by name."""
        return {name: (count, self._first[name]) for name, count in sorted(self._counts.items())}


class Clean(apache_beam.DoFn):
    """Reads a part of an input, and yields (shard, example) for each example that keeps to the rules."""

    def __init__(self, settings: Settings):
        self._settings = settings

    def process(self, part):
        counts, rules = Counts(), self._settings.rules
        try:
            for line, cells in part.rows():
                counts.add(LINES, part.number, line)
                sides = _decode(cells)
                broken = sides if isinstance(sides, str) else self._broken(sides)
                if broken:
                    counts.add(broken, part.number, line)
                else:
                    # Duplicates meet in one shard.
                    key = int.from_bytes(example_key(sides, "near_duplicate" in rules.names)[:8], "big")
                    yield key % self._settings.num_shards, (part.number, line, sides)
        except (ValueError, OSError) as error:
            yield apache_beam.pvalue.TaggedOutput(NOTES, {"error": str(error)})
        yield apache_beam.pvalue.TaggedOutput(NOTES, {"counts": counts.note()})

    def _broken(self, sides):
        empty = [name for name, text in zip(self._settings.names, sides) if not text.strip()]
        if empty:
            return "both_empty" if len(empty) == 2 else f"{empty[0]}_empty"
        return self._settings.rules.broken_by(sides)


class WriteShard(apache_beam.DoFn):
    """Encodes the examples of a shard and writes it, with its index; yields a note about it."""

    def __init__(self, settings: Settings, folder: str):
        self._settings, self._folder, self._tokenizer = settings, folder, None

    def setup(self):
        with open_file(FileSystems.join(self._folder, VOCABULARY)) as file:
            self._tokenizer = read_vocabulary(file.read(), num_threads=1)

    def process(self, group: tuple[int, Iterable[Example]]):
        number, examples = group
        counts, settings = Counts(), self._settings
        columns: list[list] = [[] for _ in settings.names]
        kept = self._without_duplicates(examples, counts)
        while chunk := [*itertools.islice(kept, _CHUNK)]:
            encoded = [self._encode(side, texts) for side, texts in enumerate(zip(*(sides for *_, sides in chunk)))]
            for (*place, _), *rows in zip(chunk, *encoded):
                if settings.max_tokens and max(map(len, rows)) >= settings.max_tokens:
                    counts.add("too_long", *place)
                else:
                    for column, row in zip(columns, rows):
                        column.append(row)
        order = np.random.default_rng([settings.seed, number]).permutation(len(columns[0]))
        rows = {name: TokenRows.of([column[i] for i in order]) for name, column in zip(settings.names, columns)}
        yield {"counts": counts.note(), "shard": self._write(number, rows)}

    def _without_duplicates(self, examples, counts) -> Iterator[Example]:
        duplicates = Duplicates(self._settings.rules)
        for number, line, sides in sorted(examples):
            rule = duplicates.rule(sides)
            if rule:
                counts.add(rule, number, line)
            else:
                yield number, line, sides

    def _encode(self, side, texts):
        return (self._tokenizer.encode_targets if side else self._tokenizer.encode)([*texts])

    def _write(self, number, rows):
        contents = records.encode_examples(rows)
        file = b"".join(records.frame(content, google_crc32c.value) for content in contents)
        lengths = {name: side.lengths for name, side in rows.items()}
        index = records.make_index(contents, lengths, file)
        name = shard_name(number, self._settings.num_shards)
        write_file(FileSystems.join(self._folder, f"{name}.tfrecord"), file)
        write_file(FileSystems.join(self._folder, f"{name}.index"), index)
        digest = hashlib.sha256(index).hexdigest()
        return {"name": name, "examples": len(contents), "index_sha256": digest}


def open_file(path: str) -> typing.BinaryIO:
    """Opens a file on any file system of Beam to read its bytes."""
    return FileSystems.open(path, compression_type=CompressionTypes.UNCOMPRESSED)


def write_file(path: str, content: bytes) -> None:
    """Writes a file on any file system of Beam: it exists whole or not at all, also if several workers write it."""
    part = f"{path}.{uuid.uuid4().hex}.part"
    with FileSystems.create(part, compression_type=CompressionTypes.UNCOMPRESSED) as file:
        file.write(content)
    if "://" not in path:
        os.replace(part, path)
        return
    if FileSystems.exists(path):
        FileSystems.delete([path])
    FileSystems.rename([part], [path])


def _decode(cells):
    """Returns the texts of a row, or what is wrong with it."""
    if cells is None:
        return "missing_column"
    try:
        return tuple(cell.decode("utf-8") for cell in cells)
    except UnicodeDecodeError:
        return "broken"
