"""The vocabularies that a checkpoint may hold."""

from zoo.tokenizer import Tokenizer
from zoo.word_pieces import WordPieceTokenizer

Vocabulary = Tokenizer | WordPieceTokenizer


def read_vocabulary(model: bytes) -> Vocabulary:
    """The tokenizer that wrote `model`: sentencepiece's, or the word pieces of a BERT."""
    return WordPieceTokenizer.from_bytes(model) if model[:1] == b"{" else Tokenizer(model)
