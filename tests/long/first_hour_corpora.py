"""Small corpora for tests/long/first_hour.py: good ones, and such as new users have by mistake."""

import itertools
import pathlib
import random

_ENGLISH = ["one", "two", "three", "four", "five", "six", "seven"]
_GERMAN = ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben"]
_LABELS = {"glad": ["stirring", "funny", "warm", "lovely"], "sad": ["dull", "slow", "cold", "empty"]}
_THINGS = ["film", "song", "book", "play", "dance", "story"]
_QUESTIONS = {
    "NUM\tNUM:dist": "How far is it from {} to {} ?",
    "NUM\tNUM:count": "How many people live between {} and {} ?",
    "LOC\tLOC:city": "Which city is between {} and {} ?",
    "LOC\tLOC:country": "Which country lies behind {} and {} ?",
}
_PLACES = ["Rome", "Oslo", "Bern", "Prague", "Lima", "Quito", "Dakar", "Tunis"]


def write_corpora(folder: pathlib.Path) -> None:
    """Writes all corpora into a folder."""

    def write(name, lines, encoding="utf-8"):
        (folder / name).write_bytes("".join(f"{line}\n" for line in lines).encode(encoding))

    pairs, texts, words, questions = map(_shuffled, (_pairs(), _texts(), _sentences(), _questions()))
    write("pairs.tsv", pairs[:-40])
    write("dev.tsv", pairs[-40:-20])
    write("other-dev.tsv", pairs[-20:])
    write("en.txt", (pair.split("\t")[0] for pair in pairs))
    write("de.txt", (pair.split("\t")[1] for pair in pairs[1:]))  # A line is missing.
    write("one-line.tsv", ["a house a tree a dog\tein Haus ein Baum ein Hund"])
    write("texts.tsv", texts[:-40])
    write("texts-dev.tsv", texts[-40:-20])
    write("texts-other-dev.tsv", texts[-20:])
    write("numbers.tsv", (text.replace("glad\t", "1\t").replace("sad\t", "0\t") for text in texts))
    write("texts-sst2.tsv", (text.replace("glad\t", "positive\t").replace("sad\t", "negative\t") for text in texts))
    write("header.tsv", ["label\ttext", *texts[:-40]])
    write("swapped.tsv", ("\t".join(text.split("\t")[::-1]) for text in texts))
    write("utf16.tsv", texts, "utf-16")
    write("utf16-without-mark.tsv", texts, "utf-16-le")
    write("latin1.tsv", (f"{label}\tein schöner Film {number}" for label in _LABELS for number in range(40)), "latin-1")
    write("empty.tsv", [])
    write("questions.tsv", questions[:-20])
    write("questions-dev.tsv", questions[-20:])
    write("words.tsv", words)
    write("sentences.txt", ["Where is my hat?"] * 5000)


def _shuffled(lines):
    lines = [*lines]
    random.Random(1).shuffle(lines)
    return lines


def _pairs():
    for numbers in itertools.product(range(7), repeat=3):
        yield "\t".join(" ".join(names[number] for number in numbers) for names in (_ENGLISH, _GERMAN))


def _texts():
    for label, words in _LABELS.items():
        for (first, second), thing in itertools.product(itertools.permutations(words, 2), _THINGS):
            yield f"{label}\ta {first} and {second} {thing}"


def _questions():
    for labels, text in _QUESTIONS.items():
        yield from (f"{labels}\t{text.format(*places)}" for places in itertools.permutations(_PLACES, 2))


def _sentences():
    """Sentences of words with their parts of speech, each with the empty line after it."""
    for first, thing in itertools.product(itertools.chain(*_LABELS.values()), _THINGS):
        yield f"a\tDT\n{first}\tJJ\n{thing}\tNN\n.\t.\n"
