"""Rows of files and data sets as bytes, with notes of the lines that are left out. No Keras."""

import contextlib
import csv
import gzip
import os
import pathlib
import typing
import zlib
from dataclasses import dataclass, field

Path = str | os.PathLike
Row = tuple[bytes, ...] | None  # None where a line has too few columns.


@dataclass
class LineNotes:
    """On how many lines something was found, and the numbers of the first ten."""

    count: int = 0
    first: list[int] = field(default_factory=list)

    def add(self, line: int) -> None:
        self.count += 1
        if len(self.first) < 10:
            self.first.append(line)

    def __str__(self):
        more = ", ..." if self.count > len(self.first) else ""
        return f"(line {', '.join(map(str, self.first))}{more})"


def notes_of(report: typing.Any) -> list[str]:
    """The fields of a report that note lines, in words."""
    notes = {name: value for name, value in vars(report).items() if isinstance(value, LineNotes) and value.count}
    return [f"{value.count:,} {name.replace('_', ' ')} {value}" for name, value in notes.items()]


class TableRows:
    """Columns of one file, plain or gzip (told by content), tab-separated or CSV.

    Args:
        path: The file.
        columns: Numbers of the columns, from 0. Further ones are ignored.
        commas: Whether it is CSV: quotation marks hold cells together, and a row may have several lines. Between tabs
            they mean themselves.

    Yields:
        The cells of each line; empty ones for a blank line, None where columns are missing.
    """

    def __init__(self, path: Path, columns: typing.Sequence[int], commas: bool = False):
        self._path, self._columns, self._commas = existing(path), tuple(columns), commas
        if min(self._columns) < 0 or len({*self._columns}) < len(self._columns):
            raise ValueError(f"`columns` must be different numbers from 0. Received: columns={columns}.")

    def __iter__(self) -> typing.Iterator[Row]:
        with contextlib.closing(lines_of(self._path)) as lines:
            for cells in self._cells(lines):
                if not any(cell.strip() for cell in cells):
                    yield (b"",) * len(self._columns)
                else:
                    yield tuple(cells[c] for c in self._columns) if max(self._columns) < len(cells) else None

    def _cells(self, lines):
        if self._commas:
            # Latin-1 carries bytes through the reader unharmed.
            rows = csv.reader(line.decode("latin-1") + "\n" for line in lines)
            try:
                for cells in rows:
                    yield [cell.encode("latin-1") for cell in cells]
            except csv.Error as error:
                raise ValueError(f"{self._path}, line {rows.line_num}, is no CSV: {error}. Mend the line.") from error
        else:
            for line in lines:
                yield line.split(b"\t")


class LineRows:
    """The lines of one file, plain or gzip (told by content), each a row of one cell.

    Args:
        path: The file.
    """

    def __init__(self, path: Path):
        self._path = existing(path)

    def __iter__(self) -> typing.Iterator[Row]:
        with contextlib.closing(lines_of(self._path)) as lines:
            yield from ((line,) for line in lines)


class DatasetRows:
    """Features of a data set of tensorflow-datasets; its examples take the place of lines.

    Args:
        name: Builder and configuration, such as "wmt14_translate/de-en".
        features: Names of the features; None for those that `choose` finds.
        split: Any split of the data set, also "train[:10%]".
        data_dir: Where prepared data sets lie; None for the place that tensorflow-datasets chooses.
            What is not there yet is downloaded and prepared at the first pass.
        argument: What errors call `features`.
        choose: From the `info` of the data set, the names wanted; none if it cannot tell.
    """

    def __init__(
        self,
        name: str,
        features: typing.Sequence[str] | None,
        split: str,
        data_dir: Path | None,
        argument: str,
        choose: typing.Callable[[typing.Any], typing.Sequence[str]],
    ):
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
                "See https://www.tensorflow.org/datasets/catalog/overview for names."
            ) from error
        known = self._builder.info.features
        self.features = tuple(features or choose(self._builder.info))
        if not self.features or not set(self.features) <= set(known):
            raise ValueError(
                f"`{argument}` must be names among the features of {name}: {', '.join(known)}. Received: {features}."
            )

    def names(self, feature: str) -> list[str] | None:
        """Names of the classes of a feature of class numbers, else None."""
        return getattr(self._builder.info.features[feature], "names", None)

    def __iter__(self) -> typing.Iterator[Row]:
        self._builder.download_and_prepare()
        known = list(self._builder.info.splits)
        try:
            examples = self._builder.as_dataset(split=self._split, shuffle_files=False)
        except ValueError as error:
            raise ValueError(
                f"`split` must be one of {', '.join(known)}, or a part of it. Received: {self._split!r}."
            ) from error
        for example in self._module.as_numpy(examples):
            yield tuple(self._cell(feature, example[feature]) for feature in self.features)

    def _cell(self, feature, value):
        if isinstance(value, bytes):
            return value
        names = self.names(feature)  # Hidden labels of a test set are -1.
        return (names[value] if names and value >= 0 else str(value)).encode()


def text_features(info: typing.Any) -> list[str]:
    """The names of those features of a data set of tensorflow-datasets that are texts."""
    return [name for name, feature in info.features.items() if type(feature).__name__ == "Text"]


def read_lines(path: Path) -> typing.Iterator[str]:
    """Every line of a text in one language, plain or gzip, empty ones included, so that line n stays line n.

    Raises:
        ValueError: If a line is not UTF-8, with its number.
    """
    for number, line in enumerate(lines_of(existing(path)), start=1):
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(f"{path}, line {number}, is not UTF-8: {error}. Convert the file.") from error


def existing(path: Path) -> pathlib.Path:
    """The path; `FileNotFoundError` where there is nothing."""
    path = pathlib.Path(path)
    if not path.exists():
        raise FileNotFoundError(f"Expected a text file. Received: {path}, which does not exist. Check the path.")
    return path


def lines_of(path: pathlib.Path) -> typing.Iterator[bytes]:
    """Lines as bytes. Only a line feed ends one: the others of str.splitlines would shift parallel lines."""
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
