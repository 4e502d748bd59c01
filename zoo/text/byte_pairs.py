"""What GPT-2's byte-pair encoding does to a text: bytes as characters, words, merges. Standard library only.

Radford et al. 2019, section 2.2; Sennrich et al. 2016, algorithm 1.
"""

import functools
import heapq
import re
import sys
import unicodedata
from collections.abc import Mapping, Sequence

LETTER, NUMBER, SPACE, OTHER_SPACE, REST = range(5)  # Kinds of characters.
CONTRACTIONS = "s", "t", "re", "ve", "m", "ll", "d"  # After an apostrophe.
_KEPT = {*map(ord, "".join(CONTRACTIONS)), ord("'")}
_SPACES = {*range(9, 14), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000}
_NAMES = "LN WR"  # A character for each kind.

# GPT-2's expression over kinds: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
_WORD = re.compile(f"'(?:{'|'.join(CONTRACTIONS)})| ?[Lstrevmld]+| ?N+| ?[R']+|[ W]+(?![^ W])|[ W]+")


def character_kind(code: int) -> int:
    """Returns the kind of a code point; spaces are those of Unicode's White_Space, unlike `str.isspace`."""
    if code in _SPACES:
        return SPACE if code == 0x20 else OTHER_SPACE
    return {"L": LETTER, "N": NUMBER}.get(unicodedata.category(chr(code))[0], REST)


class _Kinds(dict):
    """Table for `str.translate` from characters to kinds, but letters of contractions and the apostrophe."""

    def __missing__(self, code):
        self[code] = code if code in _KEPT else ord(_NAMES[character_kind(code)])
        return self[code]


_KINDS = _Kinds()


@functools.cache
def kind_ranges() -> tuple[list[int], list[int]]:
    """Returns the first code point of each range of characters of one kind, and the kinds."""
    kinds = [*map(character_kind, range(sys.maxunicode + 1))]
    firsts = [code for code, kind in enumerate(kinds) if not code or kind != kinds[code - 1]]
    return firsts, [kinds[code] for code in firsts]


def split_words(text: str) -> list[str]:
    """Splits a text into words with the space before them, numbers, runs of other characters, and spaces."""
    return [text[slice(*match.span())] for match in _WORD.finditer(text.translate(_KINDS))]


@functools.cache
def byte_characters() -> tuple[str, ...]:
    """Returns the character that stands for each byte in a vocabulary: itself if it is visible Latin-1."""
    visible = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = iter(range(256, 512))
    return tuple(chr(byte if byte in visible else next(others)) for byte in range(256))


def merge_pieces(pieces: Sequence[int], merges: Mapping[tuple[int, int], tuple[int, int]]) -> list[int]:
    """Merges pairs of pieces until none is left: each time the one of lowest rank, the first of several.

    Args:
        pieces: Ids of the bytes of a word.
        merges: Rank and merged piece by pair.
    """
    pieces, count = [*pieces], len(pieces)
    before, after = [*range(-1, count - 1)], [*range(1, count + 1)]
    queue = []

    def push(place):
        if place >= 0 and after[place] < count:
            pair = pieces[place], pieces[after[place]]
            if pair in merges:
                heapq.heappush(queue, (merges[pair][0], place, pair))

    for place in range(count):
        push(place)
    while queue:
        _, place, pair = heapq.heappop(queue)
        following = after[place]
        if following >= count or (pieces[place], pieces[following]) != pair:
            continue  # One of both has been merged with another piece.
        pieces[place], pieces[following] = merges[pair][1], None
        after[place] = after[following]
        if after[place] < count:
            before[after[place]] = place
        push(before[place])
        push(place)
    return [piece for piece in pieces if piece is not None]
