"""Tests of options of generation and of texts that grow token by token."""

import pytest

from zoo.language_modelling.generation import GenerationOptions, GrowingText
from zoo.text.tokenizer_training import train_tokenizer

BYTES = train_tokenizer(["any"], 300, pieces="bytes", whole_texts=True)
END = 3


def parts(text, options, end_id=END, size=1):
    """Appends the bytes of a text, a few at a time; returns the new texts and the text at the end."""
    growing, ids, found = GrowingText(BYTES, options, end_id), BYTES.encode([text])[0], []
    for first in range(0, len(ids), size):
        growing.append(ids[first : first + size])
        found.append(growing.new_text())
    return found, growing


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("text", [" plain", "naïve 🙂 é", "  two  spaces\n\n"])
def test_parts_are_the_text_and_have_no_half_characters(text, size):
    found, growing = parts(text, GenerationOptions(), size=size)
    assert "".join(found) == growing.text == text and not growing.done
    assert not any("\ufffd" in part for part in found)


@pytest.mark.parametrize("size", [1, 3, 50])
def test_a_stop_text_ends_a_text_and_is_never_shown(size):
    found, growing = parts("abc<enx<end>more", GenerationOptions(stop=("<end>", "zzz")), size=size)
    assert "".join(found) == growing.text == "abc<enx" and growing.done


def test_the_first_of_several_stop_texts_counts():
    assert parts("one two three", GenerationOptions(stop=("three", " two")), size=50)[1].text == "one"


def test_a_beginning_of_a_stop_text_at_the_limit_is_shown():
    found, growing = parts("abcd", GenerationOptions(stop=("de",), max_tokens=4))
    assert "".join(found) == "abcd" and growing.done


def test_the_end_token_and_the_limit_end_a_text():
    growing = GrowingText(BYTES, GenerationOptions(max_tokens=3), END)
    growing.append([*BYTES.encode(["ab"])[0], END, *BYTES.encode(["c"])[0]])
    assert growing.text == "ab" and growing.done
    found, growing = parts("abcdef", GenerationOptions(max_tokens=3), size=6)
    assert growing.text == "abc" and growing.done and found == ["abc"]


@pytest.mark.parametrize(
    "values",
    [
        {"max_tokens": 0},
        {"temperature": -0.1},
        {"temperature": float("inf")},
        {"top_k": -1},
        {"top_p": 0.0},
        {"top_p": 1.1},
        {"repetition_penalty": 0.0},
        {"stop": ("a", "")},
    ],
)
def test_bad_options_are_refused(values):
    (name,) = values
    with pytest.raises(ValueError, match=f"`{name}` must .*Received: {name}="):
        GenerationOptions(**values)


def test_one_stop_text_may_be_a_string():
    assert GenerationOptions(stop="end").stop == ("end",)
