"""Values of tensors, and checks of them: errors in eager calls, assertions in TensorFlow graphs."""

import contextlib
import contextvars
from typing import Any

import keras
import numpy as np
from keras import ops

_enabled = True
_ids_are_trusted = contextvars.ContextVar("ids_are_trusted", default=False)


def known_values(tensor: Any) -> np.ndarray | None:
    """Returns the values of an eager tensor; None for a symbolic one, as inside `tf.function` and `jax.jit`."""
    if keras.backend.backend() == "tensorflow" and ops.is_tensor(tensor) and not hasattr(tensor, "numpy"):
        return None
    try:
        return np.asarray(ops.convert_to_numpy(tensor))
    except (TypeError, ValueError):
        return None


def check_dense(inputs: Any) -> None:
    """Raises `ValueError` for a `tf.RaggedTensor`, which operations on steps do not accept."""
    if hasattr(inputs, "nested_row_splits"):
        raise ValueError(
            "`inputs` must be a tensor with rows of the same length. "
            f"Received: {type(inputs).__name__} of shape {tuple(inputs.shape)}. Call `ids.to_tensor()` on token ids "
            "before their embedding: it pads with 0, which `mask_zero` hides."
        )


def set_value_checks(enabled: bool) -> None:
    """Turns the checks of values on (the default) or off: ids and positions outside of a table, labels, logits.

    An eager call that fails a check raises `ValueError`; it reads the values from the device, and waits for them. A
    TensorFlow graph that was traced while the checks were on fails with `tf.errors.InvalidArgumentError`. Neither
    graphs compiled by XLA nor functions compiled on JAX can fail: the layers say what they compute then.
    """
    global _enabled
    _enabled = bool(enabled)


def value_checks_enabled() -> bool:
    """Returns whether values are checked; see `set_value_checks`."""
    return _enabled


@contextlib.contextmanager
def trusted_ids():
    """Leaves out the checks of token ids, as in a search, which itself takes them from the vocabulary."""
    token = _ids_are_trusted.set(True)
    try:
        yield
    finally:
        _ids_are_trusted.reset(token)


def check_token_ids(name: str, token_ids: Any, vocabulary_size: int) -> Any:
    """Checks that ids are in `[0, vocabulary_size)`, unless `set_value_checks` has turned checks off; returns them.

    Without the check JAX takes NaN for such a row of the table, TensorFlow on a GPU zeros.
    """
    if not _enabled or _ids_are_trusted.get():
        return token_ids
    ids = getattr(token_ids, "flat_values", token_ids)  # Of a ragged tensor.
    known = known_values(ids)
    if known is not None:
        bounds = (known.min(), known.max()) if known.size else None
    else:
        # Of no values the minimum is the largest integer, and the maximum the smallest.
        bounds = (ops.min(ids), ops.max(ids)) if keras.backend.backend() == "tensorflow" else None
    if not bounds:
        return token_ids
    expected, fix = (
        f"`{name}` must hold ids in [0, {vocabulary_size}).",
        "Was the text encoded with another vocabulary?",
    )
    return _check_range(token_ids, *bounds, vocabulary_size, expected, "ids", fix)


def check_labels(labels: Any, num_classes: int, pad_id: int | None = None) -> Any:
    """Returns which labels are in `[0, num_classes)` or `pad_id`; checks that all are, unless checks are off."""
    fitting = ops.logical_and(labels >= 0, labels < num_classes)
    if pad_id is not None:
        fitting = ops.logical_or(fitting, ops.equal(labels, pad_id))
    if not _enabled:
        return fitting
    padding = "" if pad_id is None else f" or pad_id={pad_id}"
    expected = f"`y_true` must hold classes in [0, {num_classes}){padding}."
    fix = "Set `pad_id` to the label of padding, or check that labels and logits have the same classes."
    known = known_values(labels)
    if known is None:
        if keras.backend.backend() == "tensorflow":
            wrong = ops.where(fitting, 0, labels)
            received = "Received: labels from", ops.min(wrong), "to", ops.max(wrong)
            return assert_in_graph(fitting, ops.all(fitting), expected, *received, fix)
    elif (wrong := known[~ops.convert_to_numpy(fitting)]).size:
        raise ValueError(f"{expected} Received: labels from {wrong.min()} to {wrong.max()}. {fix}")
    return fitting


def check_positions(first: Any, steps: Any, max_length: int) -> Any:
    """Checks that positions `first` to `first + steps - 1` are in `[0, max_length)`, unless checks are off.

    Returns the first.
    """
    if not _enabled:
        return first
    expected = f"Positions must be in [0, {max_length}), the table of `max_length` rows."
    fix = "Shorten the inputs, lower `start_index` or raise `max_length`."
    return _check_range(first, first, first + steps - 1, max_length, expected, "positions", fix)


def _check_range(checked, low, high, size, expected, received, fix):
    known = known_values(low), known_values(high)
    if None not in known:
        if not 0 <= known[0] <= known[1] < size:
            raise ValueError(f"{expected} Received: {received} from {known[0]} to {known[1]}. {fix}")
        return checked
    inside = ops.logical_or(ops.logical_and(low >= 0, high < size), low > high)
    return assert_in_graph(checked, inside, expected, f"Received: {received} from", low, "to", high, fix)


def assert_in_graph(checked: Any, holds: Any, *message: Any) -> Any:
    """Makes a TensorFlow graph fail at run time unless `holds`; does nothing on other backends and under XLA.

    Args:
        checked: Tensor to return. What is computed from it, such as an update of weights, waits for the check.
        holds: Boolean scalar.
        message: Texts and tensors, the message of the failure.
    """
    if keras.backend.backend() != "tensorflow":
        return checked
    import tensorflow as tf  # Keras has no assertions.

    # Not `tf.debugging.Assert`, which puts messages with other integers than int32 into a branch of the graph.
    assertion = tf.raw_ops.Assert(condition=holds, data=list(message), summarize=3)
    with tf.control_dependencies([assertion]):
        return tf.identity(checked)
