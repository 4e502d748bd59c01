"""A prepared corpus has what a plain loop over the same text gives, with any number of workers, byte for byte."""

import json
import random
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

pytest.importorskip("apache_beam")

from zoo.corpora.encoded_corpus import encode_corpus
from zoo.corpora.prepared_corpus import PreparedCorpus, is_prepared
from zoo.preparation import line_inputs, pipeline
from zoo.preparation.inputs import open_inputs
from zoo.preparation.pipeline import make_options, prepare
from zoo.preparation.rules import Rules
from zoo.preparation.shards import Settings, WriteShard
from zoo.text.tokenizer_training import train_tokenizer
from zoo.translation import __main__ as translation

WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
GENERATOR = random.Random(1)
PAIRS = [tuple(" ".join(GENERATOR.choices(WORDS, k=GENERATOR.randrange(1, 12))) for _ in range(2)) for _ in range(300)]
TOKENIZER = train_tokenizer([text for pair in PAIRS for text in pair], 340)
LONGEST = 12


@pytest.fixture
def files(tmp_path):
    """Writes a corpus with every fault; returns its two paths."""
    pairs = [*PAIRS, PAIRS[3], (PAIRS[5][0].upper(), PAIRS[5][1] + "!"), ("", "x"), ("x", " "), (" ", ""), PAIRS[0]]
    for name, lines in zip(("a.en", "a.de"), zip(*pairs)):
        content = [line.encode() for line in lines]
        content[7] = b"\xff broken" if name == "a.de" else content[7]
        (tmp_path / name).write_bytes(b"\n".join(content) + b"\n")
    return str(tmp_path / "a.en"), str(tmp_path / "a.de")


def expected_pairs():
    """The pairs that are left, and the numbers of those left out, by a loop."""
    seen, kept, counts = set(), [], {"broken": 1, "source_empty": 1, "target_empty": 1, "both_empty": 1}
    counts |= {"duplicate": 0, "near_duplicate": 0, "too_long": 0}
    for i, pair in enumerate([*PAIRS, PAIRS[3], (PAIRS[5][0].upper(), PAIRS[5][1] + "!"), PAIRS[0]]):
        if i == 7:
            continue
        key = tuple("".join(filter(str.isalnum, text.lower())) for text in pair)
        if pair in seen or key in seen:
            counts["duplicate" if pair in seen else "near_duplicate"] += 1
            continue
        seen |= {pair, key}
        if max(map(len, TOKENIZER.encode([*pair]))) + 1 > LONGEST:
            counts["too_long"] += 1
        else:
            kept.append(pair)
    return kept, {name: count for name, count in counts.items() if count}


def run(files, folder, **options):
    rules = Rules(("duplicate", "near_duplicate"))
    options = {"rules": rules, "max_tokens": LONGEST, "num_shards": 4, **options}
    return prepare(open_inputs(*files), TOKENIZER, folder, **options)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith("lock")}


def test_the_corpus_is_that_of_a_loop(files, tmp_path, monkeypatch):
    monkeypatch.setattr(line_inputs, "_BLOCK", 500)
    done = []
    report = run(files, tmp_path / "corpus", progress=lambda *numbers: done.append(numbers))
    kept, counts = expected_pairs()
    assert done[-1] == (4, 4)
    assert report.examples == len(kept) and {name: getattr(report, name).count for name in counts} == counts
    assert report.broken.first == [8] and report.both_empty.first == [305]
    assert str(report).count(";") == len(counts) and str(report).startswith(f"{len(kept)} pairs from 306 lines; ")
    corpus = PreparedCorpus.open(tmp_path / "corpus")
    found = [side.row(0).tolist() for i in range(len(corpus)) for side in corpus.token_rows(np.array([i]))]
    wanted = [TOKENIZER.encode([*pair]) for pair in kept]
    assert sorted(zip(found[::2], found[1::2])) == sorted((s, t) for s, t in wanted)


def test_one_process_and_one_block_give_the_same_bytes(files, tmp_path, monkeypatch):
    run(files, tmp_path / "one")
    monkeypatch.setattr(line_inputs, "_BLOCK", 300)
    run(files, tmp_path / "blocks")
    assert contents(tmp_path / "one") == contents(tmp_path / "blocks")
    run(files, tmp_path / "seed", seed=1)
    one, other = contents(tmp_path / "one"), contents(tmp_path / "seed")
    assert one.keys() == other.keys()
    assert all(one[name] != other[name] for name in one if name.endswith(".tfrecord"))


def test_a_shard_does_not_depend_on_the_order_of_its_examples(tmp_path):
    """Runners give them in any order."""
    examples = [(0, i + 1, pair) for i, pair in enumerate([*PAIRS[:50], *PAIRS[20:30]])]
    found = []
    for name, order in (("one", examples), ("other", GENERATOR.sample(examples, len(examples)))):
        (tmp_path / name).mkdir()
        TOKENIZER.save(tmp_path / name / "vocabulary.model")
        settings = Settings(("source", "target"), Rules(("duplicate",)), LONGEST, 1, 0)
        stage = WriteShard(settings, str(tmp_path / name))
        stage.setup()
        found.append([*stage.process((0, order))])
    assert found[0] == found[1] and found[0][0]["counts"]["duplicate"][1][0] == [0, 51]
    assert contents(tmp_path / "one") == contents(tmp_path / "other")


