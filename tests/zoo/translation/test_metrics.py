"""Tests of BLEU and chrF against sacrebleu."""

import json
import sys

import pytest
import sacrebleu

from zoo.translation.metrics import bleu, chrf

HYPOTHESES = [
    "The cat sat on the mat, it seems.",
    'he said "no" to me',
    "A small dog runs over the green grass .",
    "",
    "x",
]
REFERENCES = [
    "The cat sat on a mat, it seems.",
    'He said "No" to me!',
    "a small dog is running over the green grass .",
    "Something.",
    "x",
]


@pytest.mark.parametrize("tokenize", ["13a", "none", "char"])
@pytest.mark.parametrize("lowercase", [False, True])
def test_bleu_equals_sacrebleu(tokenize, lowercase):
    expected = sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES], tokenize=tokenize, lowercase=lowercase, force=True)
    score = bleu(HYPOTHESES, REFERENCES, tokenize, lowercase)
    assert score.metric == "BLEU" and score.interval == 0.0
    assert score.value == pytest.approx(expected.score, abs=1e-9) and 0 < score.value < 100
    assert f"tok:{tokenize}|" in score.signature and f"case:{'lc' if lowercase else 'mixed'}|" in score.signature
    assert f"version:{sacrebleu.__version__}" in score.signature


def test_tokenizer_and_case_change_bleu():
    values = {bleu(HYPOTHESES, REFERENCES, t, c).value for t in ("13a", "none") for c in (False, True)}
    assert len(values) == 4


def test_chrf_equals_sacrebleu():
    score = chrf(HYPOTHESES, REFERENCES)
    assert score.metric == "chrF2" and "nc:6" in score.signature
    assert score.value == pytest.approx(sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES]).score, abs=1e-9)


@pytest.mark.parametrize("metric", [bleu, chrf])
def test_interval_is_positive_and_reproducible(metric):
    score = metric(HYPOTHESES, REFERENCES, resamples=200)
    assert score.interval > 0 and "bs:200" in score.signature
    assert score == metric(HYPOTHESES, REFERENCES, resamples=200)
    assert score.value == metric(HYPOTHESES, REFERENCES).value
    assert str(score).startswith(f"{score.metric} {score.value:.2f} ± {score.interval:.2f} (95 % bootstrap)  nrefs:1|")
    assert "±" not in str(metric(HYPOTHESES, REFERENCES))
    json.dumps(score._asdict())


@pytest.mark.parametrize("metric", [bleu, chrf])
def test_nearly_zero_scores_have_intervals(metric):
    score = metric(["Q", "z", "w", "the cat sat on a mat"], ["a", "b", "c", "the cat sat on a mat"], resamples=100)
    assert score.interval > 0
    assert metric(["Q", "z"], ["a", "b"], resamples=100)[1:3] == (0.0, 0.0)


def test_perfect_translations_score_100():
    assert bleu(REFERENCES, REFERENCES).value == pytest.approx(100)
    assert chrf(tuple(REFERENCES), tuple(REFERENCES)).value == pytest.approx(100)


@pytest.mark.parametrize("metric", [bleu, chrf])
@pytest.mark.parametrize(("hypotheses", "references"), [(["a"], []), (["a"], ["a", "b"]), ([], [])])
def test_different_numbers_of_lines_raise(metric, hypotheses, references):
    message = f"Received: {len(hypotheses)} hypotheses, {len(references)} references"
    with pytest.raises(ValueError, match=message):
        metric(hypotheses, references)


def test_missing_sacrebleu_raises(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    with pytest.raises(ImportError, match="BLEU needs sacrebleu. Install it: .* -m pip install .sacrebleu"):
        bleu(HYPOTHESES, REFERENCES)
