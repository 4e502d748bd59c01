"""Tests of the slots of beams against the lists of slots that each beam passed."""

import numpy as np
from keras import ops

from keras_transformer.ops import ancestry

B, K, L = 3, 5, 7


def test_beams_see_the_slots_of_their_own_past():
    rng = np.random.default_rng(0)
    ancestors, paths = ancestry.no_ancestors(B * K, L), np.zeros((B, K, 0), int)
    for index in range(L):
        ancestors = ancestry.add_step(ancestors, index, K)
        own = np.broadcast_to(np.arange(K)[:, None], (B, K, 1))
        paths = np.concatenate([paths, own], axis=2)
        seen = ops.convert_to_numpy(ancestry.visible_slots(ancestors, K)).reshape(B, K, L, K)
        np.testing.assert_array_equal(seen[:, :, : index + 1], paths[..., None] == np.arange(K))
        parents = rng.integers(K, size=(B, K))
        paths = np.take_along_axis(paths, parents[..., None], axis=1)
        ancestors = ops.take(ancestors, (np.arange(B)[:, None] * K + parents).reshape(-1), axis=0)
