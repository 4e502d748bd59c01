"""Tests of the selection of tokens by groups, against sorting the whole vocabulary."""

import numpy as np
import pytest
from keras import ops

from keras_transformer.decoding import candidates
from keras_transformer.decoding.hypotheses import IMPOSSIBLE


@pytest.mark.parametrize("size", [7, 512, 1000, 1009, 8000])  # Too small, square-like, with a large prime factor: 1009.
@pytest.mark.parametrize("k", [1, 7])
def test_top_k_is_a_stable_sort(size, k):
    """Uses few different values, so that there are ties within groups and between them."""
    x = np.random.default_rng(size).integers(0, 40, (31, size)).astype("float32")
    x[0] = 5.0
    values, indices = (ops.convert_to_numpy(part) for part in candidates.top_k(ops.convert_to_tensor(x), k))
    expected = np.argsort(-x, axis=-1, kind="stable")[:, :k]
    np.testing.assert_array_equal(indices, expected)
    np.testing.assert_array_equal(values, np.take_along_axis(x, expected, -1))


def test_groups_are_used_where_they_divide_the_vocabulary():
    sizes = {size: candidates._group_size(size) for size in (511, 512, 1009, 8000, 32000, 37000)}
    assert sizes == {511: None, 512: 16, 1009: None, 8000: 80, 32000: 160, 37000: 185}


def test_best_tokens_exclude_never_without_renormalisation():
    logits = np.random.default_rng(0).normal(size=(5, 1000)).astype("float32")
    logits[:, [3, 8]] += 9.0
    z = logits.astype("float64")
    expected = z - np.log(np.exp(z).sum(-1, keepdims=True))
    normalizer = candidates.log_normalizer(ops.convert_to_tensor(logits))
    found = candidates.best_tokens(ops.convert_to_tensor(logits), normalizer, 4, {3, 8, 9})
    for row, log_probs, token_ids in zip(expected, *map(ops.convert_to_numpy, found)):
        assert (log_probs[np.isin(token_ids, [3, 8, 9])] == np.float32(IMPOSSIBLE)).all()
        kept = log_probs > IMPOSSIBLE / 2
        row[[3, 8, 9]] = -np.inf
        best = np.argsort(-row)[:4]
        assert token_ids[kept][:4].tolist() == best.tolist()
        np.testing.assert_allclose(log_probs[kept][:4], row[best], rtol=1e-5)
