"""Conditional random fields over trees: their normaliser, the probabilities of constituents, and the loss."""

import keras
from keras import ops

from keras_transformer.training import TokenCrossEntropy
from zoo.models.span_parser import span_pairs

_NEVER = -1e9  # The logarithm of no tree; finite, as infinities would meet in differences.


def log_partition(scores, words):
    """Computes the logarithm of the sum over all trees of exp(sum of the scores of their constituents).

        item(i, j) = score(i, j) + longer(i, j), or log(1 + exp score(i, j)) for one word
        longer(i, j) = log sum_{i < k < j} exp(some(i, k) + item(k, j))
        some(i, j) = log(exp item(i, j) + exp longer(i, j))

    by increasing width (the inside algorithm: Baker 1979; for neural scores of spans Zhang, Zhou and Li 2020, "Fast
    and Accurate Neural CRF Constituency Parsing"). `some` sums over the sequences of one or more items, which are
    constituents or bare words, and `longer` over those of two or more: each tree is counted once, whatever the number
    of its branches. The result is `some` of the whole sentence, whose root has no score.

    The gradient is the probability of each constituent, by the outside algorithm. Axes: B sentences; N boundaries.

    Args:
        scores: Float32 scores `[B, N (N - 1) / 2]` of all spans as constituents, in the order of
            `zoo.models.span_parser.span_pairs`; a span that is none has score 0.
        words: Number of words of each sentence `[B]`. Other spans have no influence, and the result for 0 words is 0.
    """

    @ops.custom_gradient
    def total(scores):
        tables = _inside(scores, words)

        def gradient(*args, upstream=None):
            upstream = args[0] if upstream is None else upstream
            return upstream[:, None] * _outside(scores, words, *tables)

        return _whole(tables[0], words), gradient

    return total(scores)


def constituent_probabilities(scores, words):
    """Computes the probability that a tree has a constituent, for all spans; see `log_partition`."""
    return _outside(scores, words, *_inside(scores, words))


def relative_scores(logits):
    """Returns log sum_l exp(logit(l)) - logit(0) over the labels l > 0 of each span, float32 `[B, N (N - 1) / 2]`."""
    logits = ops.cast(logits, "float32")
    return ops.logsumexp(logits[..., 1:], axis=-1) - logits[..., 0]


def _inside(scores, words):
    """Returns `some` `[B, N, N]` by first boundary and width, and `item` `[B, N, N]` by last boundary and width."""
    places, width = _places(scores), ops.arange(_places(scores))
    nothing = ops.full((ops.shape(scores)[0], places, places), _NEVER, "float32")

    def widen(now, some, item):
        longer = ops.logsumexp(_splits(some, item, now), axis=-1)
        score = _diagonal(scores, now, places)
        one = ops.where(now == 1, ops.softplus(score), score + longer)
        some = ops.where(width == now, ops.logaddexp(one, longer)[..., None], some)
        return now + 1, some, ops.where(width == now, _shifted(one, -now)[..., None], item)

    return ops.while_loop(lambda now, *_: now < places, widen, (ops.ones((), "int32"), nothing, nothing))[1:]


def _outside(scores, words, some, item):
    """Returns the derivative of `_whole(some, words)` with respect to the scores."""
    places, width = _places(scores), ops.arange(_places(scores))
    whole = ops.logical_and(width[:, None] == 0, width == words[:, None, None])
    some_slope, item_slope = ops.cast(whole, "float32"), ops.zeros_like(item)
    found = item_slope

    def narrow(now, some_slope, item_slope, found):
        splits, score = _splits(some, item, now), _diagonal(scores, now, places)
        longer, here = ops.logsumexp(splits, axis=-1), ops.take(some, now, axis=-1)
        one, slope = _shifted(ops.take(item, now, axis=-1), now), ops.take(some_slope, now, axis=-1)
        of_item = slope * ops.exp(one - here) + _shifted(ops.take(item_slope, now, axis=-1), now)
        of_longer = slope * ops.exp(longer - here) + ops.where(now == 1, 0.0, of_item)
        of_score = of_item * ops.where(now == 1, ops.sigmoid(score), 1.0)
        found = ops.where(width == now, of_score[..., None], found)
        parts = of_longer[..., None] * ops.exp(splits - longer[..., None])
        parts = ops.where(_inner(width, now), parts, 0.0)
        mirrored = ops.take(parts, ops.clip(now - width, 0, places - 1), axis=-1)
        mirrored = ops.where(_inner(width, now), mirrored, 0.0)
        return now - 1, some_slope + parts, item_slope + _shifted(mirrored, -now), found

    start = ops.convert_to_tensor(places - 1, "int32"), some_slope, item_slope, found
    found = ops.while_loop(lambda now, *_: now > 0, narrow, start)[3]
    first, last = span_pairs(places)
    return ops.take(ops.reshape(found, (-1, places * places)), first * places + last - first, axis=1)


