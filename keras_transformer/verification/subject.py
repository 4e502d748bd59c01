"""Tested model: its inputs as sequences, its outputs, and which output has the steps of which input."""

from collections.abc import Mapping, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops, tree

from keras_transformer.verification.copies import first_line


class Subject:
    """A model and a batch to test it on.

    Axes: B batch, T steps of a sequence.

    Args:
        model: Any Keras model that takes one nest of arrays.
        inputs: Inputs of the model: ids `[B, T]`, features `[B, T, D]`; arrays with fewer axes are no sequences.
        pad_id: Id of padding. Padding of features is all zeros.
        aligned: Groups of names of inputs that share their steps, such as token ids and segment ids; the first of a
            group determines where padding is.

    Raises:
        ValueError: If there are fewer than two examples, no sequence among the inputs, or an unknown name.
    """

    def __init__(self, model: keras.Model, inputs: Any, pad_id: int = 0, aligned: Sequence[Sequence[str]] = ()):
        self.model, self.pad_id, self._structure = model, pad_id, inputs
        self._predict_function = None
        paths, arrays = zip(*tree.flatten_with_path(inputs))
        self.names = ["/".join(map(str, path)) or "inputs" for path in paths]
        self.arrays = [np.asarray(ops.convert_to_numpy(array)) for array in arrays]
        sizes = {len(array) if array.ndim else 0 for array in self.arrays}
        if len(sizes) > 1 or min(sizes) < 2:
            raise ValueError(f"`inputs` must hold two examples or more, as many in each. Received: {sorted(sizes)}.")
        self.groups = self._grouped(aligned)
        if not self.groups:
            raise ValueError("`inputs` must hold ids [B, T] or features [B, T, D]. Received no sequence.")
        self.outputs = self.call(self.arrays)
        self.growing, self.refused = [], []  # Groups for which the model accepts more steps, and why others do not.
        self.follows = self._followed()

    def group_of(self, name: str) -> list[int]:
        """Returns the inputs that share their steps with the named one."""
        if name not in self.names:
            raise ValueError(f"`causal` must name an input. Received: {name!r}. Inputs: {', '.join(self.names)}.")
        return next((group for group in self.groups if self.names.index(name) in group), [self.names.index(name)])

    def nest(self, arrays: Sequence[np.ndarray]) -> Any:
        """Packs arrays into the structure that the model takes."""
        return tree.pack_sequence_as(self._structure, [ops.convert_to_tensor(array) for array in arrays])

    def call(self, arrays: Sequence[np.ndarray], model: keras.Model | None = None) -> list[np.ndarray]:
        """Returns the outputs in inference, as float64."""
        return _float64((model or self.model)(self.nest(arrays), training=False))

    def call_in_training(self, arguments: Mapping[str, Any]) -> list[np.ndarray]:
        """Returns the outputs of a call as in Keras's `fit`, which does not change the model, as float64."""
        model, inputs = self.model, self.nest(self.arrays)
        if keras.backend.backend() == "jax":  # There `fit` skips `__call__`.
            groups = model.trainable_variables, model.non_trainable_variables
            values = ([variable.value for variable in group] for group in groups)
            return _float64(model.stateless_call(*values, inputs, **arguments)[0])
        with keras.StatelessScope():
            return _float64(model(inputs, **arguments))

    def compiled_call(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Returns the outputs of `predict_on_batch`, which Keras compiles, as float64."""
        model = self.model
        kept = model.predict_function, model.run_eagerly, model.jit_compile
        model.predict_function, model.run_eagerly = self._predict_function, False
        if keras.backend.backend() == "jax":  # Otherwise nothing is compiled there.
            model.jit_compile = True
        try:
            return _float64(model.predict_on_batch(self.nest(arrays)))
        finally:
            self._predict_function = model.predict_function
            model.predict_function, model.run_eagerly, model.jit_compile = kept

    def real(self, group: Sequence[int], arrays: Sequence[np.ndarray] | None = None) -> np.ndarray:
        """Returns which steps of a group are not padding, boolean `[B, T]`."""
        first = (arrays or self.arrays)[group[0]]
        nothing = self.pad_id if np.issubdtype(first.dtype, np.integer) else 0
        return (first != nothing).any(axis=tuple(range(2, first.ndim)))

    def padded(self, group: Sequence[int], steps: int) -> list[np.ndarray]:
        """Returns the inputs with padding appended to those of a group."""
        found = list(self.arrays)
        for i in group:
            shape = self.arrays[i].shape[0], steps, *self.arrays[i].shape[2:]
            value = self.pad_id if i == group[0] and np.issubdtype(found[i].dtype, np.integer) else 0
            found[i] = np.concatenate([found[i], np.full(shape, value, found[i].dtype)], axis=1)
        return found

    def row(self, number: int) -> list[np.ndarray]:
        """Returns the inputs of one example, without its padding at the end."""
        found = [array[number : number + 1] for array in self.arrays]
        for group in self.groups:
            steps = np.flatnonzero(self.real(group)[number])
            for i in group:
                found[i] = found[i][:, : int(steps[-1]) + 1 if len(steps) else 1]
        return found

    def redrawn(self, rng: np.random.Generator) -> list[np.ndarray]:
        """Returns the inputs with random values at all real steps of all groups."""
        found = list(self.arrays)
        for group in self.groups:
            found[group[0]] = self.changed(group, self.real(group), rng)[group[0]]
        return found

    def changed(self, group: Sequence[int], where: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
        """Returns the inputs with other values at steps `[B, T]` of a group; ids become other ids that occur in it."""
        found, i = list(self.arrays), group[0]
        array = found[i].copy()
        if np.issubdtype(array.dtype, np.integer):
            known = np.setdiff1d(array, [self.pad_id])
            if len(known) < 2:
                raise ValueError(f"{self.names[i]} must hold two different ids or more. Received: {known.tolist()}.")
            places = np.searchsorted(known, array[where])
            array[where] = known[(places + rng.integers(1, len(known), places.shape)) % len(known)]
        else:
            array[where] = rng.permutation(array[where], axis=-1) + rng.normal(size=array[where].shape)
        found[i] = array
        return found

    def compared_steps(self, number: int) -> np.ndarray | None:
        """Returns the real steps `[B, T]` of the input whose steps an output has; None if it has those of none."""
        group = self.follows[number]
        return None if group is None else self.real(group)

    def difference(
        self,
        found: Sequence[np.ndarray],
        kept: Sequence[np.ndarray | None] | None = None,
        expected: Sequence[np.ndarray] | None = None,
    ) -> float:
        """Returns the largest difference of outputs at the compared steps, as a share of the largest output there.

        Args:
            found: Outputs; of those with the steps of an input the first T are compared.
            kept: Steps `[B, T]` to compare instead of `compared_steps`.
            expected: Outputs to compare with; those of the batch by default.
        """
        worst = 0.0
        for number, (own, other) in enumerate(zip(found, expected or self.outputs)):
            where = self.compared_steps(number) if kept is None else kept[number]
            if where is not None:
                own, other = (array[:, : where.shape[1]][where] for array in (own, other))
            worst = max(worst, share(own, other))
        return worst

    @property
    def fixed(self) -> str | None:
        """The name of a sequence whose number of steps a functional model fixes; None without any."""
        shapes = [
            getattr(tensor, "shape", (None, None)) for tensor in tree.flatten(getattr(self.model, "inputs", None))
        ]
        sequences = {i for group in self.groups for i in group} if len(shapes) == len(self.arrays) else ()
        return next((self.names[i] for i in sequences if len(shapes[i]) > 1 and shapes[i][1] is not None), None)

    def _grouped(self, aligned):
        groups, left = [], [i for i, array in enumerate(self.arrays) if array.ndim >= _rank(array)]
        for names in aligned:
            unknown = [name for name in names if name not in self.names]
            if unknown:
                raise ValueError(
                    f"`aligned` must name inputs. Received: {unknown[0]!r}. Inputs: {', '.join(self.names)}."
                )
            groups.append([self.names.index(name) for name in names])
        taken = {i for group in groups for i in group}
        return groups + [[i] for i in left if i not in taken]

    def _followed(self):
        """Returns the group whose steps each output has: the one that makes it longer, if the model allows that."""
        follows = [None] * len(self.outputs)
        for group in reversed(self.groups):
            steps = self.arrays[group[0]].shape[1]
            try:
                lengths = [output.shape[1:2] for output in self.call(self.padded(group, 5))]
                self.growing.append(group)
            except Exception as error:  # The model does not accept that length.
                self.refused.append(f"no padding added to {self.names[group[0]]}: {first_line(error)}")
                lengths = [(*output.shape[1:2], *[3] * (output.shape[1:2] == (steps,))) for output in self.outputs]
            for number, output in enumerate(self.outputs):
                if lengths[number] != output.shape[1:2]:
                    follows[number] = group
        return follows


def _float64(outputs):
    return [ops.convert_to_numpy(ops.cast(array, "float32")).astype("float64") for array in tree.flatten(outputs)]


def _rank(array):
    """Returns the smallest number of axes of a sequence."""
    return 2 if np.issubdtype(array.dtype, np.integer) else 3


def share(found: np.ndarray, expected: np.ndarray) -> float:
    """Returns the largest difference as a share of the largest expected value; infinite if a value is not finite."""
    if not found.size:
        return 0.0
    if not (np.isfinite(found).all() and np.isfinite(expected).all()):
        return float("inf")
    return float(np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-30))
