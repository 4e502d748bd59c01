"""The best binary tree over a chart of span scores (CKY), many sentences at once. NumPy only."""

import numpy as np

Span = tuple[int, int]


def best_trees(scores: np.ndarray, lengths: np.ndarray) -> list[list[Span]]:
    """The spans of the binary tree whose scores have the largest sum, for each sentence.

        best(i, j) = score(i, j) + max_{i < k < j} best(i, k) + best(k, j)

    by increasing width, all sentences and all spans of a width at once (Cocke, Kasami and Younger; for neural span
    scores Stern et al. 2017). Of equal sums, the one with the earliest split is taken. Axes: B sentences, N = most
    words + 1 places between words.

    Args:
        scores: `[B, N (N - 1) / 2]`: those of all (i, j) with i < j, the words i to j - 1, in the order (0, 1), (0, 2),
            (1, 2), (0, 3) ...
        lengths: Words of each sentence, `[B]`, from 1 on.

    Returns:
        For each sentence its 2 n - 1 spans (first, last + 1), from the top down and from left to right.
    """
    batch, places = len(scores), _places(scores.shape[1])
    begun = np.zeros((batch, places, places), scores.dtype)  # [b, i, w]: the best tree from i on, w words wide.
    ended = np.zeros((batch, places, places), scores.dtype)  # [b, j, w]: the best tree up to j.
    splits = np.zeros((batch, places, places), "int32")  # [b, i, w]: the width of its left part.
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
    """The place of (first, last) among all spans."""
    return last * (last - 1) // 2 + first


def _places(spans):
    return int((1 + (1 + 8 * spans) ** 0.5) / 2 + 0.5)


def _spans(splits, length):
    found, waiting = [], [(0, length)]
    while waiting:
        first, last = waiting.pop()
        found.append((first, last))
        if last - first > 1:
            middle = first + int(splits[first, last - first])
            waiting += [(middle, last), (first, middle)]
    return found
