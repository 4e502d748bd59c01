"""Tests of data workers: every batch once and at its place, whatever happens to them."""

import dataclasses
import threading
import time

import pytest
from data_worker_checks import OPTIONS, assert_same, corpus

from zoo.config import TrainingConfig
from zoo.corpora.batching import BatchPlan, BatchStream
from zoo.training import data_workers
from zoo.training.data_workers import Lane, ServedStream, given_addresses, identity, open_stream


class Client:
    """A data worker in this process, for which things can go wrong: `faults[number of the batch it makes] -> ...`."""

    address = "here:1"

    def __init__(self, faults=None):
        self.faults, self.made, self.away, self.opened = faults or {}, 0, False, []
        self._plan = lambda epoch: BatchPlan(
            corpus(), OPTIONS["batch_tokens"], OPTIONS["pad_multiple"], OPTIONS["seed"], epoch
        )

    def answers(self):
        return not self.away

    def facts(self):
        return {}

    def open(self, epoch, first, step):
        self.opened.append((epoch, first))
        plan = self._plan(epoch)
        for number in range(first, len(plan), step):
            batch, self.made = plan.gather(number), self.made + 1
            fault = self.faults.get(self.made)
            if fault == "error":
                raise RuntimeError("disk full\nmore")
            if fault == "gone":
                self.away = True
                threading.Event().wait()
            if fault == "hangs":
                threading.Event().wait()
            yield number + step * (fault == "skips"), batch


def stream(clients, lines=None, **options):
    lines = [] if lines is None else lines
    lanes = [
        Lane(client, number, len(clients), lines.append, **{"again": 0.05, "patience": 0.5, **options})
        for number, client in enumerate(clients)
    ]
    return ServedStream(lanes, lines.append, corpus(), **OPTIONS)


def expected(start=(0, 0)):
    return BatchStream(corpus(), start=start, **OPTIONS)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_batches_and_their_order_are_those_of_one_process(count):
    served = stream([Client() for _ in range(count)])
    assert served.batches_in(0) > 7  # So that 60 batches are several epochs.
    assert_same(served, expected(), 60)
    assert (served.served, served.made) == (60, 0)


def test_a_stream_resumes_anywhere():
    served = ServedStream([Lane(Client(), i, 2, print) for i in range(2)], print, corpus(), start=(1, 5), **OPTIONS)
    assert_same(served, expected((1, 5)), 20)
    assert served.made == 0


@pytest.mark.parametrize("fault, reason", [("error", "disk full;"), ("gone", "answer any more"), ("skips", "not (")])
def test_batches_that_a_data_worker_does_not_bring_are_made_here(fault, reason):
    lines, clients = [], [Client(), Client({4: fault})]
    served = stream(clients, lines, again=1000)
    assert_same(served, expected(), 60)
    assert served.made >= 26 and served.served == 60 - served.made
    (line,) = lines
    assert "here:1" in line and reason in line
    served.close()
    assert lines[-1] == f"batches made by data workers: {served.served}; here: {served.made}"


def test_a_data_worker_that_hangs_is_waited_for_for_some_time(monkeypatch):
    lines = []
    served = stream([Client({3: "hangs"})], lines, patience=0.3, again=1000)
    began = time.monotonic()
    assert_same(served, expected(), 60)
    assert 0.3 <= time.monotonic() - began < 30 and served.served == 2
    assert "it brought nothing for 0.3 s" in lines[0]


def test_a_data_worker_that_was_started_again_is_used_again():
    lines, client = [], Client({5: "gone"})
    served = stream([client], lines)
    found = iter(served)
    wanted = iter(expected())
    assert_same(found, wanted, 10)
    assert served.made == 6
    client.away = False
    time.sleep(0.1)
    assert_same(found, wanted, 30)
    assert served.made == 6 and client.opened[:2] == [(0, 0), divmod(10, served.batches_in(0))]
    assert [line.split(";")[0] for line in lines] == [
        "data worker here:1: it does not answer any more",
        "data worker here:1 answers again",
    ]


def test_a_data_worker_that_is_not_there_yet_is_told_once():
    lines, client = [], Client()
    client.away = True
    served = stream([client], lines, again=0)
    assert_same(served, expected(), 5)
    assert len(lines) == 1 and "nothing listens at here:1" in lines[0]


def test_threads_end_with_the_stream():
    before = threading.active_count()
    served = stream([Client(), Client()])
    assert_same(served, expected(), 3)
    assert threading.active_count() == before + 2
    served.close()
    time.sleep(0.5)
    assert threading.active_count() == before


def test_without_addresses_batches_are_made_here(monkeypatch):
    monkeypatch.delenv(data_workers.ADDRESSES, raising=False)
    assert type(open_stream(corpus(), {}, print, **OPTIONS)) is BatchStream


@pytest.mark.parametrize("text", ["host", ":1", "host:", "a:1,b", "host:x"])
def test_addresses_are_checked(text, monkeypatch):
    monkeypatch.setenv(data_workers.ADDRESSES, " a:1 , b:2,")
    assert given_addresses() == ["a:1", "b:2"]
    monkeypatch.setenv(data_workers.ADDRESSES, text)
    with pytest.raises(ValueError, match=r"host:port, separated by commas\. Received"):
        given_addresses()


def test_the_identity_holds_all_that_changes_batches():
    settings = TrainingConfig()
    assert {field.name for field in dataclasses.fields(settings)} >= {*data_workers.CHANGES}
    first = identity("a", settings, None)
    assert identity("b", settings, None) != first
    assert identity("a", dataclasses.replace(settings, steps=5), None) == first
    for name in ("seed", "max_tokens", "token_dropout", "subword_dropout"):
        changed = dataclasses.replace(settings, **{name: 0.5 if "dropout" in name else 77})
        assert identity("a", changed, None) != first
    changed = dataclasses.replace(settings.image_augment, flip=True)
    assert identity("a", dataclasses.replace(settings, image_augment=changed), None) != first
