"""Tests of the noise of denoising pretraining, against definitions that are written from the papers."""

import collections
import itertools
import math

import numpy as np
import pytest
from small_vocabulary import TOKENIZER, WORDS

from zoo.corpora.batching import BatchStream
from zoo.corpora.denoising import (
    DenoisingCorpus,
    Noise,
    encode_texts,
    hide_spans,
    infill,
    join_spans,
    permute_sentences,
)
from zoo.corpora.token_rows import TokenRows
from zoo.text.tokenizer_training import train_tokenizer
from zoo.text.word_pieces import WordPieceTokenizer
from zoo.training_config import DenoisingConfig

MASK, SENTINELS = 1, np.arange(1000, 1040)
LENGTHS = [1, 2, 3, 7, 20, 1, 61, 100]
VOCABULARY = train_tokenizer([" ".join(WORDS), "A dog. A house."], 300, sentinels=20)


def numbered(lengths):
    """Rows of different tokens, which tell where they come from."""
    ends = np.cumsum([2000, *lengths])
    return TokenRows.of([[*range(first, last)] for first, last in zip(ends, ends[1:])])


def lists(rows):
    return [rows.ids[first:last].tolist() for first, last in zip(rows.offsets, rows.offsets[1:])]


def same(count, length):
    """`count` equal rows 0, 1, 2 ..., for frequencies."""
    return TokenRows.of([[*range(2000, 2000 + length)]] * count)


def check_frequencies(found, expected):
    """Chi-squared test at 0.1 % of a sample, which must have expected outcomes only; the seeds are fixed."""
    counts, total = collections.Counter(found), len(found)
    assert counts.keys() <= expected.keys() and math.isclose(sum(expected.values()), 1)
    statistic = sum((counts[key] - total * p) ** 2 / (total * p) for key, p in expected.items())
    freedom = len(expected) - 1
    # The quantile of Wilson and Hilferty (1931).
    assert statistic < freedom * (1 - 2 / (9 * freedom) + 3.09 * math.sqrt(2 / (9 * freedom))) ** 3


def rebuilt(source, target):
    """The text of a source and its target, and its spans: written from Raffel et al., figure 2."""
    spans, text = [], []
    for token in target:
        if token in SENTINELS:
            assert token == SENTINELS[len(spans)]
            spans.append([])
        else:
            spans[-1].append(token)
    rest = iter(spans)
    for token, following in zip(source, [*source[1:], None]):
        assert not (token in SENTINELS and following in SENTINELS), "two spans beside each other are one"
        text += next(rest) if token in SENTINELS else [token]
    assert next(rest, None) is None
    return text, spans


@pytest.mark.parametrize("rate, span_length", [(0.15, 3.0), (0.5, 3.0), (0.5, 1.0), (0.9, 8.0), (0.01, 3.0)])
def test_every_token_is_once_in_source_or_target(rate, span_length):
    rows = numbered(LENGTHS * 20)
    source, target = hide_spans(rows, rate, span_length, np.arange(1000, 1100), np.random.default_rng(1))
    for text, shown, hidden in zip(lists(rows), lists(source), lists(target)):
        found, spans = ([], []) if len(text) == 100 and span_length == 1 else rebuilt(shown, hidden)
        tokens = [token for token in [*shown, *hidden] if token >= 2000]
        assert sorted(tokens) == text and (found == text or not found)
        count = len([token for token in hidden if token >= 2000])
        # T5's random_spans_noise_mask.
        expected = min(max(round(len(text) * rate), 1), len(text) - 1)
        number = min(max(round(expected / span_length), 1), expected, len(text) - expected)
        assert count == expected
        if found:
            assert len(spans) in (number, number + 1)


def test_spans_are_as_probable_as_in_t5():
    """All divisions of hidden and other tokens that T5's `_random_segmentation` can draw, and all its rolls."""
    length, hidden, spans = 6, 3, 2
    expected = collections.Counter()
    for a, b in itertools.product(range(1, length - hidden), range(1, hidden)):
        mask = [0] * a + [1] * b + [0] * (length - hidden - a) + [1] * (hidden - b)
        for shift in range(length):
            expected[(*mask[shift:], *mask[:shift])] += 1 / (2 * 2 * length)
    source, _ = hide_spans(same(20_000, length), 0.5, hidden / spans, SENTINELS, np.random.default_rng(2))
    found = [tuple(int(token not in row) for token in range(2000, 2000 + length)) for row in lists(source)]
    check_frequencies(found, expected)


