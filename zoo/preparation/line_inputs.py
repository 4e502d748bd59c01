"""Text files and their division into parts that workers read independently, on any file system of Beam.

A large file is divided into blocks of bytes. Workers count the lines of the blocks; then each part of a corpus begins
at a known line of every file, so that files which are parallel line by line are read together.
"""

import itertools
import typing
from collections.abc import Iterable, Iterator

from apache_beam.io.filesystem import CompressionTypes
from apache_beam.io.filesystems import FileSystems

from zoo.corpora.byte_lines import GZIP, chosen_cells, file_lines, table_cells, unequal_lines, without_end

Row = tuple[int, tuple[bytes, ...] | None]  # The number of a line from 1, and its cells; None if some are missing.

_BLOCK = 1 << 25  # Bytes.


class Place(typing.NamedTuple):
    """A place in a file: `lines` lines behind the first line that begins at or after `byte`."""

    path: str
    byte: int
    lines: int


class LinePart(typing.NamedTuple):
    """Lines of one file, or of files that are parallel.

    Args:
        number: Number of the input.
        places: Where the part begins in each file.
        first: Lines before the part.
        count: Lines of the part; None for all that follow.
        columns: Numbers of the columns of a table; None if each file is a side of its own.
        commas: Whether the table is a CSV file.
    """

    number: int
    places: tuple[Place, ...]
    first: int
    count: int | None
    columns: tuple[int, ...] | None
    commas: bool

    def rows(self) -> Iterator[Row]:
        """Yields the rows of this part.

        Raises:
            ValueError: If the files have different numbers of lines, or one is damaged.
        """
        sides = [itertools.islice(_lines_from(place), self.count) for place in self.places]
        if self.columns is not None:
            for line, cells in enumerate(table_cells(sides[0], self.commas, self.places[0].path), self.first + 1):
                yield line, chosen_cells(cells, self.columns)
            return
        for line, cells in enumerate(itertools.zip_longest(*sides), self.first + 1):
            if None in cells:
                raise ValueError(unequal_lines([place.path for place in self.places]))
            yield line, cells


class Block(typing.NamedTuple):
    """The bytes of a file from `first` to `last`, whose lines are counted."""

    number: int  # Of the input.
    side: int
    path: str
    first: int
    last: int

    def count(self) -> int:
        """Counts the lines that begin in this block."""
        # A line begins behind the line feed before it, and at the beginning of the file.
        count = int(self.first == 0)
        with FileSystems.open(self.path, compression_type=CompressionTypes.UNCOMPRESSED) as file:
            left = self.last - 1 - max(0, self.first - 1)
            file.seek(max(0, self.first - 1))
            while left > 0 and (content := file.read(min(left, 1 << 22))):
                count += content.count(b"\n")
                left -= len(content)
        return count


class LineInput(typing.NamedTuple):
    """A file, or files that are parallel line by line; attributes as in `LinePart`, sizes in bytes."""

    paths: tuple[str, ...]
    sizes: tuple[int, ...]
    columns: tuple[int, ...] | None = None
    commas: bool = False

    def blocks(self, number: int) -> list[Block]:
        """Returns the blocks to count, none if the input is read in one part, as all compressed and CSV files are."""
        if self.commas or max(self.sizes) <= _BLOCK or any(map(_is_compressed, self.paths)):
            return []
        return [
            Block(number, side, path, first, min(first + _BLOCK, size))
            for side, (path, size) in enumerate(zip(self.paths, self.sizes))
            for first in range(0, size, _BLOCK)
        ]

    def parts(self, number: int, counts: Iterable[tuple[Block, int]] = ()) -> Iterator[LinePart]:
        """Yields the parts of the input, by the numbers of lines of its blocks.

        Raises:
            ValueError: If the files have different numbers of lines.
        """
        sides: list[list] = [[] for _ in self.paths]
        for block, count in sorted(counts):
            sides[block.side].append((block.first, count))
        if not any(sides):
            places = tuple(Place(path, 0, 0) for path in self.paths)
            yield LinePart(number, places, 0, None, self.columns, self.commas)
            return
        starts = [[*itertools.accumulate((count for _, count in blocks), initial=0)] for blocks in sides]
        if len({lines[-1] for lines in starts}) > 1:
            raise ValueError(unequal_lines(self.paths, [lines[-1] for lines in starts]))
        for first, count in zip(starts[0], (count for _, count in sides[0])):
            places = []
            for path, blocks, lines in zip(self.paths, sides, starts):
                index = max(i for i in range(len(blocks)) if lines[i] <= first)
                places.append(Place(path, blocks[index][0], first - lines[index]))
            if count:
                yield LinePart(number, tuple(places), first, count, self.columns, False)


def _is_compressed(path):
    with FileSystems.open(path, compression_type=CompressionTypes.UNCOMPRESSED) as file:
        return file.read(2) == GZIP


def _lines_from(place):
    """Yields the lines of a file from a place on, as bytes without their ends."""
    with FileSystems.open(place.path, compression_type=CompressionTypes.UNCOMPRESSED) as file:
        if place.byte == 0:
            lines = file_lines(file, place.path)
        else:
            file.seek(place.byte - 1)
            file.readline()  # The end of the line before; an empty rest if a line begins at the byte.
            lines = iter(file)
        yield from map(without_end, itertools.islice(lines, place.lines, None))
