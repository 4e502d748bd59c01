"""Tests of `Translator`."""

import keras
import numpy as np
import pytest
from keras import ops

import zoo
from keras_transformer.decoding.beam_search import length_penalty
from keras_transformer.training import TokenCrossEntropy
from zoo.config import END_ID, START_ID
from zoo.corpora.batching import source_batch
from zoo.storage.arrays import named_arrays
from zoo.text.tokenizer_training import train_tokenizer
from zoo.translation.predictor import Translator
from zoo.translation.segments import split_texts


@pytest.fixture(scope="module")
def translator(trained):
    """Returns a translator with short segments and small batches, so that a few texts need several of both."""
    original = trained.translator
    return Translator(original.model, original.tokenizer, {"name": "invented"}, max_source_tokens=16, batch_tokens=160)


@pytest.fixture(scope="module")
def sources(corpus):
    return [source for source, _ in corpus.test]


@pytest.fixture(scope="module")
def mixed(sources):
    """Returns texts of different lengths, with unknown words and several segments."""
    return [
        *sources[:8],
        "mano",
        " ".join(sources[8:20]),
        "zzyzx quux mano!",
        "tek tek tek tek tek tek tek.",
        sources[20] + "\n" + sources[21] + "\r\n\n" + sources[22],
    ]


def test_trained_translator_translates(translator, corpus):
    sources, references = zip(*corpus.test)
    found = translator.translate(list(sources))
    assert sum(text == reference for text, reference in zip(found, references)) > 0.9 * len(references)
    assert translator.translate(sources) == found, "a tuple is as good as a list"


@pytest.mark.parametrize("beam_size", [1, 4])
def test_translation_does_not_depend_on_batch(translator, mixed, beam_size):
    together = translator.translate(mixed, beam_size)
    assert [translator.translate([text], beam_size)[0] for text in mixed] == together
    assert translator.translate(mixed[::-1], beam_size) == together[::-1]
    assert translator.translate(mixed * 2, beam_size) == together * 2


def test_scores_do_not_depend_on_batch(translator, mixed):
    for text, together in zip(mixed, translator.n_best(mixed)):
        alone = translator.n_best([text])[0]
        assert [candidate.text for candidate in alone] == [candidate.text for candidate in together]
        np.testing.assert_allclose([c.score for c in alone], [c.score for c in together], rtol=1e-3, atol=1e-5)


def test_segments_are_translated_separately(translator, sources):
    lines = sources[:3]
    apart = translator.translate(lines)
    assert translator.translate(["\n".join(lines), "\r\n\n".join(lines)]) == ["\n".join(apart), "\r\n\n".join(apart)]
    long = " ".join(sources[:12])
    (segments,) = split_texts([long], translator.tokenizer, 16)
    assert len(segments) > 2
    assert translator.translate([long]) == [" ".join(translator.translate([segment.text for segment in segments]))]


@pytest.mark.slow
def test_jit_compile_translates_the_same_without_later_compilation(translator, mixed, monkeypatch):
    longest, room = translator.max_source_tokens, translator.batch_tokens
    simple = [text for text, parts in zip(mixed, split_texts(mixed, translator.tokenizer, longest)) if len(parts) == 1]
    expected, expected_alone = translator.translate(mixed), [translator.translate([text]) for text in simple]
    jitted = Translator(translator.model, translator.tokenizer, {}, longest, room, jit_compile=True)
    jitted.warm_up()
    jitted.warm_up(num_return=2)
    traced, encode = [], translator.model.encode
    monkeypatch.setattr(translator.model, "encode", lambda source: traced.append(source.shape) or encode(source))
    assert [jitted.translate([text]) for text in simple] == expected_alone
    assert all(jitted.n_best([text], 2) for text in simple)
    assert len(simple) > 8 and not traced, "each shape was compiled by `warm_up`"
    assert jitted.translate(mixed) == expected
    assert traced and all(size & (size - 1) == 0 for shape in traced for size in shape), "powers of two only"


class Spy:
    """Returns a list that records the ids that a translator decodes."""

    def __init__(self, tokenizer):
        self._tokenizer, self.rows = tokenizer, []

    def decode(self, rows):
        self.rows.append(np.asarray(rows))
        return self._tokenizer.decode(rows)

    def __getattr__(self, name):
        return getattr(self._tokenizer, name)


