"""Kinds of vocabularies in checkpoints."""

import json
import os
import pathlib

from zoo.text.marian_tokenizer import MarianTokenizer
from zoo.text.t5_tokenizer import T5Tokenizer
from zoo.text.tokenizer import Tokenizer
from zoo.text.word_pieces import WordPieceTokenizer

Vocabulary = Tokenizer | MarianTokenizer | T5Tokenizer | WordPieceTokenizer


def read_vocabulary(model: bytes, num_threads: int = -1) -> Vocabulary:
    """Reads a serialized vocabulary: a sentencepiece model, those of a Marian or T5, or the word pieces of a BERT.

    Args:
        model: What the property `model` of the vocabulary returned.
        num_threads: Number of threads of sentencepiece that encode; -1 for the number of cores.
    """
    if model[:1] != b"{":
        return Tokenizer(model, num_threads)
    values = json.loads(model)
    if "source_model" in values:
        return MarianTokenizer.from_bytes(model, num_threads)
    if "spiece_model" in values:
        return T5Tokenizer.from_bytes(model, num_threads)
    return WordPieceTokenizer.from_bytes(model)


def load_vocabulary(path: str | os.PathLike) -> Vocabulary:
    """Reads a vocabulary from a file, such as `vocabulary.model` of a checkpoint."""
    return read_vocabulary(pathlib.Path(path).read_bytes())
