"""Checkpoints: folders of weights, configuration, vocabulary, and a card with their hashes."""

import hashlib
import json
import os
import pathlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import safetensors.numpy

from zoo.storage import downloads
from zoo.storage.arrays import new_folder, write_atomically

CARD, CONFIG, WEIGHTS, VOCABULARY = "card.json", "config.json", "model.safetensors", "vocabulary.model"
FORMAT = 1  # Of the folders written here; increased when older versions could not read them correctly.
WEIGHTS_FOLDER = pathlib.Path(__file__).parents[1] / "weights"


@dataclass(frozen=True)
class Checkpoint:
    """Content of a checkpoint folder.

    Args:
        card: Description: `name`, `task`, `data`, `licence`, `licence_short` (one word), `recipe`, `seed`, `command`,
            `parameters`, `scores` and, once written, `files` (SHA-256 of each other file). Only `task` is required.
        config: Sizes of the model.
        arrays: Weights by name.
        vocabulary: Serialized vocabulary; see `zoo.text.vocabularies`.
    """

    card: dict
    config: dict
    arrays: Mapping[str, np.ndarray] = field(repr=False)
    vocabulary: bytes = field(repr=False)


def write_checkpoint(folder: str | os.PathLike, checkpoint: Checkpoint, half: bool = False) -> dict:
    """Writes a checkpoint folder atomically and returns its card.

    Args:
        folder: Must not exist yet.
        checkpoint: Content to write.
        half: Whether to store the weights as float16; they are float32 again when loaded.

    Raises:
        ValueError: If `folder` exists, or a weight is too large for float16.
    """
    dtype = "float16" if half else "float32"
    arrays = {name: _contiguous(name, array, dtype) for name, array in checkpoint.arrays.items()}
    files = {
        CONFIG: _json(checkpoint.config),
        WEIGHTS: safetensors.numpy.save(arrays),
        VOCABULARY: checkpoint.vocabulary,
    }
    card = {
        **checkpoint.card,
        "format": FORMAT,
        "parameters": sum(a.size for a in arrays.values()),
        "files": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
    }
    with new_folder(folder) as part:
        for name, content in {**files, CARD: _json(card)}.items():
            write_atomically(part / name, content)
    return card


def read_checkpoint(folder: str | os.PathLike) -> Checkpoint:
    """Reads a checkpoint folder after checking every file against the card.

    Raises:
        ValueError: If a file is missing, truncated or altered; the message names it.
    """
    folder = pathlib.Path(folder)
    card = read_card(folder)
    contents = {}
    for name in (CONFIG, WEIGHTS, VOCABULARY):
        try:
            contents[name] = (folder / name).read_bytes()
        except OSError as error:
            raise ValueError(
                f"{folder / name} cannot be read: {error}. The checkpoint is incomplete. Fetch or write it again."
            ) from error
        found, expected = hashlib.sha256(contents[name]).hexdigest(), card["files"].get(name)
        if found != expected:
            raise ValueError(
                f"{folder / name} does not match its hash in {CARD}. Expected SHA-256 {expected}. "
                f"Received {found} ({len(contents[name])} bytes). Fetch or write the checkpoint again."
            )
    arrays = {name: array.astype("float32") for name, array in safetensors.numpy.load(contents[WEIGHTS]).items()}
    return Checkpoint(card, json.loads(contents[CONFIG]), arrays, contents[VOCABULARY])


def read_card(folder: str | os.PathLike) -> dict:
    """Reads the card of a checkpoint folder, without its weights.

    Raises:
        ValueError: If the card is missing or invalid; the message names the file.
    """
    path = pathlib.Path(folder) / CARD
    try:
        card = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error}. A checkpoint is a folder with a {CARD}.") from error
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}. Fetch or write the checkpoint again.") from error
    if not isinstance(card, dict) or "task" not in card or not isinstance(card.get("files"), dict):
        raise ValueError(f"{path} must be an object with `task` and `files`. Fetch or write the checkpoint again.")
    if not isinstance(card.get("format", 1), int) or card.get("format", 1) > FORMAT:
        raise ValueError(
            f"{path} has the format {card['format']!r}; this version reads those up to {FORMAT}. Upgrade this package."
        )
    if card["files"].keys() - {CONFIG, WEIGHTS, VOCABULARY}:
        raise _file_names_error(path, card["files"])
    return card


def shipped_checkpoints() -> dict[str, pathlib.Path]:
    """Returns the folders of the shipped checkpoints by name, such as `translation/tatoeba-en-de`."""
    paths = sorted(WEIGHTS_FOLDER.glob(f"*/*/{CARD}"))
    return {path.parent.relative_to(WEIGHTS_FOLDER).as_posix(): path.parent for path in paths}


def find(name_or_folder: str | os.PathLike) -> pathlib.Path:
    """Finds the folder of a checkpoint: shipped with the package, given as a folder, or downloaded from an address.

    Names of checkpoints that are not shipped are downloaded from the address in `KERAS_TRANSFORMER_ZOO`, if it is set.

    Raises:
        ValueError: If there is no such checkpoint; the message lists the shipped ones.
    """
    known = shipped_checkpoints()
    name = os.fspath(name_or_folder)
    if name in known:
        return known[name]
    if downloads.is_address(name):
        return downloads.fetch(name, CARD, _files)
    if (pathlib.Path(name) / CARD).exists():
        return pathlib.Path(name)
    base = os.environ.get("KERAS_TRANSFORMER_ZOO")
    if base and re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        return downloads.fetch(f"{base.rstrip('/')}/{name}", CARD, _files)
    raise ValueError(
        f"{name!r} is neither the name of a checkpoint nor a folder with a {CARD}. "
        f"Known names: {', '.join(known) or 'none'}."
    )


def _files(folder):
    """Returns the hashes of the three files, and no others, that the card in a folder must name."""
    files = read_card(folder)["files"]
    if files.keys() != {CONFIG, WEIGHTS, VOCABULARY} or not all(isinstance(digest, str) for digest in files.values()):
        raise _file_names_error(CARD, files)
    return files


def _file_names_error(path, names):
    expected = f"{path} must name {CONFIG}, {WEIGHTS} and {VOCABULARY}"
    return ValueError(f"{expected}. Received: {', '.join(map(repr, sorted(names)))}. Use another checkpoint.")


def _contiguous(name, array, dtype):
    if np.abs(array[np.isfinite(array)]).max(initial=0) > np.finfo(dtype).max:
        raise ValueError(f"{name!r} has values beyond those of {dtype}. Save it with half=False.")
    return np.ascontiguousarray(array, dtype)


def _json(value):
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()
