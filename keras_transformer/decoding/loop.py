"""Loop of all searches, which drops finished sentences from the batch."""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_transformer.decoding import hypotheses
from keras_transformer.decoding.hypotheses import Hypotheses
from keras_transformer.ops.gather import gather

_FULL = 0.75  # Share of open sentences below which the others are dropped.


def search_loop(
    advance: Callable[[Any, Any, Any], tuple[Any, Any]],
    is_open: Callable[[Any], Any],
    result: Callable[[Any], Hypotheses],
    variables: Any,
    state: Any,
) -> Hypotheses:
    """Calls `advance(index, variables, state) -> (variables, state)` until no sentence is open.

    In a TensorFlow graph with an unknown batch size, the batch shrinks to the open sentences whenever enough others are
    done. Elsewhere shapes are fixed, and all sentences stay until the end.

    Args:
        advance: One step of the search.
        is_open: Maps the variables to boolean `[B]`, True for open sentences.
        result: Maps the variables to the hypotheses found so far.
        variables: Nest of tensors `[B, ...]`.
        state: State of the step function; see `decoding/hypotheses.py`.
    """

    def body(index, variables, state):
        return index + 1, *advance(index, variables, state)

    start = ops.convert_to_tensor(0, "int32"), variables, state
    batch = ops.shape(is_open(variables))[0]
    if isinstance(batch, int):
        _, variables, _ = ops.while_loop(lambda index, variables, state: ops.any(is_open(variables)), body, start)
        return result(variables)

    def shrink(sentences, found, index, variables, state):
        rows = ops.cast(ops.shape(sentences)[0], "float32")

        def full(index, variables, state):
            return ops.sum(ops.cast(is_open(variables), "float32")) > _FULL * rows

        index, variables, state = ops.while_loop(full, body, (index, variables, state))
        spots = sentences[:, None]
        found = [ops.scatter_update(old, spots, new) for old, new in zip(found, result(variables))]
        kept = ops.cast(ops.nonzero(is_open(variables))[0], "int32")
        variables = keras.tree.map_structure(lambda tensor: gather(tensor, kept), variables)
        state = hypotheses.take_sentences(state, kept, ops.shape(sentences)[0])
        return gather(sentences, kept), Hypotheses(*found), index, variables, state

    start = ops.arange(batch, dtype="int32"), result(variables), *start
    _, found, *_ = ops.while_loop(lambda sentences, *_: ops.shape(sentences)[0] > 0, shrink, start)
    return found
