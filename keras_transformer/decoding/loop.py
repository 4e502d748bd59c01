"""Loop of all searches, which drops finished sentences from the batch."""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_transformer.decoding import hypotheses
from keras_transformer.decoding.hypotheses import Hypotheses
from keras_transformer.ops.gather import gather

_FULL = 0.75  # Share of open sentences below which the others are dropped.
_ROOM = 16  # Steps that caches make room for at a time.


def search_loop(
    advance: Callable[[Any, Any, Any], tuple[Any, Any]],
    is_open: Callable[[Any], Any],
    result: Callable[[Any], Hypotheses],
    variables: Any,
    state: Any,
    width: Any,
) -> Hypotheses:
    """Calls `advance(index, variables, state) -> (variables, state)` until no sentence is open.

    In a TensorFlow graph with an unknown batch size, the batch shrinks to the open sentences whenever enough others are
    done, and caches grow with the steps. Elsewhere shapes are fixed: all sentences stay until the end, and caches have
    room for all steps from the start.

    Args:
        advance: One step of the search.
        is_open: Maps the variables to boolean `[B]`, True for open sentences.
        result: Maps the variables to the hypotheses found so far.
        variables: Nest of tensors `[B, ...]`.
        state: State of the step function; see `decoding/hypotheses.py`.
        width: The most steps.
    """

    def body(index, variables, state):
        return index + 1, *advance(index, variables, state)

    start = ops.convert_to_tensor(0, "int32"), variables
    batch = ops.shape(is_open(variables))[0]
    if isinstance(batch, int):
        start = *start, hypotheses.make_room(state, 1, width)
        _, variables, _ = ops.while_loop(lambda index, variables, state: ops.any(is_open(variables)), body, start)
        return result(variables)

    def resize(room, sentences, found, index, variables, state):
        rows = ops.cast(ops.shape(sentences)[0], "float32")

        def fits(index, variables, state):
            full = ops.sum(ops.cast(is_open(variables), "float32")) > _FULL * rows
            return ops.logical_and(full, index < room)

        index, variables, state = ops.while_loop(fits, body, (index, variables, state))
        spots = sentences[:, None]
        found = [ops.scatter_update(old, spots, new) for old, new in zip(found, result(variables))]
        kept = ops.cast(ops.nonzero(is_open(variables))[0], "int32")
        variables = keras.tree.map_structure(lambda tensor: gather(tensor, kept), variables)
        state = hypotheses.take_sentences(state, kept, ops.shape(sentences)[0])
        more = ops.minimum(width, ops.where(index < room, room, room + _ROOM))
        state = hypotheses.make_room(state, room, more)
        return more, gather(sentences, kept), Hypotheses(*found), index, variables, state

    room = ops.minimum(width, _ROOM + 0 * batch)  # No constant, or the loop would take the first room for fixed.
    start = *start, hypotheses.make_room(state, 1, room)
    start = room, ops.arange(batch, dtype="int32"), result(variables), *start
    _, _, found, *_ = ops.while_loop(lambda room, sentences, *_: ops.shape(sentences)[0] > 0, resize, start)
    return found
