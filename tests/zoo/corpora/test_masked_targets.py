"""Masking of targets, against the definition row by row."""

import numpy as np
import pytest

from zoo.config import NonAutoregressiveConfig
from zoo.corpora.masked_targets import MASK_ID, MaskedTargets, length_classes, mask_targets

START, END = 2, 3
PREDICTED = NonAutoregressiveConfig(max_length_change=2)
FIXED = NonAutoregressiveConfig(lengths="fixed", max_length=12)


def make_batch(lengths, sources, width=None):
    """Rows of distinct tokens from 10 on, and rows of padding where the length is None."""
    rng, width = np.random.default_rng(1), width or max(n or 0 for n in lengths) + 2
    target = np.zeros((len(lengths), width), "int32")
    source = np.zeros((len(lengths), max(sources) + 1), "int32")
    for row, (length, given) in enumerate(zip(lengths, sources)):
        if length is not None:
            target[row, : length + 2] = [START, *rng.permutation(90)[:length] + 10, END]
            source[row, :given] = 7
    return {"source": source, "target": target}


BATCH = make_batch([5, 1, 7, None, 3], [6, 9, 6, 0, 3])


@pytest.mark.parametrize("number", range(20))
def test_each_token_is_seen_or_to_be_predicted(number):
    masked = mask_targets(BATCH, PREDICTED, 1, number)
    target, labels = masked["target"], masked["labels"][:, 1:]
    for row, original in enumerate(BATCH["target"][:, 1:-1]):
        tokens = [token for token in original if token not in (0, END)]
        seen = [label if token == MASK_ID else token for token, label in zip(target[row], labels[row])]
        assert seen[: len(tokens)] == tokens and not any(seen[len(tokens) :])
        assert ((labels[row] > 0) == (target[row] == MASK_ID)).all()
        assert tokens == [] or (labels[row] > 0).any()
    np.testing.assert_array_equal(masked["source"], BATCH["source"])


def test_labels_of_lengths_are_clipped_differences():
    labels = mask_targets(BATCH, PREDICTED, 1, 0)["labels"][:, 0]
    assert [*labels] == [-1 + 3, -2 + 3, 1 + 3, 0, 0 + 3]  # 5 - 6, 1 - 9, 7 - 6, padding, 3 - 3.
    assert [*length_classes(np.array([-9, -2, 0, 2, 9]), PREDICTED)] == [1, 1, 3, 5, 5]
    assert PREDICTED.num_length_classes == 6 and FIXED.num_length_classes == 0


@pytest.mark.parametrize("config", [PREDICTED, FIXED])
def test_any_number_of_tokens_is_masked_equally_often(config):
    """With an end token that is to be predicted, there are 6 tokens."""
    total, batch = (5 if config is PREDICTED else 6), make_batch([5] * 3000, [5] * 3000)
    target = mask_targets(batch, config, 1, 1)["target"][:, :total]
    counts = np.bincount((target == MASK_ID).sum(1), minlength=total + 1)
    assert counts[0] == 0
    expected = 3000 / total
    assert ((counts[1:] - expected) ** 2 / expected).sum() < 25  # Chi-squared, 5 degrees of freedom: p < 1e-4.
    places = (target == MASK_ID).mean(0)
    np.testing.assert_allclose(places, (total + 1) / 2 / total, atol=0.04)


def test_a_fixed_output_ends_behind_the_text():
    masked = mask_targets(BATCH, FIXED, 1, 4)
    target, labels = masked["target"], masked["labels"]
    assert target.shape == labels.shape == (5, 12)
    for row, length in enumerate([5, 1, 7, None, 3]):
        if length is None:
            assert not target[row].any() and not labels[row].any()
            continue
        assert (target[row, length + 1 :] == MASK_ID).all()  # No one knows where the text ends.
        assert set(labels[row, length + 1 :]) <= {0, END}
        whole = np.where(target[row] == MASK_ID, labels[row], target[row])[: length + 1]
        assert [*whole] == [*BATCH["target"][row, 1 : length + 2]]


def test_as_many_ends_as_tokens_are_predicted():
    batch = make_batch([3] * 2000, [3] * 2000)
    masked = mask_targets(batch, FIXED, 1, 1)["labels"] > 0
    assert masked[:, 4:].sum() == pytest.approx(masked[:, :4].sum(), rel=0.05)


def test_a_longer_target_is_cut():
    short = NonAutoregressiveConfig(lengths="fixed", max_length=4)
    masked = mask_targets(make_batch([9], [9]), short, 1, 1)
    assert masked["target"].shape == (1, 4) and END not in masked["labels"]


def test_masks_follow_from_seed_and_number():
    class Stream(list):
        def position(self, consumed):
            return 0, consumed

    stream = Stream([BATCH] * 4)
    every = [batch["target"] for batch in MaskedTargets(stream, PREDICTED, seed=5)]
    later = [batch["target"] for batch in MaskedTargets(Stream(stream[2:]), PREDICTED, seed=5, start=2)]
    other = [batch["target"] for batch in MaskedTargets(stream, PREDICTED, seed=6)]
    np.testing.assert_array_equal(every[2:], later)
    assert any((a != b).any() for a, b in zip(every, every[1:])) and any((a != b).any() for a, b in zip(every, other))
    assert MaskedTargets(stream, PREDICTED, 5).position(3) == (0, 3)
