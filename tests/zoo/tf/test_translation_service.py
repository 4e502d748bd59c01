"""A SavedModel translates like its translator, also in a process without this package."""

import copy
import json
import os

import numpy as np
import pytest
import tensorflow as tf
from fresh_process import last_line

from zoo.limits import Limits
from zoo.serving.predictor import CARD
from zoo.translation import alignment, export, task

pytestmark = pytest.mark.slow

pytest.importorskip("tensorflow_text", reason="tensorflow-text is not installed")

TEXTS = ["mano tek", "", "luri soba pim.", " ", "dala\n\nkoru fes!\r\n", "niva gat " * 40, "zzyzx 🙂 漢字"]


COPIES = ["😀 12:30", "me@x.org", "a.b/c\nmano tek.", "tek.", "www.x.y tek"]


@pytest.fixture(scope="module")
def exported(trained, corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported") / "model"
    options = {"num_return": 3, "alignments": True}
    return folder, trained.translator.export(folder, **options, pairs=corpus.test[:10])


@pytest.fixture(scope="module")
def served(exported):
    return tf.saved_model.load(str(exported[0])).signatures


def strings(tensor):
    return np.char.decode(tensor.numpy().astype(bytes)).tolist()


@pytest.mark.parametrize(
    "texts",
    [TEXTS, TEXTS[:1], TEXTS[1:2], TEXTS[5:6], [], COPIES],
    ids=["7", "1", "empty", "long", "none", "copies"],
)
def test_texts_are_translated_as_by_the_translator(texts, served, trained):
    found = served["serving_default"](tf.constant(texts, tf.string))
    expected = trained.translator.n_best(texts, num_return=3)
    assert strings(found["translations"]) == [candidates[0].text for candidates in expected]
    np.testing.assert_allclose(found["scores"], [candidates[0].score for candidates in expected], atol=1e-5)
    for row, scores, candidates in zip(strings(found["n_best"]), found["n_best_scores"].numpy(), expected, strict=True):
        assert row == [c.text for c in candidates] + [""] * (3 - len(candidates))
        np.testing.assert_allclose(scores[: len(candidates)], [c.score for c in candidates], atol=1e-5)
        assert np.isneginf(scores[len(candidates) :]).all()


def test_a_text_over_the_limit_affects_no_other_call(served):
    translate = served["serving_default"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="at most 100000 bytes"):
        translate(tf.constant(["mano tek", "x" * 100_001]))
    assert strings(translate(tf.constant(["mano tek"]))["translations"])[0]


def test_an_export_that_exceeds_its_time_limit_is_not_kept(trained, tmp_path):
    card = trained.translator.export(tmp_path / "model", max_seconds=60, text=False)
    assert card["limits"] == {"max_bytes": 100_000, "max_seconds": 60}
    with pytest.raises(ValueError, match="at most 1e-06 seconds.*it was deleted"):
        trained.translator.export(tmp_path / "hasty", max_seconds=1e-6, text=False)
    assert os.listdir(tmp_path) == ["model"]


def test_texts_too_long_to_align_have_no_links(trained, tmp_path, monkeypatch):
    """Tests a long text between others, with the service and with the translator."""
    monkeypatch.setattr(alignment, "MAX_ALIGNED_TOKENS", 30)
    search = {"beam_size": 1, "length_penalty": 0, "num_return": 1}
    service = export.translation_service(trained.translator, Limits(), search, alignments=True, text=True)
    texts = ["mano tek", "niva gat " * 40, "luri soba pim."]
    found = service.translate(tf.constant(texts))
    links = strings(found["alignments"])
    assert links[0] and not links[1] and links[2]
    expected = trained.translator.align(texts, strings(found["translations"]))
    assert links == [" ".join(f"{s}-{t}" for s, t in each.links) for each in expected]


def test_alignments_are_those_of_the_translator(served, trained):
    found = served["serving_default"](tf.constant(TEXTS))
    expected = trained.translator.align(TEXTS, strings(found["translations"]))
    links = [" ".join(f"{s}-{t}" for s, t in alignment.links) for alignment in expected]
    assert strings(found["alignments"]) == links and links[0] and not links[1]


def test_the_greatest_length_is_an_option_of_export(trained, tmp_path):
    card = trained.translator.export(tmp_path / "short", text=False, beam_size=1, max_extra_tokens=1)
    assert card["max_extra_tokens"] == 1 and trained.translator.max_extra_tokens == 50
    run = tf.saved_model.load(str(tmp_path / "short")).signatures["translate_ids"]
    source = [[*trained.translator.tokenizer.encode(["mano tek luri"])[0], 3]]
    assert run(tf.constant(source, tf.int32))["ids"].shape[-1] <= len(source[0]) + 1


def test_ids_are_translated_without_tensorflow_text(trained, tmp_path):
    translator = trained.translator
    trained.translator.export(tmp_path / "ids", text=False, beam_size=2, num_return=2)
    rows = [[*row, 3] for row in translator.tokenizer.encode(["mano tek luri", "pim"])]
    source = [row + [0] * (len(rows[0]) - len(row)) for row in rows]
    code = f"""
import json, sys
import tensorflow as tf
run = tf.saved_model.load({str(tmp_path / "ids")!r}).signatures["translate_ids"]
found = run(tf.constant({source}, tf.int32))
assert "tensorflow_text" not in sys.modules
print(json.dumps([found["ids"].numpy().tolist(), found["scores"].numpy().tolist()]))
"""
    ids, scores = json.loads(last_line(code))
    expected = translator.n_best(["mano tek luri", "pim"], num_return=2, beam_size=2)
    for row, values, candidates in zip(ids, scores, expected, strict=True):
        assert translator.tokenizer.decode(row)[: len(candidates)] == [candidate.text for candidate in candidates]
        np.testing.assert_allclose(values, [candidate.score for candidate in candidates], atol=1e-5)


def test_texts_are_translated_in_a_fresh_process(exported, trained):
    code = f"""
import json, tensorflow as tf, tensorflow_text
run = tf.saved_model.load({str(exported[0])!r}).signatures["serving_default"]
texts = {TEXTS!r}
batches = [run(tf.constant(texts))] + [run(tf.constant([text])) for text in texts]
print(json.dumps([[text.decode() for text in batch["translations"].numpy()] for batch in batches]))
"""
    whole, *single = json.loads(last_line(code))
    assert whole == trained.translator.translate(TEXTS)
    assert [text for (text,) in single] == whole


def test_the_card_has_the_score_of_the_export(exported, trained, corpus):
    folder, card = exported
    assert json.loads((folder / CARD).read_text("utf-8")) == card
    bleu, chrf = card["exported_scores"]
    assert bleu["metric"] == "BLEU" and chrf["metric"] == "chrF2" and bleu["beam_size"] == 4
    expected, *_ = task.evaluate(trained.translator, corpus.test[:10])
    assert bleu["value"] == pytest.approx(expected[0].value, abs=1e-6)


@pytest.mark.parametrize("fault", ["a probe", "the score"])
def test_an_export_with_other_translations_is_not_kept(fault, trained, corpus, tmp_path, monkeypatch):
    real = export.load_exported

    def faulty(*arguments):
        def served(texts, texts_per_call):
            found = real(*arguments)(texts, texts_per_call)
            return found if fault == "the score" and len(texts) == len(export._PROBES) else ["no"] * len(found)

        return served

    monkeypatch.setattr(export, "load_exported", faulty)
    with pytest.raises(RuntimeError, match="so it was deleted"):
        trained.translator.export(tmp_path / "model", text=False, pairs=corpus.test[:10])
    assert not os.listdir(tmp_path)


def test_impossible_exports_are_refused(trained, tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "thesis.txt").write_text("mine")
    with pytest.raises(ValueError, match="there exists already, and nothing is overwritten"):
        trained.translator.export(tmp_path / "there")
    with pytest.raises(ValueError, match="`num_return` from 1 to `beam_size`"):
        trained.translator.export(tmp_path / "new", beam_size=4, num_return=5)
    with pytest.raises(ValueError, match="`alignments` are between words"):
        trained.translator.export(tmp_path / "new", alignments=True, text=False)
    assert os.listdir(tmp_path) == ["there"] and os.listdir(tmp_path / "there") == ["thesis.txt"]


def test_placeholders_are_used_as_by_the_translator(trained, tmp_path):
    translator = copy.copy(trained.translator)
    translator.placeholders = True
    texts = ["mano AX-4471 tek", "luri a@b.org soba www.x.y/z pim.", "dala", "B12"]
    translator.export(tmp_path / "model", num_return=2)
    found = tf.saved_model.load(str(tmp_path / "model")).signatures["serving_default"](tf.constant(texts))
    expected = translator.n_best(texts, num_return=2)
    assert strings(found["n_best"]) == [[candidate.text for candidate in candidates] for candidates in expected]
    assert expected[0] != trained.translator.n_best(texts[:1], num_return=2)[0]


def test_translations_with_the_same_text_count_once(trained, monkeypatch):
    """In the service as in Python: ids are decoded to one of two texts here."""

    class Parity:
        def __getattr__(self, name):
            return getattr(trained.translator.tokenizer, name)

        def decode(self, rows):
            return [str(int(row[0]) % 2) for row in rows]

    translator = copy.copy(trained.translator)
    monkeypatch.setattr(translator, "_compiled", {})
    search = {"beam_size": 8, "length_penalty": 0.6, "num_return": 3}
    texts = ["mano tek", "luri soba pim.", "dala", "niva gat fes"]
    service = export.translation_service(translator, Limits(), search, alignments=False, text=True)
    monkeypatch.setattr(service._tokenizer, "decode", lambda ids: tf.as_string(ids[:, 0] % 2))
    monkeypatch.setattr(translator, "tokenizer", Parity())
    found = service.translate(tf.constant(texts))
    expected = translator.n_best(texts, 3, beam_size=8)
    assert {len(candidates) for candidates in expected} <= {1, 2} and len(expected[0]) == len({*expected[0]})
    for row, scores, candidates in zip(strings(found["n_best"]), found["n_best_scores"].numpy(), expected, strict=True):
        assert row == [c.text for c in candidates] + [""] * (3 - len(candidates))
        np.testing.assert_allclose(scores[: len(candidates)], [c.score for c in candidates], atol=1e-5)
