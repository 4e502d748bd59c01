"""What a training will take, before it is begun: sizes of the corpus and the model, memory, time."""

import contextlib
import math
import sys
from collections.abc import Iterator

from zoo.corpora.batching import BatchStream
from zoo.training.run_state import KEPT
from zoo.training.trainer import Trainer

_MEASURED = 8  # Updates whose time is taken.
_requested = False


class Planned(Exception):
    """Raised where a training would begin, if only its plan is wanted: pairs of what and how much."""

    def __init__(self, plan: list[tuple[str, str]]):
        super().__init__("only planned")
        self.plan = plan


@contextlib.contextmanager
def planning() -> Iterator[None]:
    """Inside, `zoo.training.runs.train_model` measures a few updates and raises `Planned`."""
    global _requested
    _requested = True
    try:
        yield
    finally:
        _requested = False


def requested() -> bool:
    """Returns whether only a plan is wanted."""
    return _requested


def plan(trainer: Trainer, stream: BatchStream, batches) -> list[tuple[str, str]]:
    """What the training of `batches`, those of `stream` or made from them, takes on this machine.

    Trains the model for a few updates, without writing anything.
    """
    model, config = trainer.model, trainer.config
    before = _peak()
    steps = stream.batches_in(0)
    seconds, tokens = trainer.measure(batches, _MEASURED)
    parameters = model.count_params()
    learning = sum(_size(variable) for variable in model.trainable_variables)
    rows = [
        ("updates", f"{config.steps:,}: {config.steps / steps:.1f} epochs of {steps:,}"),
        ("positions of an update", f"{config.batch_tokens:,} at most; {tokens:,.0f} labels to learn on average"),
        ("micro-batches of an update", f"{trainer.accumulation}, on {trainer.replicas} device(s)"),
        ("parameters", f"{parameters:,}" + (f", of which {learning:,} learn" if learning < parameters else "")),
    ]
    rows += [(f"  {name}", f"{count:,}") for name, count in _parts(model)]
    rows += [
        ("memory for weights", _bytes(4 * parameters)),
        ("  gradients", _bytes(4 * learning)),
        ("  Adam's two moments", _bytes(8 * learning)),
        ("  weights of the update before", _bytes(4 * parameters)),
        ("peak of this process", f"{_bytes(_peak())}, {_bytes(max(0, _peak() - before))} of it in the updates"),
        ("disk", _bytes(4 * parameters * (config.average + 2) + KEPT * 4 * (parameters + 2 * learning))),
        ("measured update", f"{seconds:.3g} s, {tokens / seconds:,.0f} labels a second"),
        ("epoch", _duration(seconds * steps)),
        (
            "whole training",
            f"{_duration(seconds * config.steps)}, and {math.ceil(config.steps / config.evaluate_every)} looks at dev",
        ),
    ]
    return rows


def _parts(model):
    """(name, parameters) of what the model is made of; a tied weight belongs to the first."""
    seen = set()
    for layer in model.layers:
        own = {id(variable): _size(variable) for variable in layer.weights if id(variable) not in seen}
        seen |= own.keys()
        if own:
            yield layer.name, sum(own.values())


def _size(variable):
    return math.prod(variable.shape)


def _peak():
    """Most bytes that the process has had in memory; 0 where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows.
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _bytes(count):
    return f"{count / 1e9:.2f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"


def _duration(seconds):
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"
