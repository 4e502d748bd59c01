"""Precision, recall and F1 of labelled brackets as in evalb. NumPy, no Keras."""

import collections
import itertools
from collections.abc import Sequence

import numpy as np

from zoo.parsing.trees import ROOT, Tree, to_spans
from zoo.training.scores import Score, bootstrap_scores

_PUNCTUATION = {",", ":", "``", "''", "."}
_SAME = {"PRT": "ADVP"}


def brackets(tree: Tree, counted: Sequence[bool], outermost: bool = True) -> collections.Counter:
    """Counts each (label, first, last + 1) in a cleaned tree, without its root.

    Args:
        tree: The tree.
        counted: For each of its words, whether it counts.
        outermost: Whether an only child of the root counts.
    """
    places = [0, *itertools.accumulate(map(int, counted))]
    found = collections.Counter()
    for (first, last), chain in to_spans(tree).labels.items():
        labels = chain.split()
        if not outermost and (first, last) == (0, len(counted)):
            labels = labels[1:]
        if places[last] > places[first]:
            found.update((_SAME.get(label, label), places[first], places[last]) for label in labels)
    return found


def parsing_scores(
    gold: Sequence[Tree], predicted: Sequence[Tree], resamples: int = 0, outermost: bool = True
) -> list[Score]:
    """Computes F1, recall and precision of labelled brackets, exact match, and accuracy of tags, in per cent.

    The rules are those of evalb with COLLINS.prm (Collins 1997): the root and words that the gold tree tags as
    punctuation do not count; PRT equals ADVP. Unlike here, evalb leaves out a sentence whose predicted tree does not
    tag the same words as punctuation.

    Args:
        gold, predicted: Cleaned trees over the same words.
        resamples: Number of bootstrap samples of sentences for the intervals; 0 for none.
        outermost: Whether an only child of the root counts, such as the constant S of GENIA.

    Raises:
        ValueError: If there are no trees, or their words differ.
    """
    counts = np.array([_counts(*pair, outermost) for pair in _checked(gold, predicted)], "float64")

    def values(rows):
        common, wanted, found, exact, tags, words = counts[rows].sum(0)
        recall, precision = (100 * common / total if total else 100.0 for total in (wanted, found))
        both = precision + recall
        f1 = 2 * precision * recall / both if both else 0.0
        return np.array([f1, recall, precision, 100 * exact / len(rows), 100 * tags / words if words else 100.0])

    signature = f"sentences:{len(gold)}|COLLINS.prm" + ("" if outermost else "|without the outermost constituent")
    names = "bracket F1", "recall", "precision", "exact match", "tag accuracy"
    return bootstrap_scores(dict.fromkeys(names, signature), values, len(counts), resamples)


def label_table(gold: Sequence[Tree], predicted: Sequence[Tree]) -> list[tuple[str, int, int, int]]:
    """Returns (label, brackets in gold, in predicted, in both), most frequent first; rules as for `parsing_scores`."""
    totals = collections.defaultdict(lambda: np.zeros(3, int))
    for wanted, found, _ in map(_bracket_pair, *zip(*_checked(gold, predicted))):
        for column, side in enumerate((wanted, found, wanted & found)):
            for (label, _, _), count in side.items():
                totals[label][column] += count
    rows = ((label, *map(int, columns)) for label, columns in totals.items())
    return sorted(rows, key=lambda row: (-row[1], row[0]))


def _checked(gold, predicted):
    if not gold or len(gold) != len(predicted):
        raise ValueError(
            "There must be gold trees, and as many predicted ones. "
            f"Received: {len(gold)} gold trees and {len(predicted)} predicted ones. Parse the same sentences."
        )
    for number, pair in enumerate(zip(gold, predicted), start=1):
        for name, tree in zip(("gold", "predicted"), pair):
            if tree.label() != ROOT:
                raise ValueError(f"Tree {number}, {name}, has the root {tree.label()}, not {ROOT}. Clean it first.")
        if pair[0].leaves() != pair[1].leaves():
            raise ValueError(f"Tree {number} has other words in gold than in predicted. Score the same sentences.")
    return list(zip(gold, predicted))


def _bracket_pair(gold, predicted, outermost=True):
    counted = [tag not in _PUNCTUATION for _, tag in gold.pos()]
    return *(brackets(tree, counted, outermost) for tree in (gold, predicted)), counted


def _counts(gold, predicted, outermost):
    """Counts common, gold and predicted brackets, exact matches (0 or 1), correct tags, and words that count."""
    wanted, found, counted = _bracket_pair(gold, predicted, outermost)
    tags = [a == b for (_, a), (_, b), counts in zip(gold.pos(), predicted.pos(), counted) if counts]
    return (wanted & found).total(), wanted.total(), found.total(), wanted == found, sum(tags), len(tags)
