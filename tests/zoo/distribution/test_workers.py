"""Communication between workers, which are threads here except in the slow tests at the end."""

import collections
import json
import os
import pathlib
import signal
import time
import types

import numpy as np
import pytest
import trainer_checks
import worker_checks
from worker_threads import together

from zoo.corpora.batching import BatchStream, token_batches
from zoo.corpora.encoded_corpus import teacher_forced
from zoo.distribution.cluster import read_cluster
from zoo.distribution.exiting import WorkerFailure
from zoo.distribution.workers import Workers, lost_worker_errors
from zoo.training.micro_batches import local_shares, micro_batches
from zoo.training.runs import TrainingData, prepare_folder, run_vocabulary
from zoo.training.stopping import TrainingStopped
from zoo.training.trainer import Trainer
from zoo.translation.recipes import RECIPES


@pytest.mark.parametrize("size", [0, 1, 5, 2**24 // 4 + 3])
def test_broadcast_returns_the_result_of_the_chief(size):
    def run(workers):
        arrays = {"a/b": np.arange(size, dtype="float32"), "c": np.ones((2, 3), "uint8"), "text": np.zeros(1, "int64")}
        return workers.broadcast(lambda: (workers.index, {**arrays, "d": np.full(2, workers.index)}))

    for value, arrays in together(3, run):
        assert value == 0
        np.testing.assert_array_equal(arrays["a/b"], np.arange(size))
        assert arrays["a/b"].dtype == "float32" and arrays["c"].shape == (2, 3) and arrays["text"].dtype == "int64"
        np.testing.assert_array_equal(arrays["d"], [0, 0])


def test_broadcast_raises_the_error_of_the_chief_everywhere():
    def run(workers):
        def make():
            assert workers.chief
            raise ValueError("no such folder")

        workers.broadcast(make)

    errors = [str(error) for error in together(2, run)]
    assert errors == ["no such folder", "Worker 0 stopped: no such folder"]


def test_workers_with_other_content_are_named():
    same = together(4, lambda workers: workers.check_same("corpus", b"x"))
    assert same == [None] * 4
    errors = together(4, lambda workers: workers.check_same("corpus", b"xyxz"[workers.index :][:1]))
    assert all("same corpus" in str(error) and "on worker 1, 3." in str(error) for error in errors)


@pytest.mark.parametrize("count, devices, by_device", [(1, 1, True), (2, 1, True), (3, 2, True), (3, 2, False)])
def test_shares_partition_the_corpus(count, devices, by_device):
    corpus = trainer_checks.corpus()
    expected, found = collections.Counter(), collections.Counter()
    for batch in token_batches(corpus, 64, seed=3):
        expected.update(rows_of(*teacher_forced(batch)))
    sizes = set()
    for index in range(count):
        workers = Workers(index, count, devices)
        batches = map(teacher_forced, token_batches(corpus, 64, seed=3))
        examples = micro_batches(batches, 2, workers.replicas, lambda tokens: None)
        shares = [*local_shares(examples, workers, by_device)]
        sizes.add(len(shares))
        for inputs, labels, weights in shares:
            assert len(labels) == len(weights) == len(inputs["source"])
            found.update(rows_of(inputs, labels))
    assert expected == found and sum(found.values()) == 40
    assert len(sizes) == 1  # All workers have the same number of steps.


def rows_of(inputs, labels):
    """Yields the real rows without padding."""
    for row in zip(inputs["source"], inputs["target"], labels):
        if row[0].any():
            yield tuple(tuple(ids[ids > 0].tolist()) for ids in row)


def test_shares_of_a_resumed_stream():
    """Worker 1's share of the third batch is the same from a stream that starts there."""

    def third(start, skip):
        stream = BatchStream(trainer_checks.corpus(), 64, seed=3, start=start)
        examples = micro_batches(map(teacher_forced, stream), 1, 2, lambda tokens: None)
        shares = local_shares(examples, Workers(1, 2), True)
        return [next(shares) for _ in range(skip + 1)][-1]

    for one, other in zip(third((0, 0), 2), third((0, 2), 0)):
        np.testing.assert_equal(one, other)


def test_one_folder_and_one_vocabulary(tmp_path):
    """Only the chief writes to the folder of the run, and all workers have its vocabulary."""
    texts = {0: ["a b c a b"] * 9, 1: ["x y z x y"] * 9}

    def run(workers):
        folder = prepare_folder(tmp_path / "run", RECIPES["tiny"], workers)
        data = TrainingData(None, [], lambda: texts[workers.index])
        return folder, run_vocabulary(folder, None, data, RECIPES["tiny"], workers)

    (folder, chief), (own, other) = together(2, run)
    assert folder == tmp_path / "run" and own != folder and own.exists()
    assert chief.digest == other.digest
    assert sorted(path.name for path in folder.iterdir()) == ["recipe.json", "vocabulary.model"]


def test_another_recipe_is_refused(tmp_path):
    names = "tiny", "small"
    errors = together(2, lambda workers: prepare_folder(tmp_path / "run", RECIPES[names[workers.index]], workers))
    assert all("same recipe" in str(error) and "worker 1" in str(error) for error in errors)


def test_addresses_from_the_environment(monkeypatch):
    cluster = {"chief": ["a:1"], "worker": ["b:1", "c:1"]}
    for kind, index, expected in (("chief", 0, 0), ("worker", 0, 1), ("worker", 1, 2)):
        config = {"cluster": cluster, "task": {"type": kind, "index": index}}
        monkeypatch.setenv("TF_CONFIG", json.dumps(config))
        assert read_cluster() == (["a:1", "b:1", "c:1"], expected)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"cluster": {}}',
        '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 1}}',
        '{"cluster": {"worker": ["a:1"]}, "task": {"type": "ps", "index": 0}}',
        '{"cluster": {"worker": ["a"]}, "task": {"type": "worker", "index": 0}}',
        '{"cluster": {"worker": ["a:1"], "ps": ["b:1"]}, "task": {"type": "worker", "index": 0}}',
    ],
)
def test_invalid_clusters_are_refused(text, monkeypatch):
    monkeypatch.setenv("TF_CONFIG", text)
    with pytest.raises(ValueError, match="TF_CONFIG.*Expected.*Received"):
        read_cluster()


