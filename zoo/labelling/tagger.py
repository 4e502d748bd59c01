"""A trained tagger: lists of words in, lists of labels out."""

from collections.abc import Callable, Sequence

import numpy as np

from zoo.config import TaggerConfig
from zoo.corpora.word_rows import window_characters, windows
from zoo.models.tagger import Tagger
from zoo.serving.predictor import Predictor


class WordTagger(Predictor):
    """A `zoo.models.tagger.Tagger` with its vocabulary and the names of its labels; see `Predictor`.

    The first subword of a word carries its label. Sentences of more than `max_tokens` tokens are tagged in windows of
    as many whole words as fit.
    """

    task, model_class, config_class = "labelling", Tagger, TaggerConfig

    def tag(self, sentences: Sequence[Sequence[str]], progress: Callable[[int], None] | None = None) -> list[list[str]]:
        """The label of each word.

        Args:
            sentences: Lists of words, none of them empty. A sentence without words gets no labels.
            progress: Called with the number of windows done since the last call.

        Raises:
            ValueError: If a sentence is no list of words; the message names it.
        """
        return [[self.labels[i] for i in rows.argmax(-1)] for rows in self.probabilities(sentences, progress)]

    def probabilities(
        self, sentences: Sequence[Sequence[str]], progress: Callable[[int], None] | None = None
    ) -> list[np.ndarray]:
        """The probability of each label for each word, float32 `[words, L]` a sentence; arguments as for `tag`."""
        tokens, first_subwords, owners = windows(sentences, self.tokenizer, self.max_tokens)
        rows = {"token_ids": tokens}
        if "character_ids" in self.inputs:
            rows["character_ids"] = window_characters(tokens, first_subwords, sentences)
        found = [[np.zeros((0, len(self.labels)), "float32")] for _ in sentences]
        for probabilities, places, owner in zip(self.predict(rows, progress), first_subwords, owners):
            found[owner].append(probabilities[places])
        return [np.concatenate(parts) for parts in found]

    def _make_service(self, limits):
        from zoo.tf.predictor_service import LabellingService

        return LabellingService(self, limits)

    def _ask(self, signature, probes):
        """To the words of some texts, this tagger's rows of probabilities, and an exported one's labels and theirs."""
        sentences = [text.split() for text in probes]
        width = max(map(len, sentences))
        words = np.array([[*sentence, *[""] * (width - len(sentence))] for sentence in sentences])
        found, real = signature(words=words.tolist()), words != ""
        own = np.concatenate(self.probabilities(sentences))
        return own, found["labels"].numpy()[real], found["probabilities"].numpy()[real]
