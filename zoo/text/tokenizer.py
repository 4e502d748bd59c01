"""Subword tokenizer: byte-pair encoding by sentencepiece."""

import functools
import hashlib
import itertools
import os
import typing

import numpy as np
import sentencepiece

from zoo.config import END_ID, PAD_ID, START_ID, UNKNOWN_ID
from zoo.storage.arrays import write_atomically
from zoo.text.case_markup import BEGIN_PIECE, END, mark_capitals, restore_capitals
from zoo.text.subword_dropout import MergeSampler

NUM_SPECIAL_IDS = 4
SENTINEL = "<extra_id_{}>"  # As in T5.


class Tokenizer:
    """Encodes texts as ids of subwords, and decodes ids.

    Texts are not normalized (no Unicode normalization, no case folding, no removal of spaces), and characters
    without a piece of their own are encoded as their UTF-8 bytes, so that `decode(encode(text)) == text`.
    The one exception is U+2581 (a block element), which sentencepiece uses for the space and decodes as a space.
    A lower-case vocabulary decodes to small letters in Unicode's form NFKC. One with case markup replaces the
    code points U+FDD1 to U+FDD3, which no text should contain, by U+FFFD (see `zoo.text.case_markup`).
    Strings that look like special tokens (`<s>`, `<pad>`, `<0x41>`) are plain text; `encode` never returns the
    ids 0 to 3 (padding, unknown, start, end), which batches add.

    Args:
        model: Serialized sentencepiece model of `train_tokenizer`.
        num_threads: Number of threads that encode; -1 for the number of cores.

    Raises:
        ValueError: If `model` is not a sentencepiece model, or its special ids are not those of `zoo.config`.
    """

    start_id, end_id, unknown_id = START_ID, END_ID, UNKNOWN_ID
    mask_id = UNKNOWN_ID  # No text contains it.
    word_prefix = ""  # Before a word inside of a sentence.

    def __init__(self, model: bytes, num_threads: int = -1):
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=model, num_threads=num_threads)
        except (RuntimeError, TypeError, ValueError) as error:
            raise ValueError(
                f"`model` must be the bytes of a sentencepiece model. Received: {type(model).__name__} "
                f"of length {len(model)}. Make one with train_tokenizer."
            ) from error
        processor = self._processor
        ids = (processor.pad_id(), processor.unk_id(), processor.bos_id(), processor.eos_id())
        if ids != (PAD_ID, UNKNOWN_ID, START_ID, END_ID):
            raise ValueError(
                "The ids of padding, unknown, start and end must be 0, 1, 2, 3. "
                f"Received: {ids}. Train the vocabulary with train_tokenizer."
            )
        self.model = model

    @classmethod
    def load(cls, path: str | os.PathLike) -> "Tokenizer":
        """Reads a file that `save` wrote."""
        with open(path, "rb") as file:
            return cls(file.read())

    def save(self, path: str | os.PathLike) -> None:
        """Writes the model to a file atomically."""
        write_atomically(path, self.model)

    def sentencepiece_models(self) -> dict[str, bytes]:
        """Returns the serialized sentencepiece models by the names of their files."""
        return {"sentencepiece.model": self.model}

    @functools.cached_property
    def _merge_sampler(self):
        return MergeSampler(self._processor)

    @functools.cached_property
    def lowercase(self) -> bool:
        """Whether capitals are read as small letters."""
        return self._processor.normalize("A") == self._processor.normalize("a")

    @functools.cached_property
    def whole_texts(self) -> bool:
        """Whether texts are encoded as they are; otherwise a space is added before the first word."""
        return not self._processor.normalize("a").startswith("\u2581")

    @functools.cached_property
    def case_markup(self) -> bool:
        """Whether words in capitals are encoded as small letters between markers; see `zoo.text.case_markup`."""
        return self._processor.piece_to_id(BEGIN_PIECE) != UNKNOWN_ID

    @functools.cached_property
    def kept_kinds(self) -> np.ndarray:
        """Kinds int32 `[V]`, from 1, of the pieces that translations keep: with digits, and bytes; 0 for others.

        Bytes are of characters without a piece of their own, such as emoji, foreign scripts and placeholders.
        """
        pieces = [piece.strip("\u2581") for piece in self.pieces]
        numbers = {}
        for i, piece in enumerate(pieces):
            digits = any(map(str.isdecimal, piece)) and not self._processor.is_control(i)
            if self._processor.is_byte(i) or digits:
                numbers.setdefault(piece, len(numbers) + 1)
        return np.array([numbers.get(piece, 0) for piece in pieces], "int32")

    @functools.cached_property
    def sentinels(self) -> np.ndarray:
        """Ids int32 of the pieces that stand for parts left out of a text, in order; `decode` ignores them."""
        numbered = (self._processor.piece_to_id(SENTINEL.format(i)) for i in range(self.vocabulary_size))
        return np.fromiter(itertools.takewhile(self._processor.is_control, numbered), "int32")

    @functools.cached_property
    def pieces(self) -> tuple[str, ...]:
        """The subwords, in the order of the ids; U+2581 stands for a space."""
        return tuple(self._processor.id_to_piece(i) for i in range(self.vocabulary_size))

    @property
    def vocabulary_size(self) -> int:
        """Rows of an embedding table for this vocabulary, special ids included."""
        return self._processor.vocab_size()

    @property
    def digest(self) -> str:
        """SHA-256 of the model, which identifies the vocabulary."""
        return hashlib.sha256(self.model).hexdigest()

    def encode(self, texts: typing.Sequence[str]) -> list[list[int]]:
        """Encodes each text as a list of ids, without special ids."""
        if isinstance(texts, str):
            raise ValueError(f"`texts` must be a list of strings. Received: {texts[:40]!r}. Put it into a list.")
        return self._processor.encode([*map(mark_capitals, texts)] if self.case_markup else list(texts))

    encode_targets = encode  # One vocabulary serves both sides.

    def with_dropout(self, dropout: float, seed: int | typing.Sequence[int] | None = None) -> typing.Any:
        """Returns a tokenizer that encodes with BPE-dropout (`zoo.text.subword_dropout`).

        Args:
            dropout: Probability of skipping a merge, in [0, 1); 0 returns this tokenizer.
            seed: One or more non-negative integers; the same seed and calls give the same ids. None for a random one.
        """
        if not 0 <= dropout < 1:
            raise ValueError(f"`dropout` must lie in [0, 1). Received: dropout={dropout!r}.")
        return self if not dropout else SampledTokenizer(self, self._merge_sampler, dropout, seed)

    def decode(self, ids: typing.Iterable[typing.Sequence[int]]) -> list[str]:
        """Decodes rows of ids to texts; special ids are ignored.

        Raises:
            ValueError: If an id is outside of the vocabulary.
        """
        rows = [[int(i) for i in row if not 0 <= i < NUM_SPECIAL_IDS] for row in ids]
        extreme = [i for row in rows for i in row if not 0 <= i < self.vocabulary_size]
        if extreme:
            raise ValueError(
                f"Ids must lie in [0, vocabulary_size={self.vocabulary_size}). Received: {extreme[0]}. "
                "Was the model trained with another vocabulary?"
            )
        texts = self._processor.decode(rows) if rows else []
        return [*map(restore_capitals, texts)] if self.case_markup else texts

    def words(self, ids: typing.Sequence[int]) -> tuple[list[str], list[tuple[int, int]]]:
        """Decodes a row of ids to words, and returns for each word the span (first, last + 1) of its ids.

        A word begins where a piece begins with a space.
        """
        ids = [int(i) for i in ids]
        pieces = [self._processor.id_to_piece(i) for i in ids]
        starts = [i for i, begins in enumerate(self._begins_word(pieces)) if begins]
        spans = list(zip(starts, [*starts[1:], len(pieces)]))
        words, capitals = [], []
        for first, last in spans:
            words.append(self.decode([[*capitals, *ids[first:last]]])[0].strip())
            for i, piece in zip(ids[first:last], pieces[first:last]):
                if self.case_markup and piece in (BEGIN_PIECE, END):
                    capitals = [i] if piece == BEGIN_PIECE else []
        return words, spans

    def _begins_word(self, pieces):
        """Yields for each piece whether a word begins with it; a marker does so at the start of a text only."""
        for i, piece in enumerate(pieces):
            marked = self.case_markup and (piece == BEGIN_PIECE or i == 1 and pieces[0] == BEGIN_PIECE)
            yield not i or piece.startswith("\u2581") and not marked


class SampledTokenizer:
    """Encodes texts with BPE-dropout (`zoo.text.subword_dropout`); see `Tokenizer.with_dropout`."""

    start_id, end_id, unknown_id = START_ID, END_ID, UNKNOWN_ID

    def __init__(
        self, tokenizer: Tokenizer, sampler: MergeSampler, dropout: float, seed: int | typing.Sequence[int] | None
    ):
        self._tokenizer, self._sampler = tokenizer, sampler
        self._dropout, self._rng = dropout, np.random.default_rng(seed)

    def encode(self, texts: typing.Sequence[str]) -> list[list[int]]:
        """Encodes each text as a list of ids, without special ids; each call gives other ids."""
        texts = map(mark_capitals, texts) if self._tokenizer.case_markup else texts
        return self._sampler.encode(texts, self._dropout, self._rng)

    encode_targets = encode
