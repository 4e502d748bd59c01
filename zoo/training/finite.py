"""Detection of updates that are not finite, and of where the first such value comes from."""

import collections
import math
from collections.abc import Iterable, Iterator

import keras
import numpy as np
from keras import ops, tree

from keras_transformer.ops.gradients import weight_gradients
from keras_transformer.ops.sublayers import sublayers
from keras_transformer.verification.hooks import layer_hook
from zoo.models.compiling import compile_function

_MAX_PREFETCHED = 32  # Examples that are made before they are trained on.


class FiniteGuard(keras.callbacks.Callback):
    """Stops training at an update whose loss or weights are not finite, and restores the weights before it.

    Args:
        accumulation: Examples (micro-batches) of an update.
        replicas: Devices that share an example, in equal parts.
        done: Updates done by earlier runs.
    """

    def __init__(self, accumulation: int, replicas: int = 1, done: int = 0):
        super().__init__()
        self._accumulation, self._replicas, self._done = accumulation, replicas, done
        self._examples = collections.deque(maxlen=accumulation + _MAX_PREFETCHED)
        self._made = self._trained = 0
        self._backup = []

    def remember(self, examples: Iterable[tuple]) -> Iterator[tuple]:
        """Yields the examples unchanged, and keeps the latest to find the cause of an update that is not finite."""
        for example in examples:
            self._examples.append(example)
            self._made += 1
            yield example

    def set_model(self, model):
        super().set_model(model)
        self._check = compile_function(model, lambda: _finite_and_copies(model))

    def on_train_begin(self, logs=None):
        _, self._backup = self._check()

    def on_train_batch_end(self, batch, logs=None):
        """Raises `FloatingPointError`, with the weights before the update, if the loss or a weight is not finite."""
        self._trained += 1
        if self._trained % self._accumulation:
            return
        if keras.backend.backend() == "jax":
            self.model.jax_state_sync()
        finite, copies = self._check()
        if math.isfinite(logs["loss"]) and bool(finite):
            self._backup = copies
            return
        for variable, value in zip(self.model.variables, self._backup):
            variable.assign(value)
        update = self._done + self._trained // self._accumulation
        raise FloatingPointError(
            f"Update {update} is not finite: {self._cause()}. The last checkpoint is intact, and the same command "
            "resumes from it; a smaller training.peak_learning_rate or a longer training.warmup_steps may help."
        )

    def _cause(self):
        first = len(self._examples) - (self._made - self._trained) - self._accumulation
        for number in range(self._accumulation):
            example = self._examples[first + number]
            for replica, rows in enumerate(np.array_split(np.arange(len(example[1])), self._replicas)):
                fault = first_fault(self.model, *tree.map_structure(lambda array, rows=rows: array[rows], example))
                if fault:
                    where = [f"micro-batch {number}"] * (self._accumulation > 1)
                    where += [f"replica {replica}"] * (self._replicas > 1)
                    return fault + (f" ({', '.join(where)})" if where else "")
        return "outputs and gradients are finite; perhaps the update was too large"


def _finite_and_copies(model):
    """Returns whether all trainable weights are finite, and copies of all variables."""
    sums = [ops.sum(ops.cast(variable.value, "float32")) for variable in model.trainable_variables]
    return ops.all(ops.isfinite(ops.stack(sums))), [ops.copy(variable.value) for variable in model.variables]


def first_fault(model: keras.Model, inputs, labels, weights) -> str | None:
    """Describes where the first value that is not finite appears; None if all values are finite.

    Weights, outputs of layers in the order of their calls, the loss, and gradients of weights are checked.
    """
    for variable in model.trainable_variables:
        if not _finite(variable.value):
            return f"the weight {variable.path} was not finite before it"
    bad = []

    def record(layer, _, outputs):
        if not bad and not _finite(outputs):
            bad.append(layer)

    inputs = tree.map_structure(ops.convert_to_tensor, inputs)
    with layer_hook(sublayers(model), record):
        outputs = model(inputs, training=True)
    if bad:
        return f"first in the output of layer {bad[0].path}, a {type(bad[0]).__name__}"
    if not _finite(outputs):
        return "first in the output of the model"

    def loss(outputs):
        return model.compute_loss(x=inputs, y=labels, y_pred=outputs, sample_weight=weights)

    if not _finite(loss(outputs)):
        return "first in the loss"
    for variable, gradient in zip(model.trainable_variables, weight_gradients(model, inputs, loss, training=True)):
        if gradient is not None and not np.isfinite(gradient).all():
            return f"first in the gradient of {variable.path}"
    return None


def _finite(values):
    arrays = [ops.convert_to_numpy(ops.cast(array, "float32")) for array in tree.flatten(values) if array is not None]
    return all(np.isfinite(array).all() for array in arrays)
