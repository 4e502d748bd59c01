"""What the tests of data workers share: a corpus, and a comparison of batches."""

import itertools

import numpy as np

from zoo.corpora.encoded_corpus import EncodedCorpus
from zoo.corpora.token_rows import TokenRows

OPTIONS = {"batch_tokens": 24, "seed": 3, "pad_multiple": 1}


def corpus():
    rng = np.random.default_rng(0)
    rows = [[rng.integers(3, 90, size).tolist() for size in rng.integers(1, 9, 60)] for _ in range(2)]
    return EncodedCorpus(*map(TokenRows.of, rows), None)


def assert_same(found, wanted, count):
    for one, other in zip(itertools.islice(found, count), wanted, strict=False):
        assert one.keys() == other.keys()
        assert all(np.array_equal(one[name], other[name]) for name in other)
