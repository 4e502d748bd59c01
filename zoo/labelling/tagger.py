"""A trained tagger: lists of words in, lists of labels out."""

from collections.abc import Callable, Sequence

import numpy as np

from zoo.config import TaggerConfig
from zoo.labelled_corpus import NO_LABEL, framed_rows
from zoo.models.tagger import Tagger
from zoo.predictor import Predictor
from zoo.texts import checked_texts
from zoo.token_rows import TokenRows
from zoo.word_characters import word_characters


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

    def _make_service(self):
        from zoo.tf.predictor_service import LabellingService

        return LabellingService(self)

    def _ask(self, signature, probes):
        """To the words of some texts, this tagger's rows of probabilities, and an exported one's labels and theirs."""
        sentences = [text.split() for text in probes]
        width = max(map(len, sentences))
        words = np.array([[*sentence, *[""] * (width - len(sentence))] for sentence in sentences])
        found, real = signature(words=words.tolist()), words != ""
        own = np.concatenate(self.probabilities(sentences))
        return own, found["labels"].numpy()[real], found["probabilities"].numpy()[real]


def windows(sentences, tokenizer, max_tokens) -> tuple[TokenRows, list[list[int]], list[int]]:
    """Sentences cut into rows that fit, whole words each.

    Returns:
        Ids; for each row the places of its words' first subwords; the sentence it belongs to.
    """
    room = max_tokens - 2
    rows, places, owners = [], [], []
    for number, words in enumerate(sentences):
        begun = False
        for ids in _subwords(words, number, tokenizer):
            if not begun or len(rows[-1][0]) + len(ids[:room]) > room:
                rows.append([[]])
                places.append([])
                owners.append(number)
                begun = True
            places[-1].append(len(rows[-1][0]) + 1)
            rows[-1][0] += ids[:room]
    tokens, _, _ = framed_rows(rows, tokenizer.start_id, tokenizer.end_id, max_tokens)
    return tokens, places, owners


def _subwords(words, number, tokenizer):
    if isinstance(words, (str, bytes)):
        raise ValueError(
            f"`sentences` must be lists of words. Received: sentences[{number}]={words[:40]!r}. Split it into words."
        )
    words = checked_texts(words, f"sentences[{number}]")
    for i, word in enumerate(words):
        if not word.strip():
            raise ValueError(f"No word may be empty. Received: sentences[{number}][{i}]={word!r}.")
    return [ids or [tokenizer.unknown_id] for ids in tokenizer.encode(words)]


def window_labels(tokens: TokenRows, places, labels: Sequence[Sequence[int]]) -> TokenRows:
    """Labels for every token of the windows: those of words at their first subwords, NO_LABEL elsewhere."""
    ids = np.full(len(tokens.ids), NO_LABEL, "int32")
    ids[_first_subwords(tokens, places)] = [label for row in labels for label in row]
    return TokenRows(ids, tokens.offsets)


def window_characters(tokens: TokenRows, places, sentences: Sequence[Sequence[str]]) -> TokenRows:
    """The characters of its word, of `zoo.word_characters`, for every token of the windows; none at their two ends."""
    characters = word_characters([word for words in sentences for word in words])
    begins, inside = np.zeros(len(tokens.ids), int), np.ones(len(tokens.ids), bool)
    begins[_first_subwords(tokens, places)] = 1
    inside[[*tokens.offsets[:-1], *(tokens.offsets[1:] - 1)]] = False
    ids = np.zeros((len(tokens.ids), characters.shape[1]), "int32")
    ids[inside] = characters[np.cumsum(begins)[inside] - 1]
    return TokenRows(ids, tokens.offsets)


def _first_subwords(tokens, places):
    """Where in `tokens.ids` each word begins: int64 `[words]`; windows have the words of all sentences in order."""
    starts = np.repeat(tokens.offsets[:-1], [len(row) for row in places])
    return starts + np.array([place for row in places for place in row], int)
