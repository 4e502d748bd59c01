"""Writing of SavedModel folders, which are kept only if they pass a check."""

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
    """Writes a SavedModel folder atomically; returns its card.

    Args:
        folder: Folder to create. The card is in `assets.extra/card.json`.
        make_service: Function from limits to a `tf.Module`, whose method `signatures` returns the functions to save.
        check: Called with the folder of the written SavedModel; returns further values for its card, or raises.
        card: Card of the checkpoint, to which `limits` is added.
        limits: Limits of a call.

    Raises:
        ValueError: If `folder` exists, Keras does not run on TensorFlow, or the check exceeds the limits.
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
            raise ValueError(
                f"The SavedModel must process its test inputs. Received: {reason}. So it was deleted. Raise the limits."
            ) from error
        (part / CARD).parent.mkdir(exist_ok=True)
        write_atomically(part / CARD, (json.dumps(card, indent=1, ensure_ascii=False) + "\n").encode())
    return card


def raise_mismatch(original: str, inputs: Any, expected: Any, received: Any) -> None:
    """Raises the `RuntimeError` for an exported model whose outputs differ from those of the original."""
    raise RuntimeError(
        f"The exported model differs from its {original}, so it was deleted. For {inputs!r} expected {expected!r}. "
        f"Received: {received!r}. Please report this."
    )
