"""Tests of dev sets that are a share of the training corpus."""

import re

import pytest

from zoo.classification.__main__ import COMMANDS as CLASSIFICATION
from zoo.classification.data import open_examples
from zoo.corpora.held_out import Part, hold_out
from zoo.corpora.plain_texts import open_texts
from zoo.labelling.__main__ import COMMANDS as LABELLING
from zoo.labelling.data import SentenceReader
from zoo.parsing.__main__ import COMMANDS as PARSING
from zoo.parsing.data import TreeReader
from zoo.pretraining.__main__ import COMMANDS as PRETRAINING
from zoo.translation.__main__ import COMMANDS as TRANSLATION
from zoo.translation.data import open_pairs

CASES = {  # The format of a line of each task, how its files are read, and its commands.
    "classification": ("{0}\tte n{1}n\n", open_examples, CLASSIFICATION),
    "labelling": ("ten{1}n\tX\nlo\tY\n\n", SentenceReader, LABELLING),
    "parsing": ("(TOP (S (PRP ten{1}n) (VP ran)))\n", TreeReader, PARSING),
    "pretraining": ("te n{1}n\n", open_texts, PRETRAINING),
    "translation": ("te n{1}n\tlo {0}\n", lambda path: open_pairs(data=path), TRANSLATION),
}


@pytest.fixture(params=CASES)
def case(request, tmp_path):
    """Returns a file of 400 examples of 300 texts, how it is read, and the commands of the task."""
    line, open_file, commands = CASES[request.param]
    path = tmp_path / "corpus.tsv"
    path.write_text("".join(line.format(i % 7, i % 300) for i in range(400)), "utf-8")
    return path, open_file, commands


def test_parts_are_disjoint_complete_and_the_same_at_each_start(case):
    path, open_file, _ = case
    train, dev = ([*map(str, part)] for part in hold_out(open_file(path), 0.1))
    assert len(train) + len(dev) == 400
    assert 20 <= len(dev) <= 60 and sorted(train + dev) == sorted(map(str, open_file(path)))
    texts = [{re.search(r"n\d+n", text)[0] for text in part} for part in (train, dev)]
    assert not texts[0] & texts[1] and len(texts[0] | texts[1]) == 300
    assert [*map(str, hold_out(open_file(path), 0.1)[1])] == dev


def test_space_around_a_text_does_not_change_its_part():
    """Otherwise a text could be in the training set and in the dev set."""
    part, texts = Part(0.5, dev=True), [f"te n{i}n" for i in range(40)]
    chosen = [part(text) for text in texts]
    assert 0 < sum(chosen) < 40 and [part(f" {text}\t") for text in texts] == chosen


def test_lines_keep_their_numbers_and_reports_count_a_part(tmp_path):
    (tmp_path / "a.tsv").write_text("".join(f"{i % 2}\tte {i}\n" for i in range(100)), "utf-8")
    train, dev = hold_out(open_examples(tmp_path / "a.tsv"), 0.3)
    assert all(example.texts == (f"te {line - 1}",) for line, example in dev.numbered())
    count = sum(1 for _ in train)
    assert str(train.report) == f"{count} examples from 100 lines" and 0 < count < 100


def test_command_divides_or_names_what_is_missing(case, capsys):
    path, _, commands = case
    arguments = ["train", "--data", str(path), "--output", "unused"]
    parser = commands.parser()
    train, dev = commands.corpora(parser.parse_args([*arguments, "--dev-share", "0.1"]))
    assert 0 < len([*dev]) < len([*train])
    for further, received in (([], "none"), (["--dev-data", str(path), "--dev-share", "0.1"], "two")):
        with pytest.raises(ValueError, match=f"needs a dev set, .* Received: {received}. Pass .*or --dev-share 0.02"):
            commands.corpora(parser.parse_args([*arguments, *further]))
    with pytest.raises(ValueError, match="`dev_share` must be between 0 and 1. Received: 2.0"):
        commands.corpora(parser.parse_args([*arguments, "--dev-share", "2"]))
