"""Saving trained models to checkpoints, and restoring them."""

import os

import keras

from zoo.config_values import from_dict, to_dict
from zoo.storage.arrays import assign_arrays, named_arrays
from zoo.storage.checkpoints import Checkpoint, write_checkpoint


class Saveable:
    """Base of objects with a `model`, a `tokenizer` and a `card` that are saved as a checkpoint of a `task`."""

    task: str

    def save(self, folder: str | os.PathLike, half: bool = False) -> dict:
        """Writes a checkpoint folder for `zoo.load`, atomically, and returns its card.

        Args:
            folder: Must not exist yet.
            half: Whether to store the weights as float16.
        """
        arrays = named_arrays(self.model)
        checkpoint = Checkpoint(self.full_card(), to_dict(self.model.config), arrays, self.tokenizer.model)
        return write_checkpoint(folder, checkpoint, half)

    def full_card(self) -> dict:
        """Returns the card with everything that loading the checkpoint needs."""
        return {**self.card, "task": self.task}


def restore_model(checkpoint: Checkpoint, model_class: type, config_class: type) -> keras.Model:
    """Builds the model of a checkpoint and assigns its weights.

    Raises:
        ValueError: If configuration and weights do not match; the message names the first difference.
    """
    model = model_class(from_dict(config_class, checkpoint.config))
    model.build()
    assign_arrays(model, checkpoint.arrays, "The checkpoint")
    return model
