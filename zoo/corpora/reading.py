"""Readers of files and data sets as rows of bytes, and the base class of readers of examples. No Keras."""

import contextlib
import os
import typing

from zoo.corpora.byte_lines import PathLike, chosen_cells, existing_path, raw_lines, read_byte_lines, table_cells
from zoo.corpora.reports import Report
from zoo.extras import require

Row = tuple[bytes, ...] | None  # None for a line with too few columns.


class TableRows:
    """Reads columns of one tab-separated or CSV file, plain or gzip (recognized by content).

    Args:
        path: The file.
        columns: Numbers of the columns to read, from 0.
        commas: Whether the file is CSV, in which cells may be quoted and a row may span several lines. In
            tab-separated files, quotation marks have no special meaning.

    Yields:
        The cells of each line; empty cells for a blank line, None if columns are missing.
    """

    def __init__(self, path: PathLike, columns: typing.Sequence[int], commas: bool = False):
        self._path, self.columns, self._commas = existing_path(path), tuple(columns), commas
        if min(self.columns) < 0 or len({*self.columns}) < len(self.columns):
            raise ValueError(f"`columns` must be different numbers from 0. Received: columns={columns}. Change them.")
        self.num_columns = 0  # Of the longest row of the latest pass.

    def __iter__(self) -> typing.Iterator[Row]:
        self.num_columns = 0
        with contextlib.closing(read_byte_lines(self._path)) as lines:
            for cells in table_cells(lines, self._commas, self._path):
                self.num_columns = max(self.num_columns, len(cells))
                yield chosen_cells(cells, self.columns)


class LineRows:
    """Reads the lines of one file, plain or gzip (recognized by content), as rows of one cell.

    Args:
        path: The file.
    """

    def __init__(self, path: PathLike):
        self._path = existing_path(path)

    def __iter__(self) -> typing.Iterator[Row]:
        with contextlib.closing(read_byte_lines(self._path)) as lines:
            yield from ((line,) for line in lines)


class DatasetRows:
    """Reads features of a data set of tensorflow-datasets, one row for each example.

    Args:
        name: Builder and configuration, such as "wmt14_translate/de-en".
        features: Names of the features; None for those that `choose` returns.
        split: Any split of the data set, such as "train[:10%]".
        data_dir: Folder of prepared data sets; None for the default of tensorflow-datasets. Data sets that are
            missing there are downloaded and prepared at the first pass.
        argument: Name of `features` in error messages.
        choose: Function from the `info` of the data set to default names, empty if it has none to suggest.
    """

    def __init__(
        self,
        name: str,
        features: typing.Sequence[str] | None,
        split: str,
        data_dir: PathLike | None,
        argument: str,
        choose: typing.Callable[[typing.Any], typing.Sequence[str]],
    ):
        # tensorflow-datasets 4.9 needs the second but does not install it.
        require(f"Reading tfds:{name}", "tensorflow_datasets", "importlib_resources")
        import tensorflow_datasets

        self._module, self._split = tensorflow_datasets, split
        try:
            self._builder = tensorflow_datasets.builder(name, data_dir=data_dir and os.fspath(data_dir))
        except ValueError as error:
            reason = str(error).partition("\n")[0]  # The rest lists all data sets.
            raise ValueError(
                f"`name` must be a data set of tensorflow-datasets. Received: {name!r}: {reason} "
                "See https://www.tensorflow.org/datasets/catalog/overview for names."
            ) from error
        self.known = self._builder.info.features
        self.features = tuple(features or choose(self._builder.info))
        if not self.features or not set(self.features) <= set(self.known):
            raise ValueError(
                f"`{argument}` must be among the features of {name}: {', '.join(self.known)}. Received: {features}."
            )

    def prepare(self) -> None:
        """Downloads and prepares the data set, if that has not been done."""
        self._builder.download_and_prepare()

    @property
    def num_examples(self) -> int:
        """The number of examples of the split, once it is prepared."""
        return self._part().num_examples

    @property
    def num_bytes(self) -> int:
        """The size of the files of the whole data set, once it is prepared."""
        return sum(split.num_bytes for split in self._builder.info.splits.values())

    def names(self, feature: str) -> list[str] | None:
        """Returns the names of the classes if the feature is a class label, else None."""
        return getattr(self.known[feature], "names", None)

    def __iter__(self) -> typing.Iterator[Row]:
        self.prepare()
        self._part()
        examples = self._builder.as_dataset(split=self._split, shuffle_files=False)
        for example in self._module.as_numpy(examples):
            yield tuple(self._cell(feature, example[feature]) for feature in self.features)

    def _part(self):
        """Returns the facts of the split; raises `ValueError` if there is none of this name."""
        splits = self._builder.info.splits
        try:
            return splits[self._split]
        except (KeyError, ValueError) as error:
            raise ValueError(
                f"`split` must be one of {', '.join(splits)}, or a part of it. Received: {self._split!r}."
            ) from error

    def _cell(self, feature, value):
        if isinstance(value, bytes | dict) or getattr(value, "ndim", 0):  # A text, several features, or an image.
            return value
        names = self.names(feature)  # Unpublished labels of a test set are -1.
        return (names[value] if names and value >= 0 else str(value)).encode()


