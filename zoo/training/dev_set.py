"""Evaluation during training."""

from typing import Any

import keras

from zoo.serving.predictor import Predictor


class DevSet:
    """Evaluates a model on the dev set during training: its loss, if the task computes it, and all scores.

    Args:
        task: A `zoo.training.tasks.Task`.
        predictor: The predictor of the model that is trained.
        examples: The dev set, as `Task.score` takes it.
        score: The score that selects the best checkpoint, a key of `Task.scores`.
    """

    def __init__(self, task: Any, predictor: Predictor, examples: Any, score: str):
        self.task, self.predictor, self.examples, self.metric = task, predictor, examples, task.scores[score]

    def __call__(self, model: keras.Model) -> dict[str, float]:
        """Returns figures by name; `score` is the one that the settings select, and a higher one is better."""
        evaluation = self.task.score(self.predictor, self.examples, **self.task.dev_options)
        figures = {} if evaluation.loss is None else {"loss": evaluation.loss}
        figures |= {score.metric: score.value for score in evaluation.scores}
        score = -figures["loss"] if self.metric == "loss" else figures[self.metric]
        return {**{f"dev_{name.lower().replace(' ', '_')}": value for name, value in figures.items()}, "score": score}
