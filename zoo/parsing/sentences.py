"""Texts to words as the Penn treebank has them."""

import functools


def split_words(text: str) -> list[str]:
    """The words of a sentence: "don't" becomes "do", "n't"; quotation marks become `` and ''."""
    return _splitter().tokenize(text)


@functools.cache
def _splitter():
    from nltk.tokenize import TreebankWordTokenizer

    return TreebankWordTokenizer()