def open_rows(
    data: PathLike,
    columns: typing.Sequence[int],
    features: typing.Sequence[str] | None,
    split: str,
    data_dir: PathLike | None,
    choose: typing.Callable[[typing.Any], typing.Sequence[str]],
) -> TableRows | DatasetRows:
    """Opens "tfds:NAME" as `DatasetRows`, other files as `TableRows`: CSV if the name ends in .csv or .csv.gz."""
    name = os.fspath(data)
    if name.startswith("tfds:"):
        return DatasetRows(name.removeprefix("tfds:"), features, split, data_dir, "features", choose)
    return TableRows(data, columns, commas=name.removesuffix(".gz").endswith(".csv"))


class Reader:
    """Base class of readers, which convert rows of bytes to examples and report the rows that they leave out.

    A reader can be iterated repeatedly. `report` describes the latest pass and is complete at its end.

    Args:
        rows: Rows of bytes, such as `TableRows`.

    Attributes:
        summary, notes: Arguments of `Report`, `lines` and `broken` (rows that are not UTF-8) among them.
        log: Called with the first example and with warnings when a task or a command reads the corpus; None for no
            call.
        chosen: Whether the caller chose the columns.
        part: Function from the text of an example to whether the reader gives it; None for all. See `held_out`.
    """

    summary: str
    notes: tuple[str, ...]
    log: typing.Callable[[str], None] | None = None
    chosen: bool = False
    part: typing.Callable[[str], bool] | None = None

    def __init__(self, rows: typing.Iterable[Row]):
        self._rows, self.report = rows, Report(self.summary, *self.notes)

    def show(self, example: typing.Any) -> str:
        """Returns an example with the names of its parts, for the log."""
        return f"text: {example}"

    def key(self, cells: list[str]) -> str:
        """Returns the text of a row that decides to which part of a divided corpus it belongs."""
        return cells[0]

    @property
    def columns(self) -> tuple[int, ...]:
        """The numbers of the columns that are read, from 0; empty for a corpus without columns."""
        return getattr(self._rows, "columns", ())

    @property
    def num_columns(self) -> int:
        """The number of columns of the file, after a pass; 0 for a corpus without columns."""
        return getattr(self._rows, "num_columns", 0)

    def examples(self, line: int, cells: list[str] | None) -> typing.Iterator:
        """Yields the examples of a row, and adds a row that is left out to the report; None lacks columns."""
        raise NotImplementedError

    def numbered(self) -> typing.Iterator[tuple[int, typing.Any]]:
        """Yields (line number, example)."""
        self.report = Report(self.summary, *self.notes)
        for line, row in enumerate(self._rows, start=1):
            self.report.lines = line
            try:
                cells = row and [cell.decode("utf-8") for cell in row]
            except UnicodeDecodeError:
                self.report.broken.add(line)
                continue
            if cells and self.part is not None and not self.part(self.key(cells)):
                continue
            for example in self.examples(line, cells):
                self.report.first = self.report.first or (line, example)
                yield line, example

    def __iter__(self) -> typing.Iterator:
        return (example for _, example in self.numbered())


def text_features(info: typing.Any) -> list[str]:
    """Returns the names of the text features of a data set of tensorflow-datasets."""
    return [name for name, feature in info.features.items() if type(feature).__name__ == "Text"]


def read_text(path: PathLike) -> str:
    """Returns the content of a text file, plain or gzip, with its line breaks.

    Raises:
        ValueError: If it is not UTF-8.
    """
    lines = [line.decode("utf-8", "surrogateescape") for line in raw_lines(existing_path(path))]
    text = "".join(lines)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        number = text.count("\n", 0, error.start) + 1
        raise ValueError(f"{path}, line {number}, is not UTF-8. Convert the file.") from None
    return text


def read_lines(path: PathLike) -> typing.Iterator[str]:
    """Yields every line of a text file, plain or gzip, empty lines included.

    Raises:
        ValueError: If a line is not UTF-8; the message has its number.
    """
    for number, line in enumerate(read_byte_lines(existing_path(path)), start=1):
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(f"{path}, line {number}, is not UTF-8: {error}. Convert the file.") from error
