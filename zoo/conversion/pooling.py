"""Pooling of the encoders of sentence-transformers."""

import json
import os
import pathlib

from zoo.conversion.settings import read_json

_MODULES, _POOLING = "modules.json", "1_Pooling/config.json"
_KNOWN = "Transformer", "Pooling", "Normalize"


def check_pooling(folder: str | os.PathLike) -> None:
    """Checks that a folder, if it is of sentence-transformers, embeds texts as the mean of their hidden states.

    Raises:
        ValueError: If it has another pooling, or a layer behind it.
    """
    folder = pathlib.Path(folder)
    modes = read_json(folder, _POOLING, required=False)
    given = [name for name, value in modes.items() if name.startswith("pooling_mode_") and value]
    if modes and given != ["pooling_mode_mean_tokens"] and modes.get("pooling_mode") != "mean":
        raise ValueError(
            f"{folder / _POOLING} must have pooling_mode_mean_tokens alone, since `embed` takes the mean of all "
            f"tokens. Received: {', '.join(given) or modes}. Use another model, or delete the file to take the mean."
        )
    path = folder / _MODULES
    if path.is_file():
        _check_modules(path)


def _check_modules(path):
    try:
        names = [module["type"].split(".")[-1] for module in json.loads(path.read_text("utf-8"))]
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is no list of modules: {error!r}. Fetch it again.") from error
    unknown = [name for name in names if name not in _KNOWN]
    if unknown:
        raise ValueError(
            f"{path} must have no modules but {', '.join(_KNOWN)}. Received: {unknown[0]}. Use another model, or "
            "delete the file to embed texts without it."
        )
