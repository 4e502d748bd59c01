"""Import of tensorflow-text, with the reason in one sentence if it fails."""

import importlib
import importlib.metadata
import importlib.util
import os
from types import ModuleType

from zoo.extras import install_command

_NEEDED = "Tokenizing in a TensorFlow graph needs tensorflow-text."


def import_tensorflow_text() -> ModuleType:
    """Imports tensorflow-text.

    Raises:
        ImportError: If it is not installed, was built for another TensorFlow, or needs the Keras 2 that
            `TF_USE_LEGACY_KERAS` selects and that is not installed.
    """
    try:
        return importlib.import_module("tensorflow_text")
    except Exception as error:  # A library that does not fit raises TensorFlow's NotFoundError.
        raise ImportError(f"{_NEEDED} {_reason(error)}") from error


def _reason(error):
    legacy = os.environ.get("TF_USE_LEGACY_KERAS", "").lower() in ("true", "1")  # As TensorFlow reads it.
    if legacy and importlib.util.find_spec("tf_keras") is None:
        return (
            "It uses `tf.keras`, which must be Keras 3 or an installed Keras 2. Received: "
            f"TF_USE_LEGACY_KERAS={os.environ['TF_USE_LEGACY_KERAS']} without the package tf_keras. Unset the variable."
        )
    versions = {name: _version(name) for name in ("tensorflow", "tensorflow-text")}
    if versions["tensorflow-text"] is None or isinstance(error, ModuleNotFoundError):
        return f"Install it: {install_command('tensorflow_text')}"
    first_line = (str(error).splitlines() or [""])[0][:200]
    wanted = ".".join((versions["tensorflow"] or "2.21").split(".")[:2])
    return (
        f"It must be built for the installed TensorFlow, {versions['tensorflow']}. Received: tensorflow-text "
        f"{versions['tensorflow-text']}, which cannot be loaded ({type(error).__name__}: {first_line}). Run `pip "
        f"install tensorflow-text=={wanted}.*`."
    )


def _version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
