"""Sentences of labelled words, one word a line, as iterators. No Keras."""

import contextlib
import os
import typing
from collections.abc import Iterator, Sequence

from zoo.corpora.labelled_corpus import NO_LABEL
from zoo.corpora.reading import LineNotes, PathLike, Report, existing_path, read_byte_lines


class Sentence(typing.NamedTuple):
    """Words and the label of each."""

    words: tuple[str, ...]
    labels: tuple[str, ...]


def _report():
    """The report of a pass; sentences with other bytes than UTF-8 are left out."""
    return Report("{sentences:,} sentences of {words:,} words from {lines:,} lines", "broken")


class SentenceReader:
    """A file with one word a line and an empty line after each sentence, as of CoNLL's shared tasks.

    It can be run over again and again; `report` tells about the latest pass.

    Args:
        path: The file, plain or gzip (told by content). Columns are split by tabs if its first line has one, else by
            spaces. `-DOCSTART-` ends a sentence; between tabs, lines that begin with `#` and have no tab are comments.
        columns: Columns of word and label, from 0; negative ones count from the end.
        unknown_labels: What labels mean that a model does not know when it is evaluated: an "error", or "wrong"
            whatever is predicted.

    Raises:
        ValueError: If an argument does not fit. While it is run over, at a line without these columns, or with another
            number of columns than the first.
    """

    def __init__(self, path: PathLike, columns: Sequence[int] = (0, -1), unknown_labels: str = "error"):
        self._path, self._columns, self.unknown_labels = existing_path(path), tuple(columns), unknown_labels
        if len(self._columns) != 2 or self._columns[0] == self._columns[1]:
            raise ValueError(f"`columns` must be two different numbers, of word and label. Received: {columns}.")
        if unknown_labels not in ("error", "wrong"):
            raise ValueError(f"`unknown_labels` must be error or wrong. Received: unknown_labels={unknown_labels!r}.")
        self.report = _report()

    def __iter__(self) -> Iterator[Sentence]:
        return (sentence for _, sentence in self.numbered())

    def numbered(self) -> Iterator[tuple[int, Sentence]]:
        """(line of the first word, sentence)."""
        report = self.report = _report()
        words, first, broken = [], 0, False
        with contextlib.closing(read_byte_lines(self._path)) as lines:
            for line, cells in self._cells(lines, report):
                if cells is None:
                    broken = True
                elif cells:
                    first = first if words else line
                    words.append(cells)
                    continue
                else:
                    if words and not broken:
                        yield first, self._sentence(words, report)
                    words, broken = [], False
        if words and not broken:
            yield first, self._sentence(words, report)

    def _sentence(self, words, report):
        report.sentences += 1
        report.words += len(words)
        return Sentence(*zip(*words))

    def _cells(self, lines, report):
        """(line, (word, label)); nothing for an empty line, None for one that is broken."""
        separator = width = None
        for line, content in enumerate(lines, start=1):
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
                    f"{self._columns} among them. Mend the line, or choose others by `columns`."
                )
            word, label = (cells[column].strip() for column in self._columns)
            if not word or not label:
                raise ValueError(f"{os.fspath(self._path)}, line {line}, lacks its word or its label. Mend the line.")
            yield line, (word, label)


def label_names(sentences: typing.Iterable[Sentence]) -> list[str]:
    """The labels of a corpus, sorted.

    Raises:
        ValueError: If there are none.
    """
    names = sorted({label for sentence in sentences for label in sentence.labels})
    if not names:
        raise ValueError("A tagger needs labelled words to learn from. Received: no sentence.")
    return names


def label_numbers(reader: SentenceReader, names: Sequence[str]) -> tuple[list[list[int]], list[Sentence], LineNotes]:
    """Reads the numbers of the labels, sentence by sentence, the sentences, and the lines of unknown labels.

    Args:
        reader: Sentences; its `unknown_labels` says whether other labels than `names` are an error or NO_LABEL.
        names: The labels, in the order of their numbers.

    Raises:
        ValueError: If a label is not among `names` and that is an error; the message names the line.
    """
    number_of = {name: i for i, name in enumerate(names)}
    numbers, sentences, notes = [], [], LineNotes()
    for first, sentence in reader.numbered():
        for i, label in enumerate(sentence.labels):
            if label in number_of:
                continue
            if reader.unknown_labels == "error":
                raise ValueError(
                    f"Line {first + i} has the label {label!r}, which training never saw. Known labels: "
                    f"{', '.join(names)}. Mend the line, or have such words count as wrong (--unknown-labels wrong)."
                )
            notes.add(first + i)
        numbers.append([number_of.get(label, NO_LABEL) for label in sentence.labels])
        sentences.append(sentence)
    return numbers, sentences, notes
