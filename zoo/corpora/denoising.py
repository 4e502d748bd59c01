"""Noise from which an encoder-decoder learns to restore texts, anew in every epoch. NumPy only.

All random choices of an epoch depend on the seed, the epoch and the corpus only: training resumes exactly, and all
workers see the same.
"""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from zoo.config import END_ID
from zoo.corpora.batching import Corpus
from zoo.corpora.encoded_corpus import EncodedCorpus
from zoo.corpora.prepared_corpus import PreparedCorpus, encoded_rows
from zoo.corpora.token_rows import TokenRows
from zoo.text.sentences import split_sentences
from zoo.text.tokenizer import Tokenizer
from zoo.training_config import DenoisingConfig


@dataclass(frozen=True, eq=False)
class EncodedTexts(Corpus):
    """Texts without noise.

    Args:
        tokens: Ids without special ids, at least one in each row.
        begins: Rows like `tokens`, True at the first token of each sentence.
    """

    tokens: TokenRows
    begins: TokenRows

    def __len__(self):
        return len(self.tokens.offsets) - 1

    def arrays(self) -> list[np.ndarray]:
        """Returns all ids, which identify the corpus."""
        return [*self.tokens]

    def lengths(self) -> list[np.ndarray]:
        """Returns the number of tokens of each row."""
        return [self.tokens.lengths]


def encode_texts(texts: Iterable[str] | PreparedCorpus, tokenizer, max_tokens: int, sentences: bool) -> EncodedTexts:
    """Encodes texts as rows of at most `max_tokens` tokens, an end token included; long texts get several rows.

    Args:
        texts: Texts, or a prepared corpus, whose sentences are not known any more.
        tokenizer: A vocabulary, with subword dropout or without.
        max_tokens: Above 1.
        sentences: Whether to find the sentences; otherwise each row counts as one.

    Raises:
        ValueError: If the sentences of a prepared corpus are to be found.
    """
    if not sentences:
        parts = [[""]] * len(encoded := encoded_rows(texts, tokenizer))
    elif isinstance(texts, PreparedCorpus):
        raise ValueError("`permute_sentences` needs texts. Received: a prepared corpus. Leave one of both out.")
    else:
        parts = [*map(split_sentences, texts)]
        encoded = tokenizer.encode([part.strip() for part in itertools.chain.from_iterable(parts)])
    encoded, room = iter(encoded), max_tokens - 1
    rows, begins = [], []
    for sentence_texts in parts:
        ids = [*itertools.islice(encoded, len(sentence_texts))]
        flat = [*itertools.chain.from_iterable(ids)]
        first = [place == 0 for row in ids for place in range(len(row))]
        for start in range(0, len(flat), room):
            rows.append(flat[start : start + room])
            begins.append([True, *first[start + 1 : start + room]])
    return EncodedTexts(TokenRows.of(rows), TokenRows.of(begins, "bool"))


class Noise:
    """Makes pairs of a text with noise and what to restore from encoded texts.

    Args:
        config: Kind and rates of the noise.
        tokenizer: The vocabulary.

    Raises:
        ValueError: If the vocabulary is not one of subwords, or has no sentinels for noise that needs them.
    """

    def __init__(self, config: DenoisingConfig, tokenizer: Tokenizer):
        if not isinstance(tokenizer, Tokenizer):
            raise ValueError(
                "Denoising needs a vocabulary of byte pairs, characters or bytes, as this package learns them. "
                f"Received: a {type(tokenizer).__name__}. Pass another vocabulary, or leave it out, and also the model "
                "to fine-tune if it is that model's."
            )
        if config.objective == "spans" and not len(tokenizer.sentinels):
            raise ValueError(
                "The objective spans needs a vocabulary with sentinels. Received: one without. Leave it out, and also "
                "the model to fine-tune if it is that model's, to learn one; or use that of a model with this "
                "objective, or the objective infilling."
            )
        self._config, self._sentinels, self._mask_id = config, tokenizer.sentinels, tokenizer.mask_id

    def __call__(self, texts: EncodedTexts, seed: Sequence[int]) -> EncodedCorpus:
        """Returns pairs of a text with noise (source) and what to restore (target); the same seed gives the same.

        Raises:
            ValueError: If a row has more spans than there are sentinels.
        """
        config, tokens, rng = self._config, texts.tokens, np.random.default_rng(seed)
        if config.objective == "spans":
            return EncodedCorpus(*hide_spans(tokens, config.rate, config.span_length, self._sentinels, rng))
        shown = permute_sentences(tokens, texts.begins, rng) if config.permute_sentences else tokens
        return EncodedCorpus(infill(shown, config.rate, config.span_length, self._mask_id, rng), tokens)


