"""WordPiece against results by hand."""

import pytest

from zoo.text.word_pieces import WordPieceTokenizer

PIECES = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    *["un", "##aff", "##able", "aff", "cafe", "café", "中", "国", "!", "[", "]", "'", "mask", "a", "b", "A"],
]


def pieces(text, **options):
    tokenizer = WordPieceTokenizer(PIECES, **options)
    return [PIECES[i] for i in tokenizer.encode([text])[0]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("unaffable", "un ##aff ##able"),
        ("Unaff!able", "un ##aff ! [UNK]"),
        ("un unx aff", "un [UNK] aff"),
        ("", ""),
        (" \t\n", ""),
        ("a中国b", "a 中 国 b"),
        ("Café CAFE\u0301", "cafe cafe"),
        ("a\u00a0b\u2003a", "a b a"),
        ("a\u200b\u0000\ufffd!", "a !"),
        ("[MASK]", "[ mask ]"),
        ("unaffaff" + "able" * 23, "un ##aff ##aff" + " ##able" * 23),  # 100 characters.
        ("unaff" + "able" * 24, "[UNK]"),  # 101 characters.
        ("a'b", "a ' b"),
    ],
)
def test_pieces_equal_those_of_bert(text, expected):
    assert pieces(text) == expected.split()


def test_case_and_accents_can_be_kept():
    assert pieces("A café Cafe", lowercase=False) == ["A", "café", "[UNK]"]
    assert pieces("A café", lowercase=False, strip_accents=True) == ["A", "cafe"]
    assert pieces("A café", strip_accents=False) == ["a", "café"]


def test_special_ids_and_bytes():
    tokenizer = WordPieceTokenizer(PIECES, lowercase=False)
    assert (tokenizer.unknown_id, tokenizer.start_id, tokenizer.end_id, tokenizer.mask_id) == (1, 2, 3, 4)
    again = WordPieceTokenizer.from_bytes(tokenizer.model)
    assert again.digest == tokenizer.digest and again.encode(["A 中"]) == tokenizer.encode(["A 中"]) == [[20, 11]]
    assert tokenizer.digest != WordPieceTokenizer(PIECES).digest


@pytest.mark.parametrize(("vocabulary", "message"), [(PIECES[1:], r"without \[PAD\]"), (PIECES[::-1], "as the first")])
def test_a_vocabulary_needs_its_special_tokens(vocabulary, message):
    with pytest.raises(ValueError, match=message):
        WordPieceTokenizer(vocabulary)


def test_a_piece_that_occurs_twice_is_named():
    """One of its ids would never be used, and FastBertTokenizer of tensorflow-text refuses such a vocabulary."""
    with pytest.raises(ValueError, match=f"'twice' with the ids {len(PIECES)} and {len(PIECES) + 2}.*rename"):
        WordPieceTokenizer([*PIECES, "twice", "once", "twice"])
