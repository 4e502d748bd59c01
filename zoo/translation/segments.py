"""Texts cut into segments that a sentence model can translate, and put together again."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from zoo.text.tokenizer import Tokenizer

_LINE_BREAK = re.compile(r"(\r\n|\n|\r)")
_SENTENCE_END = re.compile(r"(?<=[.!?…。！？؟])([\"'»”’)\]]*)\s+")


class Segment(NamedTuple):
    """A stretch of text to translate, what stands between it and the next, and what stands before the first."""

    text: str
    separator: str
    lead: str = ""


def split_text(text: str, tokenizer: Tokenizer, max_tokens: int) -> list[Segment]:
    """Cuts a text at line breaks and, where a line has more than `max_tokens` tokens, at ends of sentences.

    A sentence that is too long by itself is cut at spaces, and a word that is, anywhere (a single character may
    take five tokens). White space alone gives no segment. Joined as they are, the segments give back the text,
    white space apart.
    """
    segments, lead = [], ""
    pieces = _LINE_BREAK.split(text)
    for line, line_break in zip(pieces[::2], [*pieces[1::2], ""]):
        parts = _fitting(line.strip(), tokenizer, max_tokens)
        for i, part in enumerate(parts):
            segments.append(Segment(part, " " if i + 1 < len(parts) else line_break, "" if segments else lead))
        if not segments:
            lead += line_break
        elif not parts:
            segments[-1] = segments[-1]._replace(separator=segments[-1].separator + line_break)
    return segments


def join_segments(segments: Sequence[Segment], candidates: Sequence[Sequence], make: Callable) -> list:
    """The n-th best text is made of the n-th best translations of its segments; scores add up.

    Args:
        segments: From `split_text`.
        candidates: For each segment, its translations with `text` and `score`, best first.
        make: Makes a translation of text and score.
    """
    if not segments:
        return [make("", 0.0)]
    joined = []
    for n in range(max(map(len, candidates))):
        chosen = [options[min(n, len(options) - 1)] for options in candidates]
        text = "".join(segment.lead + option.text + segment.separator for option, segment in zip(chosen, segments))
        joined.append(make(text, sum(option.score for option in chosen)))
    return joined


def _fitting(text, tokenizer, max_tokens):
    """Consecutive parts of a line with at most `max_tokens` tokens each, as few as greedily possible."""
    if not text:
        return []
    # A character has at most four bytes, hence four tokens, and the text one for the space before it.
    if 4 * len(text) < max_tokens or _count(text, tokenizer) <= max_tokens:
        return [text]
    for pieces in (_SENTENCE_END.sub(r"\1\n", text).split("\n"), text.split()):
        if len(pieces) > 1:
            packed = _packed(pieces, tokenizer, max_tokens)
            return [part for piece in packed for part in _fitting(piece, tokenizer, max_tokens)]
    width = max(1, (max_tokens - 1) // 4)
    return [text[i : i + width] for i in range(0, len(text), width)]


def _packed(pieces, tokenizer, max_tokens):
    """Neighbouring pieces joined while they fit together."""
    lengths = [len(row) for row in tokenizer.encode(pieces)]
    parts, total = [[]], 0
    for piece, length in zip(pieces, lengths):
        if parts[-1] and total + length > max_tokens:
            parts.append([])
            total = 0
        parts[-1].append(piece)
        total += length
    return [" ".join(part) for part in parts]


def _count(text, tokenizer):
    return len(tokenizer.encode([text])[0])
