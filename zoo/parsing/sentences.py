"""Encoding of sentences as windows, and joining of the trees of windows."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from zoo.corpora.token_rows import TokenRows
from zoo.corpora.word_rows import encode_windows
from zoo.parsing.trees import ROOT, Tree, clean_tree, escape_brackets
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


def leaves_of(trees: Sequence[Tree]) -> list[list[str]]:
    """Returns the words of each tree as models read them, with brackets escaped."""
    return [[escape_brackets(word) for word in tree.leaves()] for tree in trees]


def whole_sentences(words: Sequence[Sequence[str]], tokenizer: Vocabulary, max_tokens: int) -> np.ndarray:
    """Returns the numbers of the sentences that have at most `max_tokens` tokens, special tokens included."""
    _, _, owners = encode_windows(words, tokenizer, max_tokens)
    return np.flatnonzero(np.bincount(owners, minlength=len(words)) == 1)


def check_trees(trees: Sequence[Tree], tokenizer: Vocabulary, max_tokens: int) -> list[Tree]:
    """Returns the cleaned trees.

    Raises:
        ValueError: If a tree has no words, or its sentence more than `max_tokens` tokens.
    """
    cleaned = [clean_tree(tree) for tree in trees]
    whole = {*whole_sentences(leaves_of([tree for tree in cleaned if tree]), tokenizer, max_tokens).tolist()}
    if None in cleaned or len(whole) < len(cleaned):
        number = next((i for i, tree in enumerate(cleaned) if tree is None or i not in whole), 0)
        raise ValueError(
            f"Each tree must have words, and at most {max_tokens} tokens. Received: trees[{number}] of "
            f"{len(trees[number].leaves())} words. Leave it out."
        )
    return cleaned
