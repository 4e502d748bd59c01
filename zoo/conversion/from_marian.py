"""Conversion of Marian's translators, such as OPUS-MT, from Hugging Face folders, without torch and transformers."""

import importlib
import os
import pathlib
from typing import Any

import numpy as np

from zoo.config import START_ID, ModelConfig
from zoo.conversion.hugging_face import ACTIVATIONS, check_shapes, read_arrays
from zoo.conversion.search_settings import read_search
from zoo.conversion.settings import (
    COMMON,
    CONFIG,
    COUNT,
    OPTIONAL_TEXT,
    RATE,
    TOKENIZER_CONFIG,
    check_values,
    is_numbered,
    read_architecture,
    read_json,
    read_setting,
)
from zoo.models.seq2seq import Seq2Seq
from zoo.storage.arrays import assign_arrays
from zoo.text.marian_tokenizer import MarianTokenizer

_ATTENTION = {"q_proj": "query_dense", "k_proj": "key_dense", "v_proj": "value_dense", "out_proj": "output_dense"}
LAYERS = {
    **{f"self_attn.{theirs}": f"self_attention/{ours}" for theirs, ours in _ATTENTION.items()},
    **{f"encoder_attn.{theirs}": f"cross_attention/{ours}" for theirs, ours in _ATTENTION.items()},
    "self_attn_layer_norm": "self_attention_residual/norm",
    "encoder_attn_layer_norm": "cross_attention_residual/norm",
    "fc1": "feed_forward/inner_dense",
    "fc2": "feed_forward/output_dense",
    "final_layer_norm": "feed_forward_residual/norm",
}
_WHAT = "a Marian translator"
_SPECIAL_IDS = {"pad": "pad_token_id", "end": "eos_token_id", "start": "decoder_start_token_id"}
_INWARD = "out_proj", "fc2"  # Their outputs are added to the residual stream; the inputs of the others come from it.
NEVER = -1e4  # Logit of a token that is never predicted, in any precision.
# Copies of the shared table, and positions, which are computed.
_IGNORED = {
    *(f"model.{side}.embed_{name}.weight" for side in ("encoder", "decoder") for name in ("tokens", "positions")),
    "lm_head.weight",
}


def load_marian(folder: str | os.PathLike, target_language: str | None = None, dtype: str | None = None) -> Any:
    """Loads a translator from `config.json`, its weights, `source.spm`, `target.spm` and `vocab.json`.

    Marian puts the sines of positions before the cosines, this package interleaves them: the axis of the residual
    stream is reordered in all weights.

    Args:
        folder: Hugging Face folder of the model.
        target_language: For a model of several target languages the one to translate into, such as "fra" for the token
            `>>fra<<`.
        dtype: As for `zoo.load`.

    Returns:
        A `zoo.translation.predictor.Translator`.

    Raises:
        ValueError: If a file is missing or damaged, the model is no Marian translator, an array is missing, unknown or
            of another shape, or the target language is missing or unknown.
    """
    folder = pathlib.Path(folder)
    found, names = read_json(folder, CONFIG), read_json(folder, TOKENIZER_CONFIG, required=False)
    config = _config(folder, found)
    source_language, own_language = (
        read_setting(folder, names, name, OPTIONAL_TEXT, file=TOKENIZER_CONFIG)
        for name in ("source_lang", "target_lang")
    )
    check_values(folder, names, {"separate_vocabs": (False, None)}, _WHAT, TOKENIZER_CONFIG)
    tokenizer, rows, special = _tokenizer(folder, found, target_language)
    search = read_search(folder, found, _WHAT, **{name: special[name] for name in _SPECIAL_IDS})
    config = ModelConfig(**config, vocabulary_size=tokenizer.vocabulary_size)
    arrays, path = read_arrays(folder)
    inner = config.intermediate_dim, config.hidden_dim
    lasts = {"encoder": config.num_encoder_layers - 1, "decoder": config.num_decoder_layers - 1}
    shapes = {f"model.{side}.layers.{last}.fc1.weight": inner for side, last in lasts.items()}
    check_shapes(path, arrays, {"model.shared.weight": (found["vocab_size"], config.hidden_dim), **shapes})
    model = Seq2Seq(config, dtype=dtype)
    model.build()
    assign_arrays(model, _converted(arrays, path, rows, config.hidden_dim), str(path))
    card = {"name": folder.resolve().name, "source": "A Marian model from a Hugging Face folder"}
    languages = {"source_language": source_language, "target_language": target_language or own_language}
    card |= {name: language for name, language in languages.items() if language}
    translator = importlib.import_module("zoo.translation.predictor").Translator  # The tasks use this package.
    return translator(model, tokenizer, card, **search)


def _config(folder, found):
    expected = {
        **COMMON,
        "model_type": ("marian",),
        "is_encoder_decoder": (True, None),
        "static_position_embeddings": (True, None),
        "decoder_vocab_size": (found.get("vocab_size"), None),
        "activation_function": (*ACTIVATIONS,),
        "scale_embedding": (True,),
        "share_encoder_decoder_embeddings": (True, None),
        "tie_word_embeddings": (True, None),
        "normalize_before": (False, None),
        "normalize_embedding": (False, None),
        "add_final_layer_norm": (False, None),
        "encoder_attention_heads": (found.get("decoder_attention_heads"),),
        "encoder_ffn_dim": (found.get("decoder_ffn_dim"),),
    }
    check_values(folder, found, expected, _WHAT)
    read_architecture(folder, found, ["MarianMTModel"], default="MarianMTModel")
    sizes = {
        "num_encoder_layers": "encoder_layers",
        "num_decoder_layers": "decoder_layers",
        "hidden_dim": "d_model",
        "intermediate_dim": "encoder_ffn_dim",
        "num_heads": "encoder_attention_heads",
    }
    rates = "dropout", "attention_dropout", "activation_dropout"
    return {
        **{ours: read_setting(folder, found, theirs, COUNT) for ours, theirs in sizes.items()},
        **{name: float(read_setting(folder, found, name, RATE, 0.0)) for name in rates},
        "activation": ACTIVATIONS[found["activation_function"]],
        "epsilon": 1e-5,  # That of PyTorch's layer normalization, which no file says.
        "output_bias": True,
    }


