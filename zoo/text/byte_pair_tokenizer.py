"""Byte-level byte-pair tokenizer of GPT-2 and RoBERTa. Standard library only."""

import functools
import hashlib
import json
import os
import typing
from collections.abc import Iterable, Mapping, Sequence

from zoo.config import END_ID, START_ID, UNKNOWN_ID
from zoo.storage.arrays import write_atomically
from zoo.text.byte_pairs import byte_characters, merge_pieces, split_words

_SPECIAL = "<pad>", "<unk>", "<s>", "</s>"  # In the order of the ids of `zoo.config`.
_CACHED_WORDS = 2**16


class BytePairTokenizer:
    """Encodes texts as ids of byte pairs (Radford et al. 2019); its ids 0 to 3 are padding, unknown, start and end.

    A text is split into words, each with the space before it, and each word into bytes, of which pairs are merged in
    the order of `merges`; see `zoo.text.byte_pairs`. Nothing is lost: `decode(encode([text])) == [text]`. Strings that
    look like special tokens are plain text. Python's version of Unicode says which characters are letters and numbers.

    Args:
        pieces: The vocabulary, in the order of the ids, in which visible characters stand for bytes. The first four are
            special.
        merges: Pairs of pieces with a space between them, in the order of their ranks.
        prefix_space: Whether a space is put before texts that do not begin with one.
        mask: The piece that stands for a masked token; None for none.

    Raises:
        ValueError: If a piece occurs twice, or one of the 256 bytes, of the pieces of a merge, or the mask is missing.
    """

    start_id, end_id, unknown_id = START_ID, END_ID, UNKNOWN_ID
    case_markup = lowercase = False
    word_prefix = " "  # Before a word inside of a sentence.

    def __init__(
        self, pieces: Sequence[str], merges: Sequence[str], prefix_space: bool = False, mask: str | None = None
    ):
        self.pieces, self.merges = tuple(pieces), tuple(merges)
        self.prefix_space, self.mask = prefix_space, mask
        ids = {piece: i for i, piece in enumerate(self.pieces)}
        pairs = [tuple(merge.split(" ")) for merge in self.merges]
        needed = {*byte_characters(), *([] if mask is None else [mask])}
        for pair in pairs:
            needed |= {*pair, "".join(pair)}
        missing = sorted(needed - {*self.pieces[len(_SPECIAL) :]})
        if len(ids) < len(self.pieces) or missing or any(len(pair) != 2 for pair in pairs):
            without = f", without {missing[0]!r}" if missing else ""
            raise ValueError(
                "A byte-level vocabulary must have every piece once, each of the 256 bytes, the two parts of each "
                f"merge, and what they give. Received: {len(self.pieces)} pieces, {len(ids)} of them different, and "
                f"{len(pairs)} merges{without}. Use the files of one GPT-2 or RoBERTa."
            )
        self.mask_id = UNKNOWN_ID if mask is None else ids[mask]
        self.byte_ids = tuple(ids[character] for character in byte_characters())
        # A pair that occurs twice has its last rank, as in the library of these vocabularies.
        self.ranks = {(ids[a], ids[b]): (rank, ids[a + b]) for rank, (a, b) in enumerate(pairs)}
        self._encode_word = functools.lru_cache(_CACHED_WORDS)(self._merged)

    @classmethod
    def from_vocabulary(
        cls,
        vocabulary: Mapping[str, int],
        merges: Sequence[str],
        special: Mapping[str, int | None],
        prefix_space: bool = False,
        mask: str | None = None,
    ) -> tuple["BytePairTokenizer", list[int]]:
        """Makes the tokenizer from a `vocab.json`; returns also the row of the model's table for each of our ids.

        Args:
            vocabulary: Rows by piece.
            merges, prefix_space, mask: As for the class.
            special: Rows of "pad", "unknown", "start" and "end"; None for one that the model lacks, whose row is -1.
        """
        by_row, taken = {row: piece for piece, row in vocabulary.items()}, {*vocabulary}
        rows, pieces = [], []
        for name, default in zip(("pad", "unknown", "start", "end"), _SPECIAL):
            row = special.get(name)
            while row is None and default in taken:  # A piece of that name is plain text.
                default += "_"
            rows.append(-1 if row is None else row)
            pieces.append(default if row is None else by_row[row])
        others = sorted(by_row.keys() - {*rows})
        return cls([*pieces, *map(by_row.get, others)], merges, prefix_space, mask), [*rows, *others]

    @classmethod
    def from_bytes(cls, model: bytes) -> "BytePairTokenizer":
        """Reads a vocabulary that the property `model` returned."""
        return cls(**json.loads(model))

    @functools.cached_property
    def model(self) -> bytes:
        """The vocabulary, serialized for a checkpoint."""
        names = "pieces", "merges", "prefix_space", "mask"
        return json.dumps({name: getattr(self, name) for name in names}, ensure_ascii=False).encode()

    def save(self, path: str | os.PathLike) -> None:
        """Writes the model to a file atomically."""
        write_atomically(path, self.model)

    @functools.cached_property
    def piece_texts(self) -> tuple[bytes, ...]:
        """The bytes of each piece, or the UTF-8 of one with other characters, such as a special token."""
        numbers = {character: byte for byte, character in enumerate(byte_characters())}
        return tuple(
            bytes(map(numbers.get, piece)) if numbers.keys() >= {*piece} else piece.encode() for piece in self.pieces
        )

    @functools.cached_property
    def ordered(self) -> bool:
        """Whether merges come after those that make their parts, so that no merge brings back one of a lower rank."""
        made = {}
        for rank, piece in self.ranks.values():
            made[piece] = max(rank, made.get(piece, -1))
        return all(rank > max(made.get(piece, -1) for piece in pair) for pair, (rank, _) in self.ranks.items())

    @property
    def whole_texts(self) -> bool:
        """Whether texts are encoded as they are, without a space before them."""
        return not self.prefix_space

    @property
    def vocabulary_size(self) -> int:
        """Rows of an embedding table for this vocabulary, special ids included."""
        return len(self.pieces)

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 of the model, which identifies the vocabulary."""
        return hashlib.sha256(self.model).hexdigest()

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Encodes each text as a list of ids, without special ids."""
        if isinstance(texts, str):
            raise ValueError(f"`texts` must be a list of strings. Received: {texts[:40]!r}. Put it into a list.")
        return [[i for word in split_words(self._prefixed(text)) for i in self._encode_word(word)] for text in texts]

    encode_targets = encode  # One vocabulary serves both sides.

    def decode(self, ids: typing.Iterable[Iterable[int]]) -> list[str]:
        """Decodes rows of ids to texts; special ids are ignored, and bytes that are not UTF-8 replaced.

        Raises:
            ValueError: If an id is outside of the vocabulary.
        """
        rows = [[int(i) for i in row if not 0 <= i < len(_SPECIAL)] for row in ids]
        extreme = [i for row in rows for i in row if not 0 <= i < self.vocabulary_size]
        if extreme:
            raise ValueError(
                f"Ids must lie in [0, vocabulary_size={self.vocabulary_size}). Received: {extreme[0]}. "
                "Was the model trained with another vocabulary?"
            )
        return [b"".join(self.piece_texts[i] for i in row).decode("utf-8", "replace") for row in rows]

    def _prefixed(self, text):
        return f" {text}" if self.prefix_space and text[:1] not in ("", " ") else text

    def _merged(self, word):
        return merge_pieces([self.byte_ids[byte] for byte in word.encode()], self.ranks)
