"""Trained Transformers by name: `zoo.load("translation/en-de").translate(["Good morning."])`."""

import importlib
import os
import pathlib
import runpy
import warnings

from zoo.quiet import quiet_start
from zoo.storage import checkpoints
from zoo.training_config import DTYPES

# Not imported: that would load Keras, and the package's `__init__.py` may be another project's.
name_conflict = runpy.run_path(str(pathlib.Path(__file__).parents[1] / "keras_transformer" / "installation.py"))[
    "name_conflict"
]
if _message := name_conflict():  # No error, so that `python -m zoo doctor` can report it.
    warnings.warn(_message, RuntimeWarning, stacklevel=2)


def tasks() -> tuple[str, ...]:
    """Returns the names of the tasks, which are the folders of this package with a `__main__.py`."""
    return tuple(sorted(path.parent.name for folder in __path__ for path in pathlib.Path(folder).glob("*/__main__.py")))


def load(name_or_folder: str | os.PathLike, dtype: str | None = None):
    """Loads a checkpoint by name, from a folder or from an address.

    Args:
        name_or_folder: A name from `zoo.list()` or below the address `KERAS_TRANSFORMER_ZOO`, a folder, or an address
            as for `zoo.storage.downloads.fetch`. The folder may also be that of a Hugging Face model that
            `zoo.conversion.hugging_face` knows.
        dtype: Dtype policy of Keras for the computations: "float32", "mixed_bfloat16", which is faster on processors
            and GPUs with bfloat16, or "mixed_float16"; by default Keras's own, `keras.config.dtype_policy()`. The
            weights are float32 in any case.

    Returns:
        A `zoo.serving.predictor.Predictor`: for `translation` a `Translator`, for `classification` a `TextClassifier`,
        for `labelling` a `WordTagger`, for `parsing` a `TreeParser`, for `images` an `ImagePredictor`, for `detection`
        an `ObjectDetector`, for `recognition` a `SpeechTranscriber`, for `language_modelling` a `TextGenerator`, for
        `pretraining` a `MaskedEncoder` or a `Denoiser`; see `predictor.py` in the folder of the task. For `encoder` a
        `zoo.serving.sentence_encoder.SentenceEncoder`.

    Raises:
        ValueError: If there is no such checkpoint, its task is unknown, one of its files is missing or altered, or an
            argument is of another kind.
    """
    if dtype not in (None, *DTYPES):
        raise ValueError(
            f"`dtype` must be one of {', '.join(DTYPES)}, or None for Keras's. Received: dtype={dtype!r}. Choose one."
        )
    if not isinstance(name_or_folder, str | os.PathLike):
        raise ValueError(
            f"`name_or_folder` must be a text or a path. Received: {name_or_folder!r}. Pass a name of `zoo.list()`, a "
            "folder or an address."
        )
    foreign = checkpoints.is_hugging_face(name_or_folder)
    checkpoint = None if foreign else checkpoints.read_checkpoint(checkpoints.find(name_or_folder))
    with quiet_start():
        importlib.import_module("zoo.models.compiling").start_program_cache()  # Starts the backend.
    if foreign:
        return importlib.import_module("zoo.conversion.hugging_face").load_folder(name_or_folder, dtype=dtype)
    task, modules = checkpoint.card["task"], {task: f"zoo.{task}.task" for task in tasks()}
    modules["encoder"] = "zoo.serving.sentence_encoder"
    if task not in modules:
        raise ValueError(
            f"The task of a checkpoint must be one of {', '.join(modules)}. Received: {task!r}. Update this package or "
            "choose another checkpoint."
        )
    return importlib.import_module(modules[task]).from_checkpoint(checkpoint, dtype)


def list() -> list[dict]:
    """Returns the cards of the checkpoints in this package, each with its `name` and its `megabytes` on disk."""
    cards = []
    for name, folder in checkpoints.shipped_checkpoints().items():
        size = sum(file.stat().st_size for file in folder.iterdir())
        cards.append({**checkpoints.read_card(folder), "name": name, "megabytes": round(size / 1e6, 1)})
    return cards
