"""Token accuracy and span F1 of taggers. NumPy, no Keras."""

from collections.abc import Sequence

import numpy as np

from zoo.training.scores import Score, bootstrap_scores


def spans(labels: Sequence[str]) -> set[tuple[str, int, int]]:
    """Extracts the spans (type, first, last + 1) of labels B-type, I-type and O.

    As in CoNLL's script, an I-type that does not follow a span of its type starts one (Tjong Kim Sang and De Meulder
    2003).
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
    """Returns whether all labels are O, B-type or I-type, with at least one B-type."""
    return any(name.startswith("B-") for name in names) and all(n == "O" or n[:2] in ("B-", "I-") for n in names)


def labelling_scores(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], names: Sequence[str], resamples: int = 0
) -> list[Score]:
    """Computes token accuracy and, for BIO labels, span F1 (micro average), in per cent.

    Args:
        gold, predicted: Labels of each sentence.
        names: All labels of the model.
        resamples: Number of bootstrap samples of sentences for the intervals; 0 for none.

    Raises:
        ValueError: If there are no words, or the numbers of sentences or words differ.
    """
    if [len(labels) for labels in gold] != [len(labels) for labels in predicted] or not any(map(len, gold)):
        raise ValueError(
            "There must be sentences, and a predicted label for each of their words. "
            f"Received: {len(gold)} sentences of {sum(map(len, gold))} words, "
            f"labels for {len(predicted)} sentences of {sum(map(len, predicted))} words. Pass both for the same words."
        )
    counts = np.array([_counts(*pair) for pair in zip(gold, predicted)], "float64")

    def values(rows):
        correct, words, common, both = counts[rows].sum(0)
        return 100 * np.array([correct / words, 2 * common / both if both else 1.0])

    signature = f"sentences:{len(gold)}|words:{int(counts[:, 1].sum())}|labels:{len(names)}"
    metrics = ["accuracy", "span F1"][: 1 + is_bio(names)]
    return bootstrap_scores(dict.fromkeys(metrics, signature), values, len(counts), resamples)


def _counts(gold, predicted):
    """Counts correct words, words, common spans, and spans of both sides together."""
    gold_spans, found = spans(gold), spans(predicted)
    correct = sum(a == b for a, b in zip(gold, predicted))
    return correct, len(gold), len(gold_spans & found), len(gold_spans) + len(found)
