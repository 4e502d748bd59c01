"""Tests of masks: True at what attention may see."""

import layer_checks as checks
import numpy as np
import pytest
import reference as ref
from keras import ops

from keras_transformer.ops import masks

B, T, S = 3, 5, 7


def test_padding_mask_is_true_at_real_tokens():
    ids = np.array([[5, 2, 0, 0], [0, 1, 2, 9]])
    assert ops.convert_to_numpy(masks.padding_mask(ids)).tolist() == [[1, 1, 0, 0], [0, 1, 1, 1]]
    assert ops.convert_to_numpy(masks.padding_mask(ids, pad_id=2)).tolist() == [[1, 0, 1, 1], [1, 1, 0, 1]]


@pytest.mark.parametrize("steps, key_steps, offset", [(T, T, 0), (T, S, 0), (1, S, 4), (T, S, 2), (S, T, 0)])
def test_causal_mask_sees_up_to_its_own_step(steps, key_steps, offset):
    mask = ops.convert_to_numpy(masks.causal_mask(steps, key_steps, offset))
    assert mask.dtype == bool
    np.testing.assert_array_equal(mask, ref.causal(steps, key_steps, offset))


def test_causal_mask_of_beams_counts_steps_and_not_slots():
    """The mask of K beams over K slots a step is that of one beam, tiled over queries and repeated over keys."""
    mask = ops.convert_to_numpy(masks.causal_mask(2 * T, 2 * S, 2, beams=2))
    np.testing.assert_array_equal(mask, np.tile(np.repeat(ref.causal(T, S, 2), 2, axis=2), (1, 2, 1)))


def test_causal_mask_takes_a_tensor_as_offset():
    function = checks.compiled(lambda offset: masks.causal_mask(T, S, offset))
    for offset in (0, 2):
        mask = function(ops.convert_to_tensor(offset, "int32"))
        np.testing.assert_array_equal(ops.convert_to_numpy(mask), ref.causal(T, S, offset))


def test_merge_is_logical_and_of_masks_that_are_not_none():
    a = np.random.default_rng(1).random((B, 1, S)) < 0.5
    b = np.random.default_rng(2).random((1, T, S)) < 0.5
    assert masks.merge() is None and masks.merge(None, None) is None
    assert masks.merge(None, a, None) is a
    np.testing.assert_array_equal(ops.convert_to_numpy(masks.merge(a, None, b)), a & b)


def test_attached_mask_prefers_explicit_masks():
    attached, explicit = np.eye(B, T) > 0, np.eye(B, T) < 1
    x = checks.with_mask(checks.array(B, T, 11), attached)
    np.testing.assert_array_equal(ops.convert_to_numpy(masks.attached_mask(x)), attached)
    np.testing.assert_array_equal(ops.convert_to_numpy(masks.attached_mask(x, None, None)), attached)
    assert masks.attached_mask(x, None, explicit) is explicit
    assert masks.attached_mask(None) is None
    assert masks.attached_mask(ops.ones((B, T))) is None


def test_visible_rows():
    mask = np.array([[[True, False], [False, False], [True, True]]])
    assert ops.convert_to_numpy(masks.visible_rows(mask)).tolist() == [[[True], [False], [True]]]


@pytest.mark.parametrize("shape", [(B, T, S), (1, T, S), (B, 1, S), (1, 1, 1)])
def test_check_mask_accepts_what_broadcasts(shape):
    masks.check_mask("attention_mask", np.ones(shape, bool), (B, T, S))
    masks.check_mask("attention_mask", np.ones(shape, bool), (None, None, S))
    masks.check_mask("attention_mask", None, (B, T, S))


@pytest.mark.parametrize("dtype", ["int32", "float32", "uint8"])
def test_other_types_raise(dtype):
    with pytest.raises(ValueError, match=rf"`m` must be boolean \[3, 7\].*dtype={dtype}, shape=\(3, 7\)"):
        masks.check_mask("m", np.ones((B, S), dtype), (B, S))


@pytest.mark.parametrize("shape", [(B, S, T), (B, S), (B, 2, T, S), (2, T, S)])
def test_other_shapes_raise(shape):
    with pytest.raises(ValueError, match=r"`m` must have shape \[3, 5, 7\]\. Received: shape=\(") as error:
        masks.check_mask("m", np.ones(shape, bool), (B, T, S))
    assert str(shape) in str(error.value)
