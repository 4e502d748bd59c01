"""Counts of what readers read, and the numbers of the lines that they leave out."""

import string
from dataclasses import dataclass, field


@dataclass
class LineNotes:
    """Number of lines, or files, with some property, and the line numbers, or names, of the first ten."""

    of: str = "line"
    count: int = 0
    first: list[int | str] = field(default_factory=list)

    def add(self, line: int | str) -> None:
        self.count += 1
        if len(self.first) < 10:
            self.first.append(line)

    def __str__(self):
        more = ", ..." if self.count > len(self.first) else ""
        return f"({self.of} {', '.join(map(str, self.first))}{more})"


class Report:
    """Counts and line notes of one pass over a corpus, as attributes. Line numbers count from 1.

    Example: after `report = Report("{pairs:,} pairs from {lines:,} lines", "empty", "broken")`, `report.pairs` and
    `report.lines` are 0, and `report.empty` and `report.broken` are instances of `LineNotes`. `str(report)` is the
    summary, followed by the notes that are not empty.

    Args:
        summary: Format string of the counts, which are named by its fields.
        notes: Names of the line notes.
        of: What the notes are of: "line", or "file" for names of files.
    """

    def __init__(self, summary: str, *notes: str, of: str = "line"):
        self._summary = summary
        vars(self).update({name: 0 for _, name, _, _ in string.Formatter().parse(summary) if name})
        vars(self).update({name: LineNotes(of) for name in notes})
        self.first = None  # The first example and its line: (line, example).

    def __str__(self):
        notes = {name: value for name, value in vars(self).items() if isinstance(value, LineNotes) and value.count}
        parts = [f"{value.count:,} {name.replace('_', ' ')} {value}" for name, value in notes.items()]
        return "; ".join([self._summary.format_map(vars(self)), *parts])
