"""WordPiece as TensorFlow operations, with the same ids as `zoo.text.word_pieces`."""

import tensorflow as tf

from zoo.text.word_pieces import WordPieceTokenizer
from zoo.tf.tokenizers import tensorflow_text

_CONTROL = r"[\p{C}\x{FFFD}]"  # RE2 counts no unassigned characters among them.


class GraphWordPieces(tf.Module):
    """The same ids as `WordPieceTokenizer`, in a graph.

    tensorflow-text's own lower-casing is a compatibility folding (NFKC): it takes "ß" for "ss" and "…" for three dots,
    which BERT's vocabularies were not made by. Only its splitting and its search for pieces are used here.

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
        """Strings `[B]` to int32 ids `[B, (T)]`, without special ids."""
        texts = tf.strings.regex_replace(texts, r"[\t\n\r]", " ")
        texts = tf.strings.regex_replace(texts, _CONTROL, "")
        if self._strip_accents:
            texts = tf.strings.regex_replace(tensorflow_text.normalize_utf8(texts, "NFD"), r"\p{Mn}", "")
        if self._lowercase:
            texts = tf.strings.lower(texts, encoding="utf-8")
        return self._pieces.tokenize(texts)
