"""`verify`: all probes on a model."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np

from keras_transformer.verification import attention_probes, probes
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
    """Tests a sequence model for errors with padding, batches, causality, caches and precision, and prints the results.

    Outputs must not depend on padding, the rest of the batch, its order or later steps of the causal input; every real
    step must be seen; padding must get no gradient; compiled calls, decoding with a cache, reduced precision, and
    saving and loading must give the same outputs; dropout must act in training. A probe that raises an error fails with
    that error; one that does not fit the model reports "not applicable". The model is called in inference, but for
    dropout, and is not changed. Axes: B batch, T steps.

    Args:
        model: Any built Keras model, functional or subclassed, that takes one nest of arrays.
        inputs: A batch of two examples or more, some of them with padding at the end: arrays `[B, T]` of ids or
            `[B, T, D]` of features; other arrays are no sequences. Use hundreds of steps to test precision, but 5 less
            than the model takes at most, so that padding can be added.
        causal: Name of the input whose later steps must not be seen (its key, or its index in a list), or True for
            the only one; None if there is none.
        pad_id: Id of padding. Padding of features is all zeros.
        aligned: Groups of names of inputs that share their steps, such as token ids and segment ids.
        cached: `inputs -> (step, state)` for decoding the causal input step by step: `step(ids [B], state, index) ->
            (outputs [B, V], state)`, as for the searches of `keras_transformer.decoding`.
        precision_limit: Largest root mean square error of a step in reduced precision, as a share of the root mean
            square of the outputs.
        seed: Seed of the random inputs.
        show: Whether to print the table.

    Returns:
        `Report` with `passed`, `failed` and the findings; `str(report)` is the table.

    Raises:
        ValueError: If `inputs` is no such batch, or `causal` or `aligned` name none of its inputs.
    """
    subject = Subject(model, inputs, pad_id, aligned)
    if causal is True and len(subject.groups) > 1:
        raise ValueError(
            f"`causal` must name one of several inputs. Received: causal=True. Inputs: {', '.join(subject.names)}."
        )
    causal = subject.names[subject.groups[0][0]] if causal is True else causal or None
    if causal is not None:
        subject.group_of(causal)
    rng = np.random.default_rng(seed)
    seen = functools.cache(lambda: influences(subject, causal, rng))
    runs = [
        ("same answer twice", lambda: probes.repeatability(subject)),
        ("dropout acts in fit", lambda: probes.training_argument(subject)),
        ("padding invariance", lambda: probes.padding_invariance(subject)),
        ("causality", causal and (lambda: probes.causality(subject, causal, rng))),
        ("batch invariance", lambda: probes.batch_invariance(subject)),
        ("permutation of the batch", lambda: probes.permutation(subject, rng)),
        ("mask polarity", lambda: attention_probes.mask_polarity(subject, causal, seen())),
        ("every step is seen", lambda: attention_probes.every_step(subject, causal, seen(), rng)),
        ("compiled equals eager", lambda: probes.compiled(subject)),
        ("cached equals uncached", cached and causal and (lambda: probes.cached_decoding(subject, causal, cached))),
        ("gradient of padding is zero", lambda: probes.gradient_of_padding(subject, rng)),
        ("reduced precision", lambda: probes.precision(subject, precision_limit)),
        ("float16", lambda: probes.half_precision(subject, precision_limit)),
        ("save and reload", lambda: probes.saving(subject)),
    ]
    report = Report(tuple(_run(name, probe) for name, probe in runs))
    if show:
        print(report)
    return report


def _run(name, probe):
    if not probe:
        return Finding(name, None, note="not requested")
    try:
        return probe()
    except Exception as error:  # Any error of the user's model, which must not hide what the other probes find.
        return Finding(name, False, note=f"raised {first_line(error)}")
