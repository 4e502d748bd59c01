"""The CKY algorithm: the best binary trees over charts of span scores, for many sentences at once. NumPy only."""

import numpy as np

Span = tuple[int, int]


def best_trees(scores: np.ndarray, lengths: np.ndarray) -> list[list[Span]]:
    """Finds the binary tree with the largest sum of span scores, for each sentence.

        best(i, j) = score(i, j) + max_{i < k < j} best(i, k) + best(k, j)

    is computed by increasing width, for all sentences and all spans of a width at once (Cocke, Kasami and Younger; for
    neural span scores Stern et al. 2017). Of equal sums, the earliest split wins. Axes: B sentences; N boundaries
    between words, one more than the words of the longest sentence.

    Args:
        scores: Scores `[B, N (N - 1) / 2]` of all spans (i, j) with i < j, which are the words i to j - 1, in the order
            (0, 1), (0, 2), (1, 2), (0, 3) ...
        lengths: Number of words n of each sentence, `[B]`, at least 1.

    Returns:
        For each sentence its 2 n - 1 spans (first, last + 1), from top to bottom and from left to right.
    """
    batch, places = len(scores), round((1 + (1 + 8 * scores.shape[1]) ** 0.5) / 2)
    begun = np.zeros((batch, places, places), scores.dtype)  # [b, i, w]: the best sum from i on, w words wide.
    ended = np.zeros((batch, places, places), scores.dtype)  # [b, j, w]: the best sum up to j, w words wide.
    splits = np.zeros((batch, places, places), "int32")  # [b, i, w]: the width of the left part.
    for width in range(1, places):
        first, last = np.arange(places - width), np.arange(width, places)
        total = scores[:, span_number(first, last)]
        if width > 1:
            sums = begun[:, : places - width, 1:width] + ended[:, width:, width - 1 : 0 : -1]
            splits[:, : places - width, width] = sums.argmax(-1) + 1
            total = total + sums.max(-1)
        begun[:, : places - width, width] = ended[:, width:, width] = total
    return [_spans(split, int(length)) for split, length in zip(splits, lengths)]


def span_number(first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Returns the number of the span (first, last) in the order of `best_trees`."""
    return last * (last - 1) // 2 + first


def _spans(splits, length):
    found, waiting = [], [(0, length)]
    while waiting:
        first, last = waiting.pop()
        found.append((first, last))
        if last - first > 1:
            middle = first + int(splits[first, last - first])
            waiting += [(middle, last), (first, middle)]
    return found
