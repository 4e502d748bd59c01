"""Probes, each of which tests one property of a sequence model on a batch."""

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import ops, tree

from keras_transformer.ops.gradients import weight_gradients
from keras_transformer.ops.sublayers import sublayers
from keras_transformer.verification.copies import OwnPolicyError, copy_with_policy, save_and_reload
from keras_transformer.verification.hooks import layer_hook
from keras_transformer.verification.report import Finding
from keras_transformer.verification.subject import Subject, share

_CUTS = 8  # Largest number of places at which a sequence is cut.
_TOLERANCES = {"float64": 1e-9, "float32": 1e-4, "float16": 1e-2, "bfloat16": 5e-2}


def tolerance(subject: Subject) -> float:
    """Returns the largest difference that rounding may cause in the compute dtype, as a share of the largest output."""
    return _TOLERANCES.get(subject.model.compute_dtype, 1e-4)


def repeatability(subject: Subject) -> Finding:
    """Checks that two calls in inference give the same outputs."""
    return _judged("same answer twice", subject, subject.difference(subject.call(subject.arrays)), "dropout left on?")


def padding_invariance(subject: Subject) -> Finding:
    """Checks that outputs at real steps do not depend on the amount of padding."""
    name, worst, note = "padding invariance", 0.0, ""
    for group in subject.growing:
        for steps in (1, 5):
            found = subject.difference(subject.call(subject.padded(group, steps)))
            if found > worst:
                worst, note = found, f"{steps} steps of padding behind {subject.names[group[0]]}"
    if subject.fixed:
        return Finding(name, None, note=f"not applicable: {subject.fixed} has a fixed number of steps")
    for number in range(min(4, len(subject.arrays[0]))):
        found = _difference_of_row(subject, number, subject.row(number))
        if found > worst:
            worst, note = found, f"example {number} without its padding"
    finding = _judged(name, subject, worst, note)
    return dataclasses.replace(finding, note=finding.note or "; ".join(subject.refused))


def batch_invariance(subject: Subject) -> Finding:
    """Checks that the outputs of an example do not depend on the others in the batch."""
    worst, note = 0.0, ""
    for number in range(len(subject.arrays[0])):
        found = _difference_of_row(subject, number, [array[number : number + 1] for array in subject.arrays])
        if found > worst:
            worst, note = found, f"example {number} alone"
    return _judged("batch invariance", subject, worst, note)


def training_argument(subject: Subject) -> Finding:
    """Checks that dropout changes outputs when the model is called as Keras's `fit` calls it."""
    name, model = "dropout acts in fit", subject.model
    if not any(getattr(layer, "rate", 0) and hasattr(layer, "seed_generator") for layer in sublayers(model)):
        return Finding(name, None, note="not applicable: no dropout")
    takes = "training" in inspect.signature(model.call).parameters
    found = subject.call_in_training({"training": True} if takes else {})
    if [array.shape for array in found] != [array.shape for array in subject.outputs]:
        return Finding(name, True)
    changed = any(np.any(one != other) for one, other in zip(found, subject.outputs))
    lacking = (
        "`call` does not pass `training` on to the layers inside" if takes else "`call` has no argument `training`"
    )
    return Finding(name, changed, note="" if changed else lacking)


def permutation(subject: Subject, rng: np.random.Generator) -> Finding:
    """Checks that a permutation of the examples permutes the outputs."""
    order = np.roll(rng.permutation(len(subject.arrays[0])), 1)
    found = subject.call([array[order] for array in subject.arrays])
    back = np.argsort(order)
    return _judged("permutation of the batch", subject, subject.difference([array[back] for array in found]))


def causality(subject: Subject, causal: str, rng: np.random.Generator) -> Finding:
    """Checks that outputs do not depend on later steps of the causal input."""
    name, group = "causality", subject.group_of(causal)
    if group not in subject.follows:
        return Finding(name, None, note=f"no output has the steps of {causal}")
    real, worst, note = subject.real(group), 0.0, ""
    for cut in np.unique(np.linspace(1, real.shape[1] - 1, min(_CUTS, real.shape[1] - 1)).astype(int)):
        steps = np.arange(real.shape[1])
        found = subject.call(subject.changed(group, real & (steps >= cut), rng))
        kept = [real & (steps < cut) if own is group else np.zeros_like(real) for own in subject.follows]
        difference = subject.difference(found, kept)
        if difference > worst:
            worst, note = difference, f"steps before {cut} see later steps"
    return _judged(name, subject, worst, note)


def compiled(subject: Subject) -> Finding:
    """Checks that compiled `predict` equals an eager call, at other lengths too."""
    worst, note = 0.0, ""
    for group in [None, *subject.growing]:
        arrays = subject.arrays if group is None else subject.padded(group, 5)
        found = subject.difference(subject.compiled_call(arrays), expected=subject.call(arrays))
        if found > worst:
            worst = found
            note = "predict_on_batch" + (f" with 5 steps of padding behind {subject.names[group[0]]}" if group else "")
    return _judged("compiled equals eager", subject, worst, note)