def test_density_and_mean_length_of_spans():
    rows = numbered([500] * 40)
    source, target = hide_spans(rows, 0.15, 3.0, SENTINELS, np.random.default_rng(3))
    assert np.mean(target.ids >= 2000) * len(target.ids) == 0.15 * len(rows.ids)
    spans = [len(span) for pair in zip(lists(source), lists(target)) for span in rebuilt(*pair)[1]]
    assert 2.85 < np.mean(spans) <= 3


def test_masks_replace_spans():
    """The kept tokens are those of the text, in their order, and as many as the rate says."""
    rows = numbered(LENGTHS * 20)
    for rate in (0.1, 0.3, 0.99):
        masked = infill(rows, rate, 3.0, MASK, np.random.default_rng(4))
        for text, shown in zip(lists(rows), lists(masked)):
            kept, remaining = [token for token in shown if token != MASK], iter(text)
            assert all(token in remaining for token in kept), "no subsequence"
            assert len(text) - len(kept) == min(max(round(rate * len(text)), 1), len(text)) and MASK in shown


def spans_of(row):
    """Lengths of the spans between two kept tokens that have one mask between them."""
    for a, b, c in zip(row, row[1:], row[2:]):
        if b == MASK and MASK not in (a, c):
            yield c - a - 1


def test_lengths_of_infilled_spans_are_poisson():
    (row,) = lists(infill(numbered([200_000]), 0.3, 3.0, MASK, np.random.default_rng(5)))
    expected = {length: math.exp(-3) * 3**length / math.factorial(length) for length in range(9)}
    expected[9] = 1 - sum(expected.values())  # And more.
    found = [min(length, 9) for length in spans_of(row)]
    assert len(found) > 8000
    check_frequencies(found, expected)


def test_all_places_of_infilled_spans_are_equally_probable():
    rows = lists(infill(same(40_000, 5), 0.4, 2.0, MASK, np.random.default_rng(6)))
    for num_spans in (1, 2):
        patterns = [tuple(token == MASK for token in row) for row in rows if row.count(MASK) == num_spans]
        possible = [*itertools.combinations(range(3 + num_spans), num_spans)]
        expected = {tuple(i in chosen for i in range(3 + num_spans)): 1 / len(possible) for chosen in possible}
        check_frequencies(patterns, expected)


def test_the_span_that_is_cut_is_not_always_the_last():
    lengths = [[*spans_of(row)] for row in lists(infill(same(4000, 40), 0.3, 3.0, MASK, np.random.default_rng(7)))]
    first, last = (np.mean([row[place] for row in lengths if len(row) > 1]) for place in (0, -1))
    assert abs(first - last) < 0.15


def test_sentences_are_permuted_within_their_rows():
    begins = [True, False, True, True, False, False]
    rows, starts = TokenRows.of([[*"abcdef"]] * 6000, "<U1"), TokenRows.of([begins] * 6000, "bool")
    found = ["".join(row) for row in lists(permute_sentences(rows, starts, np.random.default_rng(8)))]
    orders = itertools.permutations(["ab", "c", "def"])
    check_frequencies(found, {"".join(order): 1 / 6 for order in orders})


def test_joined_spans_are_the_text():
    rows = numbered(LENGTHS)
    for text, *pair in zip(lists(rows), *map(lists, hide_spans(rows, 0.3, 2.0, SENTINELS, np.random.default_rng(9)))):
        assert join_spans(*pair, SENTINELS) == text
    assert join_spans([5, 1000, 6, 1001], [7, 1001, 8, 1001, 9, 3, 4], SENTINELS) == [5, 6, 8]


def test_texts_are_encoded_with_their_sentences():
    texts = ["A dog. A house. The dog sees Haus.", "", "dog"]
    encoded = encode_texts(texts, TOKENIZER, 100, sentences=True)
    first, second = lists(encoded.tokens)
    assert TOKENIZER.decode([first, second]) == [texts[0], "dog"] and len(encoded) == 2
    starts = np.flatnonzero(lists(encoded.begins)[0])
    parts = [first[a:b] for a, b in zip(starts, [*starts[1:], len(first)])]
    assert TOKENIZER.decode(parts) == ["A dog.", "A house.", "The dog sees Haus."]
    short = encode_texts(texts, TOKENIZER, 6, sentences=True)
    assert sum(lists(short.tokens)[:-1], []) == first and max(short.tokens.lengths) == 5
    assert short.begins.ids[short.begins.offsets[:-1]].all()
    assert lists(encode_texts(texts, TOKENIZER, 100, sentences=False).begins)[0] == [True, *[False] * (len(first) - 1)]


