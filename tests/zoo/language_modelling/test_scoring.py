"""Tests of the windows in which tokens are scored."""

import math

import numpy as np
import pytest

from zoo.corpora.labelled_corpus import NO_LABEL
from zoo.language_modelling.scoring import bits_per_character, scored_windows


@pytest.mark.parametrize("length", [0, 1, 2, 5, 6, 7, 16, 17, 40])
@pytest.mark.parametrize("width, stride", [(5, 5), (5, 2), (5, 1), (1, 1), (8, 3)])
def test_each_token_but_the_first_is_scored_once_with_context(length, width, stride):
    document = [*range(100, 100 + length)]
    inputs, labels = scored_windows([document], width, stride)
    scored = []
    for row in range(len(inputs.lengths)):
        window = inputs.ids[inputs.offsets[row] : inputs.offsets[row + 1]]
        following = labels.ids[labels.offsets[row] : labels.offsets[row + 1]]
        assert 1 <= len(window) == len(following) <= width
        for place, label in enumerate(following):
            if label != NO_LABEL:
                assert label == window[place] + 1
                context = place + 1
                assert context >= min(label - 100, width - stride + 1)
                scored.append(int(label))
    assert scored == document[1:]


def test_documents_have_windows_of_their_own():
    inputs, _ = scored_windows([[1, 2, 3], [4, 5]], 10, 5)
    assert inputs.ids.tolist() == [1, 2, 4] and inputs.offsets.tolist() == [0, 2, 3]


@pytest.mark.parametrize("stride", [0, 6])
def test_an_impossible_stride_is_refused(stride):
    with pytest.raises(ValueError, match="between 1 and the context of 5"):
        scored_windows([[1, 2]], 5, stride)


def test_bits_per_character():
    assert bits_per_character(8 * math.log(2), 4) == pytest.approx(2)
    assert np.isfinite(bits_per_character(1.0, 0))
