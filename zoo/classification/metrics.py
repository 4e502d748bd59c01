"""Accuracy, macro F1, confusion matrix and calibration error of classifiers. NumPy, no Keras."""

import os
from collections.abc import Sequence

import numpy as np

from zoo.serving.heatmap import draw_heatmap
from zoo.training.scores import Score, bootstrap_scores

_BINS = 15


def confusion_matrix(gold: np.ndarray, predicted: np.ndarray, num_classes: int) -> np.ndarray:
    """Computes the confusion matrix `[C, C]`: the number of texts of class i (row) predicted as class j (column)."""
    pairs = np.asarray(gold) * num_classes + np.asarray(predicted)
    return np.bincount(pairs, minlength=num_classes**2).reshape(num_classes, num_classes)


def accuracy(matrix: np.ndarray) -> float:
    """Computes the accuracy: the sum of the diagonal over the sum of the matrix."""
    return float(np.trace(matrix) / matrix.sum())


def macro_f1(matrix: np.ndarray) -> float:
    """Computes the mean of F1 = 2 TP / (2 TP + FP + FN) over the classes that are in the data or were predicted."""
    counts = matrix.sum(0) + matrix.sum(1)
    return float(np.mean(2 * np.diag(matrix)[counts > 0] / counts[counts > 0]))


def calibration_error(gold: np.ndarray, probabilities: np.ndarray, bins: int = _BINS) -> float:
    """Computes the expected calibration error (Guo et al. 2017, eq. 3), the mean gap of confidence and accuracy.

        ECE = sum_m |B_m| / n * |accuracy(B_m) - confidence(B_m)|

    Args:
        gold: Classes `[N]`.
        probabilities: Probabilities `[N, C]`.
        bins: Number M of bins of equal width over (0, 1].
    """
    confidence, correct = probabilities.max(1), probabilities.argmax(1) == gold
    bin_numbers = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)
    gaps = np.bincount(bin_numbers, correct - confidence, bins)
    return float(np.abs(gaps).sum() / len(gold))


def classification_scores(gold: np.ndarray, probabilities: np.ndarray, resamples: int = 0) -> list[Score]:
    """Computes accuracy, macro F1 and calibration error in per cent, with bootstrap intervals.

    Args:
        gold: Classes `[N]`.
        probabilities: Probabilities `[N, C]`.
        resamples: Number of bootstrap samples for the intervals (Koehn 2004); 0 for none.

    Raises:
        ValueError: If N is 0 or differs.
    """
    gold, probabilities = np.asarray(gold), np.asarray(probabilities, "float64")
    if not len(gold) or len(gold) != len(probabilities):
        raise ValueError(
            f"There must be classes, and probabilities for each of them. Received: {len(gold)} classes, "
            f"probabilities of {len(probabilities)} texts. Pass both for the same texts."
        )
    num_classes = probabilities.shape[1]

    def values(rows):
        matrix = confusion_matrix(gold[rows], probabilities[rows].argmax(1), num_classes)
        error = calibration_error(gold[rows], probabilities[rows])
        return 100 * np.array([accuracy(matrix), macro_f1(matrix), error])

    signature = f"n:{len(gold)}|classes:{num_classes}"
    signatures = {"accuracy": signature, "macro F1": signature, "calibration error": f"{signature}|bins:{_BINS}"}
    return bootstrap_scores(signatures, values, len(gold), resamples)


def draw_confusion(matrix: np.ndarray, labels: Sequence[str], path: str | os.PathLike) -> None:
    """Draws a confusion matrix, with classes as rows and predictions as columns; see `draw_heatmap`."""
    shares = matrix / np.maximum(1, matrix.sum(1, keepdims=True))
    draw_heatmap(shares, labels, labels, path, matrix, xlabel="predicted", ylabel="class")
