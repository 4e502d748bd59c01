"""Readers of sentences of labelled words. No Keras."""

import os
import typing
from collections.abc import Iterator, Sequence

from zoo.corpora.byte_lines import PathLike
from zoo.corpora.inspection import check_labels, inspect_reader
from zoo.corpora.labelled_corpus import NO_LABEL
from zoo.corpora.reading import LineRows, Reader
from zoo.corpora.reports import LineNotes, Report


class Sentence(typing.NamedTuple):
    """Words and their labels."""

    words: tuple[str, ...]
    labels: tuple[str, ...]


class SentenceReader(Reader):
    """Reads files with one word per line and an empty line after each sentence, as in the CoNLL shared tasks.

    Sentences with a line that is not UTF-8 are left out.

    Args:
        path: The file, plain or gzip (recognized by content). Columns are separated by tabs if its first line has one,
            else by spaces. `-DOCSTART-` ends a sentence. In files with tabs, lines without a tab that start with `#`
            are comments.
        columns: Numbers of the columns of word and label, from 0; negative ones count from the end.
        unknown_labels: How labels that the model does not know are evaluated: "error" raises an error, "wrong" counts
            any prediction as wrong.

    Raises:
        ValueError: If an argument is invalid. During iteration, at a line that lacks a column, or has another number of
            columns than the first line.
    """

    summary, notes = "{sentences:,} sentences of {words:,} words from {lines:,} lines", ("broken",)

    def __init__(self, path: PathLike, columns: Sequence[int] = (0, -1), unknown_labels: str = "error"):
        super().__init__(LineRows(path))
        self._path, self._columns, self.unknown_labels = path, tuple(columns), unknown_labels
        if len(self._columns) != 2 or self._columns[0] == self._columns[1]:
            raise ValueError(
                f"`columns` must be two different numbers, of word and label. Received: columns={columns}. Change them."
            )
        if unknown_labels not in ("error", "wrong"):
            raise ValueError(
                f"`unknown_labels` must be 'error' or 'wrong'. Received: unknown_labels={unknown_labels!r}. Change it."
            )

    def show(self, sentence):
        return "   ".join(f"{word} = {label}" for word, label in zip(*sentence))

    def numbered(self) -> Iterator[tuple[int, Sentence]]:
        """Yields (line of the first word, sentence)."""
        report = self.report = Report(self.summary, *self.notes)
        words, first, broken = [], 0, False
        for line, cells in self._cells(report):
            if cells is None:
                broken = True
            elif cells:
                first = first if words else line
                words.append(cells)
            else:
                sentence = Sentence(*zip(*words)) if words and not broken else None
                if sentence and (self.part is None or self.part(" ".join(sentence.words))):
                    report.sentences += 1
                    report.words += len(words)
                    report.first = report.first or (first, sentence)
                    yield first, sentence
                words, broken = [], False

    def _cells(self, report):
        """Yields (line, (word, label)), with an empty tuple at the end of a sentence, and None for invalid UTF-8."""
        separator = width = None
        for line, (content,) in enumerate(self._rows, start=1):
            report.lines = line
            try:
                text = content.decode("utf-8")
            except UnicodeDecodeError:
                report.broken.add(line)
                yield line, None
                continue
            if not text.strip() or text.startswith("-DOCSTART-"):
                yield line, ()
                continue
            if text.startswith("#") and "\t" not in text and separator != " ":
                continue  # A comment of CoNLL-U.
            separator = separator or ("\t" if "\t" in text else " ")
            cells = text.split("\t") if separator == "\t" else text.split()
            width = width or len(cells)
            if len(cells) != width or not -width <= min(self._columns) <= max(self._columns) < width:
                raise ValueError(
                    f"{os.fspath(self._path)}, line {line}, has {len(cells)} columns; {width} were expected, columns "
                    f"{self._columns} among them. Correct the line, or select other columns by `columns`."
                )
            word, label = (cells[column].strip() for column in self._columns)
            if not word or not label:
                raise ValueError(f"{os.fspath(self._path)}, line {line}, lacks its word or its label. Correct it.")
            yield line, (word, label)
        yield None, ()


def label_names(sentences: typing.Iterable[Sentence]) -> list[str]:
    """Returns the labels of a corpus, sorted.

    Raises:
        ValueError: If the corpus is empty, or has more different labels than different words.
    """
    pairs = [pair for sentence in sentences for pair in zip(*sentence)]
    names = sorted({label for _, label in pairs})
    check_labels(names, pairs, "words", len({word for word, _ in pairs}))
    if not names:
        inspect_reader(sentences, "train")  # Raises an error with the reason if that is the format.
        raise ValueError("The training corpus must have labelled words. Received: no sentence. Check the file.")
    return names


def label_numbers(reader: SentenceReader, names: Sequence[str]) -> tuple[list[list[int]], list[Sentence], LineNotes]:
    """Reads a corpus; returns the numbers of the labels of each sentence, the sentences, and lines of unknown labels.

    Args:
        reader: The corpus. Its `unknown_labels` determines whether labels that are not in `names` raise an error or
            become NO_LABEL.
        names: The labels, in the order of their numbers.

    Raises:
        ValueError: If a label is not in `names` and that is an error; the message contains its line.
    """
    number_of = {name: i for i, name in enumerate(names)}
    numbers, sentences, notes = [], [], LineNotes()
    for first, sentence in reader.numbered():
        for i, label in enumerate(sentence.labels):
            if label in number_of:
                continue
            if reader.unknown_labels == "error":
                raise ValueError(
                    f"Line {first + i} has the label {label!r}, which is not in the training data. Known labels: "
                    f"{', '.join(names)}. Correct the line, or count such words as wrong (--unknown-labels wrong)."
                )
            notes.add(first + i)
        numbers.append([number_of.get(label, NO_LABEL) for label in sentence.labels])
        sentences.append(sentence)
    return numbers, sentences, notes