def corpus(objective="spans", seed=1, **values):
    texts = [" ".join(itertools.islice(itertools.cycle(WORDS), i, i + 5 + i % 7)) + ". A dog." for i in range(90)]
    config = DenoisingConfig(objective, **values)
    return DenoisingCorpus(
        encode_texts(texts, VOCABULARY, 64, config.permute_sentences), Noise(config, VOCABULARY), seed
    )


@pytest.mark.parametrize("values", [{}, {"objective": "infilling", "permute_sentences": True}])
def test_noise_depends_on_seed_and_epoch_only(values):
    noisy = corpus(**values)
    epochs = [noisy.epoch(number) for number in (0, 1, 0)]
    assert lists(epochs[0].source) == lists(epochs[2].source) == lists(corpus(**values).epoch(0).source)
    assert lists(epochs[0].source) != lists(epochs[1].source) != lists(corpus(**values, seed=2).epoch(1).source)
    if values:
        assert lists(epochs[0].target) == lists(epochs[1].target)


@pytest.mark.parametrize("objective", ["spans", "infilling"])
def test_a_stream_resumes_at_any_batch(objective):
    stream = BatchStream(corpus(objective), 128, seed=3)
    batches = [batch for _, batch in zip(range(2 * stream.batches_in(0)), stream)]
    for consumed in (1, stream.batches_in(0) - 1, stream.batches_in(0) + 2):
        resumed = BatchStream(corpus(objective), 128, seed=3, start=stream.position(consumed))
        for wanted, found in zip(batches[consumed:], resumed):
            np.testing.assert_array_equal(found["source"], wanted["source"])
            np.testing.assert_array_equal(found["target"], wanted["target"])


def test_sources_of_batches_end_with_the_end_token():
    batch = next(iter(BatchStream(corpus(), 128, seed=3)))
    for source, target in zip(batch["source"], batch["target"]):
        assert source[source > 0][-1] == 3 and target[0] == 2 and target[target > 0][-1] == 3
        assert set(source) & set(VOCABULARY.sentinels) == set(target) & set(VOCABULARY.sentinels) != set()


def test_more_spans_than_sentinels_raise():
    with pytest.raises(ValueError, match="A text of 500 tokens has up to 26 spans. Received: a vocabulary with 25 sen"):
        hide_spans(numbered([9, 500]), 0.15, 3.0, SENTINELS[:25], np.random.default_rng(1))
    hide_spans(numbered([9, 500]), 0.15, 3.0, SENTINELS[:26], np.random.default_rng(1))


def test_vocabularies_without_what_noise_needs_raise():
    with pytest.raises(ValueError, match="needs a vocabulary with sentinels. Received: one without. Leave it out"):
        Noise(DenoisingConfig("spans"), TOKENIZER)
    pieces = WordPieceTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a"])
    with pytest.raises(ValueError, match="byte pairs, .*Received: a WordPieceTokenizer. .* and also the model"):
        Noise(DenoisingConfig("infilling"), pieces)


@pytest.mark.parametrize(
    "values, message",
    [
        ({"objective": "noise"}, "`objective` must be one of none, spans, infilling. Received: objective='noise'"),
        ({"rate": 0.0}, r"`rate` must lie in \(0, 1\). Received: rate=0.0"),
        ({"rate": 1.0}, r"`rate` must lie in \(0, 1\). Received: rate=1.0"),
        ({"span_length": 0.5}, "`span_length` must be a finite number of at least 1. Received: span_length=0.5"),
        ({"span_length": math.inf}, "`span_length` must be a finite number"),
        ({"objective": "spans", "permute_sentences": True}, "for infilling, .*Received: objective='spans'. Set one"),
    ],
)
def test_impossible_settings_raise(values, message):
    with pytest.raises(ValueError, match=message):
        DenoisingConfig(**values)
