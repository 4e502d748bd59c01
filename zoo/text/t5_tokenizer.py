"""Tokenizer of T5: one sentencepiece model, and sentinels that stand for left out spans."""

import base64
import functools
import json

import numpy as np

from zoo.text.piece_tokenizer import SPECIAL, PieceTokenizer, read_processor

_ROWS = {"pad": 0, "end": 1, "unknown": 2, "start": 0}  # In T5's table; padding starts a target.


class T5Tokenizer(PieceTokenizer):
    """`PieceTokenizer` with the same model for both sides, and the sentinels `<extra_id_0>`, `<extra_id_1>` ...

    Other special tokens, such as `</s>`, are plain text where they are written in a text.

    Args:
        spiece_model: Serialized sentencepiece model, whose ids 0 to 2 are padding, end and unknown.
        num_sentinels: Number of sentinels; their rows follow those of the model, the last one first.
        prefix: Text before each source, such as "translate English to German: ".
        num_threads: As for `PieceTokenizer`.

    Attributes:
        rows: Row of T5's embedding table for each id.

    Raises:
        ValueError: If the model cannot be read, or has other special ids.
    """

    package = "T5"

    def __init__(self, spiece_model: bytes, num_sentinels: int = 100, prefix: str = "", num_threads: int = -1):
        processor = read_processor(spiece_model, "vocabulary")
        found = {"pad": processor.pad_id(), "end": processor.eos_id(), "unknown": processor.unk_id()}
        if {**found, "start": _ROWS["start"]} != _ROWS:
            raise ValueError(
                "The vocabulary must have the ids of T5: 0 for padding, 1 for the end, 2 for unknown. Received: "
                f"{found['pad']}, {found['end']}, {found['unknown']}. Use another model."
            )
        special = [_ROWS[name] for name in ("pad", "unknown", "start", "end")]  # In the order of `SPECIAL`.
        others = [row for row in range(processor.vocab_size()) if row not in special]
        self.sentinels = tuple(f"<extra_id_{i}>" for i in reversed(range(num_sentinels)))
        self.rows = np.array([*special, *others, *(processor.vocab_size() + i for i in range(num_sentinels))])
        pieces = [*SPECIAL, *map(processor.id_to_piece, others), *self.sentinels]
        super().__init__(spiece_model, spiece_model, pieces, num_threads)
        self.prefix = prefix
        self.prefix_ids = tuple(self._encode([prefix], 0)[0])

    @classmethod
    def from_bytes(cls, model: bytes, num_threads: int = -1) -> "T5Tokenizer":
        """Reads a vocabulary that the property `model` returned."""
        values = json.loads(model)
        return cls(base64.b64decode(values.pop("spiece_model")), **values, num_threads=num_threads)

    @functools.cached_property
    def model(self) -> bytes:
        """The vocabulary, serialized for a checkpoint."""
        values = {"num_sentinels": len(self.sentinels), "prefix": self.prefix}
        return json.dumps({"spiece_model": base64.b64encode(self.source_model).decode(), **values}).encode()

    def sentencepiece_models(self) -> dict[str, bytes]:
        """Returns the serialized sentencepiece models by the names of their files."""
        return {"spiece.model": self.source_model}
