"""Tests of the splitting of texts into segments."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zoo.translation.predictor import Translation
from zoo.translation.segments import Segment, join_segments, split_texts

# Smallest first, so that hypothesis shrinks to plain words.
PIECES = st.sampled_from(
    ["mano", "tek", "a", ".", "!", "? ", '." ', ".) ", " ", "  ", "\n", "\r\n", "\r", "\t", "…", "»", "。", "Wesp"]
    + ["ä", "日本", "👩‍👩‍👧", "\u0301", "\x00", "\u2028", "\x85", "\u3000", "\u00a0", "<s>", "\ufeff", "שלום"]
)
TEXTS = st.one_of(st.lists(PIECES, max_size=60).map("".join), st.text(max_size=80))


def split_text(text, *arguments, **options):
    return split_texts([text], *arguments, **options)[0]


def without_space(text):
    return "".join(text.split())


def text_of(segments):
    return "".join(segment.before + segment.text + segment.after for segment in segments)


def count(tokenizer, text):
    return len(tokenizer.encode([text])[0])


@settings(max_examples=150, deadline=None, derandomize=True)
@given(text=TEXTS, max_tokens=st.integers(5, 40))
def test_segments_are_complete_and_short_enough(tokenizer, text, max_tokens):
    segments = split_text(text, tokenizer, max_tokens)
    assert without_space(text_of(segments)) == without_space(text)
    for segment in segments:
        assert segment.text.strip() == segment.text != "" and not (segment.before + segment.after).strip()
        assert count(tokenizer, segment.text) <= max_tokens
        assert not set("\r\n") & set(segment.text)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(text=TEXTS)
def test_white_space_is_kept(tokenizer, text):
    """All of it, if no sentence is too long; except that sentences have no other space after abbreviations."""
    segments = split_text(text, tokenizer, 10_000)
    expected = text if text.strip() else ""  # White space alone has no segment.
    assert re.sub(r"(?<=\.)\s", " ", text_of(segments)) == re.sub(r"(?<=\.)\s", " ", expected)
    joined = text_of(split_text(text, tokenizer, 10))
    around = [re.findall(r"(?s)^\s*|\s*$|\s*[\r\n]\s*", t) for t in (joined, expected)]
    assert around[0] == around[1]


def test_gaps_between_sentences_and_at_ends_of_lines(tokenizer):
    text = "\tmano tek.  Luri soba!\tpim dala. \r\n \n  kora fes.  "
    expected = [("mano tek.", "\t"), ("Luri soba!", "  "), ("pim dala.", "\t"), ("kora fes.", " \r\n \n  ", "  ")]
    segments = split_text(text, tokenizer, 100)
    assert segments == [Segment(*segment) for segment in expected]
    translations = [[Translation(segment.text.upper(), 0.0)] for segment in segments]
    assert join_segments(segments, translations, Translation) == [(text.upper(), 0.0)]


@settings(max_examples=50, deadline=None, derandomize=True)
@given(texts=st.lists(TEXTS, max_size=4), max_tokens=st.integers(5, 40))
def test_texts_do_not_depend_on_each_other(tokenizer, texts, max_tokens):
    assert split_texts(texts, tokenizer, max_tokens) == [split_text(text, tokenizer, max_tokens) for text in texts]


def test_short_text_is_one_segment(tokenizer):
    text = "mano tek. luri  soba!"
    assert split_text(text, tokenizer, count(tokenizer, text)) == [Segment(text, "")]


@pytest.mark.parametrize("text", ["", " ", "\n", " \t\r\n\u3000"])
def test_whitespace_has_no_segments(tokenizer, text):
    assert split_text(text, tokenizer, 8) == []


def test_splits_at_ends_of_sentences(tokenizer):
    sentences = ["mano tek luri dala.", "pim soba dala!", "kora fes gat mano.", "niva gat mano pim."]
    text = " ".join(sentences)
    longest = max(count(tokenizer, sentence) for sentence in sentences)
    for max_tokens in (longest, 1000):
        assert [segment.text for segment in split_text(text, tokenizer, max_tokens)] == sentences
    assert split_text(text, tokenizer, 1000, sentences=False) == [Segment(text, "")]
    # As few as possible: two sentences together where they fit.
    pairs = [" ".join(sentences[:2]), " ".join(sentences[2:])]
    longest = max(count(tokenizer, pair) for pair in pairs)
    assert [segment.text for segment in split_text(text, tokenizer, longest, sentences=False)] == pairs


def test_closing_quotation_marks_stay_with_sentence(tokenizer):
    segments = split_text('"mano tek." (luri soba.) «pim dala.» kora fes.', tokenizer, 10)
    assert [segment.text for segment in segments] == ['"mano tek."', "(luri soba.)", "«pim dala.»", "kora fes."]


def test_long_sentences_split_at_spaces_long_words_anywhere(tokenizer):
    text = "mano tek luri soba pim dala kora fes"
    segments = split_text(text, tokenizer, 5)
    assert len(segments) > 1 and " ".join(segment.text for segment in segments) == text
    assert "".join(segment.text for segment in split_text("x" * 100, tokenizer, 9)) == "x" * 100


@pytest.mark.parametrize("max_tokens", range(5, 14))
def test_characters_of_four_bytes_fit(tokenizer, max_tokens):
    segments = split_text("👩" * 30, tokenizer, max_tokens)
    assert "".join(segment.text for segment in segments) == "👩" * 30
    assert max(count(tokenizer, segment.text) for segment in segments) <= max_tokens


def test_separators_distinguish_spaces_and_line_breaks(tokenizer):
    segments = split_text("mano.\r\n\ntek luri soba pim dala kora.\npim", tokenizer, 8)
    gaps = [segment.before for segment in segments]
    assert gaps[:2] == ["", "\r\n\n"] and gaps[-1] == "\n"
    assert set(gaps[2:-1]) == {" "}


@pytest.mark.parametrize(
    "text",
    ["mano tek. " * 10_000, "x" * 100_000, "👩" * 25_000, " " * 100_000, "\n" * 100_000]
    + [f"x{space * 100_000}x" for space in " \n"],
)
def test_100_000_characters_take_seconds(tokenizer, text):
    begun = time.monotonic()
    split_text(text, tokenizer, 16)
    assert time.monotonic() - begun < 20


def test_joined_candidates_are_ordered():
    segments = [Segment("a", ""), Segment("b", " "), Segment("c", "\n")]
    candidates = [
        [Translation("A", -1.0), Translation("A2", -2.0)],
        [Translation("B", -3.0)],
        [Translation("C", -0.5), Translation("C2", -1.0), Translation("C3", -4.0)],
    ]
    assert join_segments(segments, candidates, Translation) == [
        ("A B\nC", -4.5),
        ("A2 B\nC2", -6.0),
        ("A2 B\nC3", -9.0),
    ]


def test_empty_translations_take_no_space():
    segments = [Segment(text, before) for text, before in zip("abcdef", ["", "\n", "  ", "\t", "\n", " "])]
    chosen = [[Translation(text, 0.0)] for text in ("A", "", "C", "", "E", "")]
    assert join_segments(segments, chosen, Translation) == [("A\nC\nE", 0.0)]
    chosen[2:4] = chosen[3:1:-1]
    chosen[1] = chosen[4]
    assert join_segments(segments, chosen, Translation) == [("A\nE\tC\nE", 0.0)]


def test_no_segments_give_one_empty_candidate():
    assert join_segments([], [], Translation) == [("", 0.0)]
