"""What a model made of each example of a corpus."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np


class Shown(NamedTuple):
    """An example as a report shows it.

    Args:
        given: What the model was given: a text, or an image, uint8 `[H, W, 3]`.
        expected: What it should have found, as a text.
        predicted: What it found, as a text.
    """

    given: str | np.ndarray
    expected: str
    predicted: str


class Classes(NamedTuple):
    """Classes of the examples or of their parts, such as the words of sentences.

    Args:
        labels: Names of the C classes.
        gold, predicted: Numbers of classes `[M]`.
        confidences: Probabilities of the predicted classes `[M]`.
    """

    labels: Sequence[str]
    gold: np.ndarray
    predicted: np.ndarray
    confidences: np.ndarray

    @classmethod
    def of(cls, labels: Sequence[str], gold: Any, probabilities: np.ndarray) -> "Classes":
        """Returns the classes of examples from the probabilities `[M, C]` of a model."""
        probabilities = np.asarray(probabilities)
        return cls(labels, np.asarray(gold), probabilities.argmax(-1), probabilities.max(-1))


@dataclasses.dataclass(frozen=True)
class Outcomes:
    """The outcomes of N examples.

    Args:
        measure: What `scores` are, such as "chrF of the sentence".
        scores: Float `[N]`; higher is better.
        show: Returns the example of a number.
        lengths: Lengths of the examples `[N]`; None if they have none.
        unit: What lengths are counted in.
        classes: Classes, of models that predict one for each example or part of it.
    """

    measure: str
    scores: np.ndarray
    show: Callable[[int], Shown]
    lengths: np.ndarray | None = None
    unit: str = "words"
    classes: Classes | None = None

    def worst(self, count: int) -> list[int]:
        """Returns the numbers of the examples with the lowest scores, the lowest first."""
        return np.argsort(self.scores, kind="stable")[:count].tolist()

    def spread(self, count: int) -> list[int]:
        """Returns numbers of examples at equal distances, whatever their scores."""
        total = len(self.scores)
        return sorted({int(number) for number in np.linspace(0, total - 1, min(count, total))})
