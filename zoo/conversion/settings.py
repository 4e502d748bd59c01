"""Settings of Hugging Face folders: their kinds, and the values that a conversion obeys."""

import json
import math
import os
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

CONFIG, TOKENIZER_CONFIG, GENERATION_CONFIG = "config.json", "tokenizer_config.json", "generation_config.json"


class Rule(NamedTuple):
    """What a setting must be.

    Args:
        text: The rule in words.
        holds: Whether a value follows it.
    """

    text: str
    holds: Callable[[Any], bool]


def _is_number(value):
    return type(value) in (int, float) and abs(value) < math.inf


INTEGER = Rule("a whole number", lambda value: type(value) is int)
COUNT = Rule("a positive whole number", lambda value: type(value) is int and value > 0)
NUMBER = Rule("a finite number", _is_number)
RATE = Rule("a number from 0 to below 1", lambda value: _is_number(value) and 0 <= value < 1)
EPSILON = Rule("a number between 0 and 1", lambda value: _is_number(value) and 0 < value < 1)
FLAG = Rule("true or false", lambda value: type(value) is bool)
OPTIONAL_FLAG = Rule("true, false or null", lambda value: value is None or type(value) is bool)
OPTIONAL_TEXT = Rule("a text or null", lambda value: value is None or isinstance(value, str))
TOKEN = Rule(
    "a token, which is a text, null, or an object with a text as content",
    lambda value: value is None or isinstance(token_text(value), str),
)
# Settings of all architectures that change what a model computes, and the values without a change.
COMMON = {"quantization_config": (None,), "rope_scaling": (None,), "pruned_heads": ({}, None)}


def read_json(folder: str | os.PathLike, name: str, required: bool = True) -> dict:
    """Reads an object from a JSON file of a folder; empty if it is not there and not required."""
    path = pathlib.Path(folder) / name
    if not path.is_file():
        if required:
            raise ValueError(f"{folder} has no {name}. Use a Hugging Face model folder, which has one.")
        return {}
    try:
        found = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {error}. Fetch it again.") from error
    if not isinstance(found, dict):
        raise ValueError(f"{path} must be a JSON object. Received: {type(found).__name__}. Fetch it again.")
    return found


def read_setting(
    folder: str | os.PathLike, found: Mapping, name: str, rule: Rule, default: Any = None, file: str = CONFIG
) -> Any:
    """Returns a setting of a file, or `default` if it has none.

    Raises:
        ValueError: If the value does not follow the rule.
    """
    value = found.get(name, default)
    if not rule.holds(value):
        path = pathlib.Path(folder) / file
        raise ValueError(f"{path} must have {rule.text} as {name}. Received: {value!r}. Fetch it again.")
    return value


def check_values(
    folder: str | os.PathLike,
    found: Mapping,
    expected: Mapping[str, Sequence],
    what: str,
    file: str = CONFIG,
    fix: str = "Use another model.",
) -> None:
    """Checks that values of a file are among those that a conversion knows.

    Args:
        folder: Folder of the model.
        found: Content of the file.
        expected: Known values by name; None if the name may be missing.
        what: What the file must describe, such as "a BERT encoder".
        file: Name of the file.
        fix: Last sentence of the message.
    """
    for name, values in expected.items():
        if found.get(name) not in values:
            raise ValueError(
                f"{pathlib.Path(folder) / file} must describe {what} with {name} of "
                f"{' or '.join(map(str, values))}. Received: {name}={found.get(name)!r}. {fix}"
            )


def read_architecture(
    folder: str | os.PathLike, found: Mapping, known: Sequence[str], default: str | None = None
) -> str:
    """Returns the first of `architectures` of `config.json`, one of the known ones; `default` if there is none."""
    given = found.get("architectures") or [default]
    name = given[0] if isinstance(given, list) else given
    if name not in known:
        raise ValueError(
            f"{pathlib.Path(folder) / CONFIG} must have an architecture of {' or '.join(known)}. Received: {name!r}. "
            "Use another model."
        )
    return name


def token_text(token: Any) -> Any:
    """Returns the text of a special token, which may have options."""
    return token.get("content") if isinstance(token, dict) else token


def read_added_tokens(folder: str | os.PathLike, settings: Mapping) -> dict[str, int]:
    """Returns the rows of tokens that were added to a vocabulary.

    Args:
        folder: Folder of the model, which may have `added_tokens.json`.
        settings: Content of `tokenizer_config.json`.
    """
    added = read_json(folder, "added_tokens.json", required=False)
    numbered = settings.get("added_tokens_decoder")
    numbered = {} if numbered is None else numbered
    numbers = isinstance(numbered, dict) and all(row.isdecimal() and len(row) < 10 for row in numbered)
    if not numbers or not all(isinstance(token_text(token), str) for token in numbered.values()):
        raise ValueError(
            f"{pathlib.Path(folder) / TOKENIZER_CONFIG} must have tokens by their numbers as added_tokens_decoder. "
            f"Received: {numbered!r}. Fetch it again."
        )
    return added | {token_text(token): int(row) for row, token in numbered.items()}


def is_numbered(vocabulary: Any) -> bool:
    """Returns whether a vocabulary is an object that numbers its pieces from 0 on."""
    rows = [*vocabulary.values()] if isinstance(vocabulary, dict) else [None]
    return all(type(row) is int for row in rows) and sorted(rows) == [*range(len(rows))]
