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

from zoo.storage import downloads, formats, packing
from zoo.storage.arrays import new_folder, write_atomically
from zoo.storage.mirrors import is_mirror, open_folder

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
        vocabulary: Serialized vocabulary; see `zoo.text.vocabularies`. None for a model that reads no text.
        settings: What else decides answers, such as the names of labels and the defaults of a search.
    """

    card: dict
    config: dict
    arrays: Mapping[str, np.ndarray] = field(repr=False)
    vocabulary: bytes | None = field(repr=False)
    settings: dict = field(default_factory=dict)


def write_checkpoint(
    folder: str | os.PathLike, checkpoint: Checkpoint, dtype: str = "float32", base: str | os.PathLike | None = None
) -> dict:
    """Writes a checkpoint folder atomically and returns its card.

    Args:
        folder: Must not exist yet.
        checkpoint: Content to write.
        dtype: How the weights are stored: "float32", "float16", or "int8" with a scale for each row or column; see
            `zoo.storage.packing`. They are float32 again when loaded.
        base: Name or folder of the checkpoint that the model was fine-tuned from. Only the difference is stored, and
            the vocabulary if it is another one.

    Raises:
        ValueError: If `folder` exists, a weight is too large for the dtype, or the model does not contain the base.
    """
    below = None if base is None else read_checkpoint(find(base))
    if below is not None and "base" in below.card:
        raise ValueError(f"The base of an adapter must be whole. Received: {base}, an adapter itself. Use its base.")
    if below is not None:
        packing.check_base(checkpoint.arrays, below.arrays, os.fspath(base))
    arrays = packing.pack(checkpoint.arrays, dtype, below and below.arrays)
    facts = None if below is None else {"name": os.fspath(base), "sha256": below.card["files"][WEIGHTS]}
    files = {
        CONFIG: formats.config_bytes(checkpoint.card["task"], checkpoint.settings, checkpoint.config, facts),
        WEIGHTS: safetensors.numpy.save(arrays),
    }
    if checkpoint.vocabulary is not None and (below is None or below.vocabulary != checkpoint.vocabulary):
        files[VOCABULARY] = checkpoint.vocabulary
    card = {
        **{name: value for name, value in checkpoint.card.items() if name not in ("base", "dtype")},
        **({"base": facts} if facts else {}),
        **({"dtype": dtype} if dtype != "float32" else {}),
        "format": formats.FORMAT if facts or dtype == "int8" else formats.PLAIN_FORMAT,
        "parameters": sum(a.size for a in checkpoint.arrays.values()),
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
    files = {name: _read_file(folder, card, name) for name in card["files"]}
    settings, sizes, base = formats.parse_config(card, files[CONFIG], folder / CONFIG)
    below = None if base is None else _read_base(folder, base)
    try:
        arrays = packing.unpack(safetensors.numpy.load(files[WEIGHTS]), below and below.arrays)
    except ValueError as error:
        raise ValueError(f"{folder / WEIGHTS} cannot be used: {error} Fetch or write the checkpoint again.") from error
    return Checkpoint(card, sizes, arrays, files.get(VOCABULARY, below and below.vocabulary), settings)


def _read_base(folder, base):
    """Reads the checkpoint that another one is the difference to, given as `{"name", "sha256"}`."""
    try:
        place = find(base["name"])
    except ValueError as error:
        raise ValueError(
            f"{folder} is an adapter on {base['name']!r}, which is missing: {error} Provide that checkpoint."
        ) from error
    card = read_card(place)
    if "base" in card:
        raise ValueError(f"The base of an adapter must be whole. Received: {place}, an adapter itself. Use its base.")
    found = card["files"][WEIGHTS]
    if found != base["sha256"]:
        raise ValueError(
            f"{folder} is an adapter on {base['name']!r} with weights of the SHA-256 {base['sha256']}. Received: "
            f"{place}, with {found}. Use the base that it was trained on."
        )
    return read_checkpoint(place)


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
    if not {CONFIG, WEIGHTS} <= files.keys() <= {CONFIG, WEIGHTS, VOCABULARY} or not all(
        isinstance(digest, str) for digest in files.values()
    ):
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
    """Returns the folders of the shipped checkpoints by name, such as `translation/en-de`."""
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
    scheme = name.split("://")[0].lower() if downloads.is_address(name) else ""
    if scheme in downloads.SCHEMES and not (scheme == "file" and is_mirror(name)):
        return downloads.fetch(name, CARD, _files)
    folder = open_folder(name, writes=False)  # The second kind of address is that of a training run.
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


def is_local_checkpoint(name_or_folder: str | os.PathLike) -> bool:
    """Returns whether a checkpoint has this name or is in this folder; downloads nothing."""
    folder = pathlib.Path(name_or_folder)
    return os.fspath(name_or_folder) in shipped_checkpoints() or any(
        (place / CARD).exists() for place in (folder, folder / "checkpoint")
    )


def is_hugging_face(folder: str | os.PathLike) -> bool:
    """Returns whether a folder is that of a Hugging Face model, which `zoo.conversion.hugging_face` reads."""
    folder = pathlib.Path(folder)
    if (folder / CARD).exists() or not (folder / CONFIG).is_file():
        return False
    try:
        found = json.loads((folder / CONFIG).read_text("utf-8"))
    except (ValueError, RecursionError):
        return True  # Its loader says that the file is damaged; checkpoints have a card besides.
    return isinstance(found, dict) and "model_type" in found


def contents(folder: pathlib.Path) -> str:
    """Returns what is in a folder, as the end of the sentence of an error message that starts with its path."""
    if not folder.is_dir():
        return "is not a folder" if folder.exists() else "does not exist"
    names = sorted(path.name for path in folder.iterdir())
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"has {', '.join(names[:5])}{more}" if names else "is empty"


def _files(folder):
    return read_card(folder)["files"]
