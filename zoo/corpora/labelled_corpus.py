"""Encoded texts, with a label each or for every token, as a corpus that batches are cut from. NumPy only."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from zoo.corpora.token_rows import TokenRows, with_rows

NO_LABEL = -1  # Padding, and tokens that carry no label.


@dataclass(frozen=True, eq=False)
class LabelledCorpus:
    """Rows of token ids, as a model reads them, with their labels.

    Args:
        tokens: Ids, special ones included.
        labels: Int `[rows]`, or rows of the lengths of `tokens`; NO_LABEL where there is none. None for plain texts.
        features: What else the model reads of every token, by name, such as the segment: rows like `tokens`.
    """

    tokens: TokenRows
    labels: np.ndarray | TokenRows | None = None
    features: Mapping[str, TokenRows] = field(default_factory=dict)

    def __len__(self):
        return len(self.tokens.offsets) - 1

    def epoch(self, epoch: int) -> "LabelledCorpus":
        """The corpus as training sees it in this epoch: itself."""
        return self

    def arrays(self) -> list[np.ndarray]:
        """All ids and labels, which tell two corpora apart."""
        labels = self.labels if isinstance(self.labels, TokenRows) else () if self.labels is None else (self.labels,)
        return [*self.tokens, *labels]

    def lengths(self) -> list[np.ndarray]:
        """Positions `[rows]`, in a list of one side."""
        return [self.tokens.lengths]

    def gather(self, rows: np.ndarray, widths: list[int], fill: int) -> dict[str, np.ndarray]:
        """The chosen rows, and `fill` of padding, as int32 arrays.

        `token_ids` and the features `[B, T]` or `[B, T, K]`, and with labels `labels` `[B]` or `[B, T]`.
        """
        (width,) = widths
        sides = {"token_ids": self.tokens, **self.features}
        batch = {name: with_rows(side.padded(rows, width), fill) for name, side in sides.items()}
        if self.labels is None:
            return batch
        if isinstance(self.labels, TokenRows):
            labels = self.labels.padded(rows, width, NO_LABEL)
        else:
            labels = self.labels[rows].astype("int32")
        return batch | {"labels": with_rows(labels, fill, NO_LABEL)}


@dataclass(frozen=True, eq=False)
class SampledRows:
    """A corpus that is encoded anew for each epoch.

    Args:
        encode: The corpus as training sees it in an epoch.
    """

    encode: Callable[[int], LabelledCorpus]

    def epoch(self, epoch: int) -> LabelledCorpus:
        """The corpus as training sees it in this epoch."""
        return self.encode(epoch)


@dataclass(frozen=True, eq=False)
class TokenDropout:
    """A corpus that shows the unknown token in place of some others, of other ones in each epoch.

    Args:
        corpus: The whole one.
        rate: Probability for each token.
        unknown_id: What is shown.
        kept_ids: Special tokens, which stay.
        seed: Of the choice.
    """

    corpus: LabelledCorpus | SampledRows
    rate: float
    unknown_id: int
    kept_ids: tuple[int, ...]
    seed: int

    def epoch(self, epoch: int) -> LabelledCorpus:
        """The corpus as training sees it in this epoch."""
        corpus = self.corpus.epoch(epoch)
        ids, offsets = corpus.tokens
        dropped = np.random.default_rng((self.seed, epoch)).random(len(ids)) < self.rate
        dropped &= ~np.isin(ids, self.kept_ids)
        return dataclasses.replace(corpus, tokens=TokenRows(np.where(dropped, self.unknown_id, ids), offsets))


def split_labels(batch: Mapping[str, np.ndarray]) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """What a model reads of a batch, and the labels."""
    return {name: ids for name, ids in batch.items() if name != "labels"}, batch["labels"]


def framed_rows(
    texts: Sequence[Sequence[Sequence[int]]], start_id: int, end_id: int, max_tokens: int
) -> tuple[TokenRows, TokenRows, np.ndarray]:
    """Texts, or pairs of them, between special tokens: `<s> a </s>` or `<s> a </s> b </s>`, as in BERT.

    Args:
        texts: For each text its ids, in a list of one or, for a pair, of two.
        start_id, end_id: The special tokens.
        max_tokens: Most tokens of a row, special ones included. Of too long a row, tokens are taken off the end of the
            text that is then the longer one.

    Returns:
        Ids, segments (1 in the second text and its end), and the numbers of the rows that were cut.
    """
    rows, segments, cut = [], [], []
    for number, parts in enumerate(texts):
        room = max_tokens - 1 - len(parts)
        lengths = _fitted([len(part) for part in parts], room)
        if lengths != [len(part) for part in parts]:
            cut.append(number)
        row, segment = [start_id], [0]
        for i, (part, length) in enumerate(zip(parts, lengths)):
            row += [*part[:length], end_id]
            segment += [i] * (length + 1)
        rows.append(row)
        segments.append(segment)
    return TokenRows.of(rows), TokenRows.of(segments), np.array(cut, "int64")


def _fitted(lengths, room):
    """Lengths of one or two parts that together have at most `room`, the longer one cut first."""
    if sum(lengths) <= room:
        return lengths
    if len(lengths) == 1:
        return [room]
    shorter = min(*lengths, room // 2)
    if lengths[0] <= lengths[1]:
        return [shorter, room - shorter]
    return [room - shorter, shorter]
