"""Parallel corpora as iterators of (source, target), with a report of the lines left out. No Keras."""

import contextlib
import itertools
import os
import typing

from zoo.corpora.reading import (
    DatasetRows,
    PathLike,
    Report,
    Row,
    TableRows,
    existing_path,
    read_byte_lines,
)

_LEFT_OUT = ("source_empty", "target_empty", "both_empty", "broken", "missing_column", "too_long")


def _report():
    """The report of a pass; `too_long` is set after encoding, from `EncodedCorpus.too_long`."""
    return Report("{pairs:,} pairs from {lines:,} lines", *_LEFT_OUT)


class PairReader:
    """A corpus that can be run over again and again, as a stream.

    `report` tells about the latest pass and is complete at its end. Text stands as in the file, without
    the line break; `itertools.chain.from_iterable(reader)` gives the texts of both sides.

    Args:
        rows: Both sides of each line as they lie in the file; None if there are not two.
    """

    def __init__(self, rows: typing.Iterable[Row]):
        self._rows = rows
        self.report = _report()

    def __iter__(self) -> typing.Iterator[tuple[str, str]]:
        return ((source, target) for _, source, target in self.numbered())

    def numbered(self) -> typing.Iterator[tuple[int, str, str]]:
        """(line number, source, target) of each pair."""
        report = self.report = _report()
        for line, sides in enumerate(self._rows, start=1):
            report.lines = line
            if sides is None:
                report.missing_column.add(line)
                continue
            try:
                source, target = (side.decode("utf-8") for side in sides)
            except UnicodeDecodeError:
                report.broken.add(line)
                continue
            filled = bool(source.strip()), bool(target.strip())
            if all(filled):
                report.pairs += 1
                yield line, source, target
            elif any(filled):
                (report.target_empty if filled[0] else report.source_empty).add(line)
            else:
                report.both_empty.add(line)


class ParallelText(PairReader):
    """Two files, plain or gzip (told by content), in which line n of one translates line n of the other.

    Raises:
        FileNotFoundError: If a file is missing.
        ValueError: At the end of a pass, if the files have different numbers of lines: the pairs before the
            end are then as doubtful as the rest.
    """

    def __init__(self, source_path: PathLike, target_path: PathLike):
        super().__init__(_ParallelRows(existing_path(source_path), existing_path(target_path)))


class TabSeparated(PairReader):
    """One file, plain or gzip (told by content), with both sentences of a pair on a line, split by a tab.

    Args:
        path: The file. Quotation marks mean themselves, further columns are ignored.
        columns: Numbers of the source and the target column, from 0; (1, 0) turns the direction round.
    """

    def __init__(self, path: PathLike, columns: tuple[int, int] = (0, 1)):
        if len(columns) != 2:
            raise ValueError(f"`columns` must be two different numbers from 0. Received: columns={columns}.")
        super().__init__(TableRows(path, columns))


class TensorFlowDataset(PairReader):
    """A translation data set of tensorflow-datasets; its examples take the place of lines.

    Args:
        name, split, data_dir: See `zoo.corpora.reading.DatasetRows`.
        languages: Names of the source and the target feature, such as ("en", "de"); None for the two that the
            data set calls its input and its answer.
    """

    def __init__(
        self,
        name: str,
        languages: tuple[str, str] | None = None,
        split: str = "train",
        data_dir: PathLike | None = None,
    ):
        super().__init__(DatasetRows(name, languages, split, data_dir, "languages", _input_and_answer))


def _input_and_answer(info):
    return info.supervised_keys or list(info.features)[:2]


class _ParallelRows:
    def __init__(self, *paths):
        self._paths = paths

    def __iter__(self):
        counts = [0, 0]
        with contextlib.ExitStack() as stack:
            files = [stack.enter_context(contextlib.closing(read_byte_lines(path))) for path in self._paths]
            for sides in itertools.zip_longest(*files):
                counts = [count + (side is not None) for count, side in zip(counts, sides)]
                if counts[0] == counts[1]:
                    yield sides
        if counts[0] != counts[1]:
            raise ValueError(
                "Parallel files must have the same number of lines. "
                f"Received: {self._paths[0]} with {counts[0]}, {self._paths[1]} with {counts[1]} lines. "
                "Look for a lost or broken line; nothing tells which pairs are right."
            )


def open_pairs(
    source: PathLike | None = None,
    target: PathLike | None = None,
    data: PathLike | None = None,
    *,
    columns: tuple[int, int] = (0, 1),
    languages: tuple[str, str] | None = None,
    split: str = "train",
) -> PairReader:
    """The reader that command-line arguments ask for: either `source` and `target`, or `data`.

    Args:
        source, target: Two parallel files.
        data: A tab-separated file, or "tfds:NAME" for a data set of tensorflow-datasets.
        columns: For a tab-separated file, see `TabSeparated`.
        languages, split: For tfds, see `TensorFlowDataset`.
    """
    if source and target and not data:
        return ParallelText(source, target)
    if source or target or not data:
        raise ValueError(
            "A corpus is two files, `source` and `target`, or one `data`: a tab-separated file or tfds:NAME. "
            f"Received: source={source!r}, target={target!r}, data={data!r}."
        )
    if os.fspath(data).startswith("tfds:"):
        return TensorFlowDataset(os.fspath(data).removeprefix("tfds:"), languages, split)
    return TabSeparated(data, columns)
