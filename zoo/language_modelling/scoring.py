"""Windows in which a language model predicts every token of some documents once, each with context."""

from collections.abc import Sequence

import numpy as np

from zoo.corpora.labelled_corpus import NO_LABEL
from zoo.corpora.token_rows import TokenRows


def scored_windows(documents: Sequence[Sequence[int]], width: int, stride: int) -> tuple[TokenRows, TokenRows]:
    """Splits documents into windows of at most `width` inputs, in which each token is a label once.

    Windows begin every `stride` tokens. Those after the first predict their last `stride` tokens only, so that each
    token has at least `width - stride` tokens of context, or all there are.

    Args:
        documents: Ids; the first of each is given and not predicted.
        width: Tokens T that the model reads.
        stride: From 1 to `width`; `width` gives the shortest context and takes the least time.

    Returns:
        Ids of the windows, and the tokens that follow them, NO_LABEL where a token is predicted in another window.
    """
    if not 1 <= stride <= width:
        raise ValueError(f"`stride` must lie between 1 and the context of {width} tokens. Received: stride={stride}.")
    inputs, labels = [], []
    for document in documents:
        done = 1  # Tokens that need no prediction any more.
        for first in range(0, max(1, len(document) - 1), stride):
            window, following = document[first : first + width], document[first + 1 : first + width + 1]
            if len(following) and first + len(following) >= done:
                known = done - first - 1
                inputs.append(window[: len(following)])
                labels.append([NO_LABEL] * known + [*following[known:]])
                done = first + len(following) + 1
    return TokenRows.of(inputs), TokenRows.of(labels)


def bits_per_character(nats: float, characters: int) -> float:
    """Converts a sum of negative log-probabilities in nats to bits for each character."""
    return float(nats / np.log(2) / max(1, characters))
