"""BPE-dropout: random segmentation of words by skipping merges of byte-pair encoding."""

import functools
import re
import typing

import numpy as np

from zoo.text.case_markup import BEGIN_PIECE

_SPACE = "\u2581"
_WORD = re.compile(f"{BEGIN_PIECE}|{_SPACE}?[^{_SPACE}]+|{_SPACE}")
_CACHED = 2**17
_NO_MERGE = -float("inf")


class MergeSampler:
    """Encodes texts with BPE-dropout (Provilkov et al. 2020, algorithm 1).

    Encoding begins with the characters of a word. In each round, each possible merge is skipped with
    probability p, and the best of the others is applied; the word is finished when none is left. A word without
    a skip (most words, at p = 0.1) costs one table lookup.

    The sampling of sentencepiece itself never returns to a skipped merge and therefore splits more at the same
    rate. In version 0.2.3 no seed makes it repeatable in another process, which resuming a training run and
    reproducing a result both need.

    Args:
        processor: A sentencepiece processor of a BPE model whose pieces have spaces at the beginning only.
    """

    def __init__(self, processor):
        self._normalize = processor.normalize  # Adds a space before the first word and writes spaces as U+2581.
        self._ids, self._scores = {}, {}
        for i in range(processor.vocab_size()):
            if processor.is_control(i) or processor.is_unknown(i):
                continue
            self._ids[processor.id_to_piece(i)] = i
            if not processor.is_byte(i):
                self._scores[processor.id_to_piece(i)] = processor.get_score(i)
        if any(_SPACE in piece[1:] for piece in self._scores):
            raise ValueError(
                "Subword dropout needs a vocabulary whose pieces have spaces at their beginning only. "
                "Train it with train_tokenizer."
            )
        self._word = functools.lru_cache(_CACHED)(lambda word: self._walk(self._symbols(word)))
        self._skip = functools.lru_cache(_CACHED)(self._uncached_skip)

    def encode(self, texts: typing.Sequence[str], rate: float, rng: np.random.Generator) -> list[list[int]]:
        """Encodes each text as a list of ids; the same texts, rate and state of `rng` give the same ids."""
        rows = [_WORD.findall(self._normalize(text)) for text in texts]
        first_skips, skips = _geometric(rate, rng), _geometric(1 - rate, rng)
        return [[i for word in row for i in self._sample(word, first_skips, skips)] for row in rows]

    def _symbols(self, word):
        """Returns the symbols to begin with: the characters, but a marker of capitals is one symbol."""
        return (word,) if word == BEGIN_PIECE and word in self._ids else tuple(word)

    def _sample(self, word, first_skips, skips):
        """Encodes a word; the iterators draw the number of the first merge to be skipped, and how many are skipped."""
        path, ids = self._word(word)
        while (first := next(first_skips)) < len(path):
            path, ids = self._skip(path[first - 1], next(skips))
        return ids

    def _walk(self, symbols):
        """Returns all segmentations from here to the end without a skip, and the ids of the last."""
        path, scores = [symbols], self._pair_scores(symbols)
        while scores and (best := max(scores)) > _NO_MERGE:
            place = scores.index(best)
            symbols = _merged(symbols, place)
            path.append(symbols)
            around = max(0, place - 1)  # Only the pairs with the new symbol are new.
            scores[around : place + 2] = self._pair_scores(symbols[around : place + 2])
        return path, self._encode_symbols(symbols)

    def _uncached_skip(self, symbols, count):
        """Returns the walk after skipping the `count` best merges; if there are no others, the walk ends here."""
        merges = self._merges(symbols)
        if count >= len(merges):
            return [symbols], self._encode_symbols(symbols)
        return self._walk(_merged(symbols, merges[count]))

    def _merges(self, symbols):
        """Returns the positions at which two symbols can be merged, best first."""
        scores = self._pair_scores(symbols)
        merges = [i for i, score in enumerate(scores) if score > _NO_MERGE]
        return sorted(merges, key=scores.__getitem__, reverse=True)  # Which keeps the order of equal ones.

    def _pair_scores(self, symbols):
        return [self._scores.get(a + b, _NO_MERGE) for a, b in zip(symbols, symbols[1:])]

    def _encode_symbols(self, symbols):
        ids = []
        for symbol in symbols:
            if symbol in self._scores:
                ids.append(self._ids[symbol])
            else:
                ids += [self._ids[f"<0x{byte:02X}>"] for byte in symbol.encode("utf-8")]
        return ids


def _merged(symbols, place):
    return (*symbols[:place], symbols[place] + symbols[place + 1], *symbols[place + 2 :])


def _geometric(success, rng):
    """Yields endless draws of the number of trials up to the first success; draws in blocks, which is much faster."""
    while True:
        yield from rng.geometric(success, 4096).tolist()
