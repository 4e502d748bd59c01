"""Parallel corpora as iterators of (source, target), with a report of the lines left out. No Keras."""

import abc
import contextlib
import gzip
import itertools
import os
import pathlib
import typing
import zlib
from dataclasses import dataclass, field

from zoo.encoded_corpus import LineNotes

Path = str | os.PathLike
Language = str | None


@dataclass
class Report:
    """What one pass over a corpus found. Line numbers count from 1.

    Args:
        lines: Lines (of one file) or examples read.
        pairs: Those among them that became pairs.
        source_empty, target_empty: Only that side is empty or blank; left out.
        both_empty: Both sides are; left out.
        broken: A side is not UTF-8; left out.
        missing_column: A line of a table without the wanted columns; left out.
        too_long: Left out after encoding; set it from `EncodedCorpus.too_long`.
    """

    lines: int = 0
    pairs: int = 0
    source_empty: LineNotes = field(default_factory=LineNotes)
    target_empty: LineNotes = field(default_factory=LineNotes)
    both_empty: LineNotes = field(default_factory=LineNotes)
    broken: LineNotes = field(default_factory=LineNotes)
    missing_column: LineNotes = field(default_factory=LineNotes)
    too_long: LineNotes = field(default_factory=LineNotes)

    def __str__(self):
        text = [f"{self.pairs:,} pairs from {self.lines:,} lines"]
        for name, notes in vars(self).items():
            if isinstance(notes, LineNotes) and notes.count:
                more = ", ..." if notes.count > len(notes.first) else ""
                numbers = ", ".join(map(str, notes.first))
                text.append(f"{notes.count:,} {name.replace('_', ' ')} (line {numbers}{more})")
        return "; ".join(text)


class PairReader(abc.ABC):
    """A corpus that can be run over again and again, as a stream.

    `report` tells about the latest pass and is complete at its end. Text stands as in the file, without
    the line break; `itertools.chain.from_iterable(reader)` gives the texts of both sides.
    """

    def __init__(self):
        self.report = Report()

    def __iter__(self) -> typing.Iterator[tuple[str, str]]:
        return ((source, target) for _, source, target in self.numbered())

    def numbered(self) -> typing.Iterator[tuple[int, str, str]]:
        """(line number, source, target) of each pair."""
        report = self.report = Report()
        for line, sides in enumerate(self._rows(), start=1):
            report.lines = line
            if sides is None:
                report.missing_column.add(line)
                continue
            try:
                source, target = (side.decode("utf-8") for side in sides)
            except UnicodeDecodeError:
                report.broken.add(line)
                continue
            filled = bool(source.strip()), bool(target.strip())
            if all(filled):
                report.pairs += 1
                yield line, source, target
            elif any(filled):
                (report.target_empty if filled[0] else report.source_empty).add(line)
            else:
                report.both_empty.add(line)

    @abc.abstractmethod
    def _rows(self) -> typing.Iterator[tuple[bytes, bytes] | None]:
        """Both sides of each line as they lie in the file; None if there are not two."""


class ParallelText(PairReader):
    """Two files, plain or gzip (told by content), in which line n of one translates line n of the other.

    Raises:
        FileNotFoundError: If a file is missing.
        ValueError: At the end of a pass, if the files have different numbers of lines: the pairs before the
            end are then as doubtful as the rest.
    """

    def __init__(self, source_path: Path, target_path: Path):
        super().__init__()
        self._paths = _existing(source_path), _existing(target_path)

    def _rows(self):
        counts = [0, 0]
        with contextlib.ExitStack() as stack:
            files = [stack.enter_context(contextlib.closing(_lines(path))) for path in self._paths]
            for sides in itertools.zip_longest(*files):
                counts = [count + (side is not None) for count, side in zip(counts, sides)]
                if counts[0] == counts[1]:
                    yield sides
        if counts[0] != counts[1]:
            raise ValueError(
                "Parallel files must have the same number of lines. "
                f"Received: {self._paths[0]} with {counts[0]}, {self._paths[1]} with {counts[1]} lines. "
                "Look for a lost or broken line; nothing tells which pairs are right."
            )


class TabSeparated(PairReader):
    """One file, plain or gzip (told by content), with both sentences of a pair on a line, split by a tab.

    Args:
        path: The file. Quotation marks mean themselves, further columns are ignored.
        columns: Numbers of the source and the target column, from 0; (1, 0) turns the direction round.
    """

    def __init__(self, path: Path, columns: tuple[int, int] = (0, 1)):
        super().__init__()
        self._path, self._columns = _existing(path), tuple(columns)
        if len(self._columns) != 2 or min(self._columns) < 0 or self._columns[0] == self._columns[1]:
            raise ValueError(f"`columns` must be two different numbers from 0. Received: columns={columns}.")

    def _rows(self):
        with contextlib.closing(_lines(self._path)) as lines:
            for line in lines:
                cells = line.split(b"\t")
                if not line.strip():
                    yield b"", b""
                else:
                    yield tuple(cells[c] for c in self._columns) if max(self._columns) < len(cells) else None


