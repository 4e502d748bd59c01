"""Ancestors of beams, so that a search need not reorder key-value caches.

The K beams of a sentence share one cache of K slots a step; beam k writes what it computes at step t to slot k of
that step. A beam that continues another one copies a row of slot numbers, which tell where its past is, instead of keys
and values.
"""

from typing import Any

from keras import ops


def no_ancestors(rows: int, length: int) -> Any:
    """Returns slots, int32 `[B * K, L]`, of hypotheses without steps."""
    return ops.zeros((rows, length), "int32")


def add_step(ancestors: Any, index: Any, num_beams: int) -> Any:
    """Returns slots `[B * K, L]` in which step `index` of every beam is in its own slot."""
    own = ops.arange(ops.shape(ancestors)[0], dtype="int32") % num_beams
    return ops.where(ops.equal(ops.arange(ops.shape(ancestors)[1], dtype="int32"), index), own[:, None], ancestors)


def visible_slots(ancestors: Any, num_beams: int) -> Any:
    """Returns the attention mask `[B, K, L * K]` of each beam over the slots of its sentence, True at its own past."""
    seen = ops.equal(ancestors[:, :, None], ops.arange(num_beams, dtype="int32"))
    return ops.reshape(seen, (-1, num_beams, ops.shape(ancestors)[1] * num_beams))
