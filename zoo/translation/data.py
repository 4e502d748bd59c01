"""Readers of parallel corpora. No Keras."""

import contextlib
import itertools
import os
from collections.abc import Sequence

from zoo.corpora.byte_lines import PathLike, existing_path, read_byte_lines, unequal_lines
from zoo.corpora.reading import DatasetRows, Reader, TableRows


class PairReader(Reader):
    """Reads pairs (source, target) from rows; rows with an empty side or without a target are left out.

    Texts are not changed. `itertools.chain.from_iterable(reader)` iterates over the texts of both sides.
    `report.too_long` is to be set after encoding, from `EncodedCorpus.too_long`.
    """

    summary = "{pairs:,} pairs from {lines:,} lines"
    notes = "source_empty", "target_empty", "both_empty", "broken", "missing_column", "too_long"

    def show(self, example):
        return "source: {}   target: {}".format(*example)

    def examples(self, line, cells):
        report = self.report
        if cells is None:
            report.missing_column.add(line)
            return
        source, target = (bool(text.strip()) for text in cells)
        if source and target:
            report.pairs += 1
            yield tuple(cells)
        else:
            (report.target_empty if source else report.source_empty if target else report.both_empty).add(line)


class ParallelText(PairReader):
    """Reads two files, plain or gzip (recognized by content), where line n of one translates line n of the other.

    Raises:
        FileNotFoundError: If a file does not exist.
        ValueError: At the end of an iteration, if the files have different numbers of lines. The pairs may then be
            misaligned anywhere.
    """

    def __init__(self, source_path: PathLike, target_path: PathLike):
        super().__init__(_ParallelRows(existing_path(source_path), existing_path(target_path)))


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
            raise ValueError(unequal_lines(self._paths, counts))


def open_pairs(
    source: PathLike | None = None,
    target: PathLike | None = None,
    data: PathLike | None = None,
    *,
    columns: Sequence[int] | None = None,
    languages: Sequence[str] | None = None,
    split: str = "train",
    data_dir: PathLike | None = None,
) -> PairReader:
    """Opens a parallel corpus: either `source` and `target`, or `data`.

    Args:
        source, target: Two parallel files, plain or gzip (recognized by content).
        data: A tab-separated file, plain or gzip, with one pair per line, in which quotation marks have no special
            meaning; or "tfds:NAME" for a translation data set of tensorflow-datasets, whose examples are numbered as
            lines.
        columns: Numbers of the source and the target column, from 0; (0, 1) by default, and (1, 0)
            reverses the direction.
        languages: Names of the source and the target feature, such as ("en", "de"); None for the input and the target
            that the data set defines.
        split, data_dir: As for `zoo.corpora.reading.DatasetRows`.

    Raises:
        ValueError: If neither or both are given, or `columns` are not two different numbers.
    """
    _check_given(source, target, data)
    if source and target:
        return ParallelText(source, target)
    if os.fspath(data).startswith("tfds:"):
        name = os.fspath(data).removeprefix("tfds:")
        return PairReader(DatasetRows(name, languages, split, data_dir, "languages", _source_and_target))
    reader = PairReader(TableRows(data, _two_columns(columns)))
    reader.chosen = columns is not None
    return reader


def pair_patterns(
    source: str | None = None,
    target: str | None = None,
    data: str | None = None,
    *,
    columns: Sequence[int] | None = None,
    languages: Sequence[str] | None = None,
    split: str = "train",
) -> tuple[list[str], dict]:
    """Returns the arguments of `zoo.preparation.inputs.open_inputs` for a corpus that is given as to `open_pairs`.

    Each name may be a pattern of several files, on any file system of Apache Beam.
    """
    _check_given(source, target, data)
    if source and target:
        return [source, target], {}
    if data.startswith("tfds:") or data.endswith(".parquet"):
        return [data], {"columns": (0, 1), "features": languages, "split": split}
    return [data], {"columns": _two_columns(columns)}


def _check_given(source, target, data):
    if bool(data) == bool(source or target) or bool(source) != bool(target):
        raise ValueError(
            "A corpus is two files, `source` and `target`, or one `data`: a tab-separated file or tfds:NAME. "
            f"Received: source={source!r}, target={target!r}, data={data!r}. Pass one of both."
        )


def _two_columns(columns):
    columns = (0, 1) if columns is None else columns
    if len(columns) != 2:
        raise ValueError(f"`columns` must be two different numbers from 0. Received: columns={columns}. Pass two.")
    return columns


def _source_and_target(info):
    return info.supervised_keys or list(info.features)[:2]
