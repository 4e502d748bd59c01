"""Base class of the predictors of all tasks: loading, saving and export."""

import functools
import os
import pathlib

import keras

from zoo.config_values import from_dict, to_dict
from zoo.limits import Limits
from zoo.serving.saved_model import write_service
from zoo.storage.arrays import assign_arrays, named_arrays
from zoo.storage.checkpoints import Checkpoint, write_checkpoint
from zoo.text.vocabularies import Vocabulary, read_vocabulary


class Predictor:
    """Holds a trained model with its vocabulary and its card; the base class of all that `zoo.load` returns.

    Args:
        model: The Keras model. It may be compiled, trained and changed.
        tokenizer: The vocabulary of the model.
        card: Description of the checkpoint; see `zoo.storage.checkpoints`.

    Attributes:
        task: The folder of `zoo` that the predictor belongs to.
        model_class, config_class: Classes of the model and of its configuration.
        card_fields: Arguments of the constructor that are attributes of the same name and are saved in the card.
    """

    task: str
    model_class: type[keras.Model]
    config_class: type
    card_fields: tuple[str, ...] = ()

    def __init__(self, model: keras.Model, tokenizer: Vocabulary, card: dict | None = None):
        self.model, self.tokenizer, self.card = model, tokenizer, dict(card or {})

    @classmethod
    def from_checkpoint(cls, checkpoint: Checkpoint) -> "Predictor":
        """Restores a predictor from a checkpoint.

        Raises:
            ValueError: If configuration, weights and vocabulary do not match.
        """
        model, card = cls.model_class(from_dict(cls.config_class, checkpoint.config)), checkpoint.card
        model.build()
        assign_arrays(model, checkpoint.arrays, "The checkpoint")
        fields = {name: card[name] for name in cls.card_fields if name in card}
        return cls(model, read_vocabulary(checkpoint.vocabulary), card=card, **fields)

    def save(self, folder: str | os.PathLike, half: bool = False) -> dict:
        """Writes a checkpoint folder for `zoo.load` atomically; returns its card.

        Args:
            folder: Folder to create.
            half: Whether to store the weights as float16.
        """
        arrays = named_arrays(self.model)
        checkpoint = Checkpoint(self.full_card(), to_dict(self.model.config), arrays, self.tokenizer.model)
        return write_checkpoint(folder, checkpoint, half)

    def full_card(self) -> dict:
        """Returns the card, with all values that are needed to load the checkpoint."""
        return {**self.card, "task": self.task, **{name: getattr(self, name) for name in self.card_fields}}

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
        limits = Limits(**{name: options.pop(name) for name in ("max_bytes", "max_seconds") if name in options})
        make = functools.partial(self._make_service, **options)
        check = functools.partial(self._check_service, limits, **options)
        return write_service(folder, make, check, self.full_card(), limits)

    def _make_service(self, limits: Limits, **options):
        """Returns the `tf.Module` to save, whose method `signatures` returns its functions by name."""
        raise ValueError(f"{type(self).__name__} cannot be exported as a SavedModel. Save a checkpoint instead.")

    def _check_service(self, limits: Limits, folder: pathlib.Path, **options) -> dict:
        """Compares the SavedModel in a folder with this predictor; returns values for its card."""
        raise NotImplementedError
