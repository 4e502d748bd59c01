"""Labelled texts, or pairs of texts, as iterators of examples, with a report of the lines left out. No Keras."""

import os
import typing
from collections.abc import Iterator, Sequence

from zoo.corpora.reading import DatasetRows, PathLike, Report, Row, TableRows, text_features


class Example(typing.NamedTuple):
    """A text, or two, and its class."""

    label: str
    texts: tuple[str, ...]


def _report():
    """The report of a pass; lines with an empty label, an empty text or other bytes than UTF-8 are left out."""
    return Report("{examples:,} examples from {lines:,} lines", "empty", "empty_label", "empty_text", "broken")


class ExampleReader:
    """Labelled texts that can be run over again and again; `report` tells about the latest pass.

    Args:
        rows: The label and one or two texts of each line, as they lie in the file; None where there are too few.
        header: Whether the first row holds names.
        name: What errors call the corpus.
        names: All classes there are, if the data set says so.
    """

    def __init__(
        self,
        rows: typing.Iterable[Row],
        header: bool = False,
        name: str = "the corpus",
        names: Sequence[str] | None = None,
    ):
        self._rows, self._header, self._name, self.names = rows, header, name, names
        self.report = _report()

    def __iter__(self) -> Iterator[Example]:
        return (example for _, example in self.numbered())

    def numbered(self) -> Iterator[tuple[int, Example]]:
        """(line number, example).

        Raises:
            ValueError: At a line with too few columns: a text with its label cut off is no text.
        """
        report = self.report = _report()
        for line, cells in enumerate(self._rows, start=1):
            report.lines = line
            if cells is None:
                raise ValueError(
                    f"{self._name}, line {line}, has fewer columns than were asked for. "
                    "Mend the line, or choose others by `columns`."
                )
            if line == 1 and self._header:
                continue
            try:
                label, *texts = (cell.decode("utf-8") for cell in cells)
            except UnicodeDecodeError:
                report.broken.add(line)
                continue
            label = label.strip()
            filled = bool(label), all(text.strip() for text in texts)
            if all(filled):
                report.examples += 1
                yield line, Example(label, tuple(texts))
            else:
                (report.empty_text if filled[0] else report.empty_label if filled[1] else report.empty).add(line)


def open_examples(
    data: PathLike,
    *,
    columns: Sequence[int] = (0, 1),
    header: bool = False,
    features: Sequence[str] | None = None,
    split: str = "train",
    data_dir: PathLike | None = None,
) -> ExampleReader:
    """The reader that command-line arguments ask for.

    Args:
        data: A tab-separated file, a CSV file (told by its ending), either of them gzip or not, or "tfds:NAME" for a
            data set of tensorflow-datasets.
        columns: Columns of the label and of one or two texts, from 0.
        header: Whether the file begins with a line of names.
        features: For tfds, names of the label and of one or two texts; by default the feature that has classes and
            those that are texts, if that is one, and one or two.
        split, data_dir: For tfds, see `zoo.corpora.reading.DatasetRows`.

    Raises:
        ValueError: If there are not two or three columns or features.
    """
    chosen = columns if features is None else features
    if len(chosen) not in (2, 3):
        raise ValueError(
            "`columns` (for tfds `features`) must name the label and one or two texts. "
            f"Received: {tuple(chosen)}. Two or three are needed."
        )
    name = os.fspath(data)
    if not name.startswith("tfds:"):
        commas = name.removesuffix(".gz").endswith(".csv")
        return ExampleReader(TableRows(data, columns, commas), header, name)
    rows = DatasetRows(name.removeprefix("tfds:"), features, split, data_dir, "features", _label_and_texts)
    return ExampleReader(rows, name=name, names=rows.names(rows.features[0]))


def _label_and_texts(info):
    labels = [name for name, feature in info.features.items() if hasattr(feature, "names")]
    texts = text_features(info)
    return [*labels, *texts] if len(labels) == 1 and len(texts) in (1, 2) else []


def class_names(examples: typing.Iterable[Example]) -> list[str]:
    """The classes of a corpus, sorted; numbers by value.

    Raises:
        ValueError: If there are fewer than two, or none of a class that the data set says it has.
    """
    names = {example.label for example in examples}
    missing = [name for name in getattr(examples, "names", None) or () if name not in names]
    if missing:
        raise ValueError(
            f"There must be an example of every class of the data set. Received: none of {', '.join(missing)}. "
            "Train on a split that has some."
        )
    if len(names) < 2:
        raise ValueError(f"A classifier needs at least two classes. Received: {sorted(names)}.")
    numbers = all(name.lstrip("-").isdigit() for name in names)
    return sorted(names, key=int if numbers else None)


def class_numbers(reader: ExampleReader, names: Sequence[str]) -> tuple[list[int], list[tuple[str, ...]]]:
    """Numbers of the classes of all examples, and their texts.

    Raises:
        ValueError: If a class is not among `names`; the message tells the line.
    """
    number_of = {name: i for i, name in enumerate(names)}
    numbers, texts = [], []
    for line, example in reader.numbered():
        if example.label not in number_of:
            raise ValueError(
                f"Line {line} has the class {example.label!r}, which training never saw. "
                f"Known classes: {', '.join(names)}. Mend the line or leave it out."
            )
        numbers.append(number_of[example.label])
        texts.append(example.texts)
    return numbers, texts
