"""A baseline for language models: n-grams with interpolated Kneser-Ney smoothing, by NLTK."""

import collections
import functools
import math
from collections.abc import Callable, Sequence

from zoo.extras import require

DISCOUNT = 0.75  # As usual; NLTK's default of 0.1 is for tiny corpora.
_BEGIN = "<s>"
_UNSEEN = 1e-6  # Share of the probability for tokens that no n-gram has, spread evenly over the vocabulary.


def check_order(order: int) -> None:
    """Raises `ValueError` if n-grams of so many tokens cannot be smoothed."""
    if order < 2:
        raise ValueError(f"An n-gram model needs an order of at least 2. Received: order={order}. Use 5.")


def kneser_ney_loss(
    train: Sequence[Sequence[int]],
    dev: Sequence[Sequence[int]],
    order: int,
    vocabulary_size: int,
    progress: Callable[[int], None] | None = None,
) -> float:
    """Computes the loss of a Kneser-Ney model (Kneser and Ney 1995; interpolated: Chen and Goodman 1999).

    Args:
        train, dev: Ids of documents; the first of each dev document is given and not predicted.
        order: Tokens of the longest n-gram.
        vocabulary_size: Number of tokens.
        progress: Called with the number of tokens scored since the last call.

    Returns:
        The mean negative log-probability of the dev tokens, in nats.

    Raises:
        ImportError: If NLTK is not installed.
        ValueError: If `order` is below 2, or there is no training token.
    """
    check_order(order)
    if not any(map(len, train)):
        raise ValueError("An n-gram model needs training texts. Received: none. Check the files.")
    require("A baseline of n-grams", "nltk")
    from nltk.lm import KneserNeyInterpolated
    from nltk.lm.models import InterpolatedLanguageModel
    from nltk.lm.smoothing import KneserNey
    from nltk.util import everygrams

    class IndexedKneserNey(KneserNey):
        """NLTK's, which searches all n-grams for each probability, with a table of what it searches for."""

        @functools.cached_property
        def _tables(self):
            return {}

        def _continuation_counts(self, word, context=()):
            length = len(context)
            if length not in self._tables:
                table = self._tables[length] = collections.defaultdict(collections.Counter)
                for prefix, counts in self.counts[length + 2].items():
                    table[prefix[1:]].update(dict.fromkeys(counts, 1))
                for following in table.values():
                    following[None] = sum(following.values())  # No token is None.
            following = self._tables[length].get(context, {})
            return following.get(word, 0), following.get(None, 0)

    class IndexedModel(KneserNeyInterpolated):
        def __init__(self):
            options = {"discount": DISCOUNT, "order": order}
            InterpolatedLanguageModel.__init__(self, IndexedKneserNey, order, params=options)

    padding = [_BEGIN] * (order - 1)  # Without it, NLTK divides by zero after the first tokens of a document.
    train, dev = ([[*padding, *map(str, row)] for row in rows] for rows in (train, dev))
    model = IndexedModel()
    model.fit([everygrams(document, max_len=order) for document in train], [*{token for row in train for token in row}])
    score = functools.lru_cache(2**18)(lambda token, context: model.score(token, context))
    nats, count = 0.0, 0
    for document in dev:
        for place in range(order, len(document)):
            context = tuple(document[place - order + 1 : place])
            probability = (1 - _UNSEEN) * score(document[place], context) + _UNSEEN / vocabulary_size
            nats, count = nats - math.log(probability), count + 1
        if progress is not None:
            progress(len(document) - len(padding))
    return nats / max(1, count)
