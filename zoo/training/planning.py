"""Plans of training runs: sizes of corpus and model, memory, disk and time, measured in a few updates."""

import contextlib
import math
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from rich.filesize import decimal

from zoo.corpora.batching import BatchStream
from zoo.training.run_state import KEPT
from zoo.training.trainer import Trainer

_MEASURED_UPDATES = 8
EVALUATED = 64  # Examples of the dev set.
_requested = False


class Planned(Exception):
    """Raised instead of training if only a plan was requested; `plan` is a list of (name, value)."""

    def __init__(self, plan: list[tuple[str, str]]):
        super().__init__("only planned")
        self.plan = plan


@contextlib.contextmanager
def planning() -> Iterator[None]:
    """Requests plans: inside the block, `zoo.training.runs.train_model` measures a few updates and raises `Planned`."""
    global _requested
    _requested = True
    try:
        yield
    finally:
        _requested = False


def requested() -> bool:
    """Returns whether only a plan is requested."""
    return _requested


class Evaluation(NamedTuple):
    """An evaluation on the first examples of the dev set.

    Args:
        run: Evaluates.
        share: Examples of the dev set for each example that it evaluates.
    """

    run: Callable[[], Any]
    share: float


def plan(trainer: Trainer, stream: BatchStream, batches, evaluation: Evaluation) -> list[tuple[str, str]]:
    """Measures a few updates and returns what the training run takes on this machine, as a list of (name, value).

    The model is changed by the updates. Nothing is written.

    Args:
        trainer: The trainer of the run.
        stream: The batches of the corpus.
        batches: `stream`, or batches made from it.
        evaluation: Evaluates the model on a part of the dev set.
    """
    model, config = trainer.model, trainer.config
    before = _peak_bytes()
    steps = stream.batches_in(0)
    made = []
    seconds, tokens = trainer.measure(_timed(batches, made), _MEASURED_UPDATES)
    making = sum(made[1:]) / (len(made) - 1)  # Without the first, before which the stream is set up.
    evaluation.run()  # Compiles.
    start = time.perf_counter()
    evaluation.run()
    evaluated = evaluation.share * (time.perf_counter() - start)
    peak, parameters = _peak_bytes(), model.count_params()
    trainable = sum(map(_size, model.trainable_variables))
    evaluations = math.ceil(config.steps / config.evaluate_every)
    disk = parameters * (config.average + 4) + KEPT * (parameters + 2 * trainable)
    return [
        ("updates", f"{config.steps:,}: {config.steps / steps:.1f} epochs of {steps:,}"),
        ("positions of an update", f"{config.batch_tokens:,} at most; {tokens:,.0f} labels to learn on average"),
        ("micro-batches of an update", f"{trainer.accumulation}, on {trainer.replicas} device(s)"),
        ("parameters", f"{parameters:,}" + (f", of which {trainable:,} learn" if trainable < parameters else "")),
        *((f"  {name}", f"{count:,}") for name, count in _layer_sizes(model)),
        ("memory for weights", decimal(4 * parameters)),
        ("  gradients", decimal(4 * trainable)),
        ("  Adam's two moments", decimal(8 * trainable)),
        ("  weights of the update before", decimal(4 * parameters)),
        ("peak of this process", f"{decimal(peak)}, {decimal(max(0, peak - before))} of it in the updates"),
        ("disk", decimal(4 * disk)),
        ("measured update", f"{seconds:.3g} s, {tokens / seconds:,.0f} labels a second"),
        ("  making its batch", f"{making:.3g} s in a thread beside it, {100 * making / seconds:.2g} % of its time"),
        ("epoch", _duration(seconds * steps)),
        ("evaluation on dev", f"{_duration(evaluated)} with random weights"),
        ("training run", _duration(seconds * config.steps)),
        (f"  its {evaluations} evaluations", _duration(evaluated * evaluations)),
    ]


def _timed(batches, made):
    """Yields batches; appends the seconds that each took to `made`."""
    start = time.perf_counter()
    for batch in batches:
        made.append(time.perf_counter() - start)
        yield batch
        start = time.perf_counter()


def _layer_sizes(model):
    """Yields (name, parameters) of each layer of the model; shared weights count for the first layer."""
    seen = set()
    for layer in model.layers:
        own = {id(variable): _size(variable) for variable in layer.weights if id(variable) not in seen}
        seen |= own.keys()
        if own:
            yield layer.name, sum(own.values())


def _size(variable):
    return math.prod(variable.shape)


def _peak_bytes():
    """Returns the peak memory of this process in bytes; 0 if the system does not report it."""
    try:
        import resource
    except ImportError:  # Windows.
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _duration(seconds):
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"