def forced_log_prob(model, source, row):
    """Computes the log-probability of the ids of a row, end included, by the model without a search."""
    ids = row[: row.tolist().index(END_ID) + 1]
    inputs = {"source": ops.array(source), "target": ops.array([[START_ID, *ids[:-1]]])}
    log_probs = np.asarray(ops.log_softmax(model(inputs)[0]))
    return float(log_probs[np.arange(len(ids)), ids].sum()), len(ids)


def test_n_best_are_ordered_and_scores_equal_model(translator, sources, monkeypatch, alpha=0.6):
    monkeypatch.setattr(translator, "tokenizer", Spy(translator.tokenizer))
    for text in sources[:4]:
        source = source_batch(translator.tokenizer.encode([text]))
        candidates = translator.n_best([text], num_return=4, beam_size=4, length_penalty=alpha)[0]
        scores = [candidate.score for candidate in candidates]
        assert len(scores) == 4 and scores == sorted(scores, reverse=True) and scores[0] > scores[3]
        rows = translator.tokenizer.rows[-1]
        assert len({tuple(row) for row in rows.tolist()}) == 4
        for row, score in zip(rows, scores):
            log_prob, length = forced_log_prob(translator.model, source, row)
            assert score == pytest.approx(log_prob / float(length_penalty(length, alpha)), rel=1e-3, abs=1e-4)


def test_loss_is_the_mean_over_tokens_without_padding(translator, corpus):
    pairs = [("mano tek!", corpus.dev[0][1]), *corpus.dev[:3], ("tek", "ølk zati")]
    found = []
    for source, target in pairs:
        source_ids, target_ids = translator.tokenizer.encode([source, target])
        found.append(forced_log_prob(translator.model, source_batch([source_ids]), np.array([*target_ids, END_ID])))
    log_probs, lengths = zip(*found)
    assert len({*lengths}) > 2
    assert translator.loss(pairs) == pytest.approx(-sum(log_probs) / sum(lengths), rel=1e-4)


def test_greedy_equals_beam_of_one(translator, sources, monkeypatch):
    monkeypatch.setattr(translator, "tokenizer", Spy(translator.tokenizer))
    for text in sources[:4]:
        source = source_batch(translator.tokenizer.encode([text]))
        [[candidate]] = translator.n_best([text], num_return=1, beam_size=1)
        assert translator.translate([text], beam_size=1) == [candidate.text]
        row = translator.tokenizer.rows[-1][0].tolist()
        ids = row[: row.index(END_ID) + 1]
        logits = translator.model({"source": ops.array(source), "target": ops.array([[START_ID, *ids[:-1]]])})
        assert np.asarray(logits)[0].argmax(-1).tolist() == ids
        assert candidate.score == pytest.approx(forced_log_prob(translator.model, source, np.array(row))[0], abs=1e-4)


def test_samples_depend_on_seed_only(translator, sources):
    hot = {"temperature": 3.0}
    first = translator.sample(sources, seed=1, **hot)
    assert translator.sample(sources, seed=1, **hot) == first
    graphs = len(translator._compiled)
    assert translator.sample(sources, seed=2, **hot) != first
    assert len(translator._compiled) == graphs, "all seeds share one graph"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"beam_size": 0}, "`beam_size` must be at least 1.*Received: beam_size=0"),
        ({"beam_size": -1}, "`beam_size` must be at least 1"),
        ({"beam_size": 2.0}, "`beam_size` must be an integer. Received: beam_size=2.0"),
        ({"num_return": True}, "`num_return` must be an integer. Received: num_return=True"),
        ({"num_return": 5, "beam_size": 4}, "Received: beam_size=4, num_return=5"),
        ({"num_return": 0}, "num_return=0"),
    ],
)
def test_invalid_search_raises(translator, arguments, message):
    with pytest.raises(ValueError, match=message):
        translator.n_best(["mano."], **arguments)


def test_progress_counts_segments(translator, sources):
    done = []
    translator.translate([*sources[:9], "", "\n".join(sources[:3])], progress=done.append)
    assert sum(done) == 12 and len(done) > 1


NASTY = {
    "empty": "",
    "spaces": "   ",
    "line breaks": "\n\r\n\n",
    "100,000 characters": "mano tek luri. pim dala! " * 4000,
    "one long word": "x" * 300,
    "emoji": "mano 👩‍👩‍👧 👍🏽 tek.",
    "right to left": "שלום עולם ‏مرحبا!",
    "special tokens": "<s> </s> <pad> <unk> <0x41>",
    "zero": "mano\x00tek.",
    "only zero": "\x00",
    "lone surrogate": "mano \ud800 tek.",
    "block": "\u2581mano\u2581",
    "line inside": "mano tek.\nluri soba!",
    "separators": "mano\u2028tek\x85luri\x0bsoba.",
    "byte order mark": "\ufeffmano tek.",
    "combining": "a\u0301\u0302\u0303" * 20,
}


