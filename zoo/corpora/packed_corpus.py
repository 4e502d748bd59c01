"""Documents as rows of the same length without padding, for language models. NumPy only."""

import dataclasses
import functools

import numpy as np

from zoo.corpora.batching import Corpus
from zoo.corpora.labelled_corpus import NO_LABEL
from zoo.corpora.token_rows import append_rows


@dataclasses.dataclass(frozen=True, eq=False)
class PackedCorpus(Corpus):
    """Rows of `width` tokens of a stream of documents, and the tokens that follow them.

    In each epoch the rows begin at another place of the stream, so that a token has another context. Less than one row
    is left out at each end.

    Args:
        ids: The stream, `[N]`.
        width: Tokens T of a row.
        seed: Seed of the places at which the rows of the epochs begin.
        boundary_id: Token between documents, with which the stream begins; a row then says which document a token
            belongs to. None for one document.
        number: Number of the epoch.
    """

    ids: np.ndarray
    width: int
    seed: int = 0
    boundary_id: int | None = None
    number: int = 0

    def __len__(self):
        return (len(self.ids) - 1 - self._first) // self.width

    @functools.cached_property
    def _first(self):
        """Place of the first row in the stream."""
        room = min(self.width, len(self.ids) - self.width)  # At least one row is left.
        return int(np.random.default_rng([self.seed, self.number]).integers(max(1, room)))

    def epoch(self, epoch: int) -> "PackedCorpus":
        return dataclasses.replace(self, number=epoch)

    def arrays(self) -> list[np.ndarray]:
        """Returns all ids, which identify the corpus."""
        return [self.ids]

    def lengths(self) -> list[np.ndarray]:
        return [np.full(len(self), self.width)]

    def gather(self, rows: np.ndarray, widths: list[int], fill: int) -> dict[str, np.ndarray]:
        """Returns the chosen rows, followed by `fill` rows of padding, as int32 arrays `[B, T]`.

        These are `token_ids`, `labels` (the next tokens) and, with a `boundary_id`, `segment_ids`.
        """
        places = self._first + self.width * np.asarray(rows)[:, None] + np.arange(self.width)
        batch = {"token_ids": self.ids[places].astype("int32")}
        if self.boundary_id is not None:
            batch["segment_ids"] = np.cumsum(batch["token_ids"] == self.boundary_id, axis=1, dtype="int32")
        batch = {name: append_rows(ids, fill) for name, ids in batch.items()}
        return {**batch, "labels": append_rows(self.ids[places + 1].astype("int32"), fill, NO_LABEL)}
