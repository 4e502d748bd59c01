"""Checks of texts that callers pass."""

from collections.abc import Sequence


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
