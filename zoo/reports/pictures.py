"""Pictures of outcomes: figures of matplotlib."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_transformer.visualize.figures import make_figure

_BINS = 10
_SURE = 1.96  # Standard errors of a 95 % interval.


def draw_scores(scores: np.ndarray, measure: str) -> Any:
    """Draws how many examples have which score."""
    figure, axes = make_figure(6, 3)
    axes[0, 0].hist(scores, bins=20)
    axes[0, 0].set(xlabel=measure, ylabel="examples")
    return figure


def draw_lengths(lengths: Sequence[tuple[str, np.ndarray]]) -> Any:
    """Draws how many rows of a corpus have which number of tokens, for each of some named sides."""
    figure, axes = make_figure(6, 3)
    most = max(int(np.max(values)) for _, values in lengths)
    for name, values in lengths:
        axes[0, 0].hist(values, bins=np.linspace(0.5, most + 0.5, min(most, 40) + 1), histtype="step", label=name)
    axes[0, 0].set(xlabel="tokens", ylabel="rows")
    if len(lengths) > 1:
        axes[0, 0].legend()
    return figure


def score_by_length(lengths: np.ndarray, scores: np.ndarray) -> list[tuple[float, float, float, int]]:
    """Returns (mean length, mean score, half of its 95 % interval, examples) of up to ten groups of similar lengths.

    Groups have about the same number of examples; examples of the same length are in the same one.
    """
    limits = np.unique(np.quantile(lengths, np.linspace(0, 1, _BINS + 1)[1:-1]))
    group = np.searchsorted(limits, lengths, side="left")
    found = []
    for number in np.unique(group):
        chosen = scores[group == number]
        error = chosen.std(ddof=1) / len(chosen) ** 0.5 if len(chosen) > 1 else 0.0
        found.append((float(lengths[group == number].mean()), float(chosen.mean()), _SURE * float(error), len(chosen)))
    return found


def draw_score_by_length(lengths: np.ndarray, scores: np.ndarray, measure: str, unit: str) -> Any:
    """Draws the mean score over the length; see `score_by_length`."""
    figure, axes = make_figure(6, 3.5)
    x, y, errors, _ = zip(*score_by_length(lengths, scores))
    axes[0, 0].errorbar(x, y, errors, marker="o", capsize=3)
    axes[0, 0].set(xlabel=unit, ylabel=measure)
    return figure


def reliability(confidences: np.ndarray, right: np.ndarray) -> list[tuple[float, float, int]]:
    """Returns (mean confidence, share that is right, number) of each bin of a reliability diagram (Guo et al. 2017).

    Ten bins of equal width over (0, 1]; those without predictions are left out.
    """
    numbers = np.clip(np.ceil(confidences * _BINS).astype(int) - 1, 0, _BINS - 1)
    chosen = ((confidences[numbers == i], right[numbers == i]) for i in np.unique(numbers))
    return [(float(sure.mean()), float(hits.mean()), len(sure)) for sure, hits in chosen]


def draw_reliability(confidences: np.ndarray, right: np.ndarray) -> Any:
    """Draws how often predictions are right over how sure the model was; on the diagonal, it knows."""
    figure, axes = make_figure(4.5, 4.5)
    x, y, counts = zip(*reliability(confidences, right))
    axes[0, 0].plot([0, 1], [0, 1], linestyle=":", color="gray")
    axes[0, 0].plot(x, y, marker="o")
    for place in zip(x, y, counts):
        axes[0, 0].annotate(f"{place[2]:,}", place[:2], textcoords="offset points", xytext=(6, -10), fontsize=8)
    axes[0, 0].set(xlabel="confidence", ylabel="share that is right", xlim=(0, 1.02), ylim=(0, 1.02))
    return figure
