"""Which steps of the inputs each output depends on, found by gradients: those of masked steps are exactly zero."""

import contextlib
import dataclasses
from collections.abc import Sequence

import keras
import numpy as np
from keras import ops, tree

from keras_transformer.ops.gradients import vector_jacobian_products
from keras_transformer.ops.sublayers import sublayers
from keras_transformer.verification.hooks import layer_hook
from keras_transformer.verification.subject import Subject

_STEPS = 8  # Largest number of examined steps of an output in each example.
_DRAWS = 6  # Largest number of calls with other inputs, to separate steps never seen from those seen at times.
_CHANCE = 1e-3  # Accepted probability that steps seen at times, as by a maximum, are missed in all those calls.


@dataclasses.dataclass(frozen=True)
class Influence:
    """Dependence of one output on one input.

    Axes: B batch, K examined steps of the output, T steps of the input.

    Args:
        output: Index of the output.
        group: Indices of the input and of those that share its steps.
        steps: The examined steps `[B, K]`; None for an output without the steps of an input, where K is 1.
        real: Which steps of the input are not padding, boolean `[B, T]`.
        seen: Steps of the input that each examined step depends on, boolean `[B, K, T]`.
        rate: Mean share of the calls with different inputs in which a step was seen, over steps seen at least once.
        draws: Number of those calls.
        faded: Examined steps with gradients near the smallest float, so that unseen steps prove nothing, boolean
            `[B, K]`.
    """

    output: int
    group: Sequence[int]
    steps: np.ndarray | None
    real: np.ndarray
    seen: np.ndarray
    rate: float
    draws: int
    faded: np.ndarray

    def unseen(self, causal: bool) -> np.ndarray:
        """Returns which steps should be seen and are not, boolean `[B, K, T]`; later causal steps should not."""
        expected = np.broadcast_to(self.real[:, None], self.seen.shape) & ~self.faded[..., None]
        if causal and self.steps is not None:
            expected = expected & (np.arange(self.real.shape[1]) <= self.steps[..., None])
        return expected & ~self.seen

    def certain(self, unseen: np.ndarray) -> bool:
        """Returns whether so many unseen steps are unlikely to be chance."""
        return self.draws > 1 and bool(unseen.sum() * (1 - self.rate) ** self.draws < _CHANCE)


def influences(subject: Subject, causal: str | None, rng: np.random.Generator) -> list[Influence]:
    """Finds the dependence of each float output on each input, except for ids that no layer maps to vectors."""
    examined = [(number, _examined(subject, number)) for number in _float_outputs(subject)]
    floors = {"float16": 1e-6}
    floor = floors.get(subject.model.compute_dtype, 1e-30)
    counts, least, found = {}, {}, []
    for draw in range(1, _DRAWS + 1):
        arrays = subject.arrays if draw == 1 else subject.redrawn(rng)
        for key, sizes in _gradients(subject, arrays, examined, rng).items():
            counts[key] = counts.get(key, 0) + (sizes != 0)
            nonzero = np.where((sizes != 0) & subject.real(subject.groups[key[1]])[:, None], sizes, np.inf).min(axis=-1)
            least[key] = np.minimum(least.get(key, np.inf), nonzero)
        found = []
        for (number, place), count in counts.items():
            group, seen = subject.groups[place], count > 0
            rate = float((count[seen] / draw).mean()) if seen.any() else 1.0
            steps, real = dict(examined)[number], subject.real(group)
            found.append(Influence(number, group, steps, real, seen, rate, draw, least[number, place] < floor))
        open_ = [(own, own.unseen(_is_causal(subject, own, causal))) for own in found]
        if all(own.certain(unseen) or not unseen.any() for own, unseen in open_):
            break
    return found


def _is_causal(subject, influence, causal):
    return causal is not None and subject.group_of(causal) == influence.group


def _float_outputs(subject):
    outputs = tree.flatten(subject.model(subject.nest(subject.arrays), training=False))
    return [i for i, output in enumerate(outputs) if keras.backend.is_float_dtype(output.dtype)]


