"""Conversion of ViT and DeiT from Hugging Face folders, without torch and transformers."""

import importlib
import os
import pathlib

import numpy as np

from zoo.conversion.hugging_face import ACTIVATIONS, check_shapes, read_arrays
from zoo.conversion.settings import (
    COMMON,
    CONFIG,
    COUNT,
    EPSILON,
    NUMBER,
    RATE,
    Rule,
    check_values,
    read_architecture,
    read_json,
    read_setting,
)
from zoo.image_config import ImageClassifierConfig
from zoo.models.image_classifier import ImageClassifier
from zoo.models.image_encoder import DEVIATION, MEAN
from zoo.serving.predictor import Predictor
from zoo.storage.arrays import assign_arrays

_HEADS = {  # Classifiers of each architecture, whose mean is the answer.
    "ViTForImageClassification": ("classifier",),
    "DeiTForImageClassification": ("classifier",),
    "DeiTForImageClassificationWithTeacher": ("cls_classifier", "distillation_classifier"),
}
_SIZES = {
    "hidden_dim": "hidden_size",
    "num_layers": "num_hidden_layers",
    "num_heads": "num_attention_heads",
    "intermediate_dim": "intermediate_size",
    "image_size": "image_size",
    "patch_size": "patch_size",
}
_PREPROCESSOR = "preprocessor_config.json"
_NUMBERS = Rule(
    "three numbers", lambda value: isinstance(value, list) and len(value) == 3 and all(map(NUMBER.holds, value))
)
_POSITIVE = Rule("three positive numbers", lambda value: _NUMBERS.holds(value) and min(value) > 0)
_PIXELS = {  # Mean and deviation of pixels, where no file says them.
    "vit": ([0.5] * 3, [0.5] * 3),
    "deit": ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
}
_LAYERS = {
    "attention.attention.query": "self_attention/query_dense",
    "attention.attention.key": "self_attention/key_dense",
    "attention.attention.value": "self_attention/value_dense",
    "attention.output.dense": "self_attention/output_dense",
    "layernorm_before": "self_attention_residual/norm",
    "layernorm_after": "feed_forward_residual/norm",
    "intermediate.dense": "feed_forward/inner_dense",
    "output.dense": "feed_forward/output_dense",
}
_PATCHES, _POSITIONS = "embeddings.patch_embeddings.projection", "embeddings.position_embeddings"
_TOKENS = "embeddings.cls_token", "embeddings.distillation_token"
_IGNORED = "pooler.", "embeddings.mask_token"


def load_vit(folder: str | os.PathLike, dtype: str | None = None) -> Predictor:
    """Loads a classifier of images from `config.json`, its weights, and `preprocessor_config.json` if there is one.

    ViT (Dosovitskiy et al. 2021) and DeiT (Touvron et al. 2021), whose second token, of distillation, has a classifier
    of its own. The mean and the deviation of pixels become a part of the first projection, and the positions of the
    tokens a part of them.

    Args:
        folder: Hugging Face folder of the model.
        dtype: As for `zoo.load`.

    Returns:
        A `zoo.images.predictor.ImagePredictor`. It cuts images that are no squares, as DeiT's own processor does;
        ViT's squeezes them.

    Raises:
        ValueError: If a file is missing or damaged, the model is no classifier of images, or an array is missing,
            unknown, or of another shape; the message names it.
    """
    found = read_json(folder, CONFIG)
    heads = _HEADS[read_architecture(folder, found, [*_HEADS])]
    config, kind, labels = _read_config(folder, found)
    mean, deviation = _pixels(folder, kind)
    given, path = read_arrays(folder)
    arrays = {name.removeprefix(f"{kind}."): array for name, array in given.items()}
    width, size, steps = config.hidden_dim, config.patch_size, config.grid_size**2
    tokens = _TOKENS[: config.num_class_tokens]
    shapes = {
        f"{_PATCHES}.weight": (width, 3, size, size),
        f"{_PATCHES}.bias": (width,),
        _POSITIONS: (1, len(tokens) + steps, width),
        **{token: (1, 1, width) for token in tokens},
        **{f"{head}.weight": (len(labels), width) for head in heads},
        **{f"{head}.bias": (len(labels),) for head in heads},
        f"encoder.layer.{config.num_layers - 1}.intermediate.dense.weight": (config.intermediate_dim, width),
    }
    check_shapes(path, arrays, shapes)
    converted = _front_end(arrays, config, mean, deviation) | _head(arrays, heads, config)
    for name, array in arrays.items():
        done = name in shapes and not name.startswith("encoder.")
        if not done and not name.startswith(_IGNORED):
            ours, transposed = _convert_name(name, path)
            converted[ours] = array.T if transposed else array
    model = ImageClassifier(config, dtype=dtype)
    model.build()
    assign_arrays(model, converted, str(path))
    # The tasks use this package.
    return importlib.import_module("zoo.images.predictor").ImagePredictor(model, labels=labels)


