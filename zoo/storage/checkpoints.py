"""Checkpoints: folders of weights, configuration, vocabulary, and a card with the hashes of all."""

import hashlib
import json
import os
import pathlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import safetensors.numpy

from zoo.storage import downloads, formats
from zoo.storage.arrays import new_folder, write_atomically
from zoo.storage.formats import FORMAT

CARD, CONFIG, WEIGHTS, VOCABULARY = "card.json", "config.json", "model.safetensors", "vocabulary.model"
WEIGHTS_FOLDER = pathlib.Path(__file__).parents[1] / "weights"


@dataclass(frozen=True)
class Checkpoint:
    """Content of a checkpoint folder.

    Args:
        card: Description: `name`, `task`, `data`, `licence`, `licence_short` (one word), `recipe`, `seed`, `command`,
            `parameters`, `scores` and, once written, `files` (SHA-256 of each other file) and `card_sha256` (of the
            card itself). Only `task` is required. Nothing else in the card decides an answer.
        config: Sizes of the model.
        arrays: Weights by name.
        vocabulary: Serialized vocabulary; see `zoo.text.vocabularies`.
        settings: What else decides answers, such as the names of labels and the defaults of a search.
    """

    card: dict
    config: dict
    arrays: Mapping[str, np.ndarray] = field(repr=False)
    vocabulary: bytes = field(repr=False)
    settings: dict = field(default_factory=dict)


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
        CONFIG: formats.config_bytes(checkpoint.card["task"], checkpoint.settings, checkpoint.config),
        WEIGHTS: safetensors.numpy.save(arrays),
        VOCABULARY: checkpoint.vocabulary,
    }
    card = {
        **checkpoint.card,
        "format": FORMAT,
        "parameters": sum(a.size for a in arrays.values()),
        "files": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
    }
    files[CARD] = formats.card_bytes(card)
    with new_folder(folder) as part:
        for name, content in files.items():
            write_atomically(part / name, content)
    return json.loads(files[CARD])


def read_checkpoint(folder: str | os.PathLike) -> Checkpoint:
    """Reads a checkpoint folder after checking the card against its own hash, and every other file against the card.

    Folders of older formats are read as if they were written by this version; see `zoo.storage.formats`.

    Raises:
        ValueError: If a file is missing, truncated or altered; the message names it.
    """
    folder = pathlib.Path(folder)
    card = read_card(folder)
    config, weights, vocabulary = (_read_file(folder, card, name) for name in (CONFIG, WEIGHTS, VOCABULARY))
    settings, sizes = formats.parse_config(card, config, folder / CONFIG)
    arrays = {name: array.astype("float32") for name, array in safetensors.numpy.load(weights).items()}
    return Checkpoint(card, sizes, arrays, vocabulary, settings)


def read_card(folder: str | os.PathLike) -> dict:
    """Reads the card of a checkpoint folder, without its weights.

    Raises:
        ValueError: If the card is missing, invalid or altered; the message names the file.
    """
    path = pathlib.Path(folder) / CARD
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error}. A checkpoint is a folder with a {CARD}.") from error
    card = formats.parse_card(content, path)
    files = card["files"]
    if files.keys() != {CONFIG, WEIGHTS, VOCABULARY} or not all(isinstance(digest, str) for digest in files.values()):
        raise ValueError(
            f"{path} must name {CONFIG}, {WEIGHTS} and {VOCABULARY}. "
            f"Received: {', '.join(map(repr, sorted(files)))}. Use another checkpoint."
        )
    return card


def write_card(folder: str | os.PathLike, card: dict) -> None:
    """Writes a changed card, as `read_card` returned it, into its checkpoint folder atomically, with a new hash."""
    write_atomically(pathlib.Path(folder) / CARD, formats.card_bytes(card))


def read_settings(folder: str | os.PathLike) -> dict:
    """Reads the `settings` of a checkpoint folder, without its weights.

    Raises:
        ValueError: If the card or the configuration is missing or altered; the message names the file.
    """
    folder = pathlib.Path(folder)
    card = read_card(folder)
    return formats.parse_config(card, _read_file(folder, card, CONFIG), folder / CONFIG)[0]


def _read_file(folder, card, name):
    """Returns the content of a file that has the hash in the card."""
    try:
        content = (folder / name).read_bytes()
    except OSError as error:
        raise ValueError(
            f"{folder / name} cannot be read: {error}. The checkpoint is incomplete. Fetch or write it again."
        ) from error
    found, expected = hashlib.sha256(content).hexdigest(), card["files"][name]
    if found != expected:
        raise ValueError(
            f"{folder / name} does not match its hash in {CARD}. Expected SHA-256 {expected}. "
            f"Received {found} ({len(content)} bytes). Fetch or write the checkpoint again."
        )
    return content


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
    folder = pathlib.Path(name)
    for place in (folder, folder / "checkpoint"):  # The second in the folder of a training run.
        if (place / CARD).exists():
            return place
    base = os.environ.get("KERAS_TRANSFORMER_ZOO")
    if base and re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        return downloads.fetch(f"{base.rstrip('/')}/{name}", CARD, _files)
    found = f" The folder {contents(folder)}." if folder.is_dir() else ""
    if found and (folder / "recipe.json").exists():
        found = " The folder has a training run without a checkpoint: resume it, or write one by the command `finish`."
    raise ValueError(
        f"{name!r} is neither the name of a checkpoint nor a folder with a {CARD}.{found} "
        f"Known names: {', '.join(known) or 'none'}."
    )


def contents(folder: pathlib.Path) -> str:
    """Returns what is in a folder, as the end of the sentence of an error message that starts with its path."""
    if not folder.is_dir():
        return "is not a folder" if folder.exists() else "does not exist"
    names = sorted(path.name for path in folder.iterdir())
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"has {', '.join(names[:5])}{more}" if names else "is empty"


def _files(folder):
    return read_card(folder)["files"]


def _contiguous(name, array, dtype):
    if np.abs(array[np.isfinite(array)]).max(initial=0) > np.finfo(dtype).max:
        raise ValueError(f"{name!r} has values beyond those of {dtype}. Save it with half=False.")
    return np.ascontiguousarray(array, dtype)
