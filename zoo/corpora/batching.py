"""Batches of about as many tokens each, with little padding, in an order that a seed decides. NumPy only."""

import itertools
import typing

import numpy as np

from zoo.corpora.token_rows import TokenRows

Batch = dict[str, np.ndarray]


class Corpus(typing.Protocol):
    """What can be cut into batches: rows of one or two sides, such as `EncodedCorpus`."""

    def epoch(self, epoch: int) -> "Corpus":
        """The corpus as training sees it in this epoch."""

    def lengths(self) -> list[np.ndarray]:
        """Positions `[rows]` that each side takes."""

    def gather(self, rows: np.ndarray, widths: list[int], fill: int) -> Batch:
        """The chosen rows as arrays, the sides padded to `widths`, and `fill` rows of padding behind them."""


_ROW_MULTIPLE = 8


def token_batches(
    corpus: Corpus,
    batch_tokens: int,
    *,
    seed: int,
    epoch: int = 0,
    pad_multiple: int = 1,
    skip: int = 0,
) -> typing.Iterator[Batch]:
    """One epoch: every row once, in batches and an order that (seed, epoch) decides.

    Args:
        corpus: Such as `encode_corpus` makes.
        batch_tokens: Most positions of a batch on any side: for pairs, B * max(S, T) <= batch_tokens.
        seed, epoch: Non-negative; the same two give the same batches.
        pad_multiple: Rounds widths up to multiples, for compilers that compile each shape anew. Then batches
            of the same widths also have the same B, a multiple of 8 where eight rows fit: rows of padding
            alone fill up. 1 pads to the longest row and adds no rows.
        skip: Leaves out that many batches at the beginning, without gathering them.

    Yields:
        What `corpus.gather` returns.

    Raises:
        ValueError: If a row alone has more than `batch_tokens` positions on a side.
    """
    corpus = corpus.epoch(epoch)
    plan = _BatchPlan(corpus, batch_tokens, pad_multiple, np.random.default_rng([seed, epoch]))
    for number in range(skip, len(plan)):
        yield plan.gather(number)


class BatchStream:
    """Endless batches, epoch after epoch, that can go on where an earlier stream stopped.

    Args:
        corpus, batch_tokens, seed, pad_multiple: As for `token_batches`.
        start: (epoch, batch) of the first batch.
    """

    def __init__(
        self,
        corpus: Corpus,
        batch_tokens: int,
        *,
        seed: int,
        start: tuple[int, int] = (0, 0),
        pad_multiple: int = 1,
    ):
        self._corpus, self._batch_tokens, self._pad_multiple = corpus, batch_tokens, pad_multiple
        self._seed, self._start = seed, tuple(start)
        self._sizes = {}

    def __iter__(self) -> typing.Iterator[Batch]:
        first, skip = self._start
        for epoch in itertools.count(first):
            plan = self._plan(epoch)
            if epoch == first and skip > len(plan):
                raise ValueError(
                    f"`start` must lie in its epoch of {len(plan)} batches. Received: start={self._start}. "
                    "Were the corpus, batch_tokens or the seed other ones when the training began?"
                )
            self._sizes[epoch] = len(plan)
            yield from map(plan.gather, range(skip if epoch == first else 0, len(plan)))

    def batches_in(self, epoch: int) -> int:
        """The number of batches of an epoch."""
        return len(self._plan(epoch))

    def _plan(self, epoch):
        rng = np.random.default_rng([self._seed, epoch])
        return _BatchPlan(self._corpus.epoch(epoch), self._batch_tokens, self._pad_multiple, rng)

    def position(self, consumed: int) -> tuple[int, int]:
        """(epoch, batch) of the batch that follows the first `consumed` ones of this stream.

        Batches that were fetched ahead do not matter. As `start` of a new stream, the answer goes on there.

        Raises:
            ValueError: If the stream has not yet given that many batches.
        """
        epoch, batch = self._start
        batch += consumed
        while batch >= self._sizes.get(epoch, batch + 1):
            batch -= self._sizes[epoch]
            epoch += 1
        if consumed and batch and epoch not in self._sizes:
            raise ValueError(f"`consumed` must be at most the batches given so far. Received: {consumed}.")
        return epoch, batch


def padding_share(batches: typing.Iterable[Batch]) -> float:
    """Padded positions / all positions, both sides together (S for the source, T for the target)."""
    padded, positions = 0, 0
    for batch in batches:
        for ids in (batch["source"], batch["target"][:, 1:]):
            padded += np.count_nonzero(ids == 0)
            positions += ids.size
    return padded / max(1, positions)