def _examined(subject, number):
    """Returns real steps `[B, K]` of an output, spread over each example, with its first two and its last."""
    group = subject.follows[number]
    if group is None or subject.outputs[number].shape[1] != subject.real(group).shape[1]:
        return None
    rows = []
    for real in subject.real(group):
        steps = np.flatnonzero(real) if real.any() else np.zeros(1, int)
        spread = np.linspace(1, len(steps) - 1, _STEPS - 1).round().astype(int)
        rows.append(steps[np.clip([0, *spread], 0, len(steps) - 1)])
    return np.stack(rows)[:, : max(1, subject.real(group).sum(axis=1).max())]


def _gradients(subject, arrays, examined, rng):
    """Computes the largest absolute gradients `[B, K, T]` for each (output, place of a group)."""
    numbers = [number for number, _ in examined]
    places = _places(subject, arrays)
    vectors, keys = [], []
    for number, steps in examined:
        shape = subject.outputs[number].shape
        for k in range(1 if steps is None else steps.shape[1]):
            vector = [np.zeros(subject.outputs[i].shape, "float32") for i in numbers]
            weights = rng.normal(size=shape)
            if steps is not None:
                only = np.arange(shape[1]) == steps[:, k, None]
                weights = weights * only.reshape(*shape[:2], *[1] * (len(shape) - 2))
            vector[numbers.index(number)] = weights.astype("float32")
            vectors.append(vector)
            keys.append(number)

    def outputs(added):
        with keras.StatelessScope(), _added(subject, arrays, places, added) as inputs:
            found = tree.flatten(subject.model(inputs, training=False))
        return [found[i] for i in numbers]

    zeros = [ops.zeros(shape, dtype) for _, _, shape, dtype in places]
    sizes = {}
    for number, product in zip(keys, vector_jacobian_products(outputs, zeros, vectors)):
        for place, group in enumerate(subject.groups):
            largest = np.zeros(arrays[group[0]].shape[:2])
            for part, (own, *_) in zip(product, places):
                if own == place:
                    largest = np.maximum(largest, np.abs(part).max(axis=tuple(range(2, part.ndim))))
            sizes.setdefault((number, place), []).append(largest)
    return {key: np.stack(found, axis=1) for key, found in sizes.items()}


def _places(subject, arrays):
    """Finds the first vectors of each group: (its place, the layer that returns them or None, their shape, dtype)."""
    found = []
    for place, group in enumerate(subject.groups):
        first = arrays[group[0]]
        if not np.issubdtype(first.dtype, np.integer):
            found.append((place, None, first.shape, ops.convert_to_tensor(first).dtype))
            continue
        made = {}

        def record(layer, inputs, outputs, first=first, made=made):
            shape = tuple(getattr(outputs, "shape", ()))
            vectors = len(shape) > 2 and shape[:2] == first.shape and keras.backend.is_float_dtype(outputs.dtype)
            if vectors and _is_array(inputs, first):
                made[layer] = shape, outputs.dtype

        with layer_hook(sublayers(subject.model), record):
            subject.call(arrays)
        inner = [layer for layer in made if not set(sublayers(layer)) & set(made)]
        found += [(place, layer, *made[layer]) for layer in inner]
    return found


@contextlib.contextmanager
def _added(subject, arrays, places, added):
    """Adds `added` to those vectors inside the `with` block; yields the inputs of the model."""
    inputs = [ops.convert_to_tensor(array) for array in arrays]
    by_layer = {}
    for (place, layer, *_), part in zip(places, added):
        first = subject.groups[place][0]
        if layer is None:
            inputs[first] = inputs[first] + part
        else:
            by_layer.setdefault(layer, []).append((arrays[first], part))

    def add(layer, seen, outputs):
        for array, part in by_layer[layer]:
            if _is_array(seen, array):
                return outputs + part

    with layer_hook(by_layer, add):
        yield subject.nest(inputs)


def _is_array(tensor, array):
    """Returns whether a tensor has the values of an array."""
    if tuple(getattr(tensor, "shape", ())) != array.shape:
        return False
    return np.array_equal(ops.convert_to_numpy(tensor), array)
