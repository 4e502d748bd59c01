"""Plain texts as an iterator, with a report of the lines left out. No Keras."""

import os
import typing
from collections.abc import Iterator, Sequence

from zoo.corpora.reading import DatasetRows, LineRows, PathLike, Report, Row, TableRows, text_features


def _report():
    """The report of a pass; short lines lack a column, which is left out, as are lines with other bytes than UTF-8."""
    return Report("{texts:,} texts from {lines:,} lines", "short", "broken")


class TextReader:
    """Texts that can be run over again and again; `report` tells about the latest pass.

    Args:
        rows: The texts of each line, as they lie in the file; None where columns are missing.
    """

    def __init__(self, rows: typing.Iterable[Row]):
        self._rows = rows
        self.report = _report()

    def __iter__(self) -> Iterator[str]:
        report = self.report = _report()
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
    data: PathLike,
    *,
    columns: Sequence[int] | None = None,
    features: Sequence[str] | None = None,
    split: str = "train",
    data_dir: PathLike | None = None,
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
