"""Byte-level byte-pair tokenizer as TensorFlow operations."""

import numpy as np
import tensorflow as tf

from zoo.text.byte_pair_tokenizer import BytePairTokenizer
from zoo.text.byte_pairs import CONTRACTIONS, LETTER, NUMBER, OTHER_SPACE, REST, SPACE, kind_ranges
from zoo.tf.tokenizers import without_special

_NO_MERGE = np.iinfo(np.int32).max


class GraphBytePairTokenizer(tf.Module):
    """Encodes and decodes in a graph, with the ids of `zoo.text.byte_pair_tokenizer.BytePairTokenizer`.

    RE2 has no lookahead, and letters of another version of Unicode than Python: words are found by comparing the kinds
    of neighbouring characters.

    Args:
        tokenizer: The vocabulary.
    """

    def __init__(self, tokenizer: BytePairTokenizer):
        super().__init__()
        self._size, self._texts = tokenizer.vocabulary_size, tokenizer.piece_texts
        self._bytes, self._prefix, self._ordered = tokenizer.byte_ids, tokenizer.prefix_space, tokenizer.ordered
        found = sorted((a * self._size + b, rank, merged) for (a, b), (rank, merged) in tokenizer.ranks.items())
        self._pairs, self._ranks, self._merged = np.array(found or [(-1, _NO_MERGE, 0)], "int64").T

    def encode(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Encodes strings `[B]` as int32 ids `[B, (T)]`, without special ids."""
        if self._prefix:
            texts = tf.strings.regex_replace(texts, r"\A([^ ])", r" \1")
        codes = tf.strings.unicode_decode(texts, "UTF-8", errors="replace")
        begins = word_begins(codes)
        words = tf.RaggedTensor.from_value_rowids(codes.flat_values, tf.cumsum(tf.cast(begins, tf.int64)) - 1)
        counts = tf.reduce_sum(codes.with_flat_values(tf.cast(begins, tf.int64)), axis=1)
        different, place = tf.unique(tf.strings.unicode_encode(words, "UTF-8"))
        ids = tf.gather(self._word_ids(different), place)
        return tf.RaggedTensor.from_row_lengths(ids, counts).merge_dims(1, 2)

    def decode(self, ids: tf.Tensor | tf.RaggedTensor) -> tf.Tensor:
        """Decodes ids `[B, S]`, padded or ragged, to strings `[B]`; special ids are ignored."""
        ids = without_special(ids)
        pieces = ids.with_flat_values(tf.gather(tf.constant(self._texts), ids.flat_values))
        texts = tf.strings.reduce_join(pieces, axis=1)
        return tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")

    def _word_ids(self, words):
        """Encodes words `[W]` as ids `[W, (P)]`."""
        lengths = tf.cast(tf.strings.length(words), tf.int64)
        numbers = tf.cast(tf.io.decode_raw(tf.strings.reduce_join(words), tf.uint8), tf.int32)
        pieces = tf.gather(tf.constant(self._bytes, tf.int32), numbers)
        rows = tf.repeat(tf.range(tf.size(lengths)), lengths)
        found = tf.fill(tf.shape(pieces), -1)  # At the place of the first byte of each piece.
        shapes = (tf.TensorShape([None]),) * 4

        def more(found, places, pieces, rows):
            return tf.size(places) > 0

        def merge(found, places, pieces, rows):
            rank, merged = self._pair_ranks(pieces, rows)
            lowest = tf.math.unsorted_segment_min(rank, rows, tf.size(lengths))
            lowest = tf.gather(lowest, rows)
            done = tf.equal(lowest, _NO_MERGE)
            found = tf.tensor_scatter_nd_update(
                found, tf.boolean_mask(places, done)[:, None], tf.boolean_mask(pieces, done)
            )
            chosen = self._chosen(tf.equal(rank, lowest) & ~done, rows, tf.size(lengths))
            pieces = tf.where(chosen, merged, pieces)
            kept = ~tf.concat([tf.zeros_like(chosen[:1]), chosen[:-1]], 0) & ~done
            return found, *(tf.boolean_mask(part, kept) for part in (places, pieces, rows))

        state = found, tf.range(tf.size(pieces)), pieces, rows
        found, *_ = tf.while_loop(more, merge, state, shape_invariants=shapes)
        first = found >= 0
        counts = tf.math.unsorted_segment_sum(tf.cast(first, tf.int64), rows, tf.size(lengths))
        return tf.RaggedTensor.from_row_lengths(tf.boolean_mask(found, first), counts)

    def _pair_ranks(self, pieces, rows):
        """Returns rank and result of merging each piece with the next one of its word, _NO_MERGE if there is none."""
        pairs = tf.cast(pieces[:-1], tf.int64) * self._size + tf.cast(pieces[1:], tf.int64)
        place = tf.minimum(tf.searchsorted(tf.constant(self._pairs), pairs), len(self._pairs) - 1)
        known = tf.equal(tf.gather(tf.constant(self._pairs), place), pairs) & tf.equal(rows[:-1], rows[1:])
        place = tf.concat([place, tf.zeros_like(pieces[:1])], 0)
        known = tf.concat([known, tf.zeros_like(pieces[:1], tf.bool)], 0)
        rank = tf.where(known, tf.gather(tf.constant(self._ranks, tf.int32), place), _NO_MERGE)
        return rank, tf.gather(tf.constant(self._merged, tf.int32), place)

    def _chosen(self, lowest, rows, count):
        """Chooses from the pairs of lowest rank the ones to merge now: the first of a word, or all that do not overlap.

        All can be merged at once if none of them makes a pair of a lower rank.
        """
        place = tf.range(tf.size(rows))
        if not self._ordered:
            firsts = tf.math.unsorted_segment_min(tf.where(lowest, place, _NO_MERGE), rows, count)
            return lowest & tf.equal(place, tf.gather(firsts, rows))
        # Only pairs of two equal pieces overlap: of a run of them, each second one is merged.
        begins = lowest & ~(_shifted(lowest) & tf.equal(rows, _shifted(rows, -1)))
        run = tf.cumsum(tf.cast(begins, tf.int32)) - 1
        start = tf.gather(tf.concat([tf.boolean_mask(place, begins), [0]], 0), tf.maximum(run, 0))
        return lowest & tf.equal((place - start) % 2, 0)


def word_begins(codes: tf.RaggedTensor) -> tf.Tensor:
    """Returns whether a word begins with each of the code points `[B, (C)]`, boolean and flat.

    It does as `zoo.text.byte_pairs.split_words`: a space belongs to the word behind it, of several spaces the last one;
    other spaces are words, and so is a contraction, unless its apostrophe belongs to a run of other characters.
    """
    flat, lengths = codes.flat_values, codes.row_lengths()
    place = tf.ragged.range(lengths).flat_values
    first = tf.equal(place, 0)
    last = tf.equal(place + 1, tf.gather(lengths, codes.value_rowids()))
    firsts, kinds = (tf.constant(part, tf.int32) for part in kind_ranges())
    kind = tf.gather(kinds, tf.searchsorted(firsts, flat, side="right") - 1)
    before = tf.where(first, -1, _shifted(kind, -1))  # -1 beyond the text.
    behind = tf.where(last, -1, _shifted(kind, -1, by=-1))
    space, space_before = (_is_one_of(x, SPACE, OTHER_SPACE) for x in (kind, before))
    begins = tf.where(
        space,
        ~space_before | _is_one_of(behind, LETTER, NUMBER, REST),
        tf.not_equal(kind, before) & tf.not_equal(before, SPACE),
    )
    apostrophe = tf.equal(flat, ord("'")) & _is_one_of(before, -1, LETTER, NUMBER, OTHER_SPACE)
    for letters in CONTRACTIONS:
        ended, inside = apostrophe, last
        for number, letter in enumerate(letters, 1):
            ended &= ~inside & tf.equal(_shifted(flat, -1, by=-number), ord(letter))
            inside |= _shifted(last, True, by=-number)
        begins = begins & ~_shifted(ended) | _shifted(ended, by=len(letters) + 1)
    return begins | first


def _is_one_of(values, *numbers):
    return tf.reduce_any([tf.equal(values, number) for number in numbers], 0)


def _shifted(values, fill=False, by=1):
    """Returns each value `by` places further behind, or before if negative; the others are `fill`."""
    count = tf.minimum(abs(by), tf.size(values))
    filling = tf.fill([count], tf.cast(fill, values.dtype))
    return tf.concat([filling, values[: tf.size(values) - count]] if by > 0 else [values[count:], filling], 0)
