"""Tests of splitting texts into words."""

import random

import pytest

from zoo.text.words import split_words

PARTS = "I cannot don't They'll gonna 'tis wanna d'ye more'n"
PARTS += " \"yes\" ``so'' ''it'' (3.50) a,b 3,5 x: e.g. -- ... ? ! ' 's $5 [ } U.S. é"


def test_ends_of_sentences_and_contractions_are_words():
    assert split_words("The cat doesn't sleep here.") == ["The", "cat", "does", "n't", "sleep", "here", "."]


def test_quotation_marks():
    text = "He said \"go\" and ``stay''."
    assert split_words(text) == ["He", "said", "``", "go", "''", "and", "``", "stay", "''", "."]
    kept = split_words(text, treebank_quotes=False)
    assert kept == ["He", "said", '"', "go", '"', "and", "``", "stay", "''", "."]


def test_equals_nltk():
    treebank = pytest.importorskip("nltk.tokenize.treebank").TreebankWordTokenizer()
    rng = random.Random(1)
    for _ in range(3000):
        text = "".join(
            rng.choice(PARTS.split()) + rng.choice(["", " ", " ", ".", "\t"]) for _ in range(rng.randrange(9))
        )
        assert split_words(text) == treebank.tokenize(text), text
