"""Tests of the alignments of a translator that translates word by word."""

import numpy as np
import pytest

import zoo
from zoo.translation import alignment
from zoo.translation.alignment import Alignment
from zoo.translation.predictor import Translator


@pytest.fixture(scope="module")
def alignments(trained, corpus):
    sources, targets = zip(*corpus.test[:30])
    return [*zip(sources, targets, trained.translator.align(sources, targets))]


def test_alignment_words_and_shapes(alignments):
    for source, target, found in alignments:
        assert found.source_words == source.split() and found.target_words == target.split()
        assert found.weights.shape == (len(target.split()), len(source.split()))
        assert found.weights.dtype == np.float32


def test_weights_sum_to_one(alignments):
    sums = np.concatenate([found.weights.sum(1) for *_, found in alignments])
    assert sums.min() > 0 and sums.max() <= 1 + 1e-5, "the rest is attention to the end token"
    assert sums.mean() > 0.5


def test_most_links_are_right(alignments):
    links = [(s, t) for *_, found in alignments for s, t in found.links]
    assert len(links) == sum(len(found.target_words) for *_, found in alignments)
    assert np.mean([s == t for s, t in links]) > 0.7


def test_subwords_are_joined_to_words(trained):
    [found] = trained.translator.align(["mano zzyzx tek"], ["Brund Qwx ølk"])
    assert found.source_words == ["mano", "zzyzx", "tek"] and found.target_words == ["Brund", "Qwx", "ølk"]
    assert found.weights.shape == (3, 3) and (found.weights.sum(1) <= 1 + 1e-5).all()


def test_subword_attention_is_summed_and_averaged(trained):
    """Compares with the attention between subwords in the decoder."""
    translator = trained.translator
    source, target = "mano zzyzx tek", "Brund Qwx"
    [found] = translator.align([source], [target])
    source_ids, target_ids = translator.tokenizer.encode([source, target])
    model = translator.model
    memory = model.encode(np.array([[*source_ids, 3]]))
    vectors = model.embed(np.array([[2, *target_ids]]))
    _, scores = model.decoder(vectors, memory, return_attention_scores=True)
    weights = np.asarray(scores[-1].cross_attention)[0].mean(0)
    [first, middle, last] = translator.tokenizer.words(source_ids)[1]
    words = translator.tokenizer.words(target_ids)[1]
    for row, (start, end) in zip(found.weights, words):
        expected = [weights[start:end, a:b].sum(1).mean() for a, b in (first, middle, last)]
        np.testing.assert_allclose(row, expected, rtol=1e-4, atol=1e-6)


def test_chosen_heads_are_averaged(trained):
    """A row is that of the step that predicts a token, or the next one, which reads it."""
    model = trained.translator.model
    source, target = np.array([[7, 8, 9, 3]]), np.array([[2, 11, 12, 13]])
    memory = model.encode(source)
    _, scores = model.decoder(model.embed(target), memory, return_attention_scores=True)
    first, second = np.asarray(scores[0].cross_attention)[0]
    found = np.asarray(alignment.attention_function(model, [(0, 0, "predicts"), (0, 1, "reads")])(source, target))[0]
    np.testing.assert_allclose(found[:3], (first[:3] + second[1:]) / 2, rtol=1e-5, atol=1e-7)
    whole = np.asarray(alignment.attention_function(model)(source, target))[0]
    np.testing.assert_allclose(whole, (first + second) / 2, rtol=1e-5, atol=1e-7)


def test_heads_are_saved_and_take_effect(trained, tmp_path):
    translator = Translator(trained.translator.model, trained.translator.tokenizer, alignment_heads=[(0, 1, "reads")])
    translator.save(tmp_path / "saved")
    pair = ["mano tek luri"], ["Brund ølk dosk"]
    saved, whole = zoo.load(tmp_path / "saved"), trained.translator.align(*pair)[0].weights
    np.testing.assert_array_equal(saved.align(*pair)[0].weights, translator.align(*pair)[0].weights)
    assert np.abs(saved.align(*pair)[0].weights - whole).max() > 0.01
    saved.alignment_heads = [[0, 2, "reads"]]
    with pytest.raises(ValueError, match="Received: .0, 2, 'reads'."):
        saved.align(*pair)
    saved.alignment_heads = []
    np.testing.assert_allclose(saved.align(*pair)[0].weights, whole, atol=1e-6)


@pytest.mark.parametrize("head", [(1, 0, "reads"), (0, 2, "reads"), (0, 0, "writes"), (0, 0)])
def test_unknown_heads_raise(trained, head):
    with pytest.raises(ValueError, match="`alignment_heads` must be triples: a layer below 1, a head below 2, and"):
        Translator(trained.translator.model, trained.translator.tokenizer, alignment_heads=[head])


def test_drawing_shows_every_word(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    weights = np.array([[0.9, 0.1, 0.0], [0.2, 0.3, 0.5]], "float32")
    Alignment(["où", "est", "$\\x$"], ["wo", "Haus"], weights).draw(tmp_path / "picture.svg")
    picture = (tmp_path / "picture.svg").read_text("utf-8")
    assert all(f"<!-- {word} -->" in picture for word in ("où", "est", "$\\x$", "wo", "Haus"))
    with pytest.raises(ValueError, match="'jpg2' is not supported|not supported"):
        Alignment(["a"], ["b"], weights[:1, :1]).draw(tmp_path / "picture.jpg2")
    with pytest.raises(ValueError, match=r"words in both texts. Received: weights of shape \(0, 3\)"):
        Alignment(["a", "b", "c"], [], weights[:0]).draw(tmp_path / "picture.png")
    assert [path.name for path in tmp_path.iterdir()] == ["picture.svg"]


@pytest.mark.parametrize(("source", "target"), [("", ""), ("mano", ""), ("", "Brund"), ("  ", "\n"), ("\ud800", "x")])
def test_empty_texts_have_no_links(trained, source, target):
    [found] = trained.translator.align([source], [target])
    assert found.weights.shape == (len(found.target_words), len(found.source_words))
    assert all(0 <= s < len(found.source_words) for s, _ in found.links)


def test_links_have_largest_weight():
    weights = np.array([[0.1, 0.7, 0.2], [0.5, 0.1, 0.4]], "float32")
    assert Alignment(["a", "b", "c"], ["x", "y"], weights).links == [(1, 0), (0, 1)]


def test_different_numbers_of_texts_raise(trained):
    with pytest.raises(ValueError, match="Received: 2 texts, 1 translations"):
        trained.translator.align(["a", "b"], ["c"])
    with pytest.raises(ValueError, match="`translations` must be a list of strings"):
        trained.translator.align(["a", "b"], "cd")


def test_empty_list_has_no_alignments(trained):
    assert trained.translator.align([], []) == []


def test_attention_is_compiled_once(trained, monkeypatch):
    translator = Translator(trained.translator.model, trained.translator.tokenizer)
    made = []
    monkeypatch.setattr(alignment, "compile_function", lambda model, function: made.append(function) or function)
    for _ in range(3):
        translator.align(["mano tek"], ["Brund ølk"])
    assert len(made) == 1
