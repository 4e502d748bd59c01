"""Texts as callers hand them in."""

from collections.abc import Sequence


def checked_texts(texts: Sequence[str], name: str = "texts") -> list[str]:
    """The texts as a list of strings that can be encoded.

    Raises:
        ValueError: If they are not a list of strings; the message names the first that is none.
    """
    if isinstance(texts, (str, bytes)):
        raise ValueError(f"`{name}` must be a list of strings. Received: {texts[:40]!r}. Put it into a list.")
    texts = list(texts)
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise ValueError(f"`{name}` must be a list of strings. Received: {name}[{i}]={text!r}.")
    # A lone surrogate is no text and cannot be encoded; its neighbours should not suffer.
    return [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
