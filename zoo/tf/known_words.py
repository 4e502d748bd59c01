"""Known words as TensorFlow operations; see `zoo.text.known_words`."""

import tensorflow as tf

from zoo.text.known_words import DOUBLE_NAME, HAS_TITLE, MARGIN, MARKED_WORD, MARKS, NAME, SMALL, WORD, with_numbers
from zoo.text.placeholders import BEGIN
from zoo.tf.placeholders import hide_parts, split


class KnownWords(tf.Module):
    """Finds names, and chooses between translations with and without placeholders for them.

    Args:
        words: As for `zoo.text.known_words.KnownWords`.
    """

    def __init__(self, words: str):
        super().__init__()
        keys = tf.constant(sorted(with_numbers(words)))
        self._table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(keys, tf.ones_like(keys, tf.int32)), 0
        )

    def hide_names(self, texts: tf.Tensor, kept: tf.RaggedTensor) -> tuple[tf.Tensor, tf.Tensor, tf.RaggedTensor]:
        """Replaces names in texts that `zoo.tf.placeholders.hide` returned by further placeholders.

        Returns:
            The numbers `[R]` of the texts that have any and room for them, these texts `[R]`, and what their
            placeholders stand for `[R, (P)]`.
        """
        parts, is_word = split(mark_titled(texts), MARKED_WORD)
        has_small = tf.strings.regex_full_match(texts, f"(?s).*{SMALL}.*")
        is_word &= tf.gather(has_small, parts.value_rowids())
        chosen = is_word & (_is_titled(parts.flat_values) | self._is_unseen_name(parts.flat_values))
        hidden, names = hide_parts(parts, chosen, tf.cast(kept.row_lengths(), tf.int32))
        hidden, names = _unmarked(hidden), names.with_flat_values(_unmarked(names.flat_values))
        numbers = tf.where(names.row_lengths() > 0)[:, 0]
        return numbers, tf.gather(hidden, numbers), tf.gather(tf.concat([kept, names], 1), numbers)

    def choose(self, sources: tf.Tensor, numbers: tf.Tensor, translations: tf.Tensor, scores: tf.Tensor) -> tf.Tensor:
        """Chooses between translations, as `zoo.text.known_words.KnownWords.prefers_kept` does.

        Args:
            sources: Texts `[S]`.
            numbers: Numbers `[R]` of the texts with names.
            translations, scores: Of all texts, then of those with placeholders for names, `[S + R]`.

        Returns:
            The number of the better translation of each text, `[S]`.
        """
        count = tf.size(sources, numbers.dtype)
        marked = _words(mark_titled(tf.gather(sources, numbers)), MARKED_WORD)
        read, is_titled, before = _unmarked(marked), _is_titled(marked), tf.gather(translations, numbers)
        plain, kept = _words(before), _words(translations[count:])
        is_name = is_titled | self._is_unseen_name(read)
        loses = [tf.reduce_any(is_name & ~_among(read, words), axis=1) for words in (plain, kept)]
        invented = tf.reduce_any(self._is_unseen(plain) & ~_among(plain, read), axis=1)
        loses_titled = tf.reduce_any(is_titled & ~_among(read, plain), axis=1)
        translated = loses_titled & tf.strings.regex_full_match(before, HAS_TITLE)
        better = scores[count:] > tf.gather(scores, numbers) + MARGIN
        prefers_kept = loses[0] & ~loses[1] & (invented | translated | better)
        others = count + tf.where(prefers_kept)[:, 0]
        return tf.tensor_scatter_nd_update(tf.range(count), tf.boolean_mask(numbers, prefers_kept)[:, None], others)

    def _is_unseen_name(self, words):
        return tf.strings.regex_full_match(words, NAME) & self._is_unseen(words)

    def _is_unseen(self, words):
        """Returns whether words are not known; padding counts as known."""
        parts = tf.strings.split(tf.reshape(words, [-1]), "-")
        part_is_unseen = tf.reduce_any(parts.with_flat_values(self._is_missing(parts.flat_values)), axis=1)
        is_double = tf.strings.regex_full_match(words, DOUBLE_NAME)
        unseen = is_double | tf.reshape(part_is_unseen, tf.shape(words))
        return (words != "") & self._is_missing(words) & unseen

    def _is_missing(self, words):
        return self._table.lookup(tf.strings.lower(words, encoding="utf-8")) == 0


def mark_titled(texts):
    """Returns texts with `BEGIN` before each name that follows a title."""
    for pattern, replacement in MARKS:
        texts = tf.strings.regex_replace(texts, pattern, replacement)
    return texts


def _is_titled(words):
    return tf.strings.regex_full_match(words, f"{BEGIN}.*")


def _unmarked(texts):
    return tf.strings.regex_replace(texts, BEGIN, "")


def _words(texts, pattern=WORD):
    """Returns the words of texts `[B]`, padded with "": `[B, W]`."""
    parts, is_word = split(texts, pattern)
    return tf.ragged.boolean_mask(parts, parts.with_flat_values(is_word)).to_tensor("")


def _among(words, others):
    """Returns which of the words `[B, W]` are among the others `[B, V]` of their text."""
    return tf.reduce_any(words[:, :, None] == others[:, None], axis=2)
