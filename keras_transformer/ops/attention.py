"""Scaled dot-product attention: scores, their softmax, and weighted sums of values."""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_transformer.ops import masks
from keras_transformer.ops.precision import at_least_float32
from keras_transformer.ops.rows import is_row, row_matmul, row_softmax
from keras_transformer.ops.sizes import keep_sizes, product, reshape, size, sizes, transpose

MASKED_SCORE = -1e9  # Finite: a row of -inf would be NaN after the softmax.


def dot_product_attention(
    query: Any, key: Any, value: Any, mask: Any = None, dropout: Callable | None = None
) -> tuple[Any, Any]:
    """Computes `softmax(Q K^T / sqrt(H)) V` (Vaswani et al. 2017, eq. 1) for each of N heads.

    Axes: B batch, T query steps, S key steps, N heads, H width of a head. The softmax runs in float32, that of
    float64 in float64.

    Args:
        query: Float `[B, N, T, H]`.
        key: Float `[B * N, S, H]`, heads and rows in one axis as a `KVCache` has them, or `[B, N, S, H]`.
        value: Float `[B * N, S, H']`, or `[B, N, S, H']`.
        mask: Boolean `[B, T, S]` or `[B, N, T, S]`, or broadcastable to it, True where a query may see a key. A query
            that sees no key has zeros as output and as weights, and passes back no gradient.
        dropout: Function applied to the weights before they multiply the values.

    Returns:
        The output `[B, N, T, H']` and the weights before dropout, `[B, N, T, S]` in the precision of the softmax.
    """
    return attend(attention_scores(query, key), value, mask, dropout)


def attend(
    scores: Any, value: Any, mask: Any = None, dropout: Callable | None = None, every_query_sees: bool = False
) -> tuple[Any, Any]:
    """Computes outputs and weights from scores `[B, N, T, S]`, float32 or float64; see `dot_product_attention`.

    With `every_query_sees`, the mask is known to hide no query from all keys.
    """
    if mask is not None:
        mask = mask if len(mask.shape) == 4 else ops.expand_dims(mask, 1)
        scores = keep_sizes(ops.where(mask, scores, MASKED_SCORE), scores)
    weights = softmax(scores)
    shown = ops.cast(weights, value.dtype)
    shown = keep_sizes(shown if dropout is None else dropout(shown), scores)
    output = _matmul(shown, value)
    if mask is not None and not every_query_sees:
        visible = masks.visible_rows(mask)
        weights = ops.where(visible, weights, ops.zeros((), weights.dtype))
        output = keep_sizes(ops.where(visible, output, ops.zeros((), output.dtype)), output)
    return output, weights


def attention_scores(query: Any, key: Any) -> Any:
    """Computes scores `[B, N, T, S]`, float32 or float64: dot products divided by the root of the head's width."""
    return at_least_float32(_matmul(widened(scaled(query)), widened(key), transpose_y=True))


def scaled(query: Any) -> Any:
    """Divides queries `[..., H]` by the root of H."""
    return keep_sizes(query * ops.cast(query.shape[-1] ** -0.5, query.dtype), query)


def merge_heads(x: Any) -> Any:
    """Merges rows and heads, `[B, N, S, H]` to `[B * N, S, H]`, unless they are merged already."""
    if len(x.shape) == 3:
        return x
    batch, heads, *others = sizes(x)
    return reshape(x, (product(batch, heads), *others))


def widened(x: Any) -> Any:
    """Casts float16 to float32, as scores above 65,504 would be infinite, and the softmax of two of them NaN."""
    if keras.backend.standardize_dtype(x.dtype) != "float16":
        return x
    return keep_sizes(ops.cast(x, "float32"), x)


def softmax(scores: Any) -> Any:
    """Computes the softmax over the last axis, without Keras's warning about an axis of one element."""
    if scores.shape[-1] == 1:
        return ops.exp(scores - scores)
    return keep_sizes(row_softmax(scores) if is_row(scores) else ops.softmax(scores), scores)


def _matmul(x, y, transpose_y=False):
    """Multiplies `[B, N, T, *]` by `[B * N, *, M]`, or by the transpose of `[B * N, M, *]`, to `[B, N, T, M]`.

    The second factor may have an axis of its own for N.
    """
    if len(y.shape) == 4:
        return ops.matmul(x, transpose(y, (0, 1, 3, 2)) if transpose_y else y)
    batch, heads, steps, width = sizes(x)
    x = reshape(x, (product(batch, heads), steps, width))
    if is_row(x):
        outputs = row_matmul(x, y, transpose_y)
    else:
        outputs = ops.matmul(x, transpose(y, (0, 2, 1)) if transpose_y else y)
    return reshape(outputs, (batch, heads, steps, size(y, 1 if transpose_y else 2)))