class DenoisingCorpus(Corpus):
    """Texts with other noise in each epoch.

    Args:
        texts: `EncodedTexts`, or a corpus of them that differ between epochs.
        noise: Makes the noise.
        seed: Seed, which together with the number of the epoch determines the noise.
    """

    def __init__(self, texts: Corpus, noise: Noise, seed: int):
        self._texts, self._noise, self._seed = texts, noise, seed

    def epoch(self, epoch: int) -> EncodedCorpus:
        """Returns the pairs of this epoch."""
        return self._noise(self._texts.epoch(epoch), (self._seed, epoch, 1))  # 1: not as the order of the rows.


def hide_spans(
    rows: TokenRows, rate: float, span_length: float, sentinels: np.ndarray, rng: np.random.Generator
) -> tuple[TokenRows, TokenRows]:
    """Replaces spans by sentinels, as T5 does (Raffel et al. 2020, section 3.1.4).

    Of n tokens, m = round(rate * n) are hidden in k = round(m / span_length) spans, at least one each. As in T5's
    `random_spans_noise_mask`, the m hidden and the n - m other tokens are each divided into k parts at random, and the
    parts alternate. Its `random_roll` then shifts them round the row, which may cut one span in two: otherwise a short
    text with one span would always lose its end. A row of one token stays as it is.

        source: a b <0> e f <1>    target: <0> c d <1> g

    Args:
        rows: Ids.
        rate: Share of hidden tokens.
        span_length: Mean length of a span.
        sentinels: Ids that stand for the first, the second ... span of a row.
        rng: Source of the random choice.

    Returns:
        Sources and targets.

    Raises:
        ValueError: If a row has more spans than there are sentinels.
    """
    longer = rows.lengths > 1
    lengths = rows.lengths[longer]
    num_hidden = np.clip(np.round(rate * lengths), 1, lengths - 1).astype("int64")
    num_spans = np.clip(np.round(num_hidden / span_length), 1, np.minimum(num_hidden, lengths - num_hidden))
    num_spans = num_spans.astype("int64")
    if num_spans.max(initial=0) >= len(sentinels):
        raise ValueError(
            f"A text of {lengths[num_spans.argmax()]} tokens has up to {num_spans.max() + 1} spans. Received: a "
            f"vocabulary with {len(sentinels)} sentinels. Lower `max_tokens` or `rate`, or raise `span_length`."
        )
    parts = [_random_parts(totals, num_spans, rng) for totals in (lengths - num_hidden, num_hidden)]
    parts = np.stack(parts, axis=1).ravel()
    mask = np.repeat(np.arange(len(parts)) % 2 == 1, parts)
    hidden = np.zeros(len(rows.ids), bool)
    hidden[np.repeat(longer, rows.lengths)] = mask[_rolled(lengths, rng)]
    begins = hidden & ~np.append(False, hidden[:-1])
    starts = rows.offsets[:-1]
    begins[starts] = hidden[starts]
    before = _running(begins)
    numbers = before[1:] - 1 - np.repeat(before[rows.offsets[:-1]], rows.lengths)
    marks = sentinels[np.where(begins, numbers, 0)]
    kept = ~hidden | begins
    source = TokenRows(np.where(begins, marks, rows.ids)[kept], _running(kept)[rows.offsets])
    target = np.insert(rows.ids[hidden], np.flatnonzero(begins[hidden]), marks[begins])
    return source, TokenRows(target, (_running(hidden) + before)[rows.offsets])


