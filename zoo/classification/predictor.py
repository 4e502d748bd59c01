"""The predictor of classes of texts."""

from collections.abc import Sequence

import numpy as np

from zoo.config import ClassifierConfig
from zoo.corpora.labelled_corpus import LabelledCorpus, frame_rows
from zoo.models.classifier import Classifier
from zoo.serving.encoder_predictor import EncoderPredictor
from zoo.serving.predictor import Progress
from zoo.text.checks import check_same_length, check_texts, numbers_of

Text = str | Sequence[str]


class TextClassifier(EncoderPredictor):
    """Classifies texts, or pairs of texts, with a `zoo.models.classifier.Classifier`."""

    task, model_class, config_class = "classification", Classifier, ClassifierConfig

    def classify(self, texts: Sequence[Text], progress: Progress = None) -> list[tuple[str, float]]:
        """Predicts the class of each text; returns (class, probability) for each.

        Args:
            texts: List of strings, which may be empty; for a model of pairs, list of pairs of strings. Texts of more
                than `max_tokens` tokens are truncated; see `rows`.
            progress: Called with the number of texts done since the last call.

        Raises:
            ValueError: If `texts` is not such a list; the message contains the first invalid element.
        """
        probabilities = self.probabilities(texts, progress)
        return [(self.labels[row.argmax()], float(row.max())) for row in probabilities]

    def probabilities(self, texts: Sequence[Text], progress: Progress = None) -> np.ndarray:
        """Computes the probability of each class, float32 `[N, C]`, in the order of `labels`; see `classify`."""
        tokens, segments, _ = self.rows(texts)
        found = self.predict({"token_ids": tokens, "segment_ids": segments}, progress)
        return np.stack(found) if found else np.zeros((0, len(self.labels)), "float32")

    def rows(self, texts: Sequence[Text]):
        """Encodes texts for the model; returns ids, segments, and the numbers of the truncated texts."""
        return encode_texts(texts, self.tokenizer, self.model.config.num_texts > 1, self.max_tokens)

    def encode_examples(self, texts: Sequence[Text], labels: Sequence[str]) -> LabelledCorpus:
        """Encodes texts, or pairs of texts, and their labels; long texts are truncated."""
        check_same_length(texts=texts, labels=labels)
        tokens, segments, _ = self.rows(texts)
        numbers = np.array(numbers_of(labels, self.labels), "int32")
        return LabelledCorpus(tokens, numbers, {"segment_ids": segments} if self.model.config.num_texts > 1 else {})

    def _make_service(self, limits):
        from zoo.tf.predictor_service import ClassificationService

        return ClassificationService(self, limits)

    def _compare(self, signature, probes):
        pairs = self.model.config.num_texts > 1
        texts = [*zip(probes, probes[::-1])] if pairs else probes
        found = signature(**dict(zip(("text", "second"), map(list, zip(*texts)) if pairs else [texts])))
        return self.probabilities(texts), found["labels"].numpy(), found["probabilities"].numpy().max(-1)


def encode_texts(texts, tokenizer, pairs, max_tokens):
    """Encodes strings or, with `pairs`, pairs of strings; see `zoo.corpora.labelled_corpus.frame_rows`."""
    if not pairs:
        sides = [check_texts(texts)]
    else:
        if isinstance(texts, (str, bytes)):
            check_texts(texts)
        for i, pair in enumerate(texts):
            if isinstance(pair, (str, bytes)) or len(pair) != 2:
                raise ValueError(
                    f"`texts` must be a list of pairs of strings. Received: texts[{i}]={pair!r}. Pass two strings."
                )
        sides = [check_texts([pair[side] for pair in texts]) for side in (0, 1)]
    ids = zip(*(tokenizer.encode(side) for side in sides))
    return frame_rows([*ids], tokenizer.start_id, tokenizer.end_id, max_tokens)
