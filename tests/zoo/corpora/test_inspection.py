"""Tests of mistakes in corpora: which are refused, which are warned of, and what is shown. Nothing is trained."""

import types

import pytest

from zoo.classification.data import class_names, open_examples
from zoo.classification.task import Classification
from zoo.corpora.plain_texts import open_texts
from zoo.labelling.data import SentenceReader
from zoo.labelling.task import Labelling
from zoo.parsing.data import TreeReader
from zoo.parsing.task import Parsing
from zoo.pretraining.task import Pretraining
from zoo.translation.data import open_pairs
from zoo.translation.task import Translation

RECIPE = types.SimpleNamespace(training=types.SimpleNamespace(score="accuracy"))
TREES = "(TOP (S (NP (PRP We)) (VP (VBD ran))))\n" * 2
CORPORA = {  # Of each task: files of two examples, how the first is shown, and how files are read.
    Classification: ("NUM\thow far\nLOC\twhere\n", "label: NUM   text: how far", open_examples),
    Labelling: ("te\tX\nlo\tY\n\nlo\tY\n\n", "te = X   lo = Y", SentenceReader),
    Parsing: (TREES, "tree: (TOP (S (NP (PRP We)) (VP (VBD ran))))", TreeReader),
    Pretraining: ("te lo\npana\n", "text: te lo", open_texts),
    Translation: ("one\teins\ntwo\tzwei\n", "source: one   target: eins", lambda path: open_pairs(data=path)),
}


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.fixture
def read(tmp_path):
    """`read(task, train, dev)` returns what a task logs when it reads files of these contents."""

    def read(task, train, dev=None, open_file=None):
        open_file = open_file or CORPORA[task][2]
        files = write(tmp_path / "train.tsv", train), write(tmp_path / "dev.tsv", dev or CORPORA[task][0])
        lines = []
        task().read(RECIPE, *map(open_file, files), lines.append)
        return "\n".join(lines)

    return read


def warnings(log):
    return [line for line in log.splitlines() if line.startswith("warning: ")]


@pytest.mark.parametrize("task", CORPORA, ids=lambda task: task.__name__)
def test_first_examples_are_shown(task, read):
    content, shown, _ = CORPORA[task]
    log = read(task, content)
    assert f"train, line 1: {shown}" in log and f"dev, line 1: {shown}" in log


@pytest.mark.parametrize("task", [task for task in CORPORA if task is not Parsing], ids=lambda task: task.__name__)
def test_latin_1_is_refused(task, read):
    """Parsing refuses any line that is not UTF-8."""
    content = CORPORA[task][0].replace("\n", "ü\n").replace("\nü\n", "\n\n")
    with pytest.raises(
        ValueError, match="Most lines .* broken .*Broken lines are not UTF-8: convert the file, .*iconv"
    ):
        read(task, content.encode("latin-1"), content)


@pytest.mark.parametrize("task", CORPORA, ids=lambda task: task.__name__)
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_utf_16_is_refused(task, read, encoding):
    content = CORPORA[task][0].encode(encoding)
    if encoding == "utf-16-be":
        content = b"\xfe\xff" + content
    with pytest.raises(ValueError, match="train.tsv with the byte-order mark of UTF-16. Convert it: iconv"):
        read(task, content)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("task", CORPORA, ids=lambda task: task.__name__)
def test_utf_16_without_mark_is_refused(task, read, encoding):
    text = CORPORA[task][0].replace("te", "house", 1)  # A few letters prove nothing.
    with pytest.raises(ValueError, match=f"train.tsv in {encoding.upper().replace('16-', '16')}. Convert it: iconv"):
        read(task, text.encode(encoding))


def test_nul_characters_are_refused(read):
    with pytest.raises(ValueError, match="'train' must be UTF-8. Received: NUL characters in line 1"):
        read(Pretraining, "te\0lo\npa\0na\n")


