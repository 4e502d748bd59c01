"""Placeholders as TensorFlow operations; see `zoo.text.placeholders`."""

import tensorflow as tf

from zoo.text.placeholders import FIRST, GLUED, LOST, MARKED, MARKERS, MARKS, MOST, PLACEHOLDERS, RESERVED
from zoo.tf.text_package import import_tensorflow_text

tensorflow_text = import_tensorflow_text()


def hide(texts: tf.Tensor) -> tuple[tf.Tensor, tf.RaggedTensor]:
    """Replaces what must be kept in strings `[B]`; returns the new texts, and what the placeholders stand for."""
    texts = tf.strings.regex_replace(texts, RESERVED, LOST)
    for pattern, replacement in MARKS:
        texts = tf.strings.regex_replace(texts, pattern, replacement.replace(r"\g<0>", r"\0"))
    parts, chosen = split(texts, MARKED)
    parts = parts.with_flat_values(tf.strings.regex_replace(parts.flat_values, MARKERS, ""))
    hidden, kept = hide_parts(parts, chosen, tf.zeros(parts.nrows(), tf.int32))
    return tf.strings.regex_replace(hidden, GLUED, ""), kept


def hide_parts(parts: tf.RaggedTensor, chosen: tf.Tensor, first: tf.Tensor) -> tuple[tf.Tensor, tf.RaggedTensor]:
    """Replaces the chosen parts `[B, (P)]` of texts by placeholders with numbers from `first` `[B]`, as `hide` does."""
    number = tf.cumsum(parts.with_flat_values(tf.cast(chosen, tf.int32)), axis=1).flat_values - 1
    number += tf.gather(first, parts.value_rowids())
    chosen &= number < MOST
    marks = tf.strings.unicode_encode((FIRST + tf.where(chosen, number, 0))[:, None], "UTF-8")
    hidden = parts.with_flat_values(tf.where(chosen, marks, parts.flat_values))
    return tf.strings.reduce_join(hidden, axis=-1), tf.ragged.boolean_mask(parts, parts.with_flat_values(chosen))


def restore(texts: tf.Tensor, kept: tf.RaggedTensor) -> tf.Tensor:
    """Puts back into strings `[B]` what placeholders stand for, as `zoo.text.placeholders.restore` does."""
    parts, chosen = split(texts, PLACEHOLDERS)
    flat, rows = parts.flat_values, parts.value_rowids()
    codes = tf.strings.unicode_decode(tf.where(chosen, flat, chr(FIRST)), "UTF-8").flat_values
    number = tf.cast(codes - FIRST, rows.dtype)
    known = number < tf.gather(kept.row_lengths(), rows)
    places = tf.where(known, tf.gather(kept.row_starts(), rows) + number, 0)
    values = tf.gather(tf.concat([kept.flat_values, [""]], 0), places)
    flat = tf.where(chosen, tf.where(known, values, ""), flat)
    return tf.strings.regex_replace(tf.strings.reduce_join(parts.with_flat_values(flat), axis=-1), GLUED, "")


def split(texts: tf.Tensor, pattern: str) -> tuple[tf.RaggedTensor, tf.Tensor]:
    """Splits strings `[B]` at what matches, as ragged parts `[B, (P)]`; returns also which of them match."""
    parts = tensorflow_text.regex_split(texts, pattern, keep_delim_regex_pattern=pattern)
    return parts, tf.strings.regex_full_match(parts.flat_values, pattern)
