"""Values for the card of a checkpoint, from the file of `--card`."""

import json
import os
import pathlib


def read_card_values(path: str | os.PathLike | None) -> dict:
    """Returns the object in a JSON file; nothing without a file.

    Raises:
        ValueError: If the file is not JSON, or holds another value than an object; the message has its name.
    """
    if not path:
        return {}
    try:
        found = json.loads(pathlib.Path(path).read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"--card must be a JSON file. Received: {path}, which is not: {error}. Correct it.") from error
    if not isinstance(found, dict):
        raise ValueError(
            f"--card must be a JSON file of one object. Received: {path} with a value of type {type(found).__name__}. "
            'Write names and values, such as {"licence": "CC0"}.'
        )
    return found
