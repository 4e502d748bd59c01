"""Readers of texts, or pairs of texts, with classes. No Keras."""

import typing
from collections.abc import Mapping, Sequence

from zoo.corpora.byte_lines import PathLike
from zoo.corpora.inspection import check_labels, inspect_reader
from zoo.corpora.reading import DatasetRows, Reader, Row, open_rows, text_features


class Example(typing.NamedTuple):
    """One or two texts and their class."""

    label: str
    texts: tuple[str, ...]


class ExampleReader(Reader):
    """Reads examples from rows; rows with an empty label or an empty text are left out.

    Args:
        rows: The label and one or two texts of each row.
        header: Whether the first row contains the names of the columns.
        name: Name of the corpus in error messages.
        names: All classes, if the data set defines them.
        label_names: Names of labels, by what the rows contain; others are their own names.

    Raises:
        ValueError: During iteration, at a row with too few columns.
    """

    summary = "{examples:,} examples from {lines:,} lines"
    notes = "empty", "empty_label", "empty_text", "broken"

    def __init__(
        self,
        rows: typing.Iterable[Row],
        header: bool = False,
        name: str = "the corpus",
        names: Sequence[str] | None = None,
        label_names: Mapping[str, str] | None = None,
    ):
        super().__init__(rows)
        self._header, self._name, self._label_names = header, name, dict(label_names or {})
        self.names = names and [self._label_names.get(name, name) for name in names]

    def show(self, example):
        names = ("text",) if len(example.texts) == 1 else ("first", "second")
        return "   ".join(f"{name}: {text}" for name, text in zip(("label", *names), (example.label, *example.texts)))

    def key(self, cells):
        return cells[1]

    def examples(self, line, cells):
        if cells is None:
            raise ValueError(
                f"{self._name}, line {line}, must have all columns that are selected. Received: too few columns. "
                "Correct the line, or select other columns by `columns`."
            )
        label, texts = cells[0].strip(), tuple(cells[1:])
        filled = all(text.strip() for text in texts)
        if line == 1 and self._header:
            return
        if label and filled:
            self.report.examples += 1
            yield Example(self._label_names.get(label, label), texts)
        else:
            report = self.report
            (report.empty_text if label else report.empty_label if filled else report.empty).add(line)


def open_examples(
    data: PathLike,
    *,
    columns: Sequence[int] | None = None,
    header: bool = False,
    label_names: Mapping[str, str] | None = None,
    features: Sequence[str] | None = None,
    split: str = "train",
    data_dir: PathLike | None = None,
) -> ExampleReader:
    """Opens a corpus of labelled texts.

    Args:
        data: A tab-separated file, or a CSV file (with the suffix .csv), gzip or not; or "tfds:NAME" for a data set of
            tensorflow-datasets.
        columns: Numbers of the columns of the label and of one or two texts, from 0; (0, 1) by default.
        header: Whether the first line of the file contains the names of the columns.
        label_names: Names of labels, by what the corpus contains, such as {"0": "negative", "1": "positive"}.
        features: Names of the features of a data set: the label and one or two texts. By default the only feature with
            classes, and all texts if there are one or two.
        split, data_dir: As for `zoo.corpora.reading.DatasetRows`.

    Raises:
        ValueError: If there are not two or three columns or features.
    """
    chosen, columns = columns is not None, (0, 1) if columns is None else columns
    selected = columns if features is None else features
    if len(selected) not in (2, 3):
        raise ValueError(
            "`columns` (for tfds `features`) must select the label and one or two texts. "
            f"Received: {tuple(selected)}. Select two or three."
        )
    rows = open_rows(data, columns, features, split, data_dir, _label_and_texts)
    if isinstance(rows, DatasetRows):
        return ExampleReader(rows, name=str(data), names=rows.names(rows.features[0]), label_names=label_names)
    reader = ExampleReader(rows, header, str(data), label_names=label_names)
    reader.chosen = chosen
    return reader


def _label_and_texts(info):
    labels = [name for name, feature in info.features.items() if hasattr(feature, "names")]
    texts = text_features(info)
    return [*labels, *texts] if len(labels) == 1 and len(texts) in (1, 2) else []


def class_names(examples: typing.Iterable[Example]) -> list[str]:
    """Returns the classes of a corpus, sorted; integers are sorted by value.

    Raises:
        ValueError: If there are fewer than two classes, more than one for two examples, or a class of the data set has
            no example.
    """
    labels = [example.label for example in examples]
    names = {*labels}
    check_labels(names, labels, "texts", len(labels) // 2)
    missing = [name for name in getattr(examples, "names", None) or () if name not in names]
    if missing:
        raise ValueError(
            f"There must be an example of every class of the data set. Received: none of {', '.join(missing)}. "
            "Train on another split."
        )
    if len(names) < 2:
        inspect_reader(examples, "train")  # Raises an error with the reason if that is the format.
        raise ValueError(f"A classifier needs at least two classes. Received: {sorted(names)}. Add examples.")
    numbers = all(name.lstrip("-").isdigit() for name in names)
    return sorted(names, key=int if numbers else None)


def class_numbers(reader: ExampleReader, names: Sequence[str]) -> tuple[list[int], list[tuple[str, ...]]]:
    """Reads a corpus; returns the numbers of the classes, and the texts.

    Args:
        reader: The corpus.
        names: The classes, in the order of their numbers.

    Raises:
        ValueError: If a class is not one of `names`; the message contains its line.
    """
    number_of = {name: i for i, name in enumerate(names)}
    numbers, texts = [], []
    for line, example in reader.numbered():
        if example.label not in number_of:
            raise ValueError(
                f"Line {line} has the class {example.label!r}, which is not in the training data. "
                f"Known classes: {', '.join(names)}. Correct or delete the line."
            )
        numbers.append(number_of[example.label])
        texts.append(example.texts)
    return numbers, texts
