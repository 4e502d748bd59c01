"""Tests of the ends of sentences within a line."""

import pytest

from zoo.text.sentences import split_sentences


@pytest.mark.parametrize(
    "line",
    [
        "Where is my phone?|I lost it.",
        "The patient was given 20 mg of aspirin.|He slept.",
        "Dr. Smith met Mr. J. S. Bach.|They ate.",
        "Am 3. Mai kam Prof. Dr. Müller.|Er blieb.",
        "I like e.g. apples, i.e. fruit.|You?",
        "The U.S. Army came.|It left at 3 p.m. again.",
        "It costs $5.50.|OK, see version 2.0.",
        'She said: "Go away!"|Then she left.',
        '"Why?" he asked.|"Because."',
        "Er sagte: „Komm her.“|Sie ging.",
        "Wait...|What?!|¿Qué?|¡Nada!|Sí.",
        "Они ушли.|Мы остались.",
        "日本。|東京。",
        # Lower-cased, tokenised or typed in haste.
        "a man is here .|a dog is there .",
        "hi there!|how are you?|fine.|bye",
        # Items of lists, quoted lines, headings.
        "-|500 g flour",
        "*|Milk.|Eggs.",
        "1)|Open the door.",
        "##|A title",
        "-5 degrees",
        "5 - 3 is 2",
        "3. Mai 2019",
        "-",
        "approx. five people etc. and more",
        "one line without an end",
        "",
    ],
)
def test_ends_of_sentences(line):
    sentences = line.split("|")
    assert split_sentences(" ".join(sentences)) == [sentences[0], *(f" {sentence}" for sentence in sentences[1:])]


def test_space_within_sentences_stays():
    assert split_sentences("a\u00a0 bc.\u2003 C\td.") == ["a\u00a0 bc.", "\u2003 C\td."]


def test_tags_begin_the_next_sentence():
    assert split_sentences("<p>One.</p> <p>Two.<br/>Three</p>") == ["<p>One.", "</p> <p>Two.", "<br/>Three</p>"]
    assert split_sentences("No.<br/>end of it 2 < 3. </b>") == ["No.<br/>end of it 2 < 3. </b>"]


@pytest.mark.parametrize("gap", ["  ", "\t", "\u00a0", " \x0c\x0b\u3000"])
def test_space_between_sentences_stays_before_the_second(gap):
    for one, two in (("Hi.", "You!"), ("Hi!", "you"), ("late.", "you"), ("a .", "b"), ("-", "x"), ("a !", "b")):
        assert split_sentences(one + gap + two) == [one, gap + two]
