"""Trees of files as an iterator, and as charts to learn from. No Keras."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from zoo.corpora.labelled_corpus import NO_LABEL, LabelledCorpus
from zoo.corpora.reading import PathLike, Report, existing_path, read_byte_lines
from zoo.corpora.token_rows import TokenRows, append_rows
from zoo.parsing.chart import span_number
from zoo.parsing.trees import Spans, Tree, cleaned, read_brackets

NO_CONSTITUENT = ""  # The first label of every chart.


def _report():
    """The report of a pass; trees without words are left out."""
    return Report("{trees:,} trees of {words:,} words", "empty")


class TreeReader:
    """A file of trees in brackets, cleaned: one a line or spread over several, plain or gzip (told by content).

    It can be run over again and again; `report` tells about the latest pass.

    Raises:
        ValueError: While it is run over, at what is no tree or no UTF-8; the message tells the line.
    """

    def __init__(self, path: PathLike):
        self._path = existing_path(path)
        self.report = _report()

    def __iter__(self) -> Iterator[Tree]:
        report = self.report = _report()
        with contextlib.closing(read_byte_lines(self._path)) as lines:
            for number, tree in read_brackets(self._decoded(lines), os.fspath(self._path)):
                tree = cleaned(tree)
                if tree is None:
                    report.empty.add(number)
                    continue
                report.trees += 1
                report.words += len(tree.leaves())
                yield tree

    def _decoded(self, lines):
        for number, line in enumerate(lines, start=1):
            try:
                yield line.decode("utf-8")
            except UnicodeDecodeError as error:
                raise ValueError(f"{self._path}, line {number}, is not UTF-8: {error}. Convert the file.") from error


@dataclass(frozen=True, eq=False)
class ChartCorpus(LabelledCorpus):
    """Sentences with their charts.

    The `labels` are rows of cells (first, last + 1, label), those of tags (word, word, tag). In batches they are
    `[B, N (N + 1) / 2]` in the order of `zoo.models.span_parser.SpanParser`, NO_LABEL in its padding.
    """

    def gather(self, rows: np.ndarray, widths: list[int], fill: int) -> dict[str, np.ndarray]:
        """See `LabelledCorpus`; the boundaries are `[B, N]`."""
        (width,) = widths
        boundaries = self.features["boundary_ids"]
        places = int(boundaries.lengths[rows].max())
        sides = {"token_ids": (self.tokens, width)} | {
            name: (side, places if side is boundaries else width) for name, side in self.features.items()
        }
        batch = {name: append_rows(side.padded(rows, columns), fill) for name, (side, columns) in sides.items()}
        return batch | {"labels": append_rows(self._charts(rows, boundaries.lengths[rows] - 1, places), fill, NO_LABEL)}

    def _charts(self, rows, words, places):
        last = np.repeat(np.arange(places), np.arange(places))  # Of all spans, in the order of the model.
        charts = np.full((len(rows), places + len(last)), NO_LABEL, "int32")
        charts[:, places:] = np.where(last <= words[:, None], 0, NO_LABEL)
        for chart, row in zip(charts, rows):
            first, last, label = self.labels.ids[self.labels.offsets[row] : self.labels.offsets[row + 1]].T
            chart[np.where(first == last, first, places + span_number(first, last))] = label
        return charts


def label_names(trees: Sequence[Spans]) -> tuple[list[str], list[str]]:
    """The labels of spans, NO_CONSTITUENT first, and the tags, both sorted."""
    labels = {label for spans in trees for label in spans.labels.values()}
    return [NO_CONSTITUENT, *sorted(labels)], sorted({tag for spans in trees for tag in spans.tags})


def chart_cells(trees: Sequence[Spans], labels: Sequence[str], tags: Sequence[str]) -> TokenRows:
    """The cells of `ChartCorpus` of trees whose labels and tags are all known."""
    label_number, tag_number = ({name: i for i, name in enumerate(names)} for names in (labels, tags))
    rows = [
        [(*span, label_number[label]) for span, label in spans.labels.items()]
        + [(i, i, tag_number[tag]) for i, tag in enumerate(spans.tags)]
        for spans in trees
    ]
    offsets = np.cumsum([0, *map(len, rows)])
    return TokenRows(np.array([cell for row in rows for cell in row], "int32").reshape(-1, 3), offsets)
