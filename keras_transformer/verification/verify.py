"""All probes on a model, as a table."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np

from keras_transformer.verification import probes, seeing
from keras_transformer.verification.copies import first_line
from keras_transformer.verification.influence import influences
from keras_transformer.verification.report import Finding, Report
from keras_transformer.verification.subject import Subject


def verify(
    model: keras.Model,
    inputs: Any,
    causal: str | bool | None = None,
    pad_id: int = 0,
    aligned: Sequence[Sequence[str]] = (),
    cached: Callable[[Any], tuple[Callable, Any]] | None = None,
    precision_limit: float = 0.1,
    seed: int = 0,
    show: bool = True,
) -> Report:
    """Tries what everyone takes for granted of a sequence model, and prints a table of what holds.

    Padding, the rest of the batch and its order change nothing; nothing is seen that comes later; every real step is
    seen; padding gets no gradient; compiled calls, decoding with a cache, the model in reduced precision, and the model
    saved and loaded give the same. Of a model that it does not fit a probe says "not applicable". The model is called
    in inference and is left as it was. Axes: B batch, T steps.

    Args:
        model: Any built Keras model, functional or subclassed, that is called on one nest of arrays.
        inputs: A batch for it, of two examples or more, some of them with padding at the end: arrays `[B, T]` of ids
            or `[B, T, D]` of features; others are no sequences. Hundreds of steps tell more about precision.
        causal: The name of the input whose later steps must not be seen (its key; its index in a list), or True for
            the only one; None if there is none.
        pad_id: Id of padding. Of features, padding is all zeros.
        aligned: Groups of names of inputs that have their steps in common, such as token ids and segment ids.
        cached: `inputs -> (step, state)` for decoding the causal input step by step: `step(ids [B], state, index) ->
            (outputs [B, V], state)`, as the searches of `keras_transformer.decoding` take it.
        precision_limit: Largest root mean square error of a step in reduced precision, as a share of the root mean
            square of the outputs.
        seed: Of what is random: which ids take the place of others.
        show: Whether to print the table.

    Returns:
        The findings, of which `passed` and `failed` tell; as a string the table.

    Raises:
        ValueError: If `inputs` are no such batch, or `causal` or `aligned` name none of them.
    """
    subject = Subject(model, inputs, pad_id, aligned)
    if causal is True and len(subject.groups) > 1:
        raise ValueError(f"Which input is causal? Received: causal=True. Inputs: {', '.join(subject.names)}.")
    causal = subject.names[subject.groups[0][0]] if causal is True else causal or None
    if causal is not None:
        subject.group_of(causal)
    rng = np.random.default_rng(seed)
    seen = functools.cache(lambda: influences(subject, causal, rng))
    tries = [
        ("same answer twice", lambda: probes.repeatability(subject)),
        ("padding invariance", lambda: probes.padding_invariance(subject)),
        ("causality", causal and (lambda: probes.causality(subject, causal, rng))),
        ("batch invariance", lambda: probes.batch_invariance(subject)),
        ("permutation of the batch", lambda: probes.permutation(subject, rng)),
        ("mask polarity", lambda: seeing.mask_polarity(subject, causal, seen())),
        ("every step is seen", lambda: seeing.every_step(subject, causal, seen(), rng)),
        ("compiled equals eager", lambda: probes.compiled(subject)),
        ("cached equals uncached", cached and causal and (lambda: probes.cached_decoding(subject, causal, cached))),
        ("gradient of padding is zero", lambda: probes.gradient_of_padding(subject, rng)),
        ("reduced precision", lambda: probes.precision(subject, precision_limit)),
        ("float16", lambda: probes.half_precision(subject, precision_limit)),
        ("save and reload", lambda: probes.saving(subject)),
    ]
    report = Report(tuple(_tried(name, probe) for name, probe in tries))
    if show:
        print(report)
    return report


def _tried(name, probe):
    if not probe:
        return Finding(name, None, note="not asked for")
    try:
        return probe()
    except Exception as error:  # A model of the user's: one probe that cannot be tried must not hide the others.
        return Finding(name, None, note=first_line(error))
