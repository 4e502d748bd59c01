"""Stops a training at the first update that is not finite, and says where it went wrong."""

import collections
import math
from collections.abc import Iterable, Iterator

import keras
import numpy as np
from keras import ops, tree

from keras_transformer.ops.gradients import weight_gradients
from keras_transformer.verification.watching import watched
from zoo.models.compiling import compile_function

_FETCHED_AHEAD = 32  # Examples that are made before they are trained on, at most.


class FiniteGuard(keras.callbacks.Callback):
    """Looks at loss and weights after each update; keeps the weights from before it to go back to.

    Args:
        accumulation: Examples to an update.
        replicas: Devices that share an example, in equal parts.
        done: Updates done by earlier runs.
    """

    def __init__(self, accumulation: int, replicas: int = 1, done: int = 0):
        super().__init__()
        self._accumulation, self._replicas, self._done = accumulation, replicas, done
        self._examples = collections.deque(maxlen=accumulation + _FETCHED_AHEAD)
        self._made = self._trained = 0
        self._kept = []

    def remember(self, examples: Iterable[tuple]) -> Iterator[tuple]:
        """The examples, as they are; the last ones are kept to find out what was wrong with them."""
        for example in examples:
            self._examples.append(example)
            self._made += 1
            yield example

    def set_model(self, model):
        super().set_model(model)
        self._look = compile_function(model, lambda: _finite_and_copies(model))

    def on_train_begin(self, logs=None):
        _, self._kept = self._look()

    def on_train_batch_end(self, batch, logs=None):
        """Raises `FloatingPointError`, with the weights as before the update, if the loss or a weight is not finite."""
        self._trained += 1
        if self._trained % self._accumulation:
            return
        if keras.backend.backend() == "jax":
            self.model.jax_state_sync()
        finite, copies = self._look()
        if math.isfinite(logs["loss"]) and bool(finite):
            self._kept = copies
            return
        for variable, value in zip(self.model.variables, self._kept):
            variable.assign(value)
        update = self._done + self._trained // self._accumulation
        raise FloatingPointError(
            f"Update {update} is not finite: {self._reason()}. The last checkpoint is whole, and the same command goes "
            "on from it; a smaller training.peak_learning_rate or a longer training.warmup_steps may help."
        )

    def _reason(self):
        first = len(self._examples) - (self._made - self._trained) - self._accumulation
        for number in range(self._accumulation):
            inputs, labels, weights = self._examples[first + number]
            for replica in range(self._replicas):
                rows = np.array_split(np.arange(len(labels)), self._replicas)[replica]
                part = [
                    tree.map_structure(lambda array, rows=rows: array[rows], side) for side in (inputs, labels, weights)
                ]
                if found := first_fault(self.model, *part):
                    where = [f"micro-batch {number}"] * (self._accumulation > 1)
                    where += [f"replica {replica}"] * (self._replicas > 1)
                    return found + (f" ({', '.join(where)})" if where else "")
        return "neither outputs nor gradients show why; perhaps the update was too large"


def _finite_and_copies(model):
    """Whether all weights that learn are finite, and copies of all variables."""
    sums = [ops.sum(ops.cast(variable.value, "float32")) for variable in model.trainable_variables]
    return ops.all(ops.isfinite(ops.stack(sums))), [ops.copy(variable.value) for variable in model.variables]


def first_fault(model: keras.Model, inputs, labels, weights) -> str | None:
    """Where the first value that is not finite comes from: a layer, the loss, the gradient of a weight; else None."""
    for variable in model.trainable_variables:
        if not _finite(variable.value):
            return f"the weight {variable.path} was so before"
    bad = []

    def told(layer, _, outputs):
        if not bad and not _finite(outputs):
            bad.append(layer)

    inputs = tree.map_structure(ops.convert_to_tensor, inputs)
    with watched((layer for layer in model._flatten_layers(include_self=False)), told):
        outputs = model(inputs, training=True)
    if bad:
        return f"first so in the output of layer {bad[0].path}, a {type(bad[0]).__name__}"
    if not _finite(outputs):
        return "first so in the output of the model"

    def loss(outputs):
        return model.compute_loss(x=inputs, y=labels, y_pred=outputs, sample_weight=weights)

    if not _finite(loss(outputs)):
        return "first so in the loss"
    for variable, gradient in zip(model.trainable_variables, weight_gradients(model, inputs, loss, training=True)):
        if gradient is not None and not np.isfinite(gradient).all():
            return f"first so in the gradient of {variable.path}"
    return None


def _finite(values):
    arrays = [ops.convert_to_numpy(ops.cast(array, "float32")) for array in tree.flatten(values) if array is not None]
    return all(np.isfinite(array).all() for array in arrays)
