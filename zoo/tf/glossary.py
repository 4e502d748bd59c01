"""Glossaries as TensorFlow operations; see `zoo.text.glossary`."""

from collections.abc import Mapping

import tensorflow as tf

from zoo.text import glossary
from zoo.text.known_words import MARKED_WORD
from zoo.tf.known_words import mark_titled
from zoo.tf.placeholders import hide_parts, split


class Glossary(tf.Module):
    """Replaces terms by placeholders.

    Args:
        terms: As for `zoo.text.glossary.Glossary`.
    """

    def __init__(self, terms: Mapping[str, str]):
        super().__init__()
        found = glossary.Glossary(terms)
        self._pattern = found.pattern
        self._table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer([*found.terms], [*found.terms.values()]), ""
        )

    def hide(self, texts: tf.Tensor, kept: tf.RaggedTensor) -> tuple[tf.Tensor, tf.RaggedTensor]:
        """Replaces terms in texts `[B]` that `zoo.tf.placeholders.hide` returned by further placeholders."""
        marked = tf.strings.regex_replace(mark_titled(texts), MARKED_WORD, glossary.MARKED)
        parts, chosen = split(marked, self._pattern)
        hidden, found = hide_parts(parts, chosen, tf.cast(kept.row_lengths(), tf.int32))
        terms = tf.strings.regex_replace(found.flat_values, glossary.MARKS, "")
        kept = tf.concat([kept, found.with_flat_values(self._table.lookup(terms))], 1)
        return tf.strings.regex_replace(hidden, glossary.MARKS, ""), kept
