"""Tokenizers of other packages' translators as TensorFlow operations."""

import tensorflow as tf

from zoo.config import UNKNOWN_ID
from zoo.text.piece_tokenizer import SPACE, PieceTokenizer
from zoo.tf.tokenizers import GraphSentencepiece, SourceTokenizer, tensorflow_text, without_special


class GraphPieceTokenizer(SourceTokenizer):
    """Encodes and decodes in a graph, with the ids of a `zoo.text.piece_tokenizer.PieceTokenizer`.

    Args:
        tokenizer: The vocabulary.
    """

    def __init__(self, tokenizer: PieceTokenizer):
        super().__init__()
        models = tokenizer.source_model, tokenizer.target_model
        self._sides, self._pieces = [GraphSentencepiece(model, tf.string) for model in models], tokenizer.pieces
        self._texts = tokenizer.piece_texts
        numbered = tf.lookup.KeyValueTensorInitializer(
            [*self._pieces], [*range(len(self._pieces))], value_dtype=tf.int32
        )
        self._ids = tf.lookup.StaticHashTable(numbered, UNKNOWN_ID, experimental_is_anonymous=True)
        self._prefix, self._sentinels = [*tokenizer.prefix_ids], tokenizer.sentinel_pattern

    def encode(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Encodes sources, strings `[B]`, as int32 ids `[B, (S)]`: the prefix, and subwords."""
        ids = self._encode(texts, 0)
        prefix = tf.repeat(tf.constant([self._prefix], tf.int32), tf.cast(ids.nrows(), tf.int32), axis=0)
        return tf.concat([prefix, ids], axis=1)

    def encode_targets(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Encodes targets, strings `[B]`, as int32 ids `[B, (T)]`."""
        return self._encode(texts, 1)

    def word_numbers(self, ids: tf.RaggedTensor) -> tf.RaggedTensor:
        """Returns the number, from 0, of the word of each id, and -1 for the prefix; see `PieceTokenizer.words`."""
        place, row = tf.ragged.range(ids.row_lengths()).flat_values, ids.value_rowids()
        length = len(self._prefix)
        starts = ids.to_tensor(default_value=-1, shape=(None, length))
        prefixed = tf.reduce_all(tf.equal(starts, tf.constant([self._prefix], tf.int32)), axis=1)
        first = tf.gather(tf.where(prefixed, tf.cast(length, tf.int64), 0), row)
        begins = tf.gather(tf.constant([piece.startswith(SPACE) for piece in self._pieces]), ids.flat_values)
        begins = (begins | tf.equal(place, first)) & (place >= first)
        return tf.cumsum(ids.with_flat_values(tf.cast(begins, tf.int32)), axis=1) - 1

    def decode(self, ids: tf.Tensor | tf.RaggedTensor) -> tf.Tensor:
        """Decodes ids `[B, S]`, padded or ragged, to strings `[B]`; special ids are ignored."""
        ids = without_special(ids)
        pieces = ids.with_flat_values(tf.gather(tf.constant(self._texts), ids.flat_values))
        texts = tf.strings.reduce_join(pieces, axis=1)
        texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")
        return tf.strings.regex_replace(texts, r"\A +| +\z", "")

    def _encode(self, texts, side):
        if not self._sentinels:
            return self._lookup(self._sides[side]().tokenize(texts))
        parts = tensorflow_text.regex_split(texts, self._sentinels, keep_delim_regex_pattern=self._sentinels)
        whole = tf.strings.regex_full_match(parts.flat_values, self._sentinels)
        pieces = self._sides[side]().tokenize(tf.where(whole, "", parts.flat_values))
        sentinels = tf.RaggedTensor.from_row_lengths(
            tf.boolean_mask(parts.flat_values, whole), tf.cast(whole, pieces.row_splits.dtype)
        )
        return self._lookup(parts.with_values(tf.concat([sentinels, pieces], axis=1)).merge_dims(1, 2))

    def _lookup(self, pieces):
        return pieces.with_flat_values(self._ids.lookup(pieces.flat_values))
