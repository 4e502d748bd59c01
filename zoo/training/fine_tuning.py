"""Training that starts from another model's encoder, or lets only a part of it learn."""

import dataclasses
from typing import Any

import keras

from keras_transformer.training import enable_lora
from zoo.config import EncoderConfig, TrainingConfig
from zoo.storage.arrays import assign_arrays, named_arrays


def with_encoder_of(initial: Any, config: EncoderConfig) -> EncoderConfig:
    """The configuration with the encoder of a trained model, but for its rates of dropout."""
    if initial is None:
        return config
    names = [field.name for field in dataclasses.fields(EncoderConfig) if not field.name.endswith("dropout")]
    return dataclasses.replace(config, **{name: getattr(initial.model.config, name) for name in names})


def start_from(initial: Any, predictor: Any) -> None:
    """Copies the encoder's weights from another predictor, and all others if task and labels are the same."""
    own, given = named_arrays(predictor.model), named_arrays(initial.model)
    same = initial.task == predictor.task and getattr(initial, "labels", ()) == getattr(predictor, "labels", ())
    taken = {name: array for name, array in given.items() if (same and name in own) or name.startswith("text_encoder/")}
    assign_arrays(predictor.model, {**own, **taken}, "The checkpoint to start from")


def restrict(model: keras.Model, settings: TrainingConfig) -> None:
    """Lets only a part of the encoder learn, if the settings say so.

    Raises:
        ValueError: If more layers are to be frozen than there are.
    """
    if not (settings.frozen_layers or settings.lora_rank):
        return
    layers = model.text_encoder.layers_bottom_up()
    if settings.frozen_layers > len(layers):
        raise ValueError(
            f"`frozen_layers` must be at most {len(layers)}, the embeddings and {len(layers) - 1} blocks. "
            f"Received: frozen_layers={settings.frozen_layers}."
        )
    if settings.lora_rank:
        enable_lora(model.text_encoder, settings.lora_rank)
    for level in layers[: settings.frozen_layers]:
        for layer in level:
            layer.trainable = False
