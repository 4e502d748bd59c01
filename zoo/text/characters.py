"""Classes of characters for regular expressions that Python and TensorFlow's RE2 read alike."""

import unicodedata

# As `\s` of Python. The class has the characters themselves, because the escapes of the two differ.
SPACE = "[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"


def character_ranges(category: str) -> str:
    """Returns the characters of Unicode categories that start with `category` as the inside of a character class."""
    points = [p for p in range(128, 0x1F000) if unicodedata.category(chr(p)).startswith(category)]
    firsts = [p for p, before in zip(points, [-1, *points]) if p != before + 1]
    lasts = [p for p, after in zip(points, [*points[1:], -1]) if p + 1 != after]
    return "".join(chr(a) if a == b else f"{chr(a)}-{chr(b)}" for a, b in zip(firsts, lasts))


LOWER = "a-z" + character_ranges("Ll")
"""Small letters, as the inside of a character class."""
