"""WordPiece tokenizer as TensorFlow operations."""

import tensorflow as tf

from zoo.text.word_pieces import WordPieceTokenizer
from zoo.tf.tokenizers import tensorflow_text

_CONTROL = r"[\p{C}\x{FFFD}]"  # RE2 does not include unassigned characters.


class GraphWordPieces(tf.Module):
    """Encodes in a graph, with the ids of `zoo.text.word_pieces.WordPieceTokenizer`.

    The lower-casing of tensorflow-text is a compatibility folding (NFKC), which replaces "ß" by "ss" and "…" by three
    dots, unlike that of BERT. Only its splitting and its search for pieces are used here.

    Args:
        tokenizer: The vocabulary.
    """

    def __init__(self, tokenizer: WordPieceTokenizer):
        super().__init__()
        self._lowercase, self._strip_accents = tokenizer.lowercase, tokenizer.strip_accents
        self._pieces = tensorflow_text.FastBertTokenizer(
            [*tokenizer.pieces], token_out_type=tf.int32, lower_case_nfd_strip_accents=False
        )

    def encode(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Encodes strings `[B]` as int32 ids `[B, (T)]`, without special ids."""
        texts = tf.strings.regex_replace(texts, r"[\t\n\r]", " ")
        texts = tf.strings.regex_replace(texts, _CONTROL, "")
        if self._strip_accents:
            texts = tf.strings.regex_replace(tensorflow_text.normalize_utf8(texts, "NFD"), r"\p{Mn}", "")
        if self._lowercase:
            texts = tf.strings.lower(texts, encoding="utf-8")
        return self._pieces.tokenize(texts)
