"""Readers of documents. No Keras."""

import itertools
import os
import pathlib
import typing
from collections.abc import Iterable, Iterator, Sequence

from zoo.corpora.byte_lines import PathLike
from zoo.corpora.plain_texts import open_texts
from zoo.corpora.reading import read_lines, read_text

UNITS = "file", "paragraph", "line"


class Documents:
    """The documents of text files, each a string with its line breaks; can be iterated repeatedly.

    Args:
        paths: The files, UTF-8, gzip or not.
        unit: What a document is: a "file", a "paragraph" (lines between blank lines), or a "line".

    Attributes:
        part: Function from a document to whether it is given; None for all. See `zoo.corpora.held_out`.
    """

    part: typing.Callable[[str], bool] | None = None

    def __init__(self, paths: Sequence[pathlib.Path], unit: str):
        self._paths, self._unit = [*paths], unit

    def __iter__(self) -> Iterator[str]:
        return filter(self.part, self._texts()) if self.part else self._texts()

    def _texts(self):
        for path in self._paths:
            lines = read_lines(path)
            if self._unit == "line":
                yield from (line for line in lines if line.strip())
            elif self._unit == "paragraph":
                for blank, group in itertools.groupby(lines, lambda line: not line.strip()):
                    if not blank:
                        yield "\n".join(group)
            else:
                text = read_text(path)
                if text.strip():
                    yield text


def open_documents(
    data: PathLike | Iterable[PathLike],
    *,
    documents: str = "file",
    columns: Sequence[int] | None = None,
    features: Sequence[str] | None = None,
    split: str = "train",
) -> Iterable[str]:
    """Opens a corpus of documents.

    Args:
        data: Text files, or folders, of which all files that end in .txt or .txt.gz are read, in the order of their
            names; or "tfds:NAME" for a data set of tensorflow-datasets, each text of which is a document.
        documents: What a document is: a "file", a "paragraph" (lines between blank lines), or a "line".
        columns: Numbers of the columns of a tab-separated or CSV file, from 0, each cell of which is a document.
        features, split: As for `zoo.corpora.plain_texts.open_texts`.

    Raises:
        ValueError: If `documents` is another word, or a folder has no such file.
        FileNotFoundError: If a file does not exist.
    """
    if documents not in UNITS:
        raise ValueError(f"`documents` must be one of {', '.join(UNITS)}. Received: {documents!r}. Choose one.")
    given = [data] if isinstance(data, str | os.PathLike) else [*data]
    tables = columns is not None or any(os.fspath(path).startswith("tfds:") for path in given)
    if tables:
        if len(given) != 1:
            raise ValueError(f"A table or a data set must be the only corpus. Received: {given}. Pass one of them.")
        return open_texts(given[0], columns=columns, features=features, split=split)
    return Documents([file for path in given for file in _files(pathlib.Path(path))], documents)


def _files(path):
    if path.is_dir():
        found = sorted(file for file in path.rglob("*") if file.name.endswith((".txt", ".txt.gz")))
        if not found:
            raise ValueError(f"The folder {path} must have files that end in .txt or .txt.gz. Received: none.")
        return found
    if not path.exists():
        raise FileNotFoundError(f"Expected a text file or a folder. Received: {path}, which does not exist.")
    return [path]
