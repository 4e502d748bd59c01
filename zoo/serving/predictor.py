"""Base class of the predictors of all tasks: loading, saving and export."""

import dataclasses
import errno
import json
import os
import pathlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras

from keras_transformer.ops.updates import updates_in_place
from zoo.config_values import from_dict, to_dict
from zoo.corpora.batching import Batch, Corpus, next_power_of_two
from zoo.corpora.labelled_corpus import NO_LABEL, split_labels
from zoo.limits import Limits
from zoo.models.compiling import compile_function
from zoo.serving.origin import Origin
from zoo.storage.arrays import assign_arrays, named_arrays, new_folder, write_atomically
from zoo.storage.checkpoints import Checkpoint, write_checkpoint
from zoo.storage.formats import to_json
from zoo.text.vocabularies import Vocabulary, read_vocabulary

CARD = pathlib.PurePath("assets.extra", "card.json")  # In the folder of a SavedModel.
MIN_WIDTH = 16  # Positions, where each shape is compiled separately.
Progress = Callable[[int], None] | None  # Called with the number of inputs done since the last call.


class Predictor:
    """Holds a trained model with its vocabulary and its card; the base class of all that `zoo.load` returns.

    Args:
        model: The Keras model. It may be compiled, trained and changed.
        tokenizer: The vocabulary of the model; None if it reads no text.
        card: Description of the checkpoint; see `zoo.storage.checkpoints`.

    Attributes:
        task: The folder of `zoo` that the predictor belongs to.
        model_class, config_class: Classes of the model and of its configuration.
        settings: Arguments of the constructor that are attributes of the same name, decide answers, and are saved.
        searched_with: Settings of the search, which scores are given with.
        fixed_settings: Settings that are the same for all predictors of the class, and tell it from others of its task.
        has_vocabulary: Whether the model reads text.
        max_bytes: Default limit of an input of a SavedModel; see `zoo.limits.Limits`.
        jit_compile: Whether XLA compiles the functions of the model, as always on JAX; "auto" where it pays.
        split: Splits a batch of a corpus into what the model reads and what it predicts: `batch -> (inputs, labels)`.
        pad_label: Label of padding, which has no weight in the loss.
    """

    task: str
    model_class: type[keras.Model]
    config_class: type
    settings: tuple[str, ...] = ()
    searched_with: tuple[str, ...] = ()
    fixed_settings: Mapping[str, Any] = {}
    has_vocabulary: bool = True
    max_bytes: int = Limits.max_bytes
    jit_compile: bool | str = False
    split: Callable[[Batch], tuple[Batch, Any]] = staticmethod(split_labels)
    pad_label: int = NO_LABEL

    def __init__(self, model: keras.Model, tokenizer: Vocabulary | None, card: dict | None = None):
        self.model, self.tokenizer, self.card = model, tokenizer, dict(card or {})
        self._compiled, self._origin = {}, None

    def examples(self, *inputs: Sequence, batch_size: int = 32, shuffle: bool = True, seed: int = 0):
        """Encodes texts and what the model has to predict for them as a `tf.data.Dataset` for `model.fit`.

        The loss is `keras_transformer.training.TokenCrossEntropy(pad_id=predictor.pad_label)`, or one of Keras if each
        text has one label.

        Args:
            inputs: As for `encode_examples`.
            batch_size: Number of texts of a batch.
            shuffle: Whether the order is random, and another one in each epoch.
            seed: Seed of the order.

        Returns:
            A dataset of pairs (inputs of the model by name, labels), as padded integer arrays.

        Raises:
            ValueError: If the lists differ in length, are empty, or have invalid elements.
        """
        from zoo.tf.pipeline import shuffled_dataset

        return shuffled_dataset(self.encode_examples(*inputs), batch_size, shuffle, seed).map(self.split)

    def encode_examples(self, *inputs: Sequence) -> Corpus:
        """Encodes texts and what the model has to predict for them; the arguments differ between tasks."""
        raise NotImplementedError

    def compiled(self, function: Callable, jit_compile: bool | str = False, **options: Any) -> Callable:
        """Compiles the method `function(*tensors, **options)`, which reads the model, once for the same options.

        See `zoo.models.compiling.compile_function`.
        """
        key = function.__name__, jit_compile, *sorted(options.items())
        if key not in self._compiled:

            def run(*tensors):
                return function(*tensors, **options)

            self._compiled[key] = compile_function(self.model, run, jit_compile, self.pad_inputs)
        return self._compiled[key]

    def rounded(self, size: int, least: int = 1) -> int:
        """Rounds a size up to a power of two, at least `least`, where each shape is compiled separately."""
        return next_power_of_two(max(least, size)) if self.few_shapes else size

    def rounded_width(self, length: int) -> int:
        """Rounds a number of steps up as `rounded` does, but not beyond the positions of the model."""
        width, limit = self.rounded(length, MIN_WIDTH), getattr(self.model.config, "max_positions", 0)
        return min(width, max(length, limit)) if limit else width

    @property
    def few_shapes(self) -> bool:
        """Whether each shape is compiled separately, so that there must be few."""
        return self.jit_compile is True or keras.backend.backend() == "jax"

    def pad_inputs(self, *arrays: Any) -> tuple:
        """Pads inputs of a function that is compiled with `jit_compile="auto"` to few shapes."""
        raise NotImplementedError

    @classmethod
    def from_checkpoint(cls, checkpoint: Checkpoint, dtype: str | None = None) -> "Predictor":
        """Restores a predictor from a checkpoint, which computes in `dtype`, by default Keras's policy.

        Raises:
            ValueError: If configuration, weights and vocabulary do not match, or a setting is unknown.
        """
        model = cls.model_class(from_dict(cls.config_class, checkpoint.config), dtype=dtype)
        model.build()
        assign_arrays(model, checkpoint.arrays, "The checkpoint")
        unknown = checkpoint.settings.keys() - {*cls.settings, *cls.fixed_settings}
        if unknown:
            raise ValueError(
                f"The settings of a checkpoint must be among {', '.join(cls.settings)}. Received: {min(unknown)!r}. "
                "It may be of a newer version: upgrade this package."
            )
        settings = {name: checkpoint.settings[name] for name in cls.settings if name in checkpoint.settings}
        if cls.has_vocabulary and checkpoint.vocabulary is None:
            raise ValueError("The checkpoint has no vocabulary.model, and no base that has it. Write it again.")
        vocabulary = read_vocabulary(checkpoint.vocabulary) if cls.has_vocabulary else None
        predictor = cls(model, vocabulary, card=checkpoint.card, **settings)
        predictor._origin = Origin.of(predictor, checkpoint.card)
        return predictor

    def save(self, folder: str | os.PathLike, dtype: str = "float32", base: str | os.PathLike | None = None) -> dict:
        """Writes a checkpoint folder for `zoo.load` atomically; returns its card.

        If weights or settings have changed since loading, or since the last save, the name, scores, recipe, command
        and recorded answers of that checkpoint are left out of the card, unless they were set anew, and `derived_from`
        names it. A model that has no weights yet is built.

        Args:
            folder: Folder to create.
            dtype, base: As for `zoo.storage.checkpoints.write_checkpoint`: "float32", "float16" or "int8", and the
                checkpoint that the model was fine-tuned from, to store only the difference.
        """
        if not self.model.built:
            self.model.build()
        arrays, config = named_arrays(self.model), to_dict(self.model.config)
        vocabulary = self.tokenizer and self.tokenizer.model
        checkpoint = Checkpoint(self.full_card(), config, arrays, vocabulary, self.saved_settings())
        self.card = write_checkpoint(folder, checkpoint, dtype, base)
        self._origin = Origin.of(self, self.card)
        return dict(self.card)

    def full_card(self) -> dict:
        """Returns what a card of the predictor says, without what is no longer true; see `save`."""
        card = self._origin.current_card(self) if self._origin else self.card
        return {**card, "task": self.task}

    def saved_settings(self) -> dict:
        """Returns the values of `settings` and `fixed_settings`, ready for JSON."""
        settings = {**{name: getattr(self, name) for name in self.settings}, **self.fixed_settings}
        return json.loads(json.dumps(settings))

    def export(self, folder: str | os.PathLike, **options) -> dict:
        """Writes a SavedModel folder that takes strings and does not need this package; returns its card.

        Its signatures are described at the services in `zoo.tf`. The card, with the names of the labels, is in
        `assets.extra/card.json`.

        Args:
            folder: Folder to create.
            options: `max_bytes` and `max_seconds` of `zoo.limits.Limits`, and options of the task.

        Raises:
            ValueError: If `folder` exists, an option is invalid, or Keras does not run on TensorFlow.
            ImportError: If tensorflow-text is not installed. It is also needed where the SavedModel is loaded.
            RuntimeError: If the SavedModel and this predictor predict different outputs. The folder is deleted.
        """
        given = {name: options.pop(name) for name in ("max_bytes", "max_seconds") if name in options}
        limits = Limits(**{"max_bytes": self.max_bytes, **given})
        check_backend("A SavedModel")
        import tensorflow as tf

        with new_folder(folder) as part:
            service = self._make_service(limits, **options)
            try:
                with updates_in_place():
                    tf.saved_model.save(service, str(part), signatures=service.signatures())
            except tf.errors.OpError as error:
                raise OSError(errno.EIO, error.message) from error
            try:
                found = self._check_service(limits, part, **options)
            except tf.errors.InvalidArgumentError as error:
                failed = re.search(r"assertion failed: \[(.*?)\]", error.message)
                reason = failed.group(1) if failed else error.message
                raise ValueError(
                    "The SavedModel must process its test inputs. Received: "
                    f"{reason.rstrip('.')}. So it was deleted. Raise the limits."
                ) from error
            card = {**self.full_card(), **self.saved_settings(), "limits": dataclasses.asdict(limits), **found}
            (part / CARD).parent.mkdir(exist_ok=True)
            write_atomically(part / CARD, to_json(card))
        return card

    def _make_service(self, limits: Limits, **options):
        """Returns the `tf.Module` to save, whose method `signatures` returns its functions by name."""
        raise ValueError(f"{type(self).__name__} cannot be exported as a SavedModel. Save a checkpoint instead.")

    def _check_service(self, limits: Limits, folder: pathlib.Path, **options) -> dict:
        """Compares the SavedModel in a folder with this predictor; returns values for its card."""
        import tensorflow as tf

        self._check_signature(limits, tf.saved_model.load(str(folder)).signatures["serving_default"])
        return {}

    def _check_signature(self, limits: Limits, signature: Callable) -> None:
        """Calls the function of a SavedModel with test inputs; calls `raise_mismatch` if its outputs differ."""
        raise NotImplementedError


def check_backend(subject: str) -> None:
    """Raises `ValueError` if Keras does not run on TensorFlow, which the subject of the message needs."""
    if keras.backend.backend() != "tensorflow":
        raise ValueError(
            f"{subject} needs the TensorFlow backend. Received: KERAS_BACKEND={keras.backend.backend()}. "
            "Save a checkpoint, and export that in a process with KERAS_BACKEND=tensorflow."
        )


def raise_mismatch(original: str, inputs: Any, expected: Any, received: Any) -> None:
    """Raises the `RuntimeError` for an exported model whose outputs differ from those of the original."""
    raise RuntimeError(
        f"The exported model differs from its {original}, so it was deleted. For {inputs!r} expected {expected!r}. "
        f"Received: {received!r}. Please report this."
    )
