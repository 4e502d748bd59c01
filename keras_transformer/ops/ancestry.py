"""Ancestors of beams, so that a search need not reorder key-value caches.

The K beams of a sentence share one cache of K slots a step; beam k writes what it computes at step t to slot k of
that step. A beam that continues another one copies a row of slot numbers, which tell where its past is, instead of keys
and values.
"""

from typing import Any

from keras import ops

from keras_transformer.ops.sizes import keep_sizes, numbers, product, quotient, reshape, sizes


def no_ancestors(rows: int, length: int) -> Any:
    """Returns slots, int32 `[B * K, L]`, of hypotheses without steps."""
    return ops.zeros((rows, length), "int32")


def add_step(ancestors: Any, index: Any, num_beams: int) -> Any:
    """Returns slots `[B * K, L]` in which step `index` of every beam is in its own slot."""
    rows, length = sizes(ancestors)
    own = ops.expand_dims(numbers(rows) % num_beams, 1)
    return keep_sizes(ops.where(ops.equal(numbers(length), index), own, ancestors), ancestors)


def visible_slots(ancestors: Any, num_beams: int) -> Any:
    """Returns the attention mask `[B, K, L * K]` of each beam over the slots of its sentence, True at its own past."""
    rows, length = sizes(ancestors)
    seen = ops.equal(ops.expand_dims(ancestors, 2), numbers(num_beams))
    return reshape(seen, (quotient(rows, num_beams), num_beams, product(length, num_beams)))
