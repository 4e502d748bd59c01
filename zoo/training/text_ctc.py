"""Connectionist temporal classification of rows of token ids that have an end and padding."""

from typing import Any

from keras import ops

from keras_transformer.training import ctc_loss


def text_ctc(token_ids: Any, logits: Any, blank_id: int, without: tuple[int, ...]) -> Any:
    """Computes the negative log-probability of texts given logits of frames or positions; see `ctc_loss`.

    Args:
        token_ids: Integers `[B, T]`.
        logits: `[B, F, V]`.
        blank_id: Class of positions without a token.
        without: Ids that stand at no position: the padding and the end.

    Returns:
        Float32 `[B]`; 0 for texts without tokens, such as rows of padding, and for those that do not fit.
    """
    token_ids = ops.cast(token_ids, "int32")
    real = ops.all(ops.stack([ops.not_equal(token_ids, each) for each in without]), axis=0)
    losses = ctc_loss(ops.where(real, token_ids, blank_id), logits, blank_id)
    return ops.where(ops.any(real, axis=1), losses, 0.0)
