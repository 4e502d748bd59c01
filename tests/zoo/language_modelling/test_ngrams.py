"""Tests of the baseline of n-grams against NLTK's own, slower class."""

import math
import random

import pytest
from nltk.lm import KneserNeyInterpolated
from nltk.util import everygrams

from zoo.language_modelling import ngrams


def test_loss_is_that_of_nltk(monkeypatch):
    rng = random.Random(1)
    train = [[rng.choice("abcab") for _ in range(60)], [*"abcabcabcc"]]
    dev = [[*"abcabbca"], [*"cab"]]
    model, padding = KneserNeyInterpolated(3, discount=ngrams.DISCOUNT), ["<s>", "<s>"]
    model.fit([everygrams([*padding, *row], max_len=3) for row in train], [*"abc", "<s>"])
    scores = [model.score(row[i], [*padding, *row][i : i + 2]) for row in dev for i in range(1, len(row))]
    monkeypatch.setattr(ngrams, "_UNSEEN", 0.0)
    counted = []
    found = ngrams.kneser_ney_loss(train, dev, 3, 3, counted.append)
    assert found == pytest.approx(-sum(map(math.log, scores)) / len(scores))
    assert sum(counted) == 11


def test_an_unseen_token_has_a_finite_loss():
    assert ngrams.kneser_ney_loss([[1, 2, 1, 2, 1]], [[1, 9]], 2, 50) == pytest.approx(-math.log(1e-6 / 50))


@pytest.mark.parametrize("train", [[], [[]]])
def test_no_training_text_is_refused(train):
    with pytest.raises(ValueError, match="needs training texts. Received: none"):
        ngrams.kneser_ney_loss(train, [[1, 2]], 2, 5)


def test_an_order_of_one_is_refused():
    with pytest.raises(ValueError, match="at least 2. Received: order=1"):
        ngrams.kneser_ney_loss([[1, 2]], [[1, 2]], 1, 5)
