"""Heartbeats: a worker that is silent or makes no batch is named; one that waits or has ended is not."""

import contextlib
import itertools
import signal
import socket
import time
import warnings
from types import SimpleNamespace

import pytest
from mesh_checks import write_corpora
from worker_checks import command, free_ports, outcomes, start

from zoo.distribution import heartbeats
from zoo.distribution.heartbeats import Heartbeats

LIMIT = 0.4


@contextlib.contextmanager
def workers(count=3):
    addresses = [f"localhost:{port}" for port in free_ports(count)]
    failures = [[] for _ in range(count)]
    found = [Heartbeats(addresses, i, LIMIT, failures[i].append, period=0.02) for i in range(count)]
    try:
        yield found, failures, addresses
    finally:
        for each in found:
            each.end()


def until(condition, seconds=30.0):
    """Waits until a condition holds; returns whether it does."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def test_workers_that_are_well_are_left_alone():
    with workers() as (found, failures, _):
        for step in range(30):
            for each in found:
                each.beat(step)
                assert [*each.watched(iter([step]))] == [step]
            time.sleep(2 * LIMIT / 30)
        examples = found[0].watched(iter([1, 2]))
        assert next(examples) == 1  # Which then is being learned from, for long.
        found[1].end()  # Others wait while the chief evaluates.
        time.sleep(2 * LIMIT)
        assert failures == [[], [], []]


def test_one_that_stood_still_itself_blames_nobody(monkeypatch):
    still = [0.0]
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + still[0])
    monkeypatch.setattr(heartbeats, "time", clock)
    with workers() as (found, failures, _):
        assert until(lambda: all(len(each._heard) == 2 for each in found))
        examples = found[0].watched(itertools.repeat(1))
        found[0]._making = found[0]._awake  # As while a batch is being made.
        still[0] = 1000.0
        time.sleep(LIMIT / 2)
        assert failures == [[], [], []] and next(examples) == 1


def test_a_silent_worker_is_named():
    with workers() as (found, failures, addresses):
        found[2].beat(7)
        time.sleep(LIMIT / 2)
        assert failures == [[], [], []]
        found[2]._ended.set()  # Its thread stands still, without a farewell.
        found[2]._socket.close()
        assert until(lambda: all(failures[:2]))
        for messages in failures[:2]:
            (message,) = messages
            assert message.startswith(f"Worker 2 at {addresses[2]} has not been heard for")
            assert "its last update was 7" in message


def test_a_worker_without_batches_is_named_by_all():
    with workers(2) as (found, failures, addresses):

        def slow():
            assert until(lambda: all(failures))
            yield 1

        assert [*found[1].watched(slow())] == [1]
        assert failures[0][0].startswith(f"Worker 1 at {addresses[1]} has made no batch")
        assert failures[1][0].startswith(f"Worker 1 at {addresses[1]}, this process, has made no batch")


def test_one_that_was_never_heard_is_not_lost():
    """Where UDP is blocked, nothing is known."""
    addresses = [f"localhost:{port}" for port in free_ports(2)]
    failures = []
    alone = Heartbeats(addresses, 0, LIMIT / 4, failures.append, period=0.02)
    time.sleep(LIMIT)
    alone.end()
    assert failures == []


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[1]", b"\xff", b'{"worker": 9, "step": 1, "waited": 99}', b"0" * 2000]
)
def test_datagrams_of_others_are_ignored(content):
    with workers(2) as (found, failures, addresses):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(content, ("127.0.0.1", int(addresses[0].split(":")[1])))
        time.sleep(LIMIT / 4)
        assert found[0].lost() is None and failures[0] == []


def test_a_port_in_use_is_told(monkeypatch):
    monkeypatch.setattr(heartbeats, "_current", None)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("", 0))
        with pytest.warns(UserWarning, match="will not be found: localhost:.* takes no UDP"):
            heartbeats.start([f"localhost:{other.getsockname()[1]}"], 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        heartbeats.beat(1)
        examples = iter([1])
        assert heartbeats.watched(examples) is examples


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_a_process_that_stands_still_ends_the_others_and_is_named(backend, tmp_path):
    arguments = command(write_corpora(tmp_path), tmp_path / "run", 5) + ["--set", "training.steps=4000"]
    processes = start(arguments, backend, 2, KERAS_TRANSFORMER_WORKER_TIMEOUT="10")
    path, end = tmp_path / "run" / "training" / "state-0000010.safetensors", time.monotonic() + 300
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.1)
    processes[1].send_signal(signal.SIGSTOP)
    ((status, text),) = outcomes(processes[:1], 120)
    processes[1].kill()
    processes[1].communicate()
    assert status == 2 and "orker 1 at localhost:" in text, text