def source_batch(rows: typing.Sequence[typing.Sequence[int]], pad_multiple: int = 1) -> np.ndarray:
    """Rows of ids as a model reads them when it translates: END_ID added, padded, int32 `[B, S]`."""
    flat = TokenRows.of(rows)
    width = _round_up(int(flat.lengths.max(initial=0)) + 1, pad_multiple)
    return flat.with_end(np.arange(len(rows)), width)


def length_sorted_chunks(lengths: typing.Sequence[int], batch_tokens: int) -> list[np.ndarray]:
    """Row numbers in chunks of like length, longest first: what does not fit into memory fails at once.

    A chunk has at most `batch_tokens` positions, padding included, or one row; `original_order` undoes.
    """
    lengths = np.asarray(lengths, "int64")
    order = np.argsort(-lengths, kind="stable")
    chunks = []
    while len(order):
        size = max(1, batch_tokens // max(1, int(lengths[order[0]])))
        chunks.append(order[:size])
        order = order[size:]
    return chunks


def original_order(chunks: typing.Sequence[np.ndarray], results: typing.Sequence[typing.Sequence]) -> list:
    """Results of the chunks of `length_sorted_chunks`, one list a chunk, in the order of the rows again."""
    ordered = [None] * sum(map(len, chunks))
    for chunk, values in zip(chunks, results, strict=True):
        for row, value in zip(chunk, values, strict=True):
            ordered[row] = value
    return ordered


def power_of_two(count: int) -> int:
    """The least that is not below `count`."""
    return 1 << (count - 1).bit_length()


class _BatchPlan:
    """Which rows share a batch, and in which order the batches come."""

    def __init__(self, corpus, batch_tokens, pad_multiple, rng):
        if pad_multiple < 1:
            raise ValueError(f"`pad_multiple` must be at least 1. Received: pad_multiple={pad_multiple}.")
        self._corpus, self._pad_multiple, self._batch_tokens = corpus, pad_multiple, batch_tokens
        self._lengths = [lengths.astype("int32") for lengths in corpus.lengths()]  # Of rows by the ten million.
        source, target = (_round_up(self._lengths[side], pad_multiple) for side in (0, -1))
        longer = np.maximum(source, target)
        if longer.max(initial=0) > batch_tokens:
            raise ValueError(
                f"`batch_tokens` must hold the longest row, which takes {longer.max()} positions. "
                f"Received: batch_tokens={batch_tokens}. Raise it, or leave out long ones by `max_tokens`."
            )
        # By the longer side, which decides the size of a batch; then by how much longer the source is, to
        # and fro, so that neighbours are alike on both sides: 3.0 % padding on Multi30k at 4,096 tokens,
        # against 7.2 % by target and then source length. Pairs of the same lengths come in random order.
        surplus = np.where(longer // pad_multiple % 2 == 1, source - target, target - source)
        shuffled = rng.permutation(len(longer))
        self._order = shuffled[np.lexsort((surplus[shuffled], longer[shuffled]))]
        cuts = _cuts(self._capacity(longer[self._order]))
        self._spans = list(zip(cuts[:-1], cuts[1:]))
        rng.shuffle(self._spans)

    def __len__(self):
        return len(self._spans)

    def gather(self, number):
        first, last = self._spans[number]
        rows = np.sort(self._order[first:last])  # Neighbours in a mapped file are read together.
        widths = [_round_up(int(lengths[rows].max()), self._pad_multiple) for lengths in self._lengths]
        fill = int(self._capacity(max(widths))) - len(rows) if self._pad_multiple > 1 else 0
        return self._corpus.gather(rows, widths, fill)

    def _capacity(self, length):
        rows = self._batch_tokens // np.asarray(length)
        if self._pad_multiple == 1:
            return rows
        return np.where(rows < _ROW_MULTIPLE, rows, rows // _ROW_MULTIPLE * _ROW_MULTIPLE)


def _cuts(capacity):
    """Borders of batches: each as large as the least capacity in it allows; `capacity` never rises."""
    cuts = [0]
    while cuts[-1] < len(capacity):
        window = capacity[cuts[-1] : cuts[-1] + capacity[cuts[-1]]]
        cuts.append(cuts[-1] + int(np.count_nonzero(np.arange(1, len(window) + 1) <= window)))
    return cuts


def _round_up(length, multiple):
    return -(-length // multiple) * multiple