def _tokenizer(folder, found, target_language):
    """Returns the tokenizer, the row of the published table for each of its ids, and those of special tokens."""
    models = []
    for name in ("source.spm", "target.spm"):
        if not (folder / name).is_file():
            raise ValueError(f"{folder} has no {name}. Fetch the model with its vocabulary.")
        models.append((folder / name).read_bytes())
    vocabulary = read_json(folder, "vocab.json")
    size = found.get("vocab_size")
    if not is_numbered(vocabulary) or len(vocabulary) != size:
        raise ValueError(
            f"{folder / 'vocab.json'} must have the ids from 0 to {size} - 1 of the model. Received: "
            f"{len(vocabulary)} pieces. Use the files of one model."
        )
    special = {name: found.get(key) for name, key in _SPECIAL_IDS.items()}
    special["unknown"] = vocabulary.get("<unk>")
    wrong = [name for name, row in special.items() if type(row) is not int or not 0 <= row < size]
    if wrong:
        raise ValueError(f"{folder} does not say which token is {wrong[0]}: {special[wrong[0]]!r}. Fetch it again.")
    languages = sorted(piece[2:-2] for piece in vocabulary if piece.startswith(">>") and piece.endswith("<<"))
    if target_language not in (languages or [None]):
        among = f"one of {', '.join(languages)}" if languages else "None, as the model has one target language"
        raise ValueError(f"`target_language` must be {among}. Received: {target_language!r}. Choose another one.")
    prefix = [f">>{target_language}<<"] if languages else []
    return *MarianTokenizer.from_vocabulary(*models, vocabulary, special, prefix), special


def _converted(given, path, rows, hidden_dim):
    """Returns the arrays by their names in `Seq2Seq`, with the axis of the residual stream in its order."""
    order = residual_order(hidden_dim)
    arrays, biased = {}, given.get("final_logits_bias")
    for name, array in given.items():
        if name in _IGNORED or name == "final_logits_bias":
            continue
        if name == "model.shared.weight":
            _check_shape(path, name, array, (rows.max() + 1, hidden_dim))
            arrays["embedding/embeddings"] = array[rows][:, order]
            continue
        ours = _converted_name(name, path)
        kind = ours.split("/")[-1]
        array = array.T if kind == "kernel" else array
        try:
            arrays[ours] = reordered(array, name.split(".")[-2], kind, order)
        except (IndexError, ValueError) as error:
            raise ValueError(
                f"{path} does not fit: {name!r} has the shape {given[name].shape}. Use another model."
            ) from error
    bias = np.zeros(len(rows), "float32") if biased is None else biased.reshape(-1)
    _check_shape(path, "final_logits_bias", bias, (rows.max() + 1 if biased is not None else len(rows),))
    arrays["output_bias"] = bias if biased is None else bias[rows]
    arrays["output_bias"][START_ID] = NEVER  # The published table has no row for it besides that of another token.
    return arrays


def residual_order(hidden_dim: int) -> np.ndarray:
    """Returns the place in Marian's residual stream of each number of ours: the sine and cosine of each rate."""
    return np.arange(hidden_dim).reshape(2, -1).T.ravel()


def reordered(array: np.ndarray, layer: str, kind: str, order: np.ndarray) -> np.ndarray:
    """Reorders the axis of the residual stream of a weight that Keras has.

    Args:
        array: The weight; kernels are `[inputs, outputs]`.
        layer: Marian's name of the layer, such as "out_proj".
        kind: "kernel", "bias", "gamma" or "beta".
        order: Old place of each new one, `[hidden_dim]`.

    Raises:
        ValueError: If the axis has another length.
    """
    inward = layer in _INWARD
    if kind == "bias" and not inward:
        return array
    axis = 1 if kind == "kernel" and inward else 0
    if array.ndim != 1 + (kind == "kernel") or array.shape[axis] != len(order):
        raise ValueError(
            f"Axis {axis} must have {len(order)} numbers. Received: shape {array.shape}. Use another array."
        )
    return np.take(array, order, axis)


def _check_shape(path, name, array, shape):
    if array.shape != shape:
        raise ValueError(f"{path} does not fit: {name!r} must have shape {shape}. Received: {array.shape}.")


def _converted_name(name, path):
    """Returns the name of an array in `Seq2Seq`."""
    parts = name.split(".")
    layer = LAYERS.get(".".join(parts[4:-1]))
    inside = parts[0] == "model" and parts[1] in ("encoder", "decoder") and parts[2:3] == ["layers"]
    if len(parts) < 6 or not inside or layer is None or parts[-1] not in ("weight", "bias"):
        raise ValueError(f"{path} has an array that Marian translators do not have: {name!r}. Use another model.")
    norm = {"weight": "gamma", "bias": "beta"} if layer.endswith("norm") else {"weight": "kernel", "bias": "bias"}
    return f"{parts[1]}/block_{parts[3]}/{layer}/{norm[parts[-1]]}"