@pytest.mark.slow
def test_other_runners_give_the_same_bytes(files, tmp_path):
    """Two processes of the DirectRunner, and a job server of its own, to which a portable runner sends the pipeline."""
    run(files, tmp_path / "one")
    run(files, tmp_path / "two", options=make_options(processes=2))
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    module = "apache_beam.runners.portability.local_job_service_main"
    with subprocess.Popen([sys.executable, "-m", module, "--port", str(port)], stderr=subprocess.DEVNULL) as server:
        for _ in range(200):
            with socket.socket() as client:
                if client.connect_ex(("localhost", port)) == 0:
                    break
            time.sleep(0.1)
        options = [f"--job_endpoint=localhost:{port}", "--environment_type=LOOPBACK"]
        run(files, tmp_path / "portable", options=make_options("PortableRunner", others=options))
        server.terminate()
    assert contents(tmp_path / "one") == contents(tmp_path / "two") == contents(tmp_path / "portable")


def test_an_interrupted_preparation_starts_again(files, tmp_path, monkeypatch):
    def fail(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr(pipeline, "_finish", fail)
        with pytest.raises(KeyboardInterrupt):
            run(files, tmp_path / "corpus", num_shards=5)
    assert is_prepared(tmp_path / "corpus") and len([*(tmp_path / "corpus").glob("shard-*")]) == 10
    with pytest.raises(ValueError, match="no complete prepared corpus"):
        PreparedCorpus.open(tmp_path / "corpus")
    run(files, tmp_path / "corpus")
    run(files, tmp_path / "whole")
    assert contents(tmp_path / "corpus") == contents(tmp_path / "whole")
    with pytest.raises(ValueError, match="holds a prepared corpus"):
        run(files, tmp_path / "corpus")
    assert contents(tmp_path / "corpus") == contents(tmp_path / "whole")


def test_bad_input_leaves_no_corpus(files, tmp_path):
    (tmp_path / "short.de").write_text("eins\n")
    (tmp_path / "utf16.en").write_text("eins\n", "utf-16")
    (tmp_path / "utf16.de").write_text("eins\n", "utf-16")
    cases = [
        ((files[0], str(tmp_path / "short.de")), {}, "same number of lines"),
        ((str(tmp_path / "utf16.en"), str(tmp_path / "utf16.de")), {}, "must be UTF-8"),
        (files, {"max_tokens": 1}, "No example is left.*too long"),
        (files, {"max_tokens": -1}, "must not be negative"),
        (files, {"num_shards": -1}, "must not be negative"),
        (files, {"rules": Rules(("spelling",))}, "spelling"),
    ]
    for number, (paths, options, message) in enumerate(cases):
        folder = tmp_path / f"corpus-{number}"
        with pytest.raises(ValueError, match=message):
            run(paths, folder, **options)
        assert not (folder / "corpus.json").exists()
    with pytest.raises(ValueError, match="is not empty and holds no corpus"):
        run(files, tmp_path)
    with pytest.raises(ValueError, match="`processes` must be at least 1"):
        make_options(processes=0)


def test_batches_are_those_of_the_encoded_text(files, tmp_path):
    run(files, tmp_path / "corpus", num_shards=1)
    corpus = PreparedCorpus.open(tmp_path / "corpus")
    ordered = []
    for i in range(len(corpus)):
        source, target = (TOKENIZER.decode([side.row(0).tolist()])[0] for side in corpus.token_rows(np.array([i])))
        ordered.append((source, target))
    encoded = encode_corpus(ordered, TOKENIZER)
    for one, other in zip(corpus.lengths(), encoded.lengths()):
        np.testing.assert_array_equal(one, other)
    rows = np.array([5, 0, 17, 5])
    for name, array in corpus.gather(rows, [15, 14], 2).items():
        np.testing.assert_array_equal(array, encoded.gather(rows, [15, 14], 2)[name])


def test_the_command_prepares_with_rules(files, tmp_path, capsys):
    TOKENIZER.save(tmp_path / "vocabulary.model")
    (tmp_path / "test.en").write_text(PAIRS[20][0] + "\n\n")
    given = ["prepare", "--source", files[0], "--target", files[1], "--vocabulary", str(tmp_path / "vocabulary.model")]
    given += ["--processes", "1", "--held-out", str(tmp_path / "test.en")]
    assert translation.main([*given, "--rules", "--output", str(tmp_path / "corpus")]) == 0
    facts = json.loads((tmp_path / "corpus" / "corpus.json").read_text())
    assert facts["counts"]["overlap"][0] >= 1 and "near_duplicate" in facts["rules"]
    assert "script" not in facts["rules"] and "pairs from 306 lines" in capsys.readouterr().err
    assert translation.main([*given, "--rules", "script", "--output", str(tmp_path / "other")]) == 2
    assert "need the language of each side" in capsys.readouterr().err