def infill(rows: TokenRows, rate: float, span_length: float, mask_id: int, rng: np.random.Generator) -> TokenRows:
    """Replaces spans by one mask token each, as BART does (Lewis et al. 2020, section 2.2, text infilling).

    Lengths of spans are drawn from a Poisson distribution until round(rate * n) of the n tokens of a row, at least one,
    are in spans; the last span is cut to fit. Spans of no token insert a mask. All orders of spans and other tokens are
    equally probable; spans do not overlap.

    Args:
        rows: Ids.
        rate: Share of tokens in spans.
        span_length: Mean of the distribution.
        mask_id: Id of the mask token.
        rng: Source of the random choice.
    """
    num_masked = np.clip(np.round(rate * rows.lengths), 1, rows.lengths).astype("int64")
    owners, lengths = _poisson_spans(num_masked, span_length, rng)
    shuffled = np.lexsort((rng.random(len(owners)), owners))
    num_spans = np.bincount(owners, minlength=len(num_masked))
    num_items = rows.lengths - num_masked + num_spans
    is_span = _choose(num_spans, num_items, rng)
    taken = np.ones(len(is_span), "int64")
    taken[is_span] = lengths[shuffled]
    places = _running(taken)[:-1]
    ids = rows.ids[np.minimum(places, len(rows.ids) - 1)]  # A span at the very end may begin behind the last token.
    return TokenRows(np.where(is_span, mask_id, ids), np.append(0, np.cumsum(num_items)))


def permute_sentences(rows: TokenRows, begins: TokenRows, rng: np.random.Generator) -> TokenRows:
    """Puts the sentences of each row into a random order (Lewis et al. 2020, section 2.2); see `EncodedTexts`."""
    sentences = np.cumsum(begins.ids) - 1
    keys = rng.random(int(begins.ids.sum()))[sentences]
    owners = np.repeat(np.arange(len(rows.lengths)), rows.lengths)
    return TokenRows(rows.ids[np.lexsort((keys, owners))], rows.offsets)


def join_spans(source: Sequence[int], target: Sequence[int], sentinels: np.ndarray) -> list[int]:
    """Puts the spans of a target in place of the sentinels of its source: the inverse of `hide_spans`.

    A sentinel that the target lacks is left out; of one that it has repeatedly the first counts.
    """
    known, spans, span = {*sentinels.tolist()}, {}, []
    for token in map(int, target):
        if token == END_ID:
            break
        if token in known:
            span = []
            spans.setdefault(token, span)
        else:
            span.append(token)
    return [token for part in map(int, source) for token in (spans.get(part, ()) if part in known else (part,))]


def _running(counts):
    """Returns the sums of the first 0, 1, 2 ... counts."""
    return np.append(0, np.cumsum(counts, dtype="int64"))


def _choose(counts, sizes, rng):
    """Chooses `counts[i]` of `sizes[i]` items of each row i, all choices equally probable; boolean `[sum(sizes)]`."""
    owners = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((rng.random(len(owners)), owners))
    ranks = np.arange(len(owners)) - np.repeat(_running(sizes)[:-1], sizes)
    chosen = np.empty(len(owners), bool)
    chosen[order] = ranks < np.repeat(counts, sizes)
    return chosen


def _random_parts(totals, counts, rng):
    """Divides `totals[i]` items into `counts[i]` parts of at least one, all divisions equally probable."""
    begins, rows = np.ones(totals.sum(), bool), _running(totals)[:-1]
    others = np.ones(len(begins), bool)
    others[rows] = False
    begins[others] = _choose(counts - 1, totals - 1, rng)
    return np.diff(np.append(np.flatnonzero(begins), len(begins)))


def _rolled(sizes, rng):
    """Returns the places of the items of all rows, those of each row shifted round it by a random number."""
    starts, owners = _running(sizes)[:-1], np.repeat(np.arange(len(sizes)), sizes)
    shifted = np.arange(len(owners)) - starts[owners] + rng.integers(0, sizes)[owners]
    return starts[owners] + shifted % sizes[owners]


def _poisson_spans(totals, mean, rng):
    """Draws lengths of spans until those of each row i sum up to `totals[i]`; returns their rows and lengths."""
    rest, owners, lengths = totals.copy(), [np.zeros(0, "int64")], [np.zeros(0, "int64")]
    while len(active := np.flatnonzero(rest)):
        drawn = np.minimum(rng.poisson(mean, len(active)), rest[active])
        rest[active] -= drawn
        owners.append(active)
        lengths.append(drawn)
    return np.concatenate(owners), np.concatenate(lengths)
