"""Scores with bootstrap intervals and signatures."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

SEED = 12345  # Seed of the bootstrap.


class Score(NamedTuple):
    """A score of a corpus.

    Args:
        metric: Name of the metric.
        value: The score.
        interval: Half the width of the 95 % interval; 0 if it was not computed.
        signature: How the score was computed, such as the options of sacrebleu.
    """

    metric: str
    value: float
    interval: float
    signature: str

    def __str__(self):
        digits = 2 if self.value >= 10 else 4  # Of losses, differences of hundredths count.
        interval = f" ± {self.interval:.{digits}f} (95 % bootstrap)" if self.interval else ""
        return f"{self.metric} {self.value:.{digits}f}{interval}  {self.signature}"


def bootstrap_scores(
    signatures: Mapping[str, str], values: Callable[[np.ndarray], np.ndarray], count: int, resamples: int
) -> list[Score]:
    """Computes scores of a corpus with bootstrap intervals (Koehn 2004).

    Args:
        signatures: The signature of each metric, by its name.
        values: `rows [n] -> scores [metrics]`, the metrics of the examples with these numbers, which may repeat.
        count: Number of examples.
        resamples: Number of bootstrap samples; 0 for no intervals.
    """
    generator = np.random.default_rng(SEED)
    samples = [values(generator.integers(0, count, count)) for _ in range(resamples)]
    intervals = np.ptp(np.quantile(samples, [0.025, 0.975], axis=0), axis=0) / 2 if samples else [0.0] * len(signatures)
    bootstrap = f"|bs:{resamples}|seed:{SEED}" if resamples else ""
    return [
        Score(metric, float(value), float(interval), signature + bootstrap)
        for (metric, signature), value, interval in zip(signatures.items(), values(np.arange(count)), intervals)
    ]