def gradient_of_padding(subject: Subject, rng: np.random.Generator) -> Finding:
    """Checks that outputs at real steps have no gradient in the embedding of padding, and that no gradient is NaN."""
    name, weights = "gradient of padding is zero", []
    first = subject.groups[0]
    arrays = subject.padded(first, 2) if first in subject.growing else subject.arrays
    if subject.real(first, arrays).all():
        return Finding(name, None, note="not applicable: no padding, and the model takes no longer inputs")
    tables = _tables(subject, arrays)
    sizes = {int(table.shape[0]) for table in tables}
    for number, output in enumerate(subject.call(arrays)):
        weight = rng.normal(size=output.shape)
        group = subject.follows[number]
        if group is not None:
            weight *= subject.real(group, arrays).reshape(*weight.shape[:2], *[1] * (weight.ndim - 2))
        if output.shape[-1] in sizes:  # With tied logits the row of padding has a gradient of its own, as a class.
            weight[..., subject.pad_id] = 0
        weights.append(ops.convert_to_tensor(weight, "float32"))

    def loss(outputs):
        return sum(ops.sum(ops.cast(own, "float32") * w) for own, w in zip(tree.flatten(outputs), weights))

    gradients = weight_gradients(subject.model, subject.nest(arrays), loss)
    named = list(zip(subject.model.trainable_variables, gradients))
    for variable, gradient in named:
        if gradient is not None and not np.isfinite(gradient).all():
            return Finding(name, False, float("inf"), f"the gradient of {variable.path} is not finite")
    if not tables:
        return Finding(name, None, note="no embedding is called on the ids; all gradients are finite")
    worst = 0.0
    for variable, gradient in named:
        if gradient is not None and any(variable is table for table in tables):
            worst = max(worst, float(np.abs(gradient[subject.pad_id]).max() / max(np.abs(gradient).max(), 1e-30)))
    return _judged(name, subject, worst, "real steps depend on the embedding of padding")


def cached_decoding(subject: Subject, causal: str, cached: Callable[[Any], tuple[Callable, Any]]) -> Finding:
    """Checks that decoding step by step with a cache equals a call on the whole sequence."""
    group = subject.group_of(causal)
    outputs = [output for output, own in zip(subject.outputs, subject.follows) if own == group]
    if not outputs:
        return Finding("cached equals uncached", None, note=f"no output has the steps of {causal}")
    ids, real, worst, note = subject.arrays[group[0]], subject.real(group), 0.0, ""
    step, state = cached(subject.nest(subject.arrays))
    for index in range(ids.shape[1]):
        logits, state = step(ops.convert_to_tensor(ids[:, index]), state, index)
        logits = ops.convert_to_numpy(ops.cast(logits, "float32")).astype("float64")
        rows = real[:, index]
        found = share(logits[rows], outputs[0][rows, index])
        if found > worst:
            worst, note = found, f"step {index}"
    return _judged("cached equals uncached", subject, worst, note)


def precision(subject: Subject, limit: float) -> Finding:
    """Checks that every step agrees, up to rounding, between float32 and the model's policy (or mixed_bfloat16)."""
    own = subject.model.dtype_policy.name
    return _in_policy("reduced precision", subject, "mixed_bfloat16" if own == "float32" else "float32", limit)


def half_precision(subject: Subject, limit: float) -> Finding:
    """Checks that outputs under mixed_float16, whose largest number is 65504, are finite and agree too."""
    name, policy = "float16", "mixed_float16"
    if subject.model.compute_dtype == "float16":
        finite = subject.difference(subject.outputs) < float("inf")
        return Finding(name, finite, note="" if finite else "not finite")
    return _in_policy(name, subject, policy, limit)


def _in_policy(name, subject, policy, limit):
    try:
        copy = copy_with_policy(subject.model, policy, subject.nest(subject.arrays))
    except OwnPolicyError as error:
        return Finding(name, None, note=f"not applicable: {error}")
    except ValueError as error:
        return Finding(name, False, note=str(error))
    worst, note = 0.0, ""
    for number, (found, expected) in enumerate(zip(subject.call(subject.arrays, copy), subject.outputs)):
        where = subject.compared_steps(number)
        where = np.ones(found.shape[:1], bool) if where is None else where
        scale = max(np.sqrt(np.mean(expected[where] ** 2)), 1e-30)
        if not np.isfinite(found[where]).all():
            return Finding(name, False, float("inf"), f"{policy} is not finite")
        axes = tuple(range(where.ndim, found.ndim))
        errors = np.where(where, np.sqrt(np.mean((found - expected) ** 2, axis=axes)) / scale, 0)
        if errors.max() > worst:
            worst = float(errors.max())
            note = ", at example {}".format(", step ".join(map(str, np.unravel_index(errors.argmax(), errors.shape))))
    own = subject.model.dtype_policy.name
    return Finding(name, worst <= limit, worst, f"{own} against {policy}{note if worst > limit else ''}")


def saving(subject: Subject) -> Finding:
    """Checks that the model gives the same outputs after saving and loading."""
    found = subject.difference(subject.call(subject.arrays, save_and_reload(subject.model)))
    return Finding("save and reload", found <= 1e-6, found)


def _judged(name, subject, difference, note=""):
    passed = difference <= tolerance(subject)
    return Finding(name, passed, difference, "" if passed else note)


def _difference_of_row(subject, number, arrays):
    """Returns the difference between the outputs of an example alone, possibly with fewer steps, and in the batch."""
    worst = 0.0
    for own, expected, group in zip(subject.call(arrays), subject.outputs, subject.follows):
        own, expected = own[0], expected[number]
        if group is not None:
            where = subject.real(group)[number][: len(own)]
            own, expected = own[where], expected[: len(own)][where]
        worst = max(worst, share(own, expected))
    return worst


def _tables(subject, arrays):
    """Returns the tables of the embeddings that are called on the ids that mark padding."""
    ids = [arrays[group[0]] for group in subject.groups]
    tables = {}
    for layer in sublayers(subject.model, include_self=True):
        table = getattr(layer, "embeddings", None)
        if isinstance(table, keras.Variable) and len(table.shape) == 2:
            tables[layer] = table
    found = []
    with layer_hook(tables, lambda layer, seen, _: found.append((tables[layer], ops.convert_to_numpy(seen)))):
        subject.call(arrays)
    return [table for table, seen in found if any(np.array_equal(seen, array) for array in ids)]
