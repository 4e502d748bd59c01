"""Token accuracy and span F1, with bootstrap intervals. NumPy, no Keras."""

from collections.abc import Sequence

import numpy as np

from zoo.training.scores import Score, bootstrap_scores


def spans(labels: Sequence[str]) -> set[tuple[str, int, int]]:
    """Spans (type, first, last + 1) of labels B-type, I-type and O.

    As CoNLL's script counts: an I-type without a span of its type before it begins one (Tjong Kim Sang and De
    Meulder 2003).
    """
    found, kind, first = set(), None, 0
    for i, label in enumerate([*labels, "O"]):
        prefix, _, name = label.partition("-")
        if kind is not None and (prefix != "I" or name != kind):
            found.add((kind, first, i))
            kind = None
        if prefix in ("B", "I") and (prefix == "B" or kind is None):
            kind, first = name, i
    return found


def is_bio(names: Sequence[str]) -> bool:
    """Whether all labels are O, B-type or I-type, and some span can be made of them."""
    return any(name.startswith("B-") for name in names) and all(n == "O" or n[:2] in ("B-", "I-") for n in names)


def labelling_scores(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], names: Sequence[str], resamples: int = 0
) -> list[Score]:
    """Token accuracy and, for BIO labels, span F1 (micro average), in per cent.

    Args:
        gold, predicted: Labels of every sentence.
        names: All labels there are.
        resamples: Bootstrap samples of sentences for the intervals; 0 for none.

    Raises:
        ValueError: If there is no word, or the numbers of sentences or words differ.
    """
    if [len(labels) for labels in gold] != [len(labels) for labels in predicted] or not any(map(len, gold)):
        raise ValueError(
            "Every sentence must have as many labels as words, and there must be some. "
            f"Received: {len(gold)} sentences of {sum(map(len, gold))} words, "
            f"labels for {len(predicted)} sentences of {sum(map(len, predicted))} words."
        )
    counts = [_counts(*pair, is_bio(names)) for pair in zip(gold, predicted)]
    counts = np.array(counts, "float64")

    def values(rows):
        right, words, common, both = counts[rows].sum(0)
        return 100 * np.array([right / words, 2 * common / both if both else 1.0])

    signature = f"sentences:{len(gold)}|words:{int(counts[:, 1].sum())}|labels:{len(names)}"
    metrics = ["accuracy", "span F1"][: 1 + is_bio(names)]
    return bootstrap_scores(dict.fromkeys(metrics, signature), values, len(counts), resamples)


def _counts(gold, predicted, bio):
    """Right words, words, common spans, and spans of both sides together."""
    right = sum(a == b for a, b in zip(gold, predicted))
    if not bio:
        return right, len(gold), 0, 0
    wanted, found = spans(gold), spans(predicted)
    return right, len(gold), len(wanted & found), len(wanted) + len(found)
