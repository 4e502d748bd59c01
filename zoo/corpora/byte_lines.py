"""Lines and cells of files as bytes. Standard library only."""

import contextlib
import csv
import gzip
import os
import pathlib
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO

PathLike = str | os.PathLike
GZIP = b"\x1f\x8b"  # The first bytes of a gzip file.


def existing_path(path: PathLike) -> pathlib.Path:
    """Returns the path; raises `FileNotFoundError` if nothing exists there."""
    path = pathlib.Path(path)
    if not path.exists():
        raise FileNotFoundError(f"Expected a file. Received: {path}, which does not exist. Check the path.")
    return path


def read_byte_lines(path: pathlib.Path) -> Iterator[bytes]:
    """Yields lines as bytes. Only a line feed ends a line: further separators would misalign parallel files."""
    with contextlib.closing(raw_lines(path)) as lines:
        yield from map(without_end, lines)


def raw_lines(path: pathlib.Path) -> Iterator[bytes]:
    """Yields lines as bytes, with what ends them."""
    with open(path, "rb") as file:
        yield from file_lines(file, path)


def file_lines(file: BinaryIO, name: PathLike) -> Iterator[bytes]:
    """Yields the lines of an open file, plain or gzip (recognized by content), with what ends them.

    Raises:
        ValueError: If it is UTF-16, or a damaged gzip file; the message has the name.
    """
    magic = file.read(2)
    file.seek(0)
    with gzip.open(file) if magic == GZIP else contextlib.nullcontext(file) as lines:
        try:
            for number, line in enumerate(lines):
                yield without_mark(name, line) if number == 0 else line
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"{name} is a damaged gzip file: {error}. Fetch it again.") from error


def without_end(line: bytes) -> bytes:
    """Removes the line feed of a line, and a carriage return before it."""
    return line.removesuffix(b"\n").removesuffix(b"\r")


def unequal_lines(paths: Sequence[PathLike], counts: Sequence[int] = ()) -> str:
    """Returns the message for parallel files of different numbers of lines, which may be unknown."""
    files = [f"{path} with {count} lines" for path, count in zip(paths, counts)] or [*map(str, paths)]
    return (
        f"Parallel files must have the same number of lines. Received: {', '.join(files)}. Look for a missing line; "
        "the pairs after it are wrong."
    )


def chosen_cells(cells: list[bytes], columns: Sequence[int]) -> tuple[bytes, ...] | None:
    """Returns the cells of some columns; empty ones for a blank line, None if columns are missing."""
    if not any(cell.strip() for cell in cells):
        return (b"",) * len(columns)
    return tuple(cells[c] for c in columns) if max(columns) < len(cells) else None


def table_cells(lines: Iterable[bytes], commas: bool, name: PathLike) -> Iterator[list[bytes]]:
    """Yields the cells of each row: of a CSV file with `commas`, else of a tab-separated one."""
    if not commas:
        yield from (line.split(b"\t") for line in lines)
        return
    # Decoding as Latin-1 preserves all bytes.
    rows = csv.reader(line.decode("latin-1") + "\n" for line in lines)
    try:
        for cells in rows:
            yield [cell.encode("latin-1") for cell in cells]
    except csv.Error as error:
        raise ValueError(f"{name}, line {rows.line_num}, is not valid CSV: {error}. Correct the line.") from error


def without_mark(name: PathLike, line: bytes) -> bytes:
    """Removes the byte-order mark of UTF-8 from the first line; raises `ValueError` for UTF-16, with a mark or not."""
    form = "UTF-16" if line.startswith((b"\xff\xfe", b"\xfe\xff")) else None
    if 3 * line.count(0) > len(line) > 8:  # Every other byte of European text is zero.
        form = form or ("UTF-16BE" if line[0] == 0 else "UTF-16LE")
    if form:
        received = "with the byte-order mark of UTF-16" if form == "UTF-16" else f"in {form}"
        raise ValueError(
            f"Text files must be UTF-8. Received: {name} {received}. Convert it: iconv -f {form} -t UTF-8."
        )
    return line.removeprefix(b"\xef\xbb\xbf")
