"""Formats of checkpoint folders: cards that end with a hash of themselves, and the migration of older folders."""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from typing import Any

FORMAT = 3  # The newest format, with weights in 8 bits or a base; increased when older versions misread folders.
PLAIN_FORMAT = 2  # The format of all other folders written here.
_HASH = "card_sha256"
_LAST_LINES = re.compile(rb',\n "card_sha256": "([0-9a-f]{64})"\n}\n')
_LAST_BYTES = len(f',\n "{_HASH}": "{"0" * 64}"\n}}\n')
# What format 1 had in its card, without a hash, although it decides what a checkpoint answers.
_SETTINGS_OF_FORMAT_1 = ("labels", "tags", "threshold", "max_tokens", "max_source_tokens", "parser")
_SEARCH = ("beam_size", "length_penalty")


def to_json(value: Any) -> bytes:
    """Returns the content of a JSON file."""
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()


def card_bytes(card: Mapping) -> bytes:
    """Returns the content of a card's file: JSON whose last entry is the SHA-256 of all bytes before it."""
    body = to_json({name: value for name, value in card.items() if name != _HASH}).removesuffix(b"\n}\n")
    return body + f',\n "{_HASH}": "{hashlib.sha256(body).hexdigest()}"\n}}\n'.encode()


def parse_card(content: bytes, path: str | os.PathLike) -> dict:
    """Returns the card of a file's content after checking it against its own hash, which cards of format 1 lack.

    Raises:
        ValueError: If the content is no JSON object of a known format, or a byte of it was altered; the message
            contains `path`.
    """
    try:
        card = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {error}. Fetch or write the checkpoint again.") from error
    if not isinstance(card, dict) or "task" not in card or not isinstance(card.get("files"), dict):
        raise ValueError(f"{path} must be an object with `task` and `files`. Fetch or write the checkpoint again.")
    number = card.get("format", 1)
    if type(number) is not int or not 1 <= number <= FORMAT:
        raise ValueError(
            f"{path} has the format {number!r}; this version reads those from 1 to {FORMAT}. Upgrade this package."
        )
    if number > 1 or _HASH in card:
        _check_hash(content, path)
    return card


def _check_hash(content, path):
    body, end = content[:-_LAST_BYTES], content[-_LAST_BYTES:]
    stated, found = _LAST_LINES.fullmatch(end), hashlib.sha256(body).hexdigest()
    if stated is None or stated[1].decode() != found:
        raise ValueError(
            f"{path} was altered after it was written: it must end with the SHA-256 of what is before, {found}. "
            f"Received: {stated[1].decode() if stated else end!r}. Fetch or write the checkpoint again; to change a "
            "card, use zoo.storage.checkpoints.write_card."
        )


def config_bytes(task: str, settings: Mapping, model: Mapping, base: Mapping | None = None) -> bytes:
    """Returns the content of `config.json`: all that decides answers, except the weights and the vocabulary."""
    return to_json({"task": task, "settings": settings, "model": model, **({"base": base} if base else {})})


def parse_config(card: dict, content: bytes, path: str | os.PathLike) -> tuple[dict, dict, dict | None]:
    """Returns the settings of the predictor, the sizes of the model, and its base from the content of `config.json`.

    The card of a folder of format 1 is migrated: its settings are removed from it.

    Raises:
        ValueError: If the content is no configuration of the card's format and task; the message contains `path`.
    """
    values = json.loads(content)
    if card.get("format", 1) == 1:
        return _migrate(card), values, None
    whole = isinstance(values, dict) and values.keys() - {"base"} == {"task", "settings", "model"}
    if not whole or not isinstance(values["settings"], dict):
        raise ValueError(f"{path} must have `task`, `settings` and `model`. Fetch or write the checkpoint again.")
    if values["task"] != card["task"]:
        raise ValueError(
            f"{path} must have the task of the card, {card['task']!r}. Received: {values['task']!r}. Fetch or write "
            "the checkpoint again."
        )
    base = values.get("base")
    if not (base is None or isinstance(base, dict) and base.keys() == {"name", "sha256"}):
        raise ValueError(
            f"{path} must have a `base` with the values `name` and `sha256`, or none. Received: {base!r}. Fetch or "
            "write the checkpoint again."
        )
    if base != card.get("base"):
        raise ValueError(
            f"{path} must have the base of the card, {card.get('base')!r}. Received: {base!r}. Fetch or write the "
            "checkpoint again."
        )
    return values["settings"], values["model"], base


def _migrate(card):
    """Moves the settings of a card of format 1 out of it; returns them.

    A translator searches as for its first score, which format 1 needed options for.
    """
    settings = {name: card.pop(name) for name in _SETTINGS_OF_FORMAT_1 if name in card}
    if card["task"] == "translation":
        card.pop("length_penalty", None)
        scores = card.get("scores")
        score = scores[0] if isinstance(scores, list) and scores and isinstance(scores[0], dict) else {}
        settings |= {name: score[name] for name in _SEARCH if name in score}
    return settings