class TensorFlowDataset(PairReader):
    """A translation data set of tensorflow-datasets; its examples take the place of lines.

    Args:
        name: Builder and configuration, such as "wmt14_translate/de-en".
        languages: Names of the source and the target feature, such as ("en", "de"); None for the two that the
            data set calls its input and its answer.
        split: Any split of the data set, also "train[:10%]".
        data_dir: Where prepared data sets lie; None for the place that tensorflow-datasets chooses.
            What is not there yet is downloaded and prepared at the first pass.
    """

    def __init__(
        self,
        name: str,
        languages: tuple[str, str] | None = None,
        split: str = "train",
        data_dir: Path | None = None,
    ):
        super().__init__()
        try:
            import importlib_resources  # noqa: F401  tensorflow-datasets 4.9 needs it but does not install it.
            import tensorflow_datasets
        except ImportError as error:
            raise ImportError(
                f"Reading tfds:{name} needs tensorflow-datasets. "
                "Install it: pip install tensorflow-datasets importlib_resources"
            ) from error
        self._module, self._split = tensorflow_datasets, split
        try:
            self._builder = tensorflow_datasets.builder(name, data_dir=data_dir and os.fspath(data_dir))
        except ValueError as error:
            reason = str(error).partition("\n")[0]  # The rest lists all data sets there are.
            raise ValueError(
                f"`name` must be a data set of tensorflow-datasets. Received: {name!r}: {reason} "
                "See https://www.tensorflow.org/datasets/catalog/overview#translate for names."
            ) from error
        known = list(self._builder.info.features)
        self._languages = tuple(languages or self._builder.info.supervised_keys or known)
        if len(self._languages) != 2 or not set(self._languages) <= set(known):
            raise ValueError(f"`languages` must be two features of {name}: {known}. Received: {self._languages}.")

    def _rows(self):
        self._builder.download_and_prepare()
        known = list(self._builder.info.splits)
        try:
            examples = self._builder.as_dataset(split=self._split, shuffle_files=False)
        except ValueError as error:
            raise ValueError(
                f"`split` must be one of {', '.join(known)}, or a part of it. Received: {self._split!r}."
            ) from error
        for example in self._module.as_numpy(examples):
            yield tuple(example[language] for language in self._languages)


def open_pairs(
    source: Path | None = None,
    target: Path | None = None,
    data: Path | None = None,
    *,
    columns: tuple[int, int] = (0, 1),
    languages: tuple[str, str] | None = None,
    split: str = "train",
) -> PairReader:
    """The reader that command-line arguments ask for: either `source` and `target`, or `data`.

    Args:
        source, target: Two parallel files.
        data: A tab-separated file, or "tfds:NAME" for a data set of tensorflow-datasets.
        columns: For a tab-separated file, see `TabSeparated`.
        languages, split: For tfds, see `TensorFlowDataset`.
    """
    if source and target and not data:
        return ParallelText(source, target)
    if source or target or not data:
        raise ValueError(
            "A corpus is two files, `source` and `target`, or one `data`: a tab-separated file or tfds:NAME. "
            f"Received: source={source!r}, target={target!r}, data={data!r}."
        )
    if os.fspath(data).startswith("tfds:"):
        return TensorFlowDataset(os.fspath(data).removeprefix("tfds:"), languages, split)
    return TabSeparated(data, columns)


def read_lines(path: Path) -> typing.Iterator[str]:
    """Every line of a text in one language, plain or gzip, empty ones included, so that line n stays line n.

    Raises:
        ValueError: If a line is not UTF-8, with its number.
    """
    for number, line in enumerate(_lines(_existing(path)), start=1):
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(f"{path}, line {number}, is not UTF-8: {error}. Convert the file.") from error


def _existing(path):
    path = pathlib.Path(path)
    if not path.exists():
        raise FileNotFoundError(f"Expected a text file. Received: {path}, which does not exist. Check the path.")
    return path


def _lines(path):
    """Lines as bytes. Only a line feed ends one: the others of str.splitlines would shift the pairs."""
    with open(path, "rb") as file:
        magic = file.read(2)
        file.seek(0)
        with gzip.open(file) if magic == b"\x1f\x8b" else contextlib.nullcontext(file) as lines:
            try:
                for number, line in enumerate(lines):
                    if number == 0:
                        line = line.removeprefix(b"\xef\xbb\xbf")
                    yield line.removesuffix(b"\n").removesuffix(b"\r")
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise ValueError(f"{path} is a damaged gzip file: {error}. Fetch it again.") from error
