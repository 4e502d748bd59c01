"""Plain texts as an iterator, with a report of the lines left out. No Keras."""

import os
import typing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from zoo.corpora.reading import DatasetRows, LineNotes, LineRows, Path, Row, TableRows, notes_of, text_features


@dataclass
class Report:
    """What one pass over a corpus found. Line numbers count from 1.

    Args:
        lines: Lines (or rows of a CSV file) or examples read.
        texts: Texts that they gave.
        short: Had fewer columns than were asked for, or an empty one; the other columns are read.
        broken: Not UTF-8; left out.
    """

    lines: int = 0
    texts: int = 0
    short: LineNotes = field(default_factory=LineNotes)
    broken: LineNotes = field(default_factory=LineNotes)

    def __str__(self):
        return "; ".join([f"{self.texts:,} texts from {self.lines:,} lines", *notes_of(self)])


class TextReader:
    """Texts that can be run over again and again; `report` tells about the latest pass.

    Args:
        rows: The texts of each line, as they lie in the file; None where columns are missing.
    """

    def __init__(self, rows: typing.Iterable[Row]):
        self._rows = rows
        self.report = Report()

    def __iter__(self) -> Iterator[str]:
        report = self.report = Report()
        for line, cells in enumerate(self._rows, start=1):
            report.lines = line
            filled = [cell for cell in cells or () if cell.strip()]
            if cells is None or len(filled) < len(cells):
                report.short.add(line)
            try:
                texts = [cell.decode("utf-8") for cell in filled]
            except UnicodeDecodeError:
                report.broken.add(line)
                continue
            report.texts += len(texts)
            yield from texts


def open_texts(
    data: Path,
    *,
    columns: Sequence[int] | None = None,
    features: Sequence[str] | None = None,
    split: str = "train",
    data_dir: Path | None = None,
) -> TextReader:
    """The reader that command-line arguments ask for.

    Args:
        data: A file with a text a line, or with `columns` a tab-separated or (told by its ending) CSV file, gzip or
            not; or "tfds:NAME" for a data set of tensorflow-datasets.
        columns: Columns that are texts, from 0.
        features: For tfds, which are read; all texts by default.
        split, data_dir: For tfds, see `zoo.corpora.reading.DatasetRows`.
    """
    name = os.fspath(data)
    if name.startswith("tfds:"):
        return TextReader(DatasetRows(name.removeprefix("tfds:"), features, split, data_dir, "features", text_features))
    if columns is None:
        return TextReader(LineRows(data))
    return TextReader(TableRows(data, columns, commas=name.removesuffix(".gz").endswith(".csv")))
