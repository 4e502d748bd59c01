"""Request limits of exported models."""

import pytest
import tensorflow as tf

import zoo
from zoo.limits import Limits
from zoo.translation import export

pytest.importorskip("tensorflow_text", reason="tensorflow-text is not installed")

NAMES = ["classification/sst2-small", "labelling/masc-pos-small", "parsing/genia-small"]


@pytest.fixture
def clock(monkeypatch):
    """Clock that advances by one second at each call."""
    seconds = tf.Variable(0.0, dtype=tf.float64)
    monkeypatch.setattr(tf, "timestamp", lambda: seconds.assign_add(1.0, read_value=True) - 1)
    return seconds


def answering(service):
    """Returns the function from texts to results of a service of words or of texts."""
    (function,) = service.signatures().values()
    words = service._strings()[0][0] == "words"
    return lambda text: function(tf.constant([text.split() if words else text]))


def check_steps(call, seconds, clock, fewest):
    """The clock is read at the start and before each step: a call succeeds if the limit is after the last reading."""
    call()
    last = int(clock.numpy()) - 1
    assert last >= fewest
    for limit in (last + 0.5, 1000):
        clock.assign(0)
        seconds.assign(limit)
        call()
    clock.assign(0)
    seconds.assign(last - 0.5)
    with pytest.raises(tf.errors.InvalidArgumentError, match="A call may take at most .* seconds. Send less"):
        call()


@pytest.mark.parametrize("beam_size", [1, 4])
def test_a_search_stops_at_the_time_limit(beam_size, trained, clock):
    seconds = tf.Variable(1000.0, dtype=tf.float64)
    search = {"beam_size": beam_size, "length_penalty": 0.6, "num_return": 1}
    service = export.translation_service(trained.translator, Limits(max_seconds=seconds), search, False, False)
    check_steps(lambda: service.translate_ids(tf.constant([[5, 6, 3]])), seconds, clock, 4)


@pytest.mark.parametrize("name", NAMES)
def test_a_call_stops_at_the_time_limit(name, clock, monkeypatch):
    predictor, seconds = zoo.load(name), tf.Variable(1000.0, dtype=tf.float64)
    monkeypatch.setattr(predictor, "batch_tokens", 100)
    monkeypatch.setattr(predictor, "max_tokens", 60)
    answer = answering(predictor._make_service(Limits(max_seconds=seconds)))
    check_steps(lambda: answer("a b " * 80), seconds, clock, 1 if name.startswith("classification") else 3)


@pytest.mark.parametrize("name", NAMES[:2])
def test_a_text_over_the_limit_affects_no_other_call(name):
    answer = answering(zoo.load(name)._make_service(Limits(max_bytes=20)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="An input may have at most 20 bytes. Cut it"):
        answer("ä" * 10 + " b")
    assert answer("ä" * 9 + " b")


@pytest.mark.parametrize("limits", [{"max_bytes": 0}, {"max_seconds": 0}, {"max_seconds": float("nan")}])
def test_limits_are_positive(limits):
    with pytest.raises(ValueError, match="must be positive"):
        Limits(**limits)
