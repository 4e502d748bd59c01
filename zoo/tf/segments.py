"""Splitting of texts into segments in a graph, as by `zoo.translation.segments`, and joining of their translations."""

from typing import NamedTuple

import tensorflow as tf

from zoo.text.characters import SPACE
from zoo.text.sentences import REPLACEMENTS
from zoo.tf.chunks import part_starts
from zoo.tf.tokenizers import GraphTokenizer, tensorflow_text

_BREAK = rf"\A{SPACE}+|{SPACE}*[\r\n]{SPACE}*|{SPACE}+\z"
_SENTENCE_END = rf"([.!?…。！？؟][\"'»”’)\]]*){SPACE}+"


class Segments(NamedTuple):
    """Segments of texts `[B]`, and the white space between them.

    `parts` is string `[B, (lines and breaks), (segments)]`, `gaps` the white space before each of them, and `breaks`
    string `[B, (lines and breaks)]`: line breaks with the white space around them, that at the ends of the text, or
    empty for a line, whose segments are in `parts`.
    """

    parts: tf.RaggedTensor
    gaps: tf.RaggedTensor
    breaks: tf.RaggedTensor


def split_texts(texts: tf.Tensor, tokenizer: GraphTokenizer, max_tokens: int, sentences: bool = True) -> Segments:
    """Splits texts `[B]` at line breaks and ends of sentences; long sentences further; see `split_texts`."""
    texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")
    pieces = tensorflow_text.regex_split(texts, _BREAK, keep_delim_regex_pattern=_BREAK)
    flat = pieces.flat_values
    is_break = tf.strings.regex_full_match(flat, _BREAK)
    lines = tf.where(is_break, "", flat)
    for pattern, replacement in REPLACEMENTS if sentences else ():
        lines = tf.strings.regex_replace(lines, pattern, replacement)
    found = tensorflow_text.regex_split(lines, "\n")
    gaps = tf.strings.regex_replace(found.flat_values, f"(?s)^({SPACE}*).*", r"\1")
    texts = tf.strings.regex_replace(found.flat_values, f"^{SPACE}+", "")
    parts = tf.RaggedTensor.from_value_rowids(texts, tf.range(tf.size(texts, tf.int64)), tf.size(texts, tf.int64))
    for split, separator in ((_possible_sentences, " "), (_words, " "), (_characters, "")):
        parts = _fitting(parts, split, separator, tokenizer, max_tokens)
    is_first = tf.equal(tf.ragged.range(parts.row_lengths()).flat_values, 0)
    gaps = parts.with_flat_values(tf.where(is_first, tf.gather(gaps, parts.value_rowids()), " "))
    parts, gaps = (pieces.with_values(found.with_values(values).merge_dims(1, 2)) for values in (parts, gaps))
    return Segments(parts, gaps, pieces.with_values(tf.where(is_break, flat, "")))


def join_texts(segments: Segments, translations: tf.Tensor) -> tf.Tensor:
    """Joins flat translations of the segments, of which empty ones take no space, to texts `[B]`."""
    lines, has_text = segments.parts.values, tf.not_equal(translations, "")
    number = tf.cumsum(lines.with_values(tf.cast(has_text, tf.int32)), axis=1).values
    gaps = tf.where(has_text & (number > 1), segments.gaps.flat_values, "")
    lines = tf.strings.reduce_join(lines.with_values(tf.strings.join([gaps, translations])), axis=-1)
    pieces = segments.breaks.with_values(tf.strings.join([lines, segments.breaks.values]))
    texts = tf.strings.reduce_join(pieces, axis=-1)
    return tf.where(tf.equal(segment_counts(segments), 0), "", texts)


def segment_counts(segments: Segments) -> tf.Tensor:
    """Counts the segments of each text: int64 `[B]`."""
    return tf.reduce_sum(segments.parts.row_lengths(axis=2), axis=1)


def _fitting(parts, split, separator, tokenizer, max_tokens):
    """Splits those of `parts` `[N, (segments)]` with more than `max_tokens` tokens, and joins small pieces."""
    texts = parts.flat_values
    long = tokenizer.encode(texts).row_lengths() > max_tokens

    def split_long():
        pieces = tf.concat([split(tf.where(long, texts, "")), _kept(texts, ~long)], axis=1)
        return parts.with_values(_packed(pieces, separator, tokenizer, max_tokens)).merge_dims(1, 2)

    return tf.cond(tf.reduce_any(long), split_long, lambda: parts)


def _packed(pieces, separator, tokenizer, max_tokens):
    """Joins neighbours in ragged `[N, (pieces)]` as long as they have at most `max_tokens` tokens together."""
    rows, flat = pieces.value_rowids(), pieces.flat_values
    if separator:
        begins = part_starts(rows, tokenizer.encode(flat).row_lengths(), max_tokens)
    else:  # Characters have at most four bytes, hence four tokens, each; one token is for the space before.
        places = tf.ragged.range(pieces.row_lengths()).flat_values
        begins = tf.equal(places % max(1, (max_tokens - 1) // 4), 0)
    places = tf.cumsum(tf.cast(begins, rows.dtype)) - 1
    joined = tf.strings.unsorted_segment_join(flat, places, tf.reduce_sum(tf.cast(begins, rows.dtype)), separator)
    return tf.RaggedTensor.from_value_rowids(joined, tf.boolean_mask(rows, begins), pieces.nrows())


def _possible_sentences(texts):
    return tensorflow_text.regex_split(tf.strings.regex_replace(texts, _SENTENCE_END, r"\1" + "\n"), "\n")


def _words(texts):
    return tensorflow_text.regex_split(texts, SPACE)


def _characters(texts):
    return tf.strings.unicode_split(texts, "UTF-8")


def _kept(texts, kept):
    """Converts strings `[N]` to ragged `[N, (0 or 1)]`, which has those that are kept."""
    return tf.RaggedTensor.from_row_lengths(tf.boolean_mask(texts, kept), tf.cast(kept, tf.int64))
