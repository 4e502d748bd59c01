"""Tests of `TextClassifier`."""

import numpy as np
import pytest

from zoo.classification.predictor import TextClassifier
from zoo.text.tokenizer_training import train_tokenizer

TEXTS = ["te lo sol", "nok", "", "fris " * 40, "🙂 sol", " ", "pana kir ute bim drum", "mira\nte"]


def test_class_does_not_depend_on_batch(trained):
    original = trained.classifier
    options = {"max_tokens": 32, "batch_tokens": 40, "temperature": original.temperature}
    small = TextClassifier(original.model, original.tokenizer, original.labels, **options)
    together = trained.classifier.probabilities(TEXTS)
    np.testing.assert_allclose(together.sum(1), 1, atol=1e-6)
    for classifier in (trained.classifier, small):
        alone = np.concatenate([classifier.probabilities([text]) for text in TEXTS])
        np.testing.assert_allclose(alone, together, atol=1e-5)
        np.testing.assert_allclose(classifier.probabilities(TEXTS[::-1]), together[::-1], atol=1e-5)


def test_classes_have_highest_probability(trained):
    for (label, probability), row in zip(
        trained.classifier.classify(TEXTS), trained.classifier.probabilities(TEXTS), strict=True
    ):
        assert label == trained.classifier.labels[row.argmax()] and probability == pytest.approx(row.max(), abs=1e-6)


def test_long_texts_are_truncated_and_reported(trained):
    tokens, _, cut = trained.classifier.rows(TEXTS)
    assert cut.tolist() == [3] and tokens.lengths.max() == 32
    kept = "fris " * 30
    np.testing.assert_allclose(*(trained.classifier.probabilities([text]) for text in (TEXTS[3], kept)), atol=1e-6)


def test_progress_and_empty_list(trained):
    done = []
    trained.classifier.classify(TEXTS, progress=done.append)
    assert sum(done) == len(TEXTS)
    assert trained.classifier.classify([]) == [] and trained.classifier.probabilities([]).shape == (0, 3)


@pytest.mark.parametrize(
    ("texts", "message"), [("te", "Received: 'te'. Put it into a list"), (["te", None], r"texts\[1\]=None")]
)
def test_not_a_list_of_strings_raises(trained, texts, message):
    with pytest.raises(ValueError, match=message):
        trained.classifier.classify(texts)


def test_mismatched_sizes_raise(trained):
    classifier = trained.classifier
    with pytest.raises(ValueError, match="must have the sizes of the model, .* tokens and 3 labels.*same training run"):
        TextClassifier(classifier.model, classifier.tokenizer, ["a", "b"])
    with pytest.raises(ValueError, match="same training run"):
        TextClassifier(classifier.model, train_tokenizer(["mano tek"], 300), classifier.labels)
