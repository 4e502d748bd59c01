"""Inputs of a preparation: text files, tables, Parquet files and data sets, each of which is read in parts."""

import os
import typing
from collections.abc import Iterable, Iterator, Sequence

from apache_beam.io.filesystem import BeamIOError, CompressionTypes
from apache_beam.io.filesystems import FileSystems

from zoo.corpora.reading import DatasetRows, text_features
from zoo.extras import require
from zoo.preparation.line_inputs import Block, LineInput, Row

_EXAMPLES = 10_000  # Of one part of a data set.


class ParquetPart(typing.NamedTuple):
    """A row group of a Parquet file."""

    number: int
    path: str
    group: int
    first: int
    columns: tuple[str, ...]

    def rows(self) -> Iterator[Row]:
        import pyarrow.parquet

        with FileSystems.open(self.path, compression_type=CompressionTypes.UNCOMPRESSED) as file:
            table = pyarrow.parquet.ParquetFile(file).read_row_group(self.group, columns=[*self.columns])
        columns = (table.column(name).to_pylist() for name in self.columns)
        for line, cells in enumerate(zip(*columns), self.first + 1):
            yield line, None if None in cells else tuple(str(cell).encode("utf-8", "surrogatepass") for cell in cells)


class ParquetInput(typing.NamedTuple):
    """A Parquet file with the columns of the sides."""

    path: str
    columns: tuple[str, ...]
    sizes: tuple[int, ...]

    def blocks(self, number: int) -> list[Block]:
        return []

    def parts(self, number: int, counts: Iterable = ()) -> Iterator[ParquetPart]:
        import pyarrow.parquet

        with FileSystems.open(self.path, compression_type=CompressionTypes.UNCOMPRESSED) as file:
            facts = pyarrow.parquet.ParquetFile(file).metadata
            known, first = {*facts.schema.names}, 0
            if not {*self.columns} <= known:
                raise ValueError(
                    f"The columns must be among those of {self.path}: {', '.join(facts.schema.names)}. "
                    f"Received: {', '.join(self.columns)}. Name them by --languages or --features."
                )
            for group in range(facts.num_row_groups):
                yield ParquetPart(number, self.path, group, first, self.columns)
                first += facts.row_group(group).num_rows


class DatasetPart(typing.NamedTuple):
    """One of several parts of a split of a data set of tensorflow-datasets."""

    number: int
    name: str
    features: tuple[str, ...]
    split: str
    index: int
    count: int
    first: int

    def rows(self) -> Iterator[Row]:
        import tensorflow_datasets

        split = tensorflow_datasets.even_splits(self.split, self.count)[self.index]
        rows = DatasetRows(self.name, self.features, split, None, "features", text_features)
        yield from enumerate(rows, self.first + 1)


class DatasetInput(typing.NamedTuple):
    """A split of a data set of tensorflow-datasets; the features are those of the sides."""

    name: str
    features: tuple[str, ...]
    split: str
    num_examples: int
    sizes: tuple[int, ...]

    def blocks(self, number: int) -> list[Block]:
        return []

    def parts(self, number: int, counts: Iterable = ()) -> Iterator[DatasetPart]:
        import tensorflow_datasets

        count = -(-self.num_examples // _EXAMPLES)
        splits, first = tensorflow_datasets.builder(self.name).info.splits, 0
        for index, part in enumerate(tensorflow_datasets.even_splits(self.split, count)):
            yield DatasetPart(number, self.name, self.features, self.split, index, count, first)
            first += splits[part].num_examples


Input = LineInput | ParquetInput | DatasetInput


def open_inputs(
    *patterns: str, columns: Sequence[int] | None = None, features: Sequence[str] | None = None, split: str = "train"
) -> list[Input]:
    """Finds the inputs of a corpus.

    Args:
        patterns: One for each side, such as "s3://bucket/part-*.en" and "s3://bucket/part-*.de", whose files are paired
            in the order of their names; or, with `columns` or `features`, one of tables, or "tfds:NAME". A pattern
            without wildcards is one file.
        columns: Numbers of the columns of the sides, from 0, of tab-separated files, or of CSV files if their names end
            in .csv or .csv.gz. None if each pattern is a side.
        features: Names of the columns of Parquet files, or of the features of a data set.
        split: Split of the data set.

    Raises:
        ValueError: If a pattern matches no file, or the sides have different numbers of files.
    """
    if patterns[0].startswith("tfds:"):
        return [_dataset(patterns[0].removeprefix("tfds:"), features, split)]
    found = [_match(pattern) for pattern in patterns]
    if len({*map(len, found)}) > 1:
        numbers = ", ".join(f"{pattern} with {len(files)} files" for pattern, files in zip(patterns, found))
        raise ValueError(f"The sides of a corpus must have the same number of files. Received: {numbers}.")
    inputs: list[Input] = []
    for files in zip(*found):
        paths, sizes = (tuple(values) for values in zip(*files))
        name = paths[0].removesuffix(".gz")
        if columns is None:
            inputs.append(LineInput(paths, sizes))
        elif name.endswith(".parquet"):
            require(f"Reading {paths[0]}", "pyarrow")
            inputs.append(ParquetInput(paths[0], tuple(features or ("source", "target")[: len(columns)]), sizes))
        else:
            inputs.append(LineInput(paths, sizes, tuple(columns), name.endswith(".csv")))
    return inputs


def _dataset(name, features, split):
    def choose(info):
        return info.supervised_keys or text_features(info)

    rows = DatasetRows(name, features, split, None, "features", choose)
    rows.prepare()
    return DatasetInput(name, tuple(rows.features), split, rows.num_examples, (rows.num_bytes,))


def _match(pattern):
    """Returns (path, bytes) of the files that a pattern matches, in the order of their names."""
    pattern = os.fspath(pattern)
    try:
        # Beam finds nothing by a relative pattern.
        (found,) = FileSystems.match([pattern if "://" in pattern else os.path.abspath(pattern)])
    except (BeamIOError, ValueError) as error:
        raise ValueError(f"{pattern} cannot be listed: {error}. Check the address, and the extra for it.") from error
    if not found.metadata_list:
        raise FileNotFoundError(f"Expected a text file. Received: {pattern}, which does not exist. Check the path.")
    return sorted((file.path, file.size_in_bytes) for file in found.metadata_list)
