"""Fine-tuning: weights of another model to start from, frozen layers, LoRA."""

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

import keras
import numpy as np

from keras_transformer.training import enable_lora
from zoo.config import TrainingConfig, TransformerConfig
from zoo.models.seq2seq import EncoderDecoder
from zoo.storage.arrays import assign_arrays, named_arrays

Config = TypeVar("Config", bound=TransformerConfig)

_ENCODERS = "text_encoder/", "image_encoder/"  # Weights that models with other heads share.
_VOCABULARY_ROWS = ("embedding/embeddings", "output_bias")  # Weights with a row for each piece.


def copy_config(initial: Any, config: Config, copied: type[Config]) -> Config:
    """Returns the configuration with the sizes of a trained model; only dropout rates stay those of `config`.

    Args:
        initial: The predictor of the trained model; None for none.
        config: Configuration of the new model.
        copied: Class whose fields are copied: that of the part that both models share.
    """
    if initial is None:
        return config
    names = [field.name for field in dataclasses.fields(copied) if not field.name.endswith("dropout")]
    return dataclasses.replace(config, **{name: getattr(initial.model.config, name) for name in names})


def shares_all_weights(initial: Any, predictor: Any) -> bool:
    """Returns whether a predictor, or its class, has the head of the initial model, too, up to its labels.

    It has for one of the same task with the same class of model. All translators, which may predict all tokens at once,
    and denoising encoder-decoders share theirs.
    """
    same_task = initial.task == predictor.task or {initial.task, predictor.task} == {"pretraining", "translation"}
    classes = initial.model_class, predictor.model_class
    pairs = all(issubclass(model_class, EncoderDecoder) for model_class in classes)
    return same_task and (pairs or classes[0] is classes[1])


def copy_initial_weights(initial: Any, predictor: Any, log: Callable[[str], None]) -> None:
    """Copies the weights of the encoder from another predictor, and all others if both share them and the labels.

    If the vocabularies differ, a piece that both have keeps its vector, and the others start from random ones, as in
    Zoph et al. 2016; `log` is called with a line about it.

    Raises:
        ValueError: If the vocabularies are of different kinds, so that they write the same piece differently.
    """
    own, given = named_arrays(predictor.model), named_arrays(initial.model)
    same = shares_all_weights(initial, predictor) and getattr(initial, "labels", ()) == getattr(predictor, "labels", ())
    taken = {name: array for name, array in given.items() if (same and name in own) or name.startswith(_ENCODERS)}
    old, new = initial.tokenizer, predictor.tokenizer
    if new is not None and old.digest != new.digest:
        if type(old) is not type(new):
            raise ValueError(
                f"The vocabulary must be of the same kind as that of the initial model, a {type(old).__name__}. "
                f"Received: a {type(new).__name__}. Leave it out."
            )
        rows = {piece: row for row, piece in enumerate(old.pieces)}
        kept = [(row, rows[piece]) for row, piece in enumerate(new.pieces) if piece in rows]
        targets, sources = np.transpose(kept)
        for name in taken:
            if name.endswith(_VOCABULARY_ROWS):
                array = own[name].copy()
                array[targets] = taken[name][sources]
                taken[name] = array
        log(f"{len(kept):,} of {len(new.pieces):,} pieces have a vector in the initial model; the others start anew")
    assign_arrays(predictor.model, {**own, **taken}, "The initial checkpoint")


def restrict_trainable(model: keras.Model, settings: TrainingConfig) -> None:
    """Freezes layers of the encoder, and enables LoRA, as the settings say.

    Raises:
        ValueError: If `frozen_layers` is larger than the number of layers.
    """
    if not (settings.frozen_layers or settings.lora_rank):
        return
    layers = model.text_encoder.layers_bottom_up()
    if settings.frozen_layers > len(layers):
        raise ValueError(
            f"`frozen_layers` must be at most {len(layers)}, the embeddings and {len(layers) - 1} blocks. "
            f"Received: frozen_layers={settings.frozen_layers}. Freeze fewer layers."
        )
    if settings.lora_rank:
        enable_lora(model.text_encoder, settings.lora_rank)
    for level in layers[: settings.frozen_layers]:
        for layer in level:
            layer.trainable = False
