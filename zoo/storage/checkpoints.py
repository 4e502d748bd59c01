"""A checkpoint is a folder of data: weights, configuration, vocabulary, and a card that vouches for them."""

import hashlib
import json
import os
import pathlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from zoo.storage import downloads
from zoo.storage.arrays import new_folder

CARD, CONFIG, WEIGHTS, VOCABULARY = "card.json", "config.json", "model.safetensors", "vocabulary.model"
FORMAT = 1  # Of a folder as it is written here; to rise when an older version could not read it, or would wrongly.
CATALOGUE = pathlib.Path(__file__).parents[1] / "weights"


@dataclass(frozen=True)
class Checkpoint:
    """What a checkpoint folder holds.

    Args:
        card: What it is: `name`, `task`, `data`, `licence`, in a word `licence_short`, `recipe`, `seed`, `command`,
            `parameters`, `scores` and, once written, `files` (SHA-256 of each other file). Only `task` is required.
        config: Sizes of the model.
        arrays: Weights by name.
        vocabulary: Serialised sentencepiece model.
    """

    card: dict
    config: dict
    arrays: Mapping[str, np.ndarray] = field(repr=False)
    vocabulary: bytes = field(repr=False)


def write_checkpoint(folder: str | os.PathLike, checkpoint: Checkpoint, half: bool = False) -> dict:
    """Writes a checkpoint folder whole or not at all and returns its card.

    Args:
        folder: Must not exist yet.
        checkpoint: What to write.
        half: Whether to store the weights as float16; they are float32 again when loaded.

    Raises:
        ValueError: If `folder` exists, or a weight is too large for float16.
    """
    import safetensors.numpy

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
            with open(part / name, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
    return card


def read_checkpoint(folder: str | os.PathLike) -> Checkpoint:
    """Reads a checkpoint folder after checking every file against the card.

    Raises:
        ValueError: If a file is missing, truncated or altered; the message names it.
    """
    import safetensors.numpy

    folder = pathlib.Path(folder)
    card = read_card(folder)
    contents = {}
    for name in (CONFIG, WEIGHTS, VOCABULARY):
        try:
            contents[name] = (folder / name).read_bytes()
        except OSError as error:
            raise ValueError(f"{folder / name} cannot be read: {error}. The checkpoint is not whole.") from error
        found, expected = hashlib.sha256(contents[name]).hexdigest(), card["files"].get(name)
        if found != expected:
            raise ValueError(
                f"{folder / name} is not the file that {CARD} vouches for. Expected SHA-256 {expected}. "
                f"Received {found} ({len(contents[name])} bytes). Fetch or write the checkpoint again."
            )
    arrays = {name: array.astype("float32") for name, array in safetensors.numpy.load(contents[WEIGHTS]).items()}
    return Checkpoint(card, json.loads(contents[CONFIG]), arrays, contents[VOCABULARY])


def read_card(folder: str | os.PathLike) -> dict:
    """The card of a checkpoint folder, without reading its weights.

    Raises:
        ValueError: If there is no card or it is none; the message names the file.
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
    if others := card["files"].keys() - {CONFIG, WEIGHTS, VOCABULARY}:
        raise ValueError(
            f"{path} must name {CONFIG}, {WEIGHTS} and {VOCABULARY}. Received: {', '.join(map(repr, sorted(others)))}."
        )
    return card


def catalogue() -> dict[str, pathlib.Path]:
    """Folders of the shipped checkpoints by name, such as `translation/tatoeba-en-de`."""
    paths = sorted(CATALOGUE.glob(f"*/*/{CARD}"))
    return {path.parent.relative_to(CATALOGUE).as_posix(): path.parent for path in paths}


def find(name_or_folder: str | os.PathLike) -> pathlib.Path:
    """The folder of a shipped checkpoint, the folder given, or the one where an address was downloaded to.

    A name that is not shipped is looked for below the address in `KERAS_TRANSFORMER_ZOO`, if that is set.

    Raises:
        ValueError: If it is none of them; the message lists the names.
    """
    known = catalogue()
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
    """The files that the card in a folder vouches for, with their hashes: these three and no others."""
    files = read_card(folder)["files"]
    if files.keys() != {CONFIG, WEIGHTS, VOCABULARY} or not all(isinstance(digest, str) for digest in files.values()):
        raise ValueError(
            f"{CARD} must name {CONFIG}, {WEIGHTS} and {VOCABULARY}. Received: {', '.join(map(repr, files))}."
        )
    return files


def _contiguous(name, array, dtype):
    if np.abs(array[np.isfinite(array)]).max(initial=0) > np.finfo(dtype).max:
        raise ValueError(f"{name!r} has values beyond those of {dtype}. Save it with half=False.")
    return np.ascontiguousarray(array, dtype)


def _json(value):
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()
