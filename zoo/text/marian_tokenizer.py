"""Tokenizer of Marian's translators: a sentencepiece model for each side, and a vocabulary that both share."""

import base64
import functools
import json
from collections.abc import Mapping, Sequence

import numpy as np

from zoo.text.piece_tokenizer import SPECIAL, PieceTokenizer


class MarianTokenizer(PieceTokenizer):
    """`PieceTokenizer` with a model for each side.

    Args:
        source_model, target_model, pieces, num_threads: As for `PieceTokenizer`.
        prefix: Pieces before each source, such as the `>>fra<<` of a model of several target languages.

    Raises:
        ValueError: If a model cannot be read, or the vocabulary has a piece twice or lacks one.
    """

    package = "Marian"

    def __init__(
        self,
        source_model: bytes,
        target_model: bytes,
        pieces: Sequence[str],
        prefix: Sequence[str] = (),
        num_threads: int = -1,
    ):
        super().__init__(source_model, target_model, pieces, num_threads)
        self.prefix = tuple(prefix)
        unknown = [piece for piece in self.prefix if piece not in self._ids]
        if unknown:
            raise ValueError(f"`prefix` must have pieces of the vocabulary. Received: {unknown[0]!r}. Leave it out.")
        self.prefix_ids = tuple(self._ids[piece] for piece in self.prefix)

    @classmethod
    def from_vocabulary(
        cls,
        source_model: bytes,
        target_model: bytes,
        vocabulary: Mapping[str, int],
        special: Mapping[str, int],
        prefix: Sequence[str] = (),
    ) -> tuple["MarianTokenizer", np.ndarray]:
        """Makes the tokenizer from a `vocab.json`; returns also the row of the model's table for each of our ids.

        Args:
            source_model, target_model, prefix: As for the class.
            vocabulary: Rows by piece.
            special: Rows of "pad", "unknown", "start" and "end"; the start may be one of the others.
        """
        rows = [special[name] for name in ("pad", "unknown", "start", "end")]
        others = {row: piece for piece, row in vocabulary.items() if row not in rows}
        rows += sorted(others)
        return cls(source_model, target_model, [*SPECIAL, *map(others.get, sorted(others))], prefix), np.array(rows)

    @classmethod
    def from_bytes(cls, model: bytes, num_threads: int = -1) -> "MarianTokenizer":
        """Reads a vocabulary that the property `model` returned."""
        values = json.loads(model)
        models = [base64.b64decode(values.pop(name)) for name in ("source_model", "target_model")]
        return cls(*models, **values, num_threads=num_threads)

    @functools.cached_property
    def model(self) -> bytes:
        """The vocabulary, serialized for a checkpoint."""
        models = {name: base64.b64encode(getattr(self, name)).decode() for name in ("source_model", "target_model")}
        return json.dumps({**models, "pieces": self.pieces, "prefix": self.prefix}, ensure_ascii=False).encode()

    def sentencepiece_models(self) -> dict[str, bytes]:
        """Returns the serialized sentencepiece models by the names of their files."""
        return {"source.spm": self.source_model, "target.spm": self.target_model}
