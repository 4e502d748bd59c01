"""Splitting of texts into segments that a sentence model can translate, and joining of their translations."""

import itertools
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from zoo.text.characters import SPACE
from zoo.text.sentences import split_sentences
from zoo.text.vocabularies import Vocabulary

_LINE_BREAK = re.compile(r"[\r\n]")
# Line breaks with the white space around them, and that at the ends of a text.
_BREAK = re.compile(rf"((?<!{SPACE})(?:\A{SPACE}+|{SPACE}*[\r\n]{SPACE}*|{SPACE}+\Z))")
_SENTENCE_END = re.compile(r"(?<=[.!?…。！？؟])([\"'»”’)\]]*)\s+")


class Translation(NamedTuple):
    """A translation and its score: log-probability over length penalty, summed over the segments of the text."""

    text: str
    score: float


class Segment(NamedTuple):
    """A part of a text to translate, the white space before it, and that after the last segment."""

    text: str
    before: str
    after: str = ""


def split_texts(
    texts: Sequence[str], tokenizer: Vocabulary, max_tokens: int, sentences: bool = True
) -> list[list[Segment]]:
    """Splits each text at line breaks and, if `sentences` is True, at the ends of sentences.

    Sentences of more than `max_tokens` tokens are split where one might end, else at spaces, and longer words anywhere
    (a single character may have five tokens). A text of white space alone has no segments. The joined segments are the
    text, except for white space in and between the parts of a sentence that is too long.
    """
    split = split_sentences if sentences else lambda line: [line]
    pieces = [_BREAK.split(text) for text in texts]
    lines = [[split(line) for line in parts[::2]] for parts in pieces]
    whole = [sentence.lstrip() for text in lines for line in text for sentence in line]
    parts = dict(zip(whole, _split_long(whole, tokenizer, max_tokens)))
    return [_segments(text, breaks[1::2], parts) for text, breaks in zip(lines, pieces)]


def _segments(lines, breaks, parts):
    """Returns the segments of a text; `parts` has those of each sentence."""
    segments = []
    for line, before in zip(lines, ["", *breaks]):
        for sentence in line:
            text = sentence.lstrip()
            before += sentence[: len(sentence) - len(text)]
            for part in parts[text]:
                segments.append(Segment(part, before))
                before = " "
            before = ""
    if segments and lines[-1] == [""]:
        segments[-1] = segments[-1]._replace(after=breaks[-1])
    return segments


def join_segments(segments: Sequence[Segment], candidates: Sequence[Sequence], make: Callable) -> list:
    """Joins the n-th best translations of the segments to the n-th best translation of the text; adds their scores.

    Args:
        segments: Segments from `split_texts`.
        candidates: For each segment its translations, with `text` and `score`, best first.
        make: Function from text and score to a translation.
    """
    if not segments:
        return [make("", 0.0)]
    joined = []
    for n in range(max(map(len, candidates))):
        chosen = [options[min(n, len(options) - 1)] for options in candidates]
        text = _joined(segments, [option.text for option in chosen])
        joined.append(make(text, sum(option.score for option in chosen)))
    return joined


def _joined(segments, texts):
    """Joins the texts of segments, of which empty ones take no space."""
    joined, line = "", ""
    for i, (segment, text) in enumerate(zip(segments, texts)):
        if not i or _LINE_BREAK.search(segment.before):
            joined, line = joined + line + segment.before, text
        elif text:
            line += segment.before + text if line else text
    return joined + line + segments[-1].after


def _split_long(texts, tokenizer, max_tokens):
    """Splits each text into parts of at most `max_tokens` tokens, greedily into as few as possible."""
    # A character has at most four bytes, and so four tokens; the space before the text is one more token.
    unsure = [text for text in texts if 4 * len(text) >= max_tokens]
    long = {text for text, row in zip(unsure, tokenizer.encode(unsure)) if len(row) > max_tokens}
    return [_split(text, tokenizer, max_tokens) if text in long else [text] * bool(text) for text in texts]


def _split(text, tokenizer, max_tokens):
    """Splits a text that is too long."""
    for pieces in (_SENTENCE_END.sub(r"\1\n", text).split("\n"), text.split()):
        if len(pieces) > 1:
            packed = _split_long(_pack(pieces, tokenizer, max_tokens), tokenizer, max_tokens)
            return [*itertools.chain.from_iterable(packed)]
    width = max(1, (max_tokens - 1) // 4)
    return [text[i : i + width] for i in range(0, len(text), width)]


def _pack(pieces, tokenizer, max_tokens):
    """Joins neighbouring pieces as long as they have at most `max_tokens` tokens together."""
    lengths = [len(row) for row in tokenizer.encode(pieces)]
    parts, total = [[]], 0
    for piece, length in zip(pieces, lengths):
        if parts[-1] and total + length > max_tokens:
            parts.append([])
            total = 0
        parts[-1].append(piece)
        total += length
    return [" ".join(part) for part in parts]
