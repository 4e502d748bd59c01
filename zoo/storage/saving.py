"""From trained models to checkpoints and back."""

import os

import keras

from zoo.config_values import from_dict, to_dict
from zoo.storage.arrays import assign_arrays, named_arrays
from zoo.storage.checkpoints import Checkpoint, write_checkpoint


class Saveable:
    """What has a `model`, its `tokenizer` and a `card`, and is saved as a checkpoint of a `task`."""

    task: str

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
        """The card with all that the checkpoint needs to be loaded."""
        return {**self.card, "task": self.task}


def restored_model(checkpoint: Checkpoint, model_class: type, config_class: type) -> keras.Model:
    """The model that a checkpoint describes, with its weights.

    Raises:
        ValueError: If they do not fit; the message names the first.
    """
    model = model_class(from_dict(config_class, checkpoint.config))
    model.build()
    assign_arrays(model, checkpoint.arrays, "The checkpoint")
    return model
