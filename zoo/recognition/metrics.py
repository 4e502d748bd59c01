"""Error rates of words and characters by jiwer, with bootstrap intervals. No Keras."""

from collections.abc import Sequence

import numpy as np

from zoo.extras import require
from zoo.training.scores import Score, bootstrap_scores


def error_rates(hypotheses: Sequence[str], references: Sequence[str], resamples: int = 0) -> list[Score]:
    """Computes word error rate, character error rate, and the share of texts that are exactly right, in percent.

    The rates are the numbers of substitutions, deletions and insertions over the words or characters of all references.
    Capitals and punctuation count.

    Args:
        hypotheses, references: Texts, in the same order.
        resamples: Number of bootstrap samples for the intervals; 0 for none.

    Raises:
        ValueError: If the numbers of texts differ or are zero, or a reference has no word.
        ImportError: If jiwer is not installed.
    """
    if len(hypotheses) != len(references) or not references or not all(text.split() for text in references):
        raise ValueError(
            f"There must be references with words, and a hypothesis for each. Received: {len(hypotheses)} hypotheses, "
            f"{len(references)} references."
        )
    require("The word error rate", "jiwer")
    import jiwer

    words = [_edits(jiwer.process_words(*pair)) for pair in zip(references, hypotheses)]
    characters = [_edits(jiwer.process_characters(*pair)) for pair in zip(references, hypotheses)]
    right = [(float(" ".join(a.split()) == " ".join(b.split())), 1) for a, b in zip(hypotheses, references)]
    counts = np.array([words, characters, right], "float64")  # [metrics, texts, 2]

    def values(rows):
        return 100 * counts[:, rows, 0].sum(1) / counts[:, rows, 1].sum(1)

    signature = f"n:{len(references)}|words:{int(counts[0, :, 1].sum())}|jiwer:{_version()}"
    names = "word error rate", "character error rate", "texts right"
    return bootstrap_scores(dict.fromkeys(names, signature), values, len(references), resamples)


def _edits(output):
    """Returns the number of errors and the length of the reference."""
    return (
        output.substitutions + output.deletions + output.insertions,
        output.hits + output.substitutions + output.deletions,
    )


def _version():
    import importlib.metadata

    return importlib.metadata.version("jiwer")
