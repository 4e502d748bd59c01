"""What the trained models of all tasks share: loading, saving, exporting."""

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
    """A trained model with its vocabulary and its card; the base class of what `zoo.load` returns.

    Args:
        model: The Keras model, free to be compiled, fitted and changed.
        tokenizer: Its vocabulary.
        card: What a checkpoint says of itself; see `zoo.storage.checkpoints`.

    Attributes:
        task: The folder of `zoo` that the predictor belongs to.
        model_class, config_class: What a checkpoint of the task is restored as.
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
        """Restores the predictor that was saved.

        Raises:
            ValueError: If configuration, weights and vocabulary do not fit together.
        """
        model, card = cls.model_class(from_dict(cls.config_class, checkpoint.config)), checkpoint.card
        model.build()
        assign_arrays(model, checkpoint.arrays, "The checkpoint")
        fields = {name: card[name] for name in cls.card_fields if name in card}
        return cls(model, read_vocabulary(checkpoint.vocabulary), card=card, **fields)

    def save(self, folder: str | os.PathLike, half: bool = False) -> dict:
        """Writes a checkpoint folder, whole or not at all, that `zoo.load` reads; returns its card.

        Args:
            folder: Must not exist yet.
            half: Whether to store the weights as float16.
        """
        arrays = named_arrays(self.model)
        checkpoint = Checkpoint(self.full_card(), to_dict(self.model.config), arrays, self.tokenizer.model)
        return write_checkpoint(folder, checkpoint, half)

    def full_card(self) -> dict:
        """Returns the card with everything that is needed to load the checkpoint."""
        return {**self.card, "task": self.task, **{name: getattr(self, name) for name in self.card_fields}}

    def export(self, folder: str | os.PathLike, **options) -> dict:
        """Writes a SavedModel folder that takes strings and needs no part of this package; returns its card.

        Its signatures are described at the services in `zoo.tf`. The card, with the names of the labels, is in
        `assets.extra/card.json`.

        Args:
            folder: Must not exist yet.
            options: `max_bytes` and `max_seconds` of `zoo.limits.Limits`, and those of the task.

        Raises:
            ValueError: If `folder` exists, an option does not fit, or Keras does not run on TensorFlow.
            ImportError: If tensorflow-text is not installed, which is needed where the model is loaded, too.
            RuntimeError: If the written model does not predict what this predictor does. It is not kept.
        """
        limits = Limits(**{name: options.pop(name) for name in ("max_bytes", "max_seconds") if name in options})
        make = functools.partial(self._make_service, **options)
        check = functools.partial(self._check_service, limits, **options)
        return write_service(folder, make, check, self.full_card(), limits)

    def _make_service(self, limits: Limits, **options):
        """Returns the `tf.Module` to save, whose method `signatures` names its functions."""
        raise ValueError(f"{type(self).__name__} has no SavedModel. Save a checkpoint instead.")

    def _check_service(self, limits: Limits, folder: pathlib.Path, **options) -> dict:
        """Compares the written SavedModel with this predictor; returns what the card says of it."""
        raise NotImplementedError
