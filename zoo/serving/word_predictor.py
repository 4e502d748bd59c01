"""Base class of predictors of a label for each word."""

from collections.abc import Sequence

import numpy as np

from zoo.config import TaggerConfig
from zoo.corpora.labelled_corpus import LabelledCorpus
from zoo.corpora.word_rows import encode_windows, labelled_windows, window_characters
from zoo.models.tagger import Tagger
from zoo.serving.encoder_predictor import EncoderPredictor
from zoo.serving.predictor import Progress
from zoo.text.checks import check_same_length, numbers_of


class WordPredictor(EncoderPredictor):
    """Predicts a label for each word of a sentence with a `zoo.models.tagger.Tagger`.

    The label of a word is predicted at its first subword. Sentences of more than `max_tokens` tokens are split into
    windows of as many whole words as fit.
    """

    model_class, config_class = Tagger, TaggerConfig

    def probabilities(self, sentences: Sequence[Sequence[str]], progress: Progress = None) -> list[np.ndarray]:
        """Computes the probability of each label for each word, float32 `[words, L]` for each sentence.

        Args:
            sentences: Lists of words, none of which is empty. A list may have no words.
            progress: Called with the number of windows done since the last call.

        Raises:
            ValueError: If a sentence is not a list of words; the message contains it.
        """
        tokens, first_subwords, owners = encode_windows(sentences, self.tokenizer, self.max_tokens)
        rows = {"token_ids": tokens}
        if "character_ids" in self.inputs:
            rows["character_ids"] = window_characters(tokens, first_subwords, sentences)
        found = [[np.zeros((0, len(self.labels)), "float32")] for _ in sentences]
        for probabilities, places, owner in zip(self.predict(rows, progress), first_subwords, owners):
            found[owner].append(probabilities[places])
        return [np.concatenate(parts) for parts in found]

    def word_labels(self, sentences: Sequence[Sequence[str]], progress: Progress = None) -> list[list[str]]:
        """Predicts the label of each word; arguments and errors as for `probabilities`."""
        return [[self.labels[i] for i in rows.argmax(-1)] for rows in self.probabilities(sentences, progress)]

    def encode_examples(self, sentences: Sequence[Sequence[str]], labels: Sequence[Sequence[str]]) -> LabelledCorpus:
        """Encodes sentences and the labels of their words; long sentences are split into windows."""
        check_same_length(sentences=sentences, labels=labels)
        for number, (words, row) in enumerate(zip(sentences, labels)):
            check_same_length(**{f"sentences[{number}]": words, f"labels[{number}]": row})
        numbers = [numbers_of(row, self.labels) for row in labels]
        characters = "character_ids" in self.inputs
        return labelled_windows(sentences, numbers, self.tokenizer, self.max_tokens, characters)

    def _make_service(self, limits):
        from zoo.tf.predictor_service import LabellingService

        return LabellingService(self, limits)

    def _compare(self, signature, probes):
        sentences = [text.split() for text in probes]
        width = max(map(len, sentences))
        words = np.array([[*sentence, *[""] * (width - len(sentence))] for sentence in sentences])
        found, real = signature(words=words.tolist()), words != ""
        own = np.concatenate(self.probabilities(sentences))
        return own, found["labels"].numpy()[real], found["probabilities"].numpy()[real]
