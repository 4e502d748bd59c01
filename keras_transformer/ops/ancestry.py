"""Where the beams of a search come from, so that their caches need not move.

The K beams of a sentence share one cache of K slots a step; what beam k computes at step t goes into slot k of it. A
beam that goes on from another one inherits a row of numbers, the slots its past is in, instead of keys and values.
"""

from typing import Any

from keras import ops


def no_ancestors(rows: int, length: int) -> Any:
    """Slots int32 `[B * K, L]` of hypotheses that have no step yet."""
    return ops.zeros((rows, length), "int32")


def add_step(ancestors: Any, index: Any, num_beams: int) -> Any:
    """Slots `[B * K, L]` in which step `index` of every beam is in its own slot."""
    own = ops.arange(ops.shape(ancestors)[0], dtype="int32") % num_beams
    return ops.where(ops.equal(ops.arange(ops.shape(ancestors)[1], dtype="int32"), index), own[:, None], ancestors)


def visible_slots(ancestors: Any, num_beams: int) -> Any:
    """What each beam sees of the slots of its sentence, boolean `[B, K, L * K]`: the attention mask of its past."""
    seen = ops.equal(ancestors[:, :, None], ops.arange(num_beams, dtype="int32"))
    return ops.reshape(seen, (-1, num_beams, ops.shape(ancestors)[1] * num_beams))
