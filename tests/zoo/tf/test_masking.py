"""Masked tokens: their number, kind and replacements, repeatable for the same batch."""

import itertools
import types

import numpy as np
import pytest

from zoo.corpora.batching import BatchStream
from zoo.corpora.labelled_corpus import NO_LABEL, LabelledCorpus
from zoo.corpora.token_rows import TokenRows
from zoo.tf.masking import MaskedBatches, TokenMasker

# As in the vocabulary of a BERT, where special tokens are not the first.
VOCABULARY = types.SimpleNamespace(vocabulary_size=50, unknown_id=7, start_id=8, end_id=9, mask_id=10)
SPECIAL = [0, 7, 8, 9, 10]


def rows(count, seed=1, longest=60):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest, count)
    ids = np.zeros((count, longest + 2), "int32")
    for row, length in zip(ids, lengths):
        row[: length + 2] = [8, *rng.choice([i for i in range(50) if i not in SPECIAL], length), 9]
    return ids


def masked(ids, number=0, seed=3):
    return {name: np.asarray(part) for name, part in TokenMasker(VOCABULARY, seed)(ids, number).items()}


def test_number_and_kind_of_masked_tokens():
    ids = rows(200)
    found = masked(ids)
    for row, shown, positions, labels in zip(ids, *(found[n] for n in ("token_ids", "positions", "labels"))):
        real = labels != NO_LABEL
        tokens = np.count_nonzero(~np.isin(row, SPECIAL))
        assert real.sum() == max(1, np.round(np.float32(0.15) * np.float32(tokens)))
        assert not np.diff(real.astype(int)).any() or (np.diff(real.astype(int)) <= 0).all(), "NO_LABEL at the end"
        np.testing.assert_array_equal(labels[real], row[positions[real]])
        assert not np.isin(labels[real], SPECIAL).any() and len({*positions[real]}) == real.sum()
        elsewhere = np.ones(len(row), bool)
        elsewhere[positions[real]] = False
        np.testing.assert_array_equal(shown[elsewhere], row[elsewhere])


def test_eighty_ten_ten():
    ids = rows(3000)
    found = masked(ids)
    real = found["labels"] != NO_LABEL
    gold, shown = found["labels"][real], np.take_along_axis(found["token_ids"], found["positions"], 1)[real]
    # The random token is the same by chance for one in 45.
    shares = {"mask": (shown == 10).mean(), "kept": (shown == gold).mean()}
    expected = {"mask": 0.8, "kept": 0.1 + 0.1 / 45}
    for name, share in expected.items():
        assert abs(shares[name] - share) < 4 * np.sqrt(share * (1 - share) / gold.size), name
    others = shown[(shown != 10) & (shown != gold)]
    assert not np.isin(others, SPECIAL).any() and len({*others}) == 45
    places = (found["positions"][real] / (ids != 0).sum(1).repeat(real.sum(1))).mean()
    assert abs(places - 0.5) < 0.02, "all places alike"


def test_masks_depend_on_the_number_of_the_batch():
    ids = rows(20)
    first, again, other, seeded = masked(ids), masked(ids), masked(ids, number=1), masked(ids, seed=4)
    np.testing.assert_array_equal(first["token_ids"], again["token_ids"])
    for different in (other, seeded):
        assert (first["token_ids"] != different["token_ids"]).any()


def test_rows_of_special_tokens_alone():
    found = masked(np.array([[8, 9, 0], [0, 0, 0]], "int32"))
    assert (found["labels"] == NO_LABEL).all() and found["token_ids"].tolist() == [[8, 9, 0], [0, 0, 0]]


@pytest.mark.parametrize("start", [3, 9])
def test_a_resumed_stream_has_the_same_masks(start):
    """In the same epoch and the next."""
    ids = rows(40)
    corpus = LabelledCorpus(TokenRows.of([row[row != 0] for row in ids]))

    def stream(position=(0, 0), number=0):
        return MaskedBatches(BatchStream(corpus, 256, seed=1, start=position), TokenMasker(VOCABULARY, 3), number)

    whole = stream()
    expected = [*itertools.islice(whole, 14)]
    rest = [*itertools.islice(stream(whole.position(start), start), 14 - start)]
    for found, wanted in zip(rest, expected[start:], strict=True):
        for name in wanted:
            np.testing.assert_array_equal(found[name], wanted[name], err_msg=name)
