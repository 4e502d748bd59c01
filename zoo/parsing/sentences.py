"""Encoding of sentences as windows, and joining of the trees of windows."""

from collections.abc import Sequence
from typing import NamedTuple

from zoo.corpora.token_rows import TokenRows
from zoo.corpora.word_rows import encode_windows
from zoo.parsing.trees import ROOT, Tree, escape_brackets
from zoo.text.vocabularies import Vocabulary
from zoo.text.words import split_words


class Windows(NamedTuple):
    """Sentences as windows of whole words; see `zoo.corpora.word_rows.encode_windows`.

    Args:
        sentences: The words of each sentence as models read them, with brackets escaped.
        words: The original words of each window.
        tokens, places, owners: Of each window its ids, the positions of first subwords, the number of its sentence.
    """

    sentences: list[list[str]]
    words: list[Sequence[str]]
    tokens: TokenRows
    places: list[list[int]]
    owners: list[int]

    def join(self, trees: Sequence[Tree]) -> list[Tree | None]:
        """Joins the trees of the windows of each sentence under one root; None for a sentence without words."""
        children = [[] for _ in self.sentences]
        for tree, owner in zip(trees, self.owners):
            children[owner] += [*tree]
        return [Tree(ROOT, nodes) if nodes else None for nodes in children]


def encode_sentences(sentences: Sequence[str | Sequence[str]], tokenizer: Vocabulary, max_tokens: int) -> Windows:
    """Encodes sentences, which are texts or lists of words, as windows of at most `max_tokens` tokens.

    Raises:
        ValueError: If `sentences` is not such a list; the message contains the first invalid sentence.
    """
    if isinstance(sentences, (str, bytes)):
        raise ValueError(f"`sentences` must be a list. Received: {sentences[:40]!r}. Put it into a list.")
    for number, sentence in enumerate(sentences):
        if not isinstance(sentence, (str, list, tuple)):
            raise ValueError(
                f"A sentence must be a text or a list of words. Received: sentences[{number}]={sentence!r}. Pass one "
                "of them."
            )
    words = [split_words(sentence) if isinstance(sentence, str) else sentence for sentence in sentences]
    escaped = [[escape_brackets(word) if isinstance(word, str) else word for word in row] for row in words]
    tokens, places, owners = encode_windows(escaped, tokenizer, max_tokens)
    rest = [iter(row) for row in words]
    parts = [[next(rest[owner]) for _ in row] for row, owner in zip(places, owners)]
    return Windows(escaped, parts, tokens, places, owners)
