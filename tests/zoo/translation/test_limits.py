"""Translations end in time: at their greatest length, or when they go round in circles; what has no words is copied."""

import keras
import pytest
from keras import ops

from zoo.models.seq2seq import Seq2Seq
from zoo.translation.predictor import Translator

COPIES = [
    "https://a.org/b?c=1",
    "www.x.de",
    "a.b/c",
    "me@x.org",
    "@me #it",
    "12:30",
    "3.482,75 €",
    "😀 😀",
    "...",
    "+49 30/55",
]


@pytest.fixture(scope="module")
def translator(trained):
    return trained.translator


@pytest.fixture(scope="module")
def sources(corpus):
    return [source for source, _ in corpus.test]


@pytest.mark.parametrize("beam_size", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_greatest_length_of_translations(translator, sources, beam_size):
    """A change takes effect in searches that were compiled before it. A model of random weights seldom ends."""
    keras.utils.set_random_seed(0)
    random = Translator(Seq2Seq(translator.model.config), translator.tokenizer, max_extra_tokens=5, max_repeats=0)
    random.model.build()
    rows = translator.tokenizer.encode(sources[:6])
    for extra in (5, 2, 9):
        random.max_extra_tokens = extra
        source, limits = random.search_inputs(rows)
        assert limits.tolist() == [len(row) + 1 + extra for row in rows]
        lengths = ops.convert_to_numpy(random.search(beam_size=beam_size)(source, limits).lengths)[:, 0]
        assert (lengths <= limits).all() and (lengths == limits).any()
    with pytest.raises(ValueError, match="`max_extra_tokens` must be at least 1. Received: max_extra_tokens=0"):
        Translator(random.model, random.tokenizer, max_extra_tokens=0)


def test_circles_end(translator, sources):
    """A model of random weights repeats itself; the limit takes effect in searches that were compiled before."""
    keras.utils.set_random_seed(1)
    random = Translator(Seq2Seq(translator.model.config), translator.tokenizer, max_extra_tokens=60, max_repeats=0)
    random.model.build()

    def lengths():
        inputs = random.search_inputs(random.tokenizer.encode(sources[:4]))
        return ops.convert_to_numpy(random.search(beam_size=1)(*inputs).lengths)[:, 0]

    assert min(lengths()) > 30
    random.max_repeats = 3
    assert max(lengths()) < 30
    with pytest.raises(ValueError, match="`max_repeats` must be at least 0"):
        Translator(random.model, random.tokenizer, max_repeats=-1)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_limit_of_repeats_changes_no_other_translation(translator, sources, beam_size):
    free = Translator(translator.model, translator.tokenizer, max_repeats=0)
    assert free.translate(sources, beam_size) == translator.translate(sources, beam_size)


def test_texts_without_words_are_copied(translator, sources):
    counts = []
    texts = [*COPIES, sources[0], f"{sources[1]}\n{COPIES[0]}\n{sources[2]}"]
    first, second, third = translator.translate(sources[:3])
    expected = [*COPIES, first, f"{second}\n{COPIES[0]}\n{third}"]
    assert translator.translate(texts, progress=counts.append) == expected
    assert sum(counts) == len(COPIES) + 4
    assert translator.translate(COPIES[:2]) == COPIES[:2]
    assert [found.score for found in translator.n_best(COPIES[:1])[0]] == [0.0]