def test_no_worker_ends_before_the_chief_has_saved(tmp_path, monkeypatch):
    """`srun --kill-on-bad-exit` ends all others as soon as one process has ended."""
    events = []

    def copy_back(folder, wait):
        if folder.name == "0":
            time.sleep(0.5)
            events.append("saved")

    def stop(workers):
        trainer = types.SimpleNamespace(workers=workers, folder=tmp_path / f"{workers.index}" / "training")
        trainer.config = types.SimpleNamespace(steps=9)
        with pytest.raises(TrainingStopped, match="saved at step 3 of 9"):
            Trainer.stop(trainer, 3, (0, 3), signal.SIGTERM, saved=True)
        events.append(workers.index)

    monkeypatch.setattr("zoo.training.trainer.copy_back", copy_back)
    assert together(3, stop) == [None] * 3
    assert events[0] == "saved" and sorted(events[1:]) == [0, 1, 2]


@pytest.fixture
def files(tmp_path):
    """Multi30k, with a short dev set."""
    data = pathlib.Path(os.environ.get("KERAS_TRANSFORMER_DATA", ""), "translation", "multi30k")
    if not data.exists():
        pytest.skip("KERAS_TRANSFORMER_DATA names no folder with translation/multi30k")
    return worker_checks.multi30k(data, tmp_path, 1000)


GLOO = "UNKNOWN: Gloo AllGather failed: [external/gloo/gloo/transport/tcp/pair.cc:547] Connection closed by peer"


@pytest.mark.parametrize(
    ("count", "message", "expected"),
    [(2, GLOO, WorkerFailure), (1, GLOO, ValueError), (2, "`pairs` lost its connection", ValueError)],
)
def test_worker_failures_are_distinguished_from_other_errors(count, message, expected):
    """JAX's collectives raise a plain `ValueError`."""
    with pytest.raises((ValueError, WorkerFailure)) as found, lost_worker_errors(Workers(1, count)):
        raise ValueError(message)
    assert type(found.value) is expected
    assert expected is ValueError or "Worker 1 of 2 has lost the others" in str(found.value)


@pytest.mark.slow
@pytest.mark.long
def test_two_processes_train_as_one_though_they_are_killed(files, tmp_path):
    """On Multi30k; `python tests/long/worker_checks.py` kills and stops more, on JAX too."""
    worker_checks.train(worker_checks.command(files, tmp_path / "one", 10, workers=1), "tensorflow", 1)
    worker_checks.kill_and_resume(files, tmp_path / "two", "tensorflow", victim=1)
    worker_checks.finish_again(files, tmp_path / "two", "tensorflow")
    worker_checks.compare(tmp_path / "one", tmp_path / "two")
