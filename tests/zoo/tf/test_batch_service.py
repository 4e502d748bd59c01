"""Tests of batches by tf.data.service: those of this process, for several trainers, after a crash of the service."""

import itertools
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

pytest.importorskip("tensorflow", reason="TensorFlow is not installed")

from data_worker_checks import OPTIONS, assert_same, corpus

from zoo.corpora.batching import BatchPlan, BatchStream
from zoo.tf.batch_service import BatchClient, BatchServer
from zoo.training.data_workers import Lane, ServedStream

TESTS = pathlib.Path(__file__).parents[2]
SETTINGS = OPTIONS["batch_tokens"], OPTIONS["pad_multiple"], OPTIONS["seed"]
SERVER = """
import sys
from data_worker_checks import corpus
from zoo.tf.batch_service import BatchServer
server = BatchServer(corpus(), {"a": 1}, int(sys.argv[1]))
print("ready", flush=True)
server.join()
"""


@pytest.fixture(scope="module")
def server():
    return BatchServer(corpus(), {"a": 1, "b": [2]})


@pytest.mark.parametrize("settings", [SETTINGS, (60, 1, 3), (24, 8, 3), (24, 1, 4)])
def test_each_trainer_gets_its_own_order(settings, server):
    client = BatchClient(server.address, {"a": 1, "b": [2]}, settings)
    plan = BatchPlan(corpus(), *settings, 2)
    found = dict(client.open(2, 1, 3))
    assert [*found] == [*range(1, len(plan), 3)]
    for number, batch in found.items():
        assert all(np.array_equal(batch[name], wanted) for name, wanted in plan.gather(number).items())
        assert all(batch[name].dtype == wanted.dtype for name, wanted in plan.gather(number).items())


def test_another_corpus_is_refused(server):
    with pytest.raises(ValueError, match="another b. Start it with the arguments of this `train`"):
        BatchClient(server.address, {"a": 1, "b": [3]}, SETTINGS).facts()
    with pytest.raises(ValueError, match="another a"):
        Lane(BatchClient(server.address, {"a": 2, "b": [2]}, SETTINGS), 0, 1, print)


def test_something_else_at_the_address_is_no_data_worker(monkeypatch):
    monkeypatch.setattr("zoo.tf.batch_service._ANSWER", 0.5)
    with socket.create_server(("localhost", 0)) as other:
        client = BatchClient(f"localhost:{other.getsockname()[1]}", {}, SETTINGS)
        assert client.answers()
        with pytest.raises(ConnectionError, match="no data worker"):
            client.facts()
    assert not client.answers()


def start(port):
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (TESTS, TESTS.parent)))},
    )
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.slow
@pytest.mark.long
def test_two_trainers_get_every_batch_once_while_a_data_worker_is_killed_and_replaced(server):
    with socket.create_server(("localhost", 0)) as free:
        port = free.getsockname()[1]
    process, lines = start(port), []
    clients = [BatchClient(address, {"a": 1}, SETTINGS) for address in (server.address, f"localhost:{port}")]
    trainers = [
        ServedStream(
            [Lane(c, i, 2, lines.append, again=0.2) for i, c in enumerate(clients)], print, corpus(), **OPTIONS
        )
        for _ in range(2)
    ]
    streams, wanted = (
        [iter(trainer) for trainer in trainers],
        [iter(BatchStream(corpus(), **OPTIONS)) for _ in range(2)],
    )
    try:
        for pair in zip(streams, wanted):
            assert_same(*pair, 30)
        assert all(trainer.made == 0 for trainer in trainers)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        for pair in zip(streams, wanted):
            assert_same(*pair, 60)
        assert all(trainer.made > 20 for trainer in trainers)
        assert sum("does not answer any more" in line for line in lines) == 2
        process, made = start(port), [trainer.made for trainer in trainers]
        time.sleep(0.3)
        for pair in zip(streams, wanted):
            assert_same(*pair, 60)
        assert [trainer.made for trainer in trainers] == made
    finally:
        process.kill()
        process.communicate()
        for trainer in trainers:
            trainer.close()


def test_a_server_counts_what_it_made(server):
    made = server.made
    client = BatchClient(server.address, {}, SETTINGS)
    assert len([*itertools.islice(client.open(0, 0, 1), 3)]) == 3
    assert server.made >= made + 3
