"""Tests of readers of labelled words: formats, comments, errors."""

import gzip

import pytest

from zoo.corpora.labelled_corpus import NO_LABEL
from zoo.labelling.data import Sentence, SentenceReader, label_names, label_numbers


def write(path, text):
    content = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("name", ["a.tsv", "a.tsv.gz"])
def test_two_columns(tmp_path, name):
    reader = SentenceReader(write(tmp_path / name, "The\tDT\ncat\tNN\n\n\n#\tSYM\n 1 2\tCD\n"))
    expected = [Sentence(("The", "cat"), ("DT", "NN")), Sentence(("#", "1 2"), ("SYM", "CD"))]
    assert list(reader) == list(reader) == expected
    assert str(reader.report) == "2 sentences of 4 words from 6 lines"
    assert [line for line, _ in reader.numbered()] == [1, 5]


def test_conll_2003(tmp_path):
    text = "-DOCSTART- -X- -X- O\n\nEU NNP B-NP B-ORG\nrejects VBZ B-VP O\n\n# NN B-NP O\n"
    found = list(SentenceReader(write(tmp_path / "a.txt", text)))
    assert found == [Sentence(("EU", "rejects"), ("B-ORG", "O")), Sentence(("#",), ("O",))]


def test_conll_u(tmp_path):
    text = "# sent_id = 1\n# text = Hi you\n1\tHi\thi\tINTJ\n2\tyou\tyou\tPRON\n\n# sent_id = 2\n1\tGo\tgo\tVERB\n"
    found = list(SentenceReader(write(tmp_path / "a.conllu", text), columns=(1, 3)))
    assert found == [Sentence(("Hi", "you"), ("INTJ", "PRON")), Sentence(("Go",), ("VERB",))]


def test_sentence_with_invalid_utf8_is_left_out(tmp_path):
    reader = SentenceReader(write(tmp_path / "a", b"a\tX\nb\xff\tX\nc\tX\n\nd\tY\n"))
    assert list(reader) == [Sentence(("d",), ("Y",))]
    assert str(reader.report) == "1 sentences of 1 words from 5 lines; 1 broken (line 2)"


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ("a\tX\nb\n", (0, 1), r"line 2, has 1 columns; 2 were expected"),
        ("a\tX\nb\tX\tY\n", (0, 1), r"line 2, has 3 columns; 2 were expected"),
        ("a\tX\n", (0, 2), r"line 1, has 2 columns; 2 were expected, columns \(0, 2\) among them"),
        ("a\tX\nb\t \n", (0, 1), r"line 2, lacks its word or its label"),
        ("a\tX\n", (1, 1), r"`columns` must be two different numbers"),
    ],
)
def test_invalid_line_raises_with_line_number(tmp_path, text, columns, message):
    with pytest.raises(ValueError, match=message):
        list(SentenceReader(write(tmp_path / "a", text), columns))


def test_labels_are_numbered(tmp_path):
    reader = SentenceReader(write(tmp_path / "a", "a\tX\nb\tA\n\nc\tX\n"))
    assert label_names(reader) == ["A", "X"]
    numbers, sentences, notes = label_numbers(reader, ["A", "X"])
    assert (numbers, sentences, notes.count) == ([[1, 0], [1]], [*reader], 0)
    numbers, sentences, notes = label_numbers(SentenceReader(tmp_path / "a", unknown_labels="wrong"), ["X"])
    assert (numbers, sentences, notes.first) == ([[0, NO_LABEL], [0]], [*reader], [2])
    with pytest.raises(ValueError, match="`unknown_labels` must be 'error' or 'wrong'"):
        SentenceReader(tmp_path / "a", unknown_labels="right")
    with pytest.raises(ValueError, match="label 'A', which is not in the training data. Known labels: X"):
        label_numbers(reader, ["X"])
    with pytest.raises(ValueError, match="no sentence"):
        label_names([])
