"""Kinds of vocabularies in checkpoints."""

from zoo.text.tokenizer import Tokenizer
from zoo.text.word_pieces import WordPieceTokenizer

Vocabulary = Tokenizer | WordPieceTokenizer


def read_vocabulary(model: bytes) -> Vocabulary:
    """Reads a serialized vocabulary, a sentencepiece model or the word pieces of a BERT."""
    return WordPieceTokenizer.from_bytes(model) if model[:1] == b"{" else Tokenizer(model)
