"""Tokenizer of Marian's translators: a sentencepiece model for each side, and a vocabulary that both share."""

import base64
import functools
import hashlib
import json
import os
import re
import typing
from collections.abc import Mapping, Sequence

import numpy as np
import sentencepiece

from zoo.config import END_ID, START_ID, UNKNOWN_ID
from zoo.storage.arrays import write_atomically

SPACE = "\u2581"  # Stands for a space in pieces.
_BYTE = re.compile("<0x[0-9A-F]{2}>")
_SPECIAL = "<pad>", "<unk>", "<start>", "</s>"  # In the order of the ids of `zoo.config`.


class MarianTokenizer:
    """Encodes sources and targets as ids of one vocabulary; its ids 0 to 3 are padding, unknown, start and end.

    The subwords of a text are those of the sentencepiece model of its side, or characters that it does not know. Those
    that the vocabulary does not have are unknown.

    Args:
        source_model, target_model: Serialized sentencepiece models of any type.
        pieces: The vocabulary, in the order of the ids. The first four are special.
        prefix: Pieces before each source, such as the `>>fra<<` of a model of several target languages.
        num_threads: Number of threads that encode; -1 for the number of cores.

    Raises:
        ValueError: If a model cannot be read, or the vocabulary has a piece twice or lacks one.
    """

    start_id, end_id, unknown_id, mask_id = START_ID, END_ID, UNKNOWN_ID, UNKNOWN_ID
    case_markup = lowercase = False
    word_prefix = ""

    def __init__(
        self,
        source_model: bytes,
        target_model: bytes,
        pieces: Sequence[str],
        prefix: Sequence[str] = (),
        num_threads: int = -1,
    ):
        self.source_model, self.target_model = source_model, target_model
        self.pieces, self.prefix = tuple(pieces), tuple(prefix)
        self._ids = ids = {piece: i for i, piece in enumerate(self.pieces)}
        if len(ids) < len(self.pieces) or self.pieces[: len(_SPECIAL)] != _SPECIAL or not ids.keys() >= {*self.prefix}:
            raise ValueError(
                f"Every piece must occur once, the first ones must be {', '.join(_SPECIAL)}, and the prefix must be "
                f"among them. Received: {len(self.pieces)} pieces, {len(ids)} of them different, starting with "
                f"{', '.join(self.pieces[:4])}; prefix={self.prefix}. Use the files of one model."
            )
        self._prefix_ids = [ids[piece] for piece in self.prefix]
        models = {"source": source_model, "target": target_model}
        self._sides = [_processor(model, name, num_threads) for name, model in models.items()]

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
        return cls(source_model, target_model, [*_SPECIAL, *map(others.get, sorted(others))], prefix), np.array(rows)

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

    def save(self, path: str | os.PathLike) -> None:
        """Writes the model to a file atomically."""
        write_atomically(path, self.model)

    @functools.cached_property
    def piece_texts(self) -> tuple[bytes, ...]:
        """UTF-8 of what each piece stands for, or one byte of a character without a piece."""
        return tuple(
            bytes([int(piece[3:5], 16)]) if _BYTE.fullmatch(piece) else piece.replace(SPACE, " ").encode()
            for piece in self.pieces
        )

    def sentencepiece_models(self) -> dict[str, bytes]:
        """Returns the serialized sentencepiece models by the names of their files."""
        return {"source.spm": self.source_model, "target.spm": self.target_model}

    @property
    def vocabulary_size(self) -> int:
        """Rows of an embedding table for this vocabulary, special ids included."""
        return len(self.pieces)

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 of the model, which identifies the vocabulary."""
        return hashlib.sha256(self.model).hexdigest()

    @property
    def kept_kinds(self) -> np.ndarray:
        """Kinds of pieces that a search compares, as for `zoo.text.tokenizer.Tokenizer`: none."""
        return np.zeros(self.vocabulary_size, "int32")

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Encodes each source as a list of ids: the prefix, and its subwords."""
        return [[*self._prefix_ids, *row] for row in self._encode(texts, 0)]

    def encode_targets(self, texts: Sequence[str]) -> list[list[int]]:
        """Encodes each target as a list of ids."""
        return self._encode(texts, 1)

    def _encode(self, texts, side):
        if isinstance(texts, str):
            raise ValueError(f"`texts` must be a list of strings. Received: {texts[:40]!r}. Put it into a list.")
        rows = self._sides[side].encode([*texts], out_type=str)
        return [[self._ids.get(piece, UNKNOWN_ID) for piece in row] for row in rows]

    def decode(self, ids: typing.Iterable[Sequence[int]]) -> list[str]:
        """Decodes rows of ids to texts; special ids are ignored."""
        rows = [[int(i) for i in row if int(i) >= len(_SPECIAL)] for row in ids]
        extreme = [i for row in rows for i in row if i >= self.vocabulary_size]
        if extreme:
            raise ValueError(
                f"Ids must lie in [0, vocabulary_size={self.vocabulary_size}). Received: {extreme[0]}. "
                "Was the model trained with another vocabulary?"
            )
        texts = (b"".join(self.piece_texts[i] for i in row).decode("utf-8", "replace") for row in rows)
        return [text.strip(" ") for text in texts]

    def words(self, ids: Sequence[int]) -> tuple[list[str], list[tuple[int, int]]]:
        """Decodes a row of ids to words, without the prefix, and returns for each the span (first, last + 1) of ids."""
        ids = [int(i) for i in ids]
        skipped = len(self._prefix_ids) if self.prefix and ids[: len(self._prefix_ids)] == self._prefix_ids else 0
        starts = [i for i in range(skipped, len(ids)) if i == skipped or self.pieces[ids[i]].startswith(SPACE)]
        spans = list(zip(starts, [*starts[1:], len(ids)]))
        return [self.decode([ids[first:last]])[0] for first, last in spans], spans

    def with_dropout(self, dropout: float, seed=None) -> "MarianTokenizer":
        """Returns this tokenizer, which has no subword dropout: it is for vocabularies of `train_tokenizer`."""
        if dropout:
            raise ValueError(
                "Subword dropout needs a vocabulary of this package. Received: that of a Marian model and "
                f"dropout={dropout}. Set training.subword_dropout=0."
            )
        return self


def _processor(model, name, num_threads):
    try:
        found = sentencepiece.SentencePieceProcessor(model_proto=model, num_threads=num_threads)
    except (RuntimeError, TypeError, ValueError) as error:
        raise ValueError(
            f"The {name} model must be a sentencepiece model. Received: {error}. Fetch the model again."
        ) from error
    return found
