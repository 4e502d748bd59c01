"""Splits texts into words as in the Penn treebank, without NLTK."""

import re

# The rules of NLTK's TreebankWordTokenizer, in its order, which are those of Robert MacIntyre's sed script of 1995.
_RULES = [
    (r'^"', r"``"),
    (r"(``)", r" \1 "),
    (r"([ \(\[{<])(\"|\'{2})", r"\1 `` "),
    (r"([:,])([^\d])", r" \1 \2"),
    (r"([:,])$", r" \1 "),
    (r"\.\.\.", r" ... "),
    (r"[;@#$%&]", r" \g<0> "),
    (r"([^\.])(\.)([\]\)}>\"']*)\s*$", r"\1 \2\3 "),  # The final point.
    (r"[?!]", r" \g<0> "),
    (r"([^'])' ", r"\1 ' "),
    (r"[\]\[\(\)\{\}\<\>]", r" \g<0> "),
    (r"--", r" -- "),
    (r"\A|\Z", " "),
    (r"''", " '' "),
    (r'"', " '' "),
    (r"([^' ])('[sS]|'[mM]|'[dD]|') ", r"\1 \2 "),
    (r"([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) ", r"\1 \2 "),
    *((rf"(?i)\b({first})({second})\b", r" \1 \2 ") for first, second in [("can", "not"), ("d", "'ye"), ("gim", "me")]),
    *((rf"(?i)\b({first})({second})\b", r" \1 \2 ") for first, second in [("gon", "na"), ("got", "ta"), ("lem", "me")]),
    (r"(?i)\b(more)('n)\b", r" \1 \2 "),
    (r"(?i)\b(wan)(na)(?=\s)", r" \1 \2 "),
    (r"(?i) ('t)(is)\b", r" \1 \2 "),
    (r"(?i) ('t)(was)\b", r" \1 \2 "),
]
_COMPILED = [(re.compile(pattern), replacement) for pattern, replacement in _RULES]
_QUOTATION_MARK = re.compile(r"``|''|\"")


def split_words(text: str, treebank_quotes: bool = True) -> list[str]:
    """Splits a sentence into words as in the Penn treebank: "don't" is "do", "n't", and the final point is a word.

    Args:
        text: The sentence. Points within the text stay with their words, as those of abbreviations do.
        treebank_quotes: Whether quotation marks become `` and ''; otherwise they stay as they are.
    """
    words = text
    for pattern, replacement in _COMPILED:
        words = pattern.sub(replacement, words)
    words = words.split()
    if treebank_quotes:
        return words
    marks = iter(_QUOTATION_MARK.findall(text))
    return [next(marks, word) if word in ("``", "''") else word for word in words]