@pytest.mark.parametrize(
    ("task", "bad"), [(Classification, b"x\t\xff\xe4\n"), (Translation, b"x\t\xe4\n"), (Pretraining, b"\xe4\n")]
)
def test_mostly_unusable_lines_are_refused(task, bad, read):
    good = CORPORA[task][0].encode()
    read(task, good + 2 * bad)  # Half of the lines are usable.
    with pytest.raises(ValueError, match="Most lines of the corpus 'train' must have an example. Received: .*3 broken"):
        read(task, good + 3 * bad)


def test_column_that_does_not_exist_is_refused_by_name(read):
    message = "columns by --columns; these are columns 0, 5 of 2, from 0"
    with pytest.raises(ValueError, match=message):
        read(Translation, "a\tb\nc\td\n", open_file=lambda path: open_pairs(data=path, columns=(0, 5)))
    with pytest.raises(ValueError, match="these are columns 5 of 2, from 0"):
        read(Pretraining, "a\tb\nc\td\n", open_file=lambda path: open_texts(path, columns=(5,)))


def test_swapped_label_and_text_are_refused(tmp_path, read):
    rows = [(label, f"text {i}") for i, label in enumerate("ab" * 6)]
    assert class_names(open_examples(write(tmp_path / "a", "".join(f"{a}\t{b}\n" for a, b in rows)))) == ["a", "b"]
    with pytest.raises(ValueError, match="12 different labels of 12 texts, such as 'text 0'. Are the columns swapped"):
        class_names(open_examples(tmp_path / "a", columns=(1, 0)))
    words = "".join(f"w{i}\t{'XY'[i % 2]}\n" for i in range(12))
    assert "2 labels" in read(Labelling, words, words)
    with pytest.raises(ValueError, match="12 different labels of 12 words"):
        read(Labelling, words, words, lambda path: SentenceReader(path, (1, 0)))


def test_header_is_warned_of(read):
    content, _, _ = CORPORA[Classification]
    assert not warnings(read(Classification, content * 2, "LOC\there\n" * 2))
    (warning,) = warnings(read(Classification, "label\ttext\n" + content * 2, "LOC\there\n" * 2))
    assert warning.endswith("only line 1 has the label 'label'. If it is a header, add --header.")
    (warning,) = warnings(read(Labelling, "word\ttag\n" + CORPORA[Labelling][0]))
    assert "only line 1 has the label 'tag'" in warning


def test_columns_that_are_not_read_are_warned_of_unless_chosen(read):
    three = "NUM\tNUM:dist\thow far\nLOC\tLOC:other\twhere\n"
    dev = "LOC\tLOC:other\n" * 2
    (warning,) = [line for line in warnings(read(Classification, three, dev)) if "columns" in line]
    assert "'train' has more columns than are read: columns 0, 1 of 3" in warning and "--columns" in warning

    def choose(path):
        return open_examples(path, columns=(0, 2))

    assert not warnings(read(Classification, three, "LOC\tx\there\n" * 2, choose))
    assert "more columns" in read(Translation, "one\teins\tx\ntwo\tzwei\tx\n")


def test_one_line_and_overlap_are_warned_of(read):
    assert "the corpus 'train' has one line only" in read(Pretraining, "te lo pana")
    log = read(Translation, "one\teins\ntwo\tzwei\nfour\tvier\n", "two\tzwei\nthree\tdrei\n")
    assert "1 of 2 dev examples are in the training set" in log and "--dev-share" in log
    assert not warnings(read(Translation, "one\teins\nsix\tsechs\n", "two\tzwei\nthree\tdrei\n"))
    for task, size in ((Classification, 2), (Labelling, 1), (Parsing, 1)):
        long = {
            Labelling: "a\tX\n" * 6,
            Parsing: f"(TOP (S {' '.join(['(PRP We)'] * 6)}))\n",
        }.get(task, CORPORA[task][0])
        assert f"{size} of {size} dev examples" in read(task, long, long), task
