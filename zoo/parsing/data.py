"""Readers of trees, and corpora of charts. No Keras."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from zoo.corpora.byte_lines import PathLike, existing_path
from zoo.corpora.labelled_corpus import NO_LABEL, LabelledCorpus
from zoo.corpora.reading import read_lines
from zoo.corpora.reports import Report
from zoo.corpora.token_rows import TokenRows, append_rows
from zoo.corpora.word_rows import encode_windows, window_boundaries, window_characters
from zoo.parsing.chart import span_number
from zoo.parsing.trees import Spans, Tree, clean_tree, read_brackets, to_brackets, to_spans
from zoo.text.checks import numbers_of
from zoo.text.vocabularies import Vocabulary

NO_CONSTITUENT = ""  # The first label of every chart.
_REPORT = "{trees:,} trees of {words:,} words", "empty"


class TreeReader:
    """Reads cleaned trees from a file of trees in brackets, each on one line or on several; leaves out empty trees.

    It can be iterated repeatedly; `report` describes the latest pass.

    Args:
        path: The file, plain or gzip (recognized by content).

    Raises:
        ValueError: During iteration, at an invalid tree or invalid UTF-8; the message contains the line.
    """

    def __init__(self, path: PathLike):
        self._path, self.report = existing_path(path), Report(*_REPORT)

    log = part = None  # As for `zoo.corpora.reading.Reader`.

    def show(self, tree: Tree) -> str:
        """Returns a tree in brackets, for the log."""
        return f"tree: {to_brackets(tree)}"

    def __iter__(self) -> Iterator[Tree]:
        report = self.report = Report(*_REPORT)
        for number, tree in read_brackets(read_lines(self._path), os.fspath(self._path)):
            tree = clean_tree(tree)
            if tree is None:
                report.empty.add(number)
                continue
            if self.part is not None and not self.part(" ".join(tree.leaves())):
                continue
            report.first = report.first or (number, tree)
            report.trees += 1
            report.words += len(tree.leaves())
            yield tree


@dataclass(frozen=True, eq=False)
class ChartCorpus(LabelledCorpus):
    """Sentences with the charts of their trees.

    The `labels` are rows of cells (first, last + 1, label), and (word, word, tag) for tags. In batches they are
    `[B, N (N + 1) / 2]` in the order of `zoo.models.span_parser.SpanParser`, with NO_LABEL as padding.
    """

    def gather(self, rows: np.ndarray, widths: list[int], fill: int) -> dict[str, np.ndarray]:
        """Returns the chosen rows as arrays; see `LabelledCorpus`. The boundaries are `[B, N]`."""
        (width,) = widths
        boundaries = self.features["boundary_ids"]
        places = int(boundaries.lengths[rows].max())
        sides = {"token_ids": (self.tokens, width)} | {
            name: (side, places if side is boundaries else width) for name, side in self.features.items()
        }
        batch = {name: append_rows(side.padded(rows, columns), fill) for name, (side, columns) in sides.items()}
        return batch | {"labels": append_rows(self._charts(rows, boundaries.lengths[rows] - 1, places), fill, NO_LABEL)}

    def _charts(self, rows, words, places):
        last = np.repeat(np.arange(places), np.arange(places))  # The ends of all spans, in the order of the model.
        charts = np.full((len(rows), places + len(last)), NO_LABEL, "int32")
        charts[:, places:] = np.where(last <= words[:, None], 0, NO_LABEL)
        for chart, row in zip(charts, rows):
            first, last, label = self.labels.ids[self.labels.offsets[row] : self.labels.offsets[row + 1]].T
            chart[np.where(first == last, first, places + span_number(first, last))] = label
        return charts


def label_names(trees: Sequence[Spans]) -> tuple[list[str], list[str]]:
    """Returns NO_CONSTITUENT and the sorted labels of spans, and the sorted tags."""
    labels = {label for spans in trees for label in spans.labels.values()}
    return [NO_CONSTITUENT, *sorted(labels)], sorted({tag for spans in trees for tag in spans.tags})


def chart_corpus(
    words: Sequence[Sequence[str]],
    trees: Sequence[Tree],
    tokenizer: Vocabulary,
    max_tokens: int,
    labels: Sequence[str],
    tags: Sequence[str],
    characters: bool,
) -> ChartCorpus:
    """Encodes sentences of at most `max_tokens` tokens, and the charts of their trees.

    Args:
        words: The words of each sentence, with brackets escaped.
        trees: The cleaned tree of each sentence.
        tokenizer, max_tokens: As for `zoo.corpora.word_rows.encode_windows`.
        labels, tags: The known names.
        characters: Whether the model reads the characters of the words.

    Raises:
        ValueError: If a label or tag is not known.
    """
    tokens, places, _ = encode_windows(words, tokenizer, max_tokens)
    features = {"boundary_ids": window_boundaries(tokens, places)}
    if characters:
        features["character_ids"] = window_characters(tokens, places, words)
    return ChartCorpus(tokens, chart_cells([to_spans(tree) for tree in trees], labels, tags), features)


def chart_cells(trees: Sequence[Spans], labels: Sequence[str], tags: Sequence[str]) -> TokenRows:
    """Converts trees, whose labels and tags must all be known, to the cells of a `ChartCorpus`."""
    rows = []
    for spans in trees:
        numbers = numbers_of(spans.labels.values(), labels), numbers_of(spans.tags, tags, "tag")
        rows.append([(*span, number) for span, number in zip(spans.labels, numbers[0])])
        rows[-1] += [(i, i, number) for i, number in enumerate(numbers[1])]
    offsets = np.cumsum([0, *map(len, rows)])
    return TokenRows(np.array([cell for row in rows for cell in row], "int32").reshape(-1, 3), offsets)
