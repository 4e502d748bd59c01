"""Tokenizer of Marian's translators as TensorFlow operations."""

import tensorflow as tf

from zoo.config import UNKNOWN_ID
from zoo.text.marian_tokenizer import SPACE, MarianTokenizer
from zoo.tf.tokenizers import GraphSentencepiece, SourceTokenizer, without_special


class GraphMarianTokenizer(SourceTokenizer):
    """Encodes and decodes in a graph, with the ids of `zoo.text.marian_tokenizer.MarianTokenizer`.

    Args:
        tokenizer: The vocabulary.
    """

    def __init__(self, tokenizer: MarianTokenizer):
        super().__init__()
        models = tokenizer.source_model, tokenizer.target_model
        self._sides, self._pieces = [GraphSentencepiece(model, tf.string) for model in models], tokenizer.pieces
        self._texts = tokenizer.piece_texts
        numbered = tf.lookup.KeyValueTensorInitializer(
            [*self._pieces], [*range(len(self._pieces))], value_dtype=tf.int32
        )
        self._ids = tf.lookup.StaticHashTable(numbered, UNKNOWN_ID, experimental_is_anonymous=True)
        self._prefix = [tokenizer.pieces.index(piece) for piece in tokenizer.prefix]

    def encode(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Encodes sources, strings `[B]`, as int32 ids `[B, (S)]`: the prefix, and subwords."""
        ids = self._encode(texts, 0)
        prefix = tf.repeat(tf.constant([self._prefix], tf.int32), tf.cast(ids.nrows(), tf.int32), axis=0)
        return tf.concat([prefix, ids], axis=1)

    def encode_targets(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Encodes targets, strings `[B]`, as int32 ids `[B, (T)]`."""
        return self._encode(texts, 1)

    def word_numbers(self, ids: tf.RaggedTensor) -> tf.RaggedTensor:
        """Returns the number, from 0, of the word of each id, and -1 for the prefix; see `MarianTokenizer.words`."""
        place = tf.ragged.range(ids.row_lengths()).flat_values
        prefixed = ids.with_flat_values(tf.reduce_any([tf.equal(ids.flat_values, i) for i in (-1, *self._prefix)], 0))
        counts = tf.reduce_sum(tf.cast(prefixed, tf.int64), axis=1)
        first = tf.equal(place, tf.gather(counts, ids.value_rowids()))
        begins = tf.gather(tf.constant([piece.startswith(SPACE) for piece in self._pieces]), ids.flat_values)
        begins = (begins | first) & ~prefixed.flat_values
        return tf.cumsum(ids.with_flat_values(tf.cast(begins, tf.int32)), axis=1) - 1

    def decode(self, ids: tf.Tensor | tf.RaggedTensor) -> tf.Tensor:
        """Decodes ids `[B, S]`, padded or ragged, to strings `[B]`; special ids are ignored."""
        ids = without_special(ids)
        pieces = ids.with_flat_values(tf.gather(tf.constant(self._texts), ids.flat_values))
        texts = tf.strings.reduce_join(pieces, axis=1)
        texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")
        return tf.strings.regex_replace(texts, r"\A +| +\z", "")

    def _encode(self, texts, side):
        pieces = self._sides[side]().tokenize(texts)
        return pieces.with_flat_values(self._ids.lookup(pieces.flat_values))
