"""Evaluations of a training run after every `evaluate_every` updates, and its end at a signal."""

import keras
import numpy as np

from zoo.distribution import heartbeats


class UpdateMean(keras.metrics.Mean):
    """Mean loss of the updates. Keras would weight batches by rows, so batches of short sentences would count more."""

    def update_state(self, values, sample_weight=None):
        return super().update_state(values)

    def sums(self, accumulation: int) -> list[float]:
        """Returns the sum of the losses of the updates so far, and their number; for `assign_sums`.

        Args:
            accumulation: Micro-batches of an update, which the metric counts.
        """
        return [float(np.asarray(variable)) / accumulation for variable in (self.total, self.count)]

    def assign_sums(self, sums: list[float], accumulation: int) -> None:
        """Continues from the `sums` of an earlier run."""
        for variable, value in zip((self.total, self.count), sums):
            variable.assign(np.float32(value * accumulation))


class Evaluations(keras.callbacks.Callback):
    """Evaluates the model at the multiples of `evaluate_every` and at the last update, and stops at a signal.

    `fit` has a single epoch, because a run may resume between two evaluations. Updates are counted by batches, because
    an optimizer that scales losses does not count those that overflow.

    Args:
        trainer: The `zoo.training.trainer.Trainer`.
        position: Function from a number of batches to the (epoch, batch) after them.
        progress: The `zoo.training.progress.Progress`.
    """

    def __init__(self, trainer, position, progress):
        super().__init__()
        self._trainer, self._position, self._progress = trainer, position, progress
        self._start, self._batches = trainer.step, 0

    def on_epoch_begin(self, epoch, logs=None):
        self._trainer.loss.assign_sums(self._trainer.facts["interval"], self._trainer.accumulation)

    def on_train_batch_end(self, batch, logs=None):
        trainer = self._trainer
        self._batches += 1
        updates, rest = divmod(self._batches, trainer.accumulation)
        if rest:
            return
        step, position = self._start + updates, self._position(updates)
        heartbeats.beat(step)
        last, due = step >= trainer.config.steps, trainer.is_evaluated(step)
        if due:
            if keras.backend.backend() == "jax":
                self.model.jax_state_sync()
            go_on = trainer.save_and_evaluate(step, position, self._progress)
            self.model.reset_metrics()
            self._progress.restart_clock()
            self.model.stop_training = last or not go_on  # The last interval may be shorter than the others.
        if number := trainer.signals.agreed(step, due):
            if keras.backend.backend() == "jax":
                self.model.jax_state_sync()
            trainer.stop(step, position, number, saved=due)
