"""A SavedModel folder that is declared written when it has answered as the model in Python does."""

import dataclasses
import errno
import json
import os
import pathlib
import re
from collections.abc import Callable
from typing import Any

import keras

from zoo.limits import Limits
from zoo.storage.arrays import new_folder, write_atomically

CARD = pathlib.PurePath("assets.extra", "card.json")


def write_service(
    folder: str | os.PathLike,
    make_service: Callable[[Limits], Any],
    check: Callable[[pathlib.Path], dict],
    card: dict,
    limits: Limits,
) -> dict:
    """Writes a SavedModel, whole or not at all; returns its card.

    Args:
        folder: Must not exist yet. The card is in `assets.extra/card.json`.
        make_service: Gives a `tf.Module` of these limits, whose method `signatures` names the functions to save.
        check: Called with the folder of what was written; returns what the card shall say beside `card`, or raises.
        card: Of the checkpoint. What was written has its `limits`, too.
        limits: Of a call.

    Raises:
        ValueError: If `folder` exists, Keras does not run on TensorFlow, or the limits are below what is checked.
    """
    if keras.backend.backend() != "tensorflow":
        raise ValueError(
            f"A SavedModel needs the TensorFlow backend. Received: KERAS_BACKEND={keras.backend.backend()}. "
            "Save a checkpoint, and export that in a process with KERAS_BACKEND=tensorflow."
        )
    import tensorflow as tf

    with new_folder(folder) as part:
        service = make_service(limits)
        try:
            tf.saved_model.save(service, str(part), signatures=service.signatures())
        except tf.errors.OpError as error:
            raise OSError(errno.EIO, error.message) from error
        try:
            card = {**card, "limits": dataclasses.asdict(limits), **check(part)}
        except tf.errors.InvalidArgumentError as error:
            failed = re.search(r"assertion failed: \[(.*?)\]", error.message)
            reason = failed.group(1) if failed else error.message
            raise ValueError(f"What was written was not kept, as its probes had no answer: {reason}") from error
        (part / CARD).parent.mkdir(exist_ok=True)
        write_atomically(part / CARD, (json.dumps(card, indent=1, ensure_ascii=False) + "\n").encode())
    return card


def refuse(whose: str, probe: Any, expected: Any, received: Any) -> None:
    """Raises the `RuntimeError` of an exported model that answers otherwise than its original."""
    raise RuntimeError(
        f"The exported model differs from its {whose}, so it was not kept. For {probe!r} expected {expected!r}. "
        f"Received: {received!r}. Please report this."
    )
