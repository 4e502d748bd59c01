"""Readers of plain texts. No Keras."""

from collections.abc import Sequence

from zoo.corpora.byte_lines import PathLike
from zoo.corpora.reading import LineRows, Reader, open_rows, text_features


def text_pattern(
    data: str,
    *,
    columns: Sequence[int] | None = None,
    features: Sequence[str] | None = None,
    split: str = "train",
) -> tuple[list[str], dict]:
    """Returns the arguments of `zoo.preparation.inputs.open_inputs` for one text of each row, given as to `open_texts`.

    The name may be a pattern of several files, on any file system of Apache Beam.
    """
    if any(len(names or [0]) != 1 for names in (columns, features)):
        raise ValueError(
            f"One column or feature is prepared at a time. Received: columns={columns}, features={features}. Pass one."
        )
    if columns is None and features is None and not data.startswith("tfds:"):
        return [data], {}
    return [data], {"columns": columns or [0], "features": features, "split": split}


class TextReader(Reader):
    """Reads the texts of rows; empty ones are left out.

    `report.short` notes rows with an empty text or too few columns.
    """

    summary, notes = "{texts:,} texts from {lines:,} lines", ("short", "broken")

    def examples(self, line, cells):
        texts = [text for text in cells or () if text.strip()]
        if cells is None or len(texts) < len(cells):
            self.report.short.add(line)
        self.report.texts += len(texts)
        return texts


def open_texts(
    data: PathLike,
    *,
    columns: Sequence[int] | None = None,
    features: Sequence[str] | None = None,
    split: str = "train",
    data_dir: PathLike | None = None,
) -> TextReader:
    """Opens a corpus of texts.

    Args:
        data: A file with one text per line or, with `columns`, a tab-separated file or a CSV file (with the suffix
            .csv), gzip or not; or "tfds:NAME" for a data set of tensorflow-datasets.
        columns: Numbers of the columns with texts, from 0.
        features: Names of the features to read from a data set; by default all texts.
        split, data_dir: As for `zoo.corpora.reading.DatasetRows`.
    """
    if columns is None and not str(data).startswith("tfds:"):
        return TextReader(LineRows(data))
    return TextReader(open_rows(data, columns, features, split, data_dir, text_features))
