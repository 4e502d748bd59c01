"""Tests of signals: a training run that they stop, and that is resumed, equals one that is not stopped."""

import os
import signal
import time
import types

import keras
import numpy as np
import pytest
from strategies import mirrored
from trainer_checks import CONFIG, assert_same, history, make, stream
from worker_threads import together

from zoo.storage.arrays import named_arrays
from zoo.training import progress, stopping
from zoo.training.progress import Progress, regular_lines
from zoo.training.stopping import StopSignals, TrainingStopped
from zoo.training.trainer import Trainer


@pytest.fixture(autouse=True)
def interruptible():
    """Handles SIGINT as in the foreground; processes in the background may ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def train(folder, signals=(), evaluation=0, **changes):
    """Trains and resumes until the end; each process-to-be gets a signal in its n-th micro-batch or evaluation."""
    config = type(CONFIG)(**{**vars(CONFIG), **changes})
    stops = []
    for number, (what, when) in enumerate([*signals, (None, 0)]):
        keras.utils.set_random_seed(100 + number)  # A new process would have another state here.
        model, counts = make(dropout=0.3), {"batch": 0, "evaluation": 0}

        def count(event, what=what, when=when, counts=counts):
            counts[event] += 1
            if what == event and counts[event] == when:
                os.kill(os.getpid(), signal.SIGTERM if event == "evaluation" else signal.SIGINT)

        call = model.call

        def counted(inputs, training=None, call=call, count=count):
            if training:
                count("batch")
            return call(inputs, training)

        def evaluate(model, count=count):
            count("evaluation")
            return {"score": float(np.asarray(model.trainable_weights[0])[5, 0])}

        model.call = counted
        trainer = Trainer(model, config, folder, evaluate)
        try:
            return stops, trainer, trainer.fit(stream(trainer))
        except TrainingStopped as stopped:
            stops.append((trainer.step, stopped.status, str(stopped)))


@pytest.fixture(scope="module", params=[{}, {"ema": 0.9}], ids=["", "ema"])
def whole(request, tmp_path_factory):
    """Returns the changes, the folder and the results of an uninterrupted run of 12 updates, evaluated every third."""
    folder, changes = tmp_path_factory.mktemp("whole"), {**request.param, "steps": 12, "evaluate_every": 3}
    return changes, folder, *train(folder, **changes)[1:]


def test_the_grace_period_ends_a_process_that_does_not_save(monkeypatch, capsys):
    ended = []
    monkeypatch.setattr(stopping, "exit_process", ended.append)
    monkeypatch.setenv("KERAS_TRANSFORMER_GRACE", "0.1")
    for seconds, expected in ((0, []), (0.5, [143])):
        with StopSignals() as signals:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(seconds)
        assert signals.received == signal.SIGTERM
        time.sleep(0.3)
        assert ended == expected
    assert "SIGTERM: not saved within 0.1 s" in capsys.readouterr().err
    for wrong in ("0", "-1", "inf", "soon"):
        monkeypatch.setenv("KERAS_TRANSFORMER_GRACE", wrong)
        with pytest.raises(ValueError, match=f"positive number of seconds. Received: '{wrong}'"):
            StopSignals()


def without_speed(folder):
    return [{name: v for name, v in line.items() if name != "tokens_per_second"} for line in history(folder)]


@pytest.mark.parametrize(
    ("signals", "steps"),
    [
        ([("batch", 1), ("batch", 3), ("batch", 3)], [1, 4, 7]),  # Before an evaluation, between two, and after one.
        ([("evaluation", 1), ("evaluation", 2), ("batch", 6)], [3, 6, 12]),
    ],
)
def test_stopped_runs_resume_bit_for_bit(whole, signals, steps, tmp_path):
    changes, folder, uninterrupted, expected = whole
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    stops, trainer, found = train(tmp_path, signals, **changes)
    assert [step for step, _, _ in stops] == steps, "the state after the current update"
    for (step, status, text), (what, _) in zip(stops, signals):
        assert status == (130 if what == "batch" else 143) and f"saved at step {step} of 12" in text
    assert_same(found, expected)
    assert_same(trainer.best(), uninterrupted.best())
    assert_same(named_arrays(trainer.model), named_arrays(uninterrupted.model))
    assert without_speed(tmp_path) == without_speed(folder) and len(without_speed(folder)) == 4
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers


def test_run_stopped_between_micro_batches_saves_a_whole_update(tmp_path):
    changes = {"steps": 4, "evaluate_every": 4, "micro_batch_tokens": 16}
    _, trainer, expected = train(tmp_path / "whole", **changes)
    assert trainer.accumulation == 4
    stops, _, found = train(tmp_path / "run", [("batch", 6)], **changes)
    assert [step for step, _, _ in stops] == [2]
    assert_same(found, expected)
    assert without_speed(tmp_path / "run") == without_speed(tmp_path / "whole")


@pytest.mark.slow
def test_stopped_run_on_several_devices_resumes_bit_for_bit(tmp_path, monkeypatch):
    def run(folder, *stops):
        keras.utils.set_random_seed(1)
        with mirrored().scope():
            trainer = Trainer(make(dropout=0.3, eager=False), CONFIG, folder, lambda model: {"score": 0.0})
        monkeypatch.setattr(trainer.signals, "agreed", lambda update, due: signal.SIGTERM * (update in stops))
        return trainer.fit(stream(trainer))

    expected = run(tmp_path / "whole")
    for stops in ([1], [5]):
        with pytest.raises(TrainingStopped, match=f"SIGTERM: saved at step {stops[0]} of 6"):
            run(tmp_path / "run", *stops)
    assert_same(run(tmp_path / "run"), expected)
    # The losses of devices are summed in another order.
    losses = [[line["train_loss"] for line in history(tmp_path / name)] for name in ("run", "whole")]
    np.testing.assert_allclose(*losses, rtol=1e-6)


def test_second_signal_ends_at_once():
    with StopSignals() as signals:
        assert signals.agreed(1) == 0
        os.kill(os.getpid(), signal.SIGTERM)
        assert signals.agreed(2) == signal.SIGTERM
        assert {signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)} == {signal.SIG_DFL}
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_workers_stop_after_the_same_update():
    """A signal to one worker of three; they exchange signals rarely, and after an evaluation."""

    def run(workers):
        exchanges, signals = [], StopSignals(workers)
        sums = workers.sums
        workers.sums = lambda values: exchanges.append(values) or sums(values)
        for update in range(1, 100):
            time.sleep(0.001 * workers.index)
            if (workers.index, update) == (2, 20):
                signals.received = signal.SIGTERM
            if number := signals.agreed(update, due=update == 50):
                return update, number, len(exchanges)
        return None

    found = together(3, run)
    assert found == [found[0]] * 3 and found[0][:2] == (50, signal.SIGTERM)
    assert found[0][2] <= 4, "an exchange after each update would cost time"


def test_workers_exchange_signals_about_every_five_seconds(monkeypatch):
    clock, exchanges = [0.0], []
    chief = types.SimpleNamespace(count=2, chief=True, sums=lambda values: exchanges.append(clock[0]) or values)
    monkeypatch.setattr(stopping.time, "monotonic", lambda: clock[0])
    signals = StopSignals(chief)
    for update in range(1, 60):
        clock[0] += 20.0 if update == 1 else 0.5  # The first one is slow, as graphs are compiled.
        assert signals.agreed(update) == 0
    assert exchanges == [20.0, 20.5, 25.5, 30.5, 35.5, 40.5, 45.5]


def test_log_that_is_no_terminal_gets_regular_lines(monkeypatch, capsys):
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.02)
    with Progress(1400, done=300) as bar:
        bar.on_epoch_begin(0)
        bar.count(640)
        bar.on_train_batch_end(0, {"loss": 2.5})
        time.sleep(0.5)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= 3 and all(line.startswith("step 301 of 1,400  loss 2.500  ") for line in lines[1:])
    written = []
    with regular_lines(written.append, lambda: "evaluating"):
        time.sleep(0.1)
    assert written and set(written) == {"evaluating"}
    with Progress(1400, shown=False):
        time.sleep(0.1)
    assert capsys.readouterr().err == ""
