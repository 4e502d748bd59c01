"""Checks of texts and labels that callers pass."""

from collections.abc import Iterable, Sequence
from typing import Any


def check_texts(texts: Sequence[str], name: str = "texts") -> list[str]:
    """Returns the texts as a list of strings that can be encoded as UTF-8.

    Raises:
        ValueError: If `texts` is not a list of strings; the message names the first element that is not a string.
    """
    if isinstance(texts, (str, bytes)):
        raise ValueError(f"`{name}` must be a list of strings. Received: {texts[:40]!r}. Put it into a list.")
    texts = list(texts)
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise ValueError(f"`{name}` must be a list of strings. Received: {name}[{i}]={text!r}.")
    # A lone surrogate cannot be encoded; it is replaced, so that the other texts are still processed.
    return [text.encode("utf-8", "replace").decode("utf-8") for text in texts]


def check_same_length(**lists: Sequence) -> None:
    """Raises `ValueError` if two lists, given by their names, differ in length."""
    (first, one), (second, other) = lists.items()
    if len(one) != len(other):
        raise ValueError(
            f"`{first}` and `{second}` must have the same length. Received: {len(one):,} and {len(other):,} elements."
        )


def check_vocabulary_size(config: Any, tokenizer: Any) -> None:
    """Raises `ValueError` if a model and its vocabulary do not have the same size."""
    if config.vocabulary_size != tokenizer.vocabulary_size:
        raise ValueError(
            "Model and vocabulary must have the same size. Received: "
            f"model.config.vocabulary_size={config.vocabulary_size}, "
            f"tokenizer.vocabulary_size={tokenizer.vocabulary_size}. Use those of the same training run."
        )


def numbers_of(labels: Iterable[str], names: Sequence[str], kind: str = "label") -> list[int]:
    """Returns the number of each label, its place in `names`.

    Raises:
        ValueError: If `names` does not contain a label; the message contains it.
    """
    labels, numbers = list(labels), {name: number for number, name in enumerate(names)}
    if unknown := [label for label in labels if label not in numbers]:
        raise ValueError(f"Each {kind} must be one of {', '.join(names)}. Received: {unknown[0]!r}.")
    return [numbers[label] for label in labels]
