"""WordPiece tokenizer of BERT, with the ids of its authors' tokenizer. Standard library only."""

import hashlib
import json
import unicodedata
from collections.abc import Sequence

_SPECIAL = {"pad": "[PAD]", "unknown": "[UNK]", "start": "[CLS]", "end": "[SEP]", "mask": "[MASK]"}
_LONGEST_WORD = 100  # Characters; longer ones are unknown.
_CHINESE = (
    *((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F)),
    *((0x2B740, 0x2B81F), (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)),
)


class WordPieceTokenizer:
    """Encodes texts as ids of word pieces (Devlin et al. 2019).

    Control characters are removed; texts are split at white space, around punctuation and around Chinese characters;
    then each word is split from the left into the longest pieces, or is unknown. Strings that look like special tokens
    are plain text.

    Args:
        pieces: The vocabulary, in the order of the ids; `[PAD]` has id 0.
        lowercase: Whether case is folded.
        strip_accents: Whether combining marks are removed; None for the value of `lowercase`.

    Raises:
        ValueError: If a special token is missing, the id of padding is not 0, or a piece occurs twice.
    """

    word_prefix = ""

    def __init__(self, pieces: Sequence[str], lowercase: bool = True, strip_accents: bool | None = None):
        self.pieces, self.lowercase = tuple(pieces), lowercase
        self.strip_accents = lowercase if strip_accents is None else strip_accents
        self._ids = {piece: i for i, piece in enumerate(self.pieces)}
        missing = [token for token in _SPECIAL.values() if token not in self._ids]
        if missing or self._ids["[PAD]"]:
            raise ValueError(
                "A WordPiece vocabulary must have [UNK], [CLS], [SEP], [MASK], and [PAD] with id 0. "
                f"Received: {len(self.pieces)} pieces, without {', '.join(missing) or '[PAD] as the first'}. "
                "Use the vocabulary file of a BERT."
            )
        if len(self._ids) < len(self.pieces):
            first, piece = next((i, piece) for i, piece in enumerate(self.pieces) if self._ids[piece] != i)
            raise ValueError(
                f"Every piece must occur once. Received: {piece!r} with the ids {first} and {self._ids[piece]}. Most "
                f"programs only use the last one: rename the other, to '[unused{first}]' for example."
            )
        self.unknown_id, self.start_id, self.end_id, self.mask_id = (
            self._ids[_SPECIAL[name]] for name in ("unknown", "start", "end", "mask")
        )

    @classmethod
    def from_bytes(cls, model: bytes) -> "WordPieceTokenizer":
        """Reads a vocabulary that the property `model` returned."""
        return cls(**json.loads(model))

    @property
    def model(self) -> bytes:
        """The vocabulary, serialized for a checkpoint."""
        values = {"pieces": self.pieces, "lowercase": self.lowercase, "strip_accents": self.strip_accents}
        return json.dumps(values, ensure_ascii=False).encode()

    @property
    def vocabulary_size(self) -> int:
        """Rows of an embedding table for this vocabulary."""
        return len(self.pieces)

    @property
    def digest(self) -> str:
        """SHA-256 of the model, which identifies the vocabulary."""
        return hashlib.sha256(self.model).hexdigest()

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Encodes each text as a list of ids, without special tokens."""
        if isinstance(texts, str):
            raise ValueError(f"`texts` must be a list of strings. Received: {texts[:40]!r}. Put it into a list.")
        return [[i for word in self._words(text) for i in self._pieces(word)] for text in texts]

    encode_targets = encode  # One vocabulary serves both sides.

    def _words(self, text):
        text = "".join(_clean(character) for character in text)
        if self.strip_accents:
            text = "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")
        if self.lowercase:
            text = text.lower()
        return "".join(f" {c} " if _is_punctuation(c) else c for c in text).split()

    def _pieces(self, word):
        if len(word) > _LONGEST_WORD:
            return [self.unknown_id]
        ids, begin = [], 0
        while begin < len(word):
            prefix = "##" if begin else ""
            for end in range(len(word), begin, -1):
                found = self._ids.get(prefix + word[begin:end])
                if found is not None:
                    break
            else:
                return [self.unknown_id]
            ids.append(found)
            begin = end
        return ids


def _clean(character):
    """Removes a control character, replaces white space by a space, puts spaces around a Chinese character."""
    if character.isascii() and character.isprintable():
        return character
    if character in "\t\n\r":
        return " "
    code, category = ord(character), unicodedata.category(character)
    if code == 0xFFFD or category[0] == "C":
        return ""
    if character.isspace():
        return " "
    return f" {character} " if any(first <= code <= last for first, last in _CHINESE) else character


def _is_punctuation(character):
    if character.isascii():
        return character.isprintable() and not character.isalnum() and character != " "
    return unicodedata.category(character)[0] == "P"
