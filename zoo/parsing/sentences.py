"""Sentences to words, and the trees of their parts to trees of sentences."""

import functools
from collections.abc import Sequence

from zoo.parsing.trees import ROOT, Tree, escaped


def split_words(text: str) -> list[str]:
    """The words of a sentence as the Penn treebank has them: "don't" is "do", "n't"; quotation marks are `` and ''."""
    return _splitter().tokenize(text)


@functools.cache
def _splitter():
    from nltk.tokenize import TreebankWordTokenizer

    return TreebankWordTokenizer()


def words_of(sentences: Sequence[str | Sequence[str]]) -> tuple[list[Sequence[str]], list[list[str]]]:
    """The words of sentences, of which texts are split, and the same as models read them, with brackets escaped.

    Raises:
        ValueError: If they are no list of texts or of lists of words; the message names the first that is neither.
    """
    if isinstance(sentences, (str, bytes)):
        raise ValueError(f"`sentences` must be a list. Received: {sentences[:40]!r}. Put it into a list.")
    for number, sentence in enumerate(sentences):
        if not isinstance(sentence, (str, list, tuple)):
            raise ValueError(
                f"A sentence must be a text or a list of words. Received: sentences[{number}]={sentence!r}."
            )
    words = [split_words(sentence) if isinstance(sentence, str) else sentence for sentence in sentences]
    return words, [[escaped(word) if isinstance(word, str) else word for word in row] for row in words]


def window_words(
    sentences: Sequence[Sequence[str]], places: Sequence[Sequence[int]], owners: Sequence[int]
) -> list[Sequence[str]]:
    """The words of each window of `zoo.corpora.word_rows.windows`."""
    found, done = [], [0] * len(sentences)
    for row, owner in zip(places, owners):
        first = done[owner]
        done[owner] += len(row)
        found.append(sentences[owner][first : done[owner]])
    return found


def joined(trees: Sequence[Tree], owners: Sequence[int], count: int) -> list[Tree | None]:
    """The trees of `count` sentences: those of their windows side by side under the root; None for no window."""
    children = [[] for _ in range(count)]
    for tree, owner in zip(trees, owners):
        children[owner] += [*tree]
    return [Tree(ROOT, nodes) if nodes else None for nodes in children]