@pytest.mark.slow
def test_hostile_texts_do_not_change_other_translations(translator, sources):
    names, texts = zip(*NASTY.items())
    company = [text for pair in zip(texts, sources) for text in pair]
    found = dict(zip(company, translator.translate(company, beam_size=1)))
    neighbours = sources[: len(texts)]
    assert [found[text] for text in neighbours] == translator.translate(neighbours, beam_size=1)
    for name, text in NASTY.items():
        if name != "100,000 characters":
            assert translator.translate([text], beam_size=1) == [found[text]], name
        found[text].encode("utf-8")
    assert found[""] == found["   "] == found[NASTY["line breaks"]] == ""
    assert found[NASTY["line inside"]] == "\n".join(translator.translate(["mano tek.", "luri soba!"], beam_size=1))
    assert found[NASTY["lone surrogate"]] == translator.translate(["mano ? tek."], beam_size=1)[0]
    long = found[NASTY["100,000 characters"]]
    assert len(long.split()) > 3000 and long.count("Brund") > 1000


@pytest.mark.parametrize("method", ["translate", "n_best", "sample", "align"])
@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("mano tek.", r"`texts` must be a list of strings. Received: 'mano tek.'. Put it into a list"),
        (b"mano", r"`texts` must be a list of strings. Received: b'mano'"),
        (["mano", None], r"Received: texts\[1\]=None"),
        (["mano", "tek", b"luri"], r"Received: texts\[2\]=b'luri'"),
        ([["mano"]], r"Received: texts\[0\]=\['mano'\]"),
        ([3.5], r"Received: texts\[0\]=3.5"),
    ],
)
def test_not_a_list_of_strings_raises(translator, method, texts, message):
    arguments = (texts, ["x"] * len(texts)) if method == "align" else (texts,)
    with pytest.raises(ValueError, match=message):
        getattr(translator, method)(*arguments)


def test_empty_list_gives_empty_list(translator):
    assert translator.translate([]) == translator.n_best([]) == translator.sample([]) == []


def test_mismatched_sizes_raise(translator):
    other = train_tokenizer(["mano tek"], 300)
    with pytest.raises(ValueError, match=r"vocabulary_size=\d+.*vocabulary_size=\d+.*same training run"):
        Translator(translator.model, other)


def test_saved_translator_translates_the_same(translator, sources, tmp_path):
    card = translator.save(tmp_path / "whole")
    assert card["task"] == "translation" and card["name"] == "invented"
    loaded = zoo.load(tmp_path / "whole")
    assert loaded.card == card and loaded.max_source_tokens == 16
    for name, array in named_arrays(loaded.model).items():
        np.testing.assert_array_equal(array, named_arrays(translator.model)[name])
    loaded.batch_tokens = translator.batch_tokens
    assert loaded.translate(sources, beam_size=1) == translator.translate(sources, beam_size=1)
    with pytest.raises(ValueError, match="exists already, and nothing is overwritten"):
        translator.save(tmp_path / "whole")


def test_half_precision_checkpoint_is_close(translator, tmp_path):
    translator.save(tmp_path / "half", dtype="float16")
    loaded = zoo.load(str(tmp_path / "half"))
    expected = named_arrays(translator.model)
    for name, array in named_arrays(loaded.model).items():
        np.testing.assert_allclose(array, expected[name], rtol=2**-11, atol=2**-25)
    assert any((array != expected[name]).any() for name, array in named_arrays(loaded.model).items())


@pytest.mark.slow
def test_model_fine_tuned_by_fit_translates(trained, corpus):
    """The model can be compiled and trained by `fit`, and the translator then translates with it."""
    tuned = zoo.load(trained.folder / "checkpoint")
    sources = [source for source, _ in corpus.train[:64]]
    assert len(set(tuned.translate(sources, beam_size=1))) > 30
    tuned.model.compile(optimizer=keras.optimizers.Adam(0.01), loss=TokenCrossEntropy())
    examples = tuned.examples(sources, ["Brund aub!"] * len(sources))
    history = tuned.model.fit(examples, epochs=20, verbose=0, shuffle=False).history["loss"]
    assert history[-1] < 0.1 < history[0]
    assert set(tuned.translate(sources, beam_size=1)) == {"Brund aub!"}
