"""Kinds of vocabularies as TensorFlow operations."""

import tensorflow as tf

from zoo.text.byte_pair_tokenizer import BytePairTokenizer
from zoo.text.marian_tokenizer import MarianTokenizer
from zoo.text.t5_tokenizer import T5Tokenizer
from zoo.text.tokenizer import Tokenizer
from zoo.text.vocabularies import Vocabulary
from zoo.text.word_pieces import WordPieceTokenizer
from zoo.tf.byte_pair_tokenizer import GraphBytePairTokenizer
from zoo.tf.piece_tokenizer import GraphPieceTokenizer
from zoo.tf.tokenizers import GraphTokenizer
from zoo.tf.word_pieces import GraphWordPieces

_GRAPH = {
    Tokenizer: GraphTokenizer,
    MarianTokenizer: GraphPieceTokenizer,
    T5Tokenizer: GraphPieceTokenizer,
    WordPieceTokenizer: GraphWordPieces,
    BytePairTokenizer: GraphBytePairTokenizer,
}


def graph_tokenizer(tokenizer: Vocabulary) -> tf.Module:
    """Returns the counterpart of a tokenizer in a graph: `encode`, and but for word pieces, `decode`."""
    return _GRAPH[type(tokenizer)](tokenizer)
