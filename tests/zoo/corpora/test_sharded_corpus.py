"""A prepared corpus equals a corpus encoded in one pass, also after interruptions."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from zoo.corpora.batching import token_batches
from zoo.corpora.encoded_corpus import encode_corpus
from zoo.corpora.sharded_corpus import ShardedCorpus, prepare_corpus
from zoo.text.tokenizer_training import train_tokenizer
from zoo.translation import __main__ as translation

WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
PAIRS = [(" ".join(WORDS[: i % 11 + 1]), " ".join(WORDS[i % 7 :])) for i in range(83)]
TOKENIZER = train_tokenizer([text for pair in PAIRS for text in pair], 340)
LONGEST = 10


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prepared") / "corpus"
    done = []
    prepare_corpus(PAIRS, TOKENIZER, folder, max_tokens=LONGEST, shard_pairs=10, processes=2, progress=done.append)
    assert sum(done) == len(PAIRS)
    return folder


def assert_same_batches(corpus, expected):
    assert len(corpus) == len(expected) and str(corpus.too_long) == str(expected.too_long)
    for epoch in range(2):
        found = [*token_batches(corpus, 24, seed=5, epoch=epoch)]
        wanted = [*token_batches(expected, 24, seed=5, epoch=epoch)]
        assert len(found) == len(wanted) > 9
        for one, other in zip(found, wanted):
            np.testing.assert_equal(one, other)


def test_batches_equal_those_of_one_encoded_corpus(prepared):
    corpus = ShardedCorpus.open(prepared)
    assert len([*prepared.glob("shard-*")]) == 9 and 0 < corpus.too_long.count < len(PAIRS)
    assert_same_batches(corpus, encode_corpus(PAIRS, TOKENIZER, max_tokens=LONGEST))
    assert corpus.tokenizer.digest == TOKENIZER.digest


def test_only_missing_shards_are_encoded(prepared, tmp_path):
    folder = tmp_path / "corpus"
    folder.mkdir()
    for path in prepared.glob("**/*"):
        if path.is_file() and "shard-00003" not in str(path) and path.name != "shards.json":
            (folder / path.relative_to(prepared)).parent.mkdir(exist_ok=True)
            (folder / path.relative_to(prepared)).write_bytes(path.read_bytes())
    (folder / "shard-00003.999.part").mkdir()  # Left by a killed process.
    times = {path: path.stat().st_mtime_ns for path in folder.glob("shard-*/*")}
    with pytest.raises(ValueError, match="no complete prepared corpus"):
        ShardedCorpus.open(folder)
    corpus = prepare_corpus(PAIRS, TOKENIZER, folder, max_tokens=LONGEST, shard_pairs=10)
    assert_same_batches(corpus, ShardedCorpus.open(prepared))
    assert all(path.stat().st_mtime_ns == old for path, old in times.items())
    assert not [*folder.glob("*.part")]


def test_another_corpus_or_other_settings_are_refused(prepared, tmp_path):
    with pytest.raises(ValueError, match="holds a prepared corpus"):
        prepare_corpus(PAIRS, TOKENIZER, prepared)
    (tmp_path / "shard-00000").mkdir()
    with pytest.raises(ValueError, match="not empty"):
        prepare_corpus(PAIRS, TOKENIZER, tmp_path)
    folder = tmp_path / "begun"
    with pytest.raises(ZeroDivisionError):
        prepare_corpus((pair if i < 30 else 1 / 0 for i, pair in enumerate(PAIRS)), TOKENIZER, folder, shard_pairs=10)
    begun = sorted(folder.glob("shard-*"))
    assert begun
    for pairs, changes in ((PAIRS[1:], {}), (PAIRS, {"max_tokens": 5})):
        with pytest.raises(ValueError, match="another corpus or with other settings"):
            prepare_corpus(pairs, TOKENIZER, folder, **{"shard_pairs": 10, **changes})
    assert sorted(folder.glob("shard-*")) == begun


def test_an_empty_corpus_is_refused(tmp_path):
    for name, pairs in (("none", []), ("long", PAIRS)):
        with pytest.raises(ValueError, match="No pair is left"):
            prepare_corpus(pairs, TOKENIZER, tmp_path / name, max_tokens=1)


@pytest.mark.parametrize("damage", ["cut", "missing", "vocabulary", "twice"])
def test_a_damaged_corpus_is_refused(damage, tmp_path):
    folder = tmp_path / "corpus"
    prepare_corpus(PAIRS[:20], TOKENIZER, folder, shard_pairs=10)
    ids = folder / "shard-00001" / "target.ids"
    if damage == "cut":
        ids.write_bytes(ids.read_bytes()[:-2])
    elif damage == "missing":
        (folder / "shard-00001" / "corpus.json").unlink()
    elif damage == "twice":
        shutil.copytree(folder / "shard-00000", folder / "shard-00001", dirs_exist_ok=True)
    else:
        facts = folder / "shard-00001" / "corpus.json"
        facts.write_text(json.dumps({**json.loads(facts.read_text()), "tokenizer": "another"}))
    with pytest.raises(ValueError, match="shard-00001"):
        ShardedCorpus.open(folder)


@pytest.mark.slow
def test_a_killed_preparation_resumes(tmp_path):
    """Kills or interrupts the first process repeatedly; the last run completes the same corpus.

    No backend of Keras is started, which would fail.
    """
    TOKENIZER.save(tmp_path / "vocabulary.model")
    (tmp_path / "pairs.tsv").write_text("".join(f"{s}\t{t} {i}\n" for i, (s, t) in enumerate(PAIRS * 200)))
    arguments = ["prepare", "--data", str(tmp_path / "pairs.tsv"), "--vocabulary", str(tmp_path / "vocabulary.model")]
    arguments += ["--shard-pairs", "500", "--processes", "2", "--output"]
    line = [sys.executable, "-m", "zoo.translation", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).parents[3]), "KERAS_BACKEND": "none"}
    pipes, kills = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}, 0
    while True:
        begun = len([*tmp_path.glob("killed/shard-?????")])
        with subprocess.Popen(
            [*line, str(tmp_path / "killed")], env=environment, start_new_session=True, **pipes
        ) as run:
            while run.poll() is None and len([*tmp_path.glob("killed/shard-?????")]) < begun + 12:
                time.sleep(0.01)
            done = run.poll() is not None
            if not done:
                os.killpg(run.pid, signal.SIGINT) if kills % 2 else run.kill()
            # Returns when all processes have closed the pipe, child processes too.
            output = run.communicate(timeout=60)[0]
        assert "Traceback" not in output, output
        if done:
            break
        kills += 1
    assert run.returncode == 0 and kills >= 2
    assert translation.main([*arguments, str(tmp_path / "whole")]) == 0
    assert_same_files(tmp_path / "killed", tmp_path / "whole")


def assert_same_files(one, other):
    names = sorted(path.relative_to(one) for path in one.glob("**/*") if path.is_file() and path.name != "lock")
    assert names and names == sorted(
        path.relative_to(other) for path in other.glob("**/*") if path.is_file() and path.name != "lock"
    )
    for name in names:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name
