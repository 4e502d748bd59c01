"""Case markup as TensorFlow operations; see `zoo.text.case_markup`."""

import tensorflow as tf

from zoo.text.case_markup import BEGIN, ENCODED, MARKED, MARKERS, REPLACEMENTS, SHARP_S
from zoo.tf.text_package import import_tensorflow_text

tensorflow_text = import_tensorflow_text()


def mark_capitals(texts: tf.Tensor) -> tf.Tensor:
    """Converts words in capitals of strings `[B]` to small letters between markers."""
    for pattern, replacement in REPLACEMENTS:
        texts = tf.strings.regex_replace(texts, pattern, replacement)
    return _convert(texts, MARKED, lambda parts: tf.strings.lower(parts, encoding="utf-8"))


def restore_capitals(texts: tf.Tensor) -> tf.Tensor:
    """Inverts `mark_capitals`."""
    return tf.strings.regex_replace(_convert(texts, ENCODED, _capitals), MARKERS, "")


def _capitals(parts):
    parts = tf.strings.regex_replace(tf.strings.regex_replace(parts, MARKERS, ""), *SHARP_S)
    return tf.strings.upper(parts, encoding="utf-8")


def _convert(texts, pattern, function):
    """Applies a function to the parts of texts that match a pattern, all of which contain `BEGIN`."""
    parts = tensorflow_text.regex_split(texts, pattern, keep_delim_regex_pattern=pattern)
    flat = parts.flat_values
    chosen = tf.strings.regex_full_match(flat, f"(?s).*{BEGIN}.*")
    return tf.strings.reduce_join(parts.with_flat_values(tf.where(chosen, function(flat), flat)), axis=-1)