def _read_config(folder, found):
    """Returns the configuration, the kind and the names of the classes."""
    expected = {
        **COMMON,
        "model_type": [*_PIXELS],
        "hidden_act": [*ACTIVATIONS],
        "num_channels": (3, None),
        "qkv_bias": (True, None),
    }
    check_values(folder, found, expected, "a ViT")
    path = pathlib.Path(folder) / CONFIG
    names = found.get("id2label") or {}
    try:
        labels = [str(names[str(number)]) for number in range(len(names))]
    except (KeyError, TypeError):
        raise ValueError(f"{path} must name its classes by numbers from 0 in id2label. Fetch it again.") from None
    if len(labels) < 2:
        raise ValueError(f"{path} must name at least two classes in id2label. Received: {len(labels)}. Fetch it again.")
    config = ImageClassifierConfig(
        **{ours: read_setting(folder, found, theirs, COUNT) for ours, theirs in _SIZES.items()},
        embedding="patches",
        activation=ACTIVATIONS[found["hidden_act"]],
        epsilon=float(read_setting(folder, found, "layer_norm_eps", EPSILON, 1e-12)),
        dropout=float(read_setting(folder, found, "hidden_dropout_prob", RATE, 0.0)),
        attention_dropout=float(read_setting(folder, found, "attention_probs_dropout_prob", RATE, 0.0)),
        normalize_first=True,
        num_classes=len(labels),
        pooling="tokens" if found["model_type"] == "deit" else "token",
    )
    return config, found["model_type"], labels


def _pixels(folder, kind):
    """Returns the mean and the deviation of red, green and blue, of values from 0 to 1."""
    found = read_json(folder, _PREPROCESSOR, required=False)
    expected = {"do_normalize": (True, False, None), "do_rescale": (True, None), "rescale_factor": (1 / 255, None)}
    check_values(folder, found, expected, "pixels", _PREPROCESSOR)
    if found.get("do_normalize") is False:
        return np.zeros(3), np.ones(3)
    found = {name: value for name, value in found.items() if value is not None}
    mean, deviation = _PIXELS[kind]
    return (
        np.array(read_setting(folder, found, "image_mean", _NUMBERS, mean, _PREPROCESSOR), "float64"),
        np.array(read_setting(folder, found, "image_std", _POSITIVE, deviation, _PREPROCESSOR), "float64"),
    )


def _front_end(arrays, config, mean, deviation):
    """Returns the arrays of patches, positions and tokens, for pixels that `ImageEncoder` has centred and scaled."""
    kernel = arrays[f"{_PATCHES}.weight"].astype("float64")
    moved = (kernel * ((MEAN / 255 - mean) / deviation)[:, None, None]).sum((1, 2, 3))
    scaled = kernel * (DEVIATION / 255 / deviation)[:, None, None]
    positions, count, side = arrays[_POSITIONS][0], config.num_class_tokens, config.grid_size
    found = {
        "embedding/kernel": scaled.transpose(2, 3, 1, 0).astype("float32"),
        "embedding/bias": (arrays[f"{_PATCHES}.bias"] + moved).astype("float32"),
        "positions/embeddings": positions[count:].reshape(side, side, -1),
    }
    for place, name in enumerate(_TOKENS[:count]):
        ours = "class_token" if place == 0 else "distillation_token"
        found[ours] = arrays[name][0, 0] + positions[place]
    return {f"image_encoder/{name}": array for name, array in found.items()}


def _head(arrays, heads, config):
    """Returns the array of the only head, which reads all tokens one after the other."""
    parts = [arrays[f"{head}.weight"].T / len(heads) for head in heads]
    parts += [np.zeros_like(parts[0])] * (config.num_class_tokens - len(parts))
    return {
        "head/kernel": np.concatenate(parts),
        "head/bias": np.mean([arrays[f"{head}.bias"] for head in heads], axis=0),
    }


def _convert_name(name, path):
    """Returns the name of an array of the encoder in `ImageClassifier`, and whether the array must be transposed."""
    *parts, weight = name.split(".")
    layer = "norm" if parts == ["layernorm"] else None
    if parts[:2] == ["encoder", "layer"] and ".".join(parts[3:]) in _LAYERS:
        layer = f"block_{parts[2]}/{_LAYERS['.'.join(parts[3:])]}"
    if layer is None or weight not in ("weight", "bias"):
        raise ValueError(f"{path} has an array that ViT classifiers do not have: {name!r}. Use another model.")
    if layer.endswith("norm"):
        return f"image_encoder/encoder/{layer}/{'gamma' if weight == 'weight' else 'beta'}", False
    return f"image_encoder/encoder/{layer}/{'kernel' if weight == 'weight' else 'bias'}", weight == "weight"
