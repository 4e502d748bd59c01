"""Encoded texts with one label for each text or each token. NumPy only."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from zoo.corpora.batching import Corpus
from zoo.corpora.token_rows import TokenRows, append_rows

NO_LABEL = -1  # For padding and tokens without a label.


@dataclass(frozen=True, eq=False)
class LabelledCorpus(Corpus):
    """Rows of token ids, as a model reads them, with labels.

    Args:
        tokens: Ids, special ones included.
        labels: Int `[rows]`, or rows like `tokens` with NO_LABEL at tokens without a label; None for plain texts.
        features: Further inputs of the model by name, such as segments: rows like `tokens`.
    """

    tokens: TokenRows
    labels: np.ndarray | TokenRows | None = None
    features: Mapping[str, TokenRows] = field(default_factory=dict)

    def __len__(self):
        return len(self.tokens.offsets) - 1

    def arrays(self) -> list[np.ndarray]:
        """Returns all ids and labels, which identify the corpus."""
        labels = self.labels if isinstance(self.labels, TokenRows) else () if self.labels is None else (self.labels,)
        return [*self.tokens, *labels]

    def lengths(self) -> list[np.ndarray]:
        """Returns the number of tokens `[rows]`, in a list of one side."""
        return [self.tokens.lengths]

    def gather(self, rows: np.ndarray, widths: list[int], fill: int) -> dict[str, np.ndarray]:
        """Returns the chosen rows, followed by `fill` rows of padding, as int32 arrays.

        These are `token_ids` and the features, `[B, T]` or `[B, T, K]`, and `labels`, if any, `[B]` or `[B, T]`.
        """
        (width,) = widths
        sides = {"token_ids": self.tokens, **self.features}
        batch = {name: append_rows(side.padded(rows, width), fill) for name, side in sides.items()}
        if self.labels is None:
            return batch
        if isinstance(self.labels, TokenRows):
            labels = self.labels.padded(rows, width, NO_LABEL)
        else:
            labels = self.labels[rows].astype("int32")
        return batch | {"labels": append_rows(labels, fill, NO_LABEL)}


@dataclass(frozen=True, eq=False)
class SampledRows(Corpus):
    """Corpus that is encoded again for each epoch, such as with BPE-dropout.

    Args:
        encode: Function from the number of an epoch to its corpus.
    """

    encode: Callable[[int], LabelledCorpus]

    def epoch(self, epoch: int) -> LabelledCorpus:
        """Returns the corpus of this epoch."""
        return self.encode(epoch)


@dataclass(frozen=True, eq=False)
class TokenDropout(Corpus):
    """Corpus in which random tokens, others in each epoch, are replaced by the unknown token.

    Args:
        corpus: Corpus to read.
        rate: Probability of replacing a token.
        unknown_id: Id of the unknown token.
        kept_ids: Special tokens, which are not replaced.
        seed: Seed of the random choice.
    """

    corpus: LabelledCorpus | SampledRows
    rate: float
    unknown_id: int
    kept_ids: tuple[int, ...]
    seed: int

    def epoch(self, epoch: int) -> LabelledCorpus:
        """Returns the corpus of this epoch."""
        corpus = self.corpus.epoch(epoch)
        ids, offsets = corpus.tokens
        dropped = np.random.default_rng((self.seed, epoch)).random(len(ids)) < self.rate
        dropped &= ~np.isin(ids, self.kept_ids)
        return dataclasses.replace(corpus, tokens=TokenRows(np.where(dropped, self.unknown_id, ids), offsets))


def split_labels(batch: Mapping[str, np.ndarray]) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Splits a batch into the inputs of a model and the labels."""
    return {name: ids for name, ids in batch.items() if name != "labels"}, batch["labels"]


def frame_rows(
    texts: Sequence[Sequence[Sequence[int]]], start_id: int, end_id: int, max_tokens: int
) -> tuple[TokenRows, TokenRows, np.ndarray]:
    """Adds special tokens to texts or pairs of texts: `<s> a </s>` or `<s> a </s> b </s>`, as in BERT.

    Args:
        texts: For each text a list with its ids; for each pair a list with the ids of both.
        start_id, end_id: The special tokens.
        max_tokens: Maximum number of tokens of a row, special tokens included. Longer rows are truncated at the end of
            the text that is longer at that point.

    Returns:
        Ids, segments (1 in the second text and its end token), and the numbers of the truncated rows.
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
    """Truncates the lengths of one or two parts to at most `room` in total, the longer part first."""
    if sum(lengths) <= room:
        return lengths
    if len(lengths) == 1:
        return [room]
    shorter = min(*lengths, room // 2)
    return [shorter, room - shorter] if lengths[0] <= lengths[1] else [room - shorter, shorter]