def _whole(some, words):
    """Returns `some` of all words of each sentence `[B]`, or 0 if it has none."""
    found = ops.take_along_axis(some[:, 0], words[:, None], axis=1)[:, 0]
    return ops.where(words > 0, found, 0.0)


def _splits(some, item, now):
    """Returns some(i, k) + item(k, j) `[B, N, N]` by i and k - i, for j = i + now; _NEVER where there is no such k."""
    width = ops.arange(ops.shape(some)[1])
    right = ops.take(_shifted(item, now), ops.clip(now - width, 0, ops.shape(some)[1] - 1), axis=-1)
    return ops.where(_inner(width, now), some + right, _NEVER)


def _inner(width, now):
    return ops.logical_and(width > 0, width < now)


def _shifted(table, by):
    """Returns row i + by in place of row i, of a table `[B, N, ...]`; 0 where there is none."""
    rows = ops.arange(ops.shape(table)[1]) + by
    kept = ops.logical_and(rows >= 0, rows < ops.shape(table)[1])
    moved = ops.take(table, ops.clip(rows, 0, ops.shape(table)[1] - 1), axis=1)
    return ops.where(ops.reshape(kept, (-1, *(1,) * (len(table.shape) - 2))), moved, 0.0)


def _diagonal(scores, now, places):
    """Returns the scores `[B, N]` of the spans (i, i + now) by i; 0 where there is none."""
    first = ops.arange(places)
    last = first + now
    number = ops.clip(last * (last - 1) // 2 + first, 0, ops.shape(scores)[1] - 1)
    return ops.where(last < places, ops.take(scores, number, axis=1), 0.0)


def _places(scores):
    """Returns N from `[B, N (N - 1) / 2]`."""
    return _triangle(ops.shape(scores)[1]) + 1


def _triangle(cells):
    """Returns n from n (n + 1) / 2, a number or a tensor."""
    if isinstance(cells, int):
        return round(((8 * cells + 1) ** 0.5 - 1) / 2)
    return ops.cast(ops.round((ops.sqrt(8.0 * ops.cast(cells, "float32") + 1.0) - 1.0) / 2.0), "int32")


@keras.saving.register_keras_serializable("zoo")
class TreeCrossEntropy(TokenCrossEntropy):
    """Computes -log p(tree) of a conditional random field over trees, and the cross entropy of the tags.

        p(tree) = exp(sum of the scores of its labelled constituents) / sum over all trees and labels,
        score(i, j, l) = logit(i, j, l) - logit(i, j, 0)

    (Finkel, Kleeman and Manning 2008; Zhang, Zhou and Li 2020.) The sum of both is divided by the number of cells, as
    for `TokenCrossEntropy`. Axes as for `zoo.models.span_parser.SpanParser`.

    Args:
        kwargs: Arguments of `TokenCrossEntropy`, without `label_smoothing`; `pad_id` must be negative.

    Call arguments:
        y_true: Ints `[B, N (N + 1) / 2]`: tags, then labels of spans; `pad_id` outside of the sentence.
        y_pred: Logits `[B, N (N + 1) / 2, C]`.
    """

    def __init__(self, name: str = "tree_cross_entropy", **kwargs):
        super().__init__(name=name, **kwargs)
        if self.label_smoothing or self.pad_id is None or self.pad_id >= 0:
            raise ValueError(
                "`label_smoothing` must be 0, and `pad_id` negative, as label 0 means no constituent. Received: "
                f"label_smoothing={self.label_smoothing}, pad_id={self.pad_id}."
            )

    def call(self, y_true, y_pred):
        """Computes a loss for each cell, that of the tree for the first one."""
        places = _triangle(ops.shape(y_true)[1])
        cells = ops.arange(ops.shape(y_true)[1])
        tags = ops.where(cells < places, super().call(y_true, y_pred), 0.0)
        words = ops.sum(ops.cast(y_true[:, :places] != self.pad_id, "int32"), axis=1)
        logits, labels = ops.cast(y_pred[:, places:], "float32"), ops.maximum(y_true[:, places:], 0)
        correct = ops.take_along_axis(logits, labels[..., None], axis=-1)[..., 0] - logits[..., 0]
        tree = log_partition(relative_scores(logits), words) - ops.sum(correct, axis=1)
        return tags + ops.where(cells == 0, tree[:, None], 0.0)
