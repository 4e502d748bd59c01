"""A trained tagger: lists of words in, lists of labels out."""

from collections.abc import Callable, Sequence

import numpy as np

from zoo.config import TaggerConfig
from zoo.labelled_corpus import NO_LABEL, framed_rows
from zoo.models.tagger import Tagger
from zoo.predictor import Predictor
from zoo.texts import checked_texts
from zoo.token_rows import TokenRows
from zoo.word_shapes import token_shapes


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
        if "shape_ids" in self.inputs:
            rows["shape_ids"] = window_shapes(tokens, first_subwords, owners, sentences)
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


def window_labels(tokens: TokenRows, places, owners, labels: Sequence[Sequence[int]]) -> TokenRows:
    """Labels for every token of the windows: those of words at their first subwords, NO_LABEL elsewhere."""
    rows = []
    for length, firsts, own in _with_own(tokens, places, owners, labels):
        row = [NO_LABEL] * length
        for place, label in zip(firsts, own):
            row[place] = label
        rows.append(row)
    return TokenRows.of(rows)


def window_shapes(tokens: TokenRows, places, owners, sentences: Sequence[Sequence[str]]) -> TokenRows:
    """The shape of its word, of `zoo.word_shapes`, for every token of the windows."""
    return TokenRows.of([token_shapes(*window) for window in _with_own(tokens, places, owners, sentences)])


def _with_own(tokens, places, owners, of_words):
    """(tokens, places of first subwords, what belongs to its words) of each window."""
    done = {}
    for length, firsts, owner in zip(tokens.lengths.tolist(), places, owners):
        start = done.get(owner, 0)
        done[owner] = start + len(firsts)
        yield length, firsts, of_words[owner][start : start + len(firsts)]
