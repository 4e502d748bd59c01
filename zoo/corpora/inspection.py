"""Checks of corpora that a reader has read: refuses what cannot be meant, and warns of what is suspicious. No Keras."""

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import Any

from zoo.corpora.reports import LineNotes

Log = Callable[[str], None]
_SHOWN = 200  # Characters of the first example.
_FEW = 10  # Fewer examples prove nothing.


def inspect_reader(reader: Any, name: str, log: Log | None = None) -> None:
    """Logs the first example of a reader that has been read to its end, and warnings; does nothing for other corpora.

    Args:
        reader: A `zoo.corpora.reading.Reader`, or any other iterable of examples.
        name: Name of the corpus in the log, such as "train".
        log: Called with each line; by default the `log` of the reader.

    Raises:
        ValueError: If most lines of the corpus are left out, or it contains NUL characters.
    """
    report, log = getattr(reader, "report", None), log or getattr(reader, "log", None)
    lines, first = getattr(report, "lines", 0), getattr(report, "first", None)
    if not lines and first is None:
        return
    columns, num_columns = getattr(reader, "columns", ()), getattr(reader, "num_columns", 0)
    read = f"columns {', '.join(map(str, columns))} of {num_columns}, from 0"
    notes = {name: notes for name, notes in vars(report).items() if isinstance(notes, LineNotes)}
    if not columns:
        notes.pop("short", None)  # Empty lines between texts.
    if first is None or 2 * sum(note.count for note in notes.values()) > lines > 1:
        if "broken" in notes and 2 * notes["broken"].count > lines:
            advice = "Broken lines are not UTF-8: convert the file, such as by iconv -f LATIN1 -t UTF-8."
        else:
            others = f", or select other columns by --columns; these are {read}" if columns else ""
            advice = f"Check the format of the file{others}."
        raise ValueError(f"Most lines of the corpus {name!r} must have an example. Received: {report}. {advice}")
    text = reader.show(first[1])
    if "\0" in text:
        raise ValueError(
            f"The corpus {name!r} must be UTF-8. Received: NUL characters in line {first[0]}, as of UTF-16. Convert "
            "the file: iconv -f UTF-16 -t UTF-8."
        )
    if log is None:
        return
    log(f"{name}, line {first[0]}: {text[:_SHOWN]}{'...' if len(text) > _SHOWN else ''}")
    if lines == 1:
        log(f"warning: the corpus {name!r} has one line only. Write each example on a line of its own.")
    if num_columns > len(columns) > 0 and not reader.chosen:
        log(f"warning: the corpus {name!r} has more columns than are read: {read}. Select the right ones by --columns.")


def check_labels(labels: Collection[str], examples: Sequence[Any], kind: str, limit: int) -> None:
    """Raises `ValueError` if there are too many different labels for them to be labels.

    Args:
        labels: The different labels.
        examples: The examples.
        kind: What has a label, such as "texts".
        limit: Maximum number of different labels.
    """
    if len(examples) >= _FEW and len(labels) > limit:
        raise ValueError(
            f"Several {kind} must share a label. Received: {len(labels):,} different labels of {len(examples):,} "
            f"{kind}, such as {next(iter(sorted(labels)))[:60]!r}. Are the columns swapped? Select the label and the "
            "text by --columns."
        )


def warn_of_header(labels: Sequence[str], first_line: int, log: Log, option: str) -> None:
    """Warns if the label of line 1 occurs only there, as that of a header does; `labels` are those of all examples."""
    if first_line == 1 and len(labels) > 2 and labels[0] not in labels[1:]:
        log(f"warning: only line 1 has the label {labels[0]!r}. If it is a header, {option}.")


def warn_of_overlap(train: Iterable[Hashable], dev: Sequence[Hashable], log: Log) -> None:
    """Warns if examples of the dev set are in the training set, too."""
    rest = {*dev}
    rest -= {example for example in train if example in rest}
    common = [example for example in dev if example not in rest]
    if common:
        log(
            f"warning: {len(common):,} of {len(dev):,} dev examples are in the training set, too, so that the scores "
            f"will be too high: {str(common[0])[:80]}. Use another dev set, or --dev-share."
        )
