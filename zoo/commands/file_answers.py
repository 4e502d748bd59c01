"""Answers to files, of which some cannot be read."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from zoo.commands.command_line import log


class FileAnswers:
    """Yields the answers to files. A file that cannot be read is reported on stderr, and the others go on.

    Args:
        answer: Returns an answer to each of a list of files; raises ValueError or OSError that names the wrong one.
        files: Names of files.
        chunk: How many are answered at a time.

    Attributes:
        readable: The files so far that could be read.
        failed: Number of the others.
    """

    def __init__(self, answer: Callable[[Sequence[str]], Sequence[Any]], files: Sequence[str], chunk: int):
        self._answer, self._files, self._chunk = answer, files, chunk
        self.readable, self.failed = [], 0

    def chunks(self) -> Iterator[list[tuple[str, Any]]]:
        """Yields a list of (file, answer) for each chunk, without the files that could not be read."""
        for start in range(0, len(self._files), self._chunk):
            files = self._files[start : start + self._chunk]
            try:
                answered = [*zip(files, self._answer(files))]
            except (ValueError, OSError):
                answered = [pair for file in files for pair in self._alone(file)]
            self.readable.extend(file for file, _ in answered)
            yield answered

    def status(self) -> int:
        """Returns the exit status of the command, 2 if a file could not be read; reports how many could not."""
        if self.failed and len(self._files) > 1:
            log(f"{self.failed:,} of {len(self._files):,} files could not be read")
        return 2 if self.failed else 0

    def _alone(self, file):
        try:
            return [*zip([file], self._answer([file]))]
        except (ValueError, OSError) as error:
            log(f"error: {error}")
            self.failed += 1
            return []
