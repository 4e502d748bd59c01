"""Iteration over the pairs of a corpus, with the numbers of their lines."""

import typing

Pairs = typing.Iterable[tuple[str, str]]


def numbered(pairs: Pairs) -> typing.Iterator[tuple[int, tuple[str, str]]]:
    """Iterates over (line, pair)."""
    if hasattr(pairs, "numbered"):
        return pairs.numbered()
    return enumerate(pairs, start=1)


def check_repeatable(pairs: Pairs) -> None:
    """Raises `ValueError` if pairs can be iterated only once."""
    if iter(pairs) is pairs:
        raise ValueError(
            "`pairs` must be iterable once for each epoch. "
            f"Received: {type(pairs).__name__}, which ends after one pass. Use a list or a reader."
        )
