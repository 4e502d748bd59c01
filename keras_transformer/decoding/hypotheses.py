"""Results, limits, states and checks that all searches share.

A step function is the whole interface between search and model:

    step(token_ids int32 [rows], state, index int32 scalar) -> (logits [rows, V], state)

`index` counts the steps already written (0 at the first, whose tokens are `start_id`). `state` is any nest of tensors
whose first axis is the rows, B sentences times K beams, which a search reorders. Tensors of a sentence rather than of
its beams (the memory, its mask) are wrapped in a `PerSentence`, and their first axis is B or, with n rows for each
sentence, B * n. What grows with the steps, such as a cache, is wrapped in a `PerStep`. A search may drop the rows of a
finished sentence and make room for more steps; apart from that, shapes and dtypes stay the same at all steps. `step`
may close over tensors that have neither axis.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from keras_transformer.ops.gather import gather
from keras_transformer.ops.sizes import numbers, size
from keras_transformer.ops.values import known_values, trusted_ids

Step = Callable[[Any, Any, Any], tuple[Any, Any]]

# Both finite, as -inf times 0 or minus -inf is NaN. A token to which the model gives no probability at all
# costs LEAST_LOG_PROB: a last resort, but far from IMPOSSIBLE, so that every sentence gets a hypothesis.
IMPOSSIBLE = -1e30
LEAST_LOG_PROB = -1e9


class Hypotheses(NamedTuple):
    """N hypotheses for each of B sentences, best first, L tokens wide.

    Attributes:
        ids: Int32 `[B, N, L]`: the tokens without `start_id`, with `end_id` if there is one, then `pad_id`.
        scores: Float32 `[B, N]`: the values that the search ranks by.
        log_probs: Float32 `[B, N]`: the model's log-probability of the tokens, the end included.
        lengths: Int32 `[B, N]`: number of tokens, the end included. 0 marks an empty slot (all padding, score
            -1e30), where the search met fewer than N sequences within the limit of the sentence.
    """

    ids: Any
    scores: Any
    log_probs: Any
    lengths: Any


class PerSentence(NamedTuple):
    """Part of a state with as many rows for each sentence, `[B * n, ...]`, independent of the number of beams."""

    tensors: Any


class PerStep(NamedTuple):
    """Part of a state with room for steps, `[rows, n * steps, ...]`; it may be inside of a `PerSentence`.

    It has room for one step when a search begins, `[rows, n, ...]`. The search makes room for more, by zeros behind, so
    that steps compute with little more than what is written.
    """

    tensors: Any


def possible(log_probs: Any) -> Any:
    """Returns False where `IMPOSSIBLE` has been added to a log-probability, else True."""
    return log_probs > IMPOSSIBLE / 2


def check_tokens(**token_ids: int | None) -> None:
    """Raises `ValueError` unless every special token is a non-negative integer; the end and the blank may be None."""
    for name, token_id in token_ids.items():
        if token_id is None and name in ("end_id", "blank_id"):
            continue
        if isinstance(token_id, bool) or not isinstance(token_id, (int, np.integer)) or token_id < 0:
            raise ValueError(
                f"`{name}` must be a non-negative integer, an index of the vocabulary. "
                f"Received: {name}={token_id!r}. Take it from the tokenizer."
            )


def check_count(name: str, count: Any, least: int, most: int | None = None, fix: str = "") -> None:
    """Raises `ValueError` unless `count` is an integer from `least` to `most`."""
    whole = isinstance(count, (int, np.integer)) and not isinstance(count, bool)
    if not whole or count < least or (most is not None and count > most):
        span = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"`{name}` must be an integer {span}. Received: {name}={count!r}. {fix}".rstrip())


def resolve_limits(max_lengths: Any, max_length: Any) -> tuple[Any, Any]:
    """Checks both limits and combines them.

    Returns:
        Int32 limits `[B]`, at least 1 and at most the width; and the width L of the result: an int if it is
        known, else (in a TensorFlow graph) a scalar tensor.
    """
    known = known_values(max_lengths)
    max_lengths = ops.convert_to_tensor(max_lengths)
    dtype = keras.backend.standardize_dtype(max_lengths.dtype)
    if "int" not in dtype and 0 not in max_lengths.shape:  # No numbers are floats in NumPy.
        raise ValueError(
            "`max_lengths` must be integers [B], the most tokens of each sentence, its end included. "
            f"Received: dtype={dtype}. Round the numbers up and cast them to int32."
        )
    max_lengths = ops.cast(max_lengths, "int32")
    if len(max_lengths.shape) != 1:
        raise ValueError(
            "`max_lengths` must be integers [B], the most tokens of each sentence, its end included. "
            f"Received: shape={tuple(max_lengths.shape)}. Pass one number per sentence."
        )
    if known is not None and known.size and known.min() < 1:
        raise ValueError(
            "`max_lengths` must be at least 1, as the end token counts. "
            f"Received: minimum {known.min()}. Add 1 if the end was not counted."
        )
    if max_length is not None:
        width, known = max_length, known_values(max_length)
        if known is not None:
            check_count("max_length", known.item(), 1, fix="Leave it out for max(max_lengths).")
    elif known is not None:
        width = known = known.max(initial=1)
    else:
        width = ops.max(max_lengths, initial=1)
    if known is not None:
        width = int(known)
    elif keras.backend.backend() != "tensorflow":
        raise ValueError(
            "`max_length` must be a Python integer where `max_lengths` has no values yet (inside jit): "
            f"shapes depend on it. Received: max_length={max_length}. Pass the largest length you allow."
        )
    return ops.clip(max_lengths, 1, width), width


def call_step(step: Step, token_ids: Any, state: Any, index: Any, start_id: int, end_id: int | None) -> tuple[Any, Any]:
    """Calls `step`, checks what it returns, as errors inside loops are obscure, and casts logits to float32."""
    with trusted_ids():
        logits, new_state = step(token_ids, state, index)
    if len(logits.shape) != 2 or logits.shape[1] is None or _differ(logits.shape[:1], token_ids.shape):
        raise ValueError(
            "`step` must return logits [rows, V] with a known V. "
            f"Received: logits.shape={tuple(logits.shape)} for token_ids.shape={tuple(token_ids.shape)}. "
            "Drop the step axis and keep one row per token."
        )
    for name, token_id in (("start_id", start_id), ("end_id", end_id)):
        if token_id is not None and token_id >= logits.shape[-1]:
            raise ValueError(
                f"`{name}` must be an index of the vocabulary. Received: {name}={token_id} for logits of shape "
                f"{tuple(logits.shape)}. Check that tokenizer and model have the same vocabulary."
            )
    keras.tree.assert_same_structure(state, new_state)
    return ops.cast(logits, "float32"), keras.tree.map_structure(_same_shape, new_state, state)


def check_state(state: Any, batch: Any, num_beams: int = 1) -> Any:
    """Converts the state to tensors; raises `ValueError` if the first axis of one is not that of rows or sentences."""

    def of_beams(tensor):
        rows = batch * num_beams
        return check(
            tensor, isinstance(rows, int) and _differ(tensor.shape[:1], (rows,)), "one row per hypothesis", rows
        )

    def of_sentences(tensor):
        received = tensor.shape[0] if len(tensor.shape) else None
        wrong = isinstance(batch, int) and isinstance(received, int) and received % max(1, batch)
        return check(tensor, wrong, "as many rows for each sentence", f"{batch} * n")

    def check(tensor, wrong, expected, rows):
        if not len(tensor.shape) or wrong:
            raise ValueError(
                f"Every tensor of `state` must have {expected}, [{rows}, ...]. Received: "
                f"shape={tuple(tensor.shape)}. Repeat the rows of each sentence once per beam (`repeat_rows`) "
                "outside of a `PerSentence`, and let `step` close over what has no such axis."
            )
        return tensor

    return _map(of_beams, of_sentences, keras.tree.map_structure(ops.convert_to_tensor, state))


def take_rows(state: Any, rows: Any) -> Any:
    """Returns the state of hypotheses that continue hypotheses `rows` of the same sentences."""
    return _map(lambda tensor: gather(tensor, rows), lambda tensor: tensor, state)


def take_sentences(state: Any, sentences: Any, batch: Any) -> Any:
    """Returns the state of `sentences`, a selection of the B = `batch` sentences."""

    def take(tensor):
        shape = ops.shape(tensor)
        of_sentences = ops.reshape(tensor, (batch, -1, *shape[1:]))
        return ops.reshape(gather(of_sentences, sentences), (-1, *shape[1:]))

    return keras.tree.map_structure(take, state)


def make_room(state: Any, before: Any, after: Any) -> Any:
    """Returns the state with room for `after` steps instead of `before` in what is `PerStep`."""

    def enlarge(tensor):
        more = size(tensor, 1) // before * (after - before)
        return ops.pad(tensor, [(0, more if axis == 1 else 0) for axis in range(len(tensor.shape))])

    def visit(node):
        return PerStep(keras.tree.map_structure(enlarge, node.tensors)) if isinstance(node, PerStep) else None

    return keras.tree.traverse(visit, state)


def _map(of_beams, of_sentences, state):
    def visit(node):
        if isinstance(node, PerSentence):
            return PerSentence(keras.tree.map_structure(of_sentences, node.tensors))
        return None if keras.tree.is_nested(node) else of_beams(node)

    return keras.tree.traverse(visit, state)


def write_token(ids: Any, token_ids: Any, index: Any) -> Any:
    """Writes `token_ids [...]` (or one integer) to `ids [..., L]` at position `index`."""
    here = ops.equal(numbers(size(ids, -1)), index)
    token_ids = ops.cast(token_ids, "int32")
    return ops.where(here, token_ids[..., None] if len(token_ids.shape) else token_ids, ids)


def _same_shape(new, old):
    """Checks a state tensor and restores static sizes that TensorFlow lost, as loops need fixed shapes."""
    if _differ(new.shape, old.shape) or new.dtype != old.dtype:
        raise ValueError(
            "`step` must return its state with the shapes and dtypes it received. "
            f"Received: shape={tuple(new.shape)}, dtype={new.dtype} for shape={tuple(old.shape)}, "
            f"dtype={old.dtype}. Allocate the state for the longest target and write into it."
        )
    return new if tuple(new.shape) == tuple(old.shape) else ops.reshape(new, ops.shape(old))


def _differ(shape, other):
    sizes = zip(tuple(shape), tuple(other))
    return len(shape) != len(other) or any(None not in pair and pair[0] != pair[1] for pair in sizes)
