"""Base of the tokenizers of other packages: sentencepiece models, and a vocabulary of their pieces."""

import functools
import hashlib
import os
import re
import typing
from collections.abc import Sequence

import numpy as np
import sentencepiece

from zoo.config import END_ID, START_ID, UNKNOWN_ID
from zoo.storage.arrays import write_atomically

SPACE = "\u2581"  # Stands for a space in pieces.
SPECIAL = "<pad>", "<unk>", "<start>", "</s>"  # In the order of the ids of `zoo.config`.
_BYTE = re.compile("<0x[0-9A-F]{2}>")


class PieceTokenizer:
    """Encodes sources and targets as ids of one vocabulary; its ids 0 to 3 are padding, unknown, start and end.

    The subwords of a text are those of the sentencepiece model of its side, or characters that it does not know. Those
    that the vocabulary does not have are unknown. A subclass has the property `model`, the serialized vocabulary.

    Args:
        source_model, target_model: Serialized sentencepiece models of any type.
        pieces: The vocabulary, in the order of the ids. The first four are special.
        num_threads: Number of threads that encode; -1 for the number of cores.

    Attributes:
        package: Whose vocabularies these are, for messages.
        prefix_ids: Ids before those of each source.
        sentinels: Pieces that no sentencepiece model has; in texts they are written as they are.

    Raises:
        ValueError: If a model cannot be read, or the vocabulary has a piece twice.
    """

    start_id, end_id, unknown_id, mask_id = START_ID, END_ID, UNKNOWN_ID, UNKNOWN_ID
    case_markup = lowercase = False
    word_prefix = ""
    package: str
    model: bytes
    prefix_ids: tuple[int, ...] = ()
    sentinels: tuple[str, ...] = ()

    def __init__(self, source_model: bytes, target_model: bytes, pieces: Sequence[str], num_threads: int = -1):
        self.source_model, self.target_model = source_model, target_model
        self.pieces = tuple(pieces)
        self._ids = {piece: i for i, piece in enumerate(self.pieces)}
        if len(self._ids) < len(self.pieces) or self.pieces[: len(SPECIAL)] != SPECIAL:
            raise ValueError(
                f"Every piece must occur once, and the first ones must be {', '.join(SPECIAL)}. Received: "
                f"{len(self.pieces)} pieces, {len(self._ids)} of them different, starting with "
                f"{', '.join(self.pieces[:4])}. Use the files of one model."
            )
        models = {"source": source_model, "target": target_model}
        self._sides = [read_processor(model, f"{name} model", num_threads) for name, model in models.items()]

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

    @functools.cached_property
    def sentinel_pattern(self) -> str:
        """Regular expression for `sentinels`, for Python and for RE2."""
        return "|".join(map(re.escape, self.sentinels))

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
        return [[*self.prefix_ids, *row] for row in self._encode(texts, 0)]

    def encode_targets(self, texts: Sequence[str]) -> list[list[int]]:
        """Encodes each target as a list of ids."""
        return self._encode(texts, 1)

    def _encode(self, texts, side):
        if isinstance(texts, str):
            raise ValueError(f"`texts` must be a list of strings. Received: {texts[:40]!r}. Put it into a list.")
        if not self.sentinels:
            return [[self._ids.get(piece, UNKNOWN_ID) for piece in row] for row in self._subwords([*texts], side)]
        # Texts and sentinels take turns.
        split = [re.split(f"({self.sentinel_pattern})", text) for text in texts]
        rows = iter(self._subwords([part for parts in split for part in parts[::2]], side))
        encoded = []
        for parts in split:
            pieces = [[part] if i % 2 else next(rows) for i, part in enumerate(parts)]
            encoded.append([self._ids.get(piece, UNKNOWN_ID) for row in pieces for piece in row])
        return encoded

    def _subwords(self, texts, side):
        return self._sides[side].encode(texts, out_type=str)

    def decode(self, ids: typing.Iterable[Sequence[int]]) -> list[str]:
        """Decodes rows of ids to texts; special ids are ignored."""
        rows = [[int(i) for i in row if int(i) >= len(SPECIAL)] for row in ids]
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
        prefix = [*self.prefix_ids]
        skipped = len(prefix) if ids[: len(prefix)] == prefix else 0
        starts = [i for i in range(skipped, len(ids)) if i == skipped or self.pieces[ids[i]].startswith(SPACE)]
        spans = list(zip(starts, [*starts[1:], len(ids)]))
        return [self.decode([ids[first:last]])[0] for first, last in spans], spans

    def with_dropout(self, dropout: float, seed=None) -> "PieceTokenizer":
        """Returns this tokenizer, which has no subword dropout: it is for vocabularies of `train_tokenizer`."""
        if dropout:
            raise ValueError(
                f"Subword dropout needs a vocabulary of this package. Received: that of a {self.package} model and "
                f"dropout={dropout}. Set training.subword_dropout=0."
            )
        return self


def read_processor(model: bytes, name: str, num_threads: int = -1) -> sentencepiece.SentencePieceProcessor:
    """Reads a serialized sentencepiece model; `name` is what an error message calls it."""
    if not _is_whole(model):
        raise ValueError(
            f"The {name} must be a sentencepiece model. Received: {len(model):,} bytes, without the rules of "
            "normalization that end one. Fetch the model again."
        )
    try:
        return sentencepiece.SentencePieceProcessor(model_proto=model, num_threads=num_threads)
    except (RuntimeError, TypeError, ValueError) as error:
        raise ValueError(
            f"The {name} must be a sentencepiece model. Received: {error}. Fetch the model again."
        ) from error


@functools.lru_cache(2)  # Both sides may have the same one, of very many pieces.
def _is_whole(model):
    """Returns whether a model has field 3, its rules of normalization, which sentencepiece writes after the pieces.

    Sentencepiece itself reads a model without bytes, and one that is cut off between two pieces.
    """
    place, field = 0, None
    while place < len(model) and field != 3:
        key, place = _read_number(model, place)
        field, kind = key >> 3, key & 7
        size = {1: 8, 5: 4}.get(kind, 0)
        if kind in (0, 2):
            number, place = _read_number(model, place)
            size = number if kind == 2 else 0
        place += size
    return field == 3


def _read_number(model, place):
    """Reads a number of protocol buffers, 7 bits a byte; returns also the place behind it."""
    number = shift = 0
    while place < len(model) and shift < 70:
        number |= (model[place] & 127) << shift
        place, shift = place + 1, shift + 7
        if model[place - 1] < 128:
            break
    return number, place
