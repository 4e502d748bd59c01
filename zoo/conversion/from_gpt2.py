"""Conversion of GPT-2 language models from Hugging Face folders, without torch and transformers."""

import importlib
import os
import pathlib
from typing import Any

import numpy as np

from zoo.config import START_ID, LanguageModelConfig
from zoo.conversion.byte_pairs import read_byte_pairs, table_rows
from zoo.conversion.hugging_face import ACTIVATIONS, check_shapes, read_arrays
from zoo.conversion.settings import (
    COMMON,
    CONFIG,
    COUNT,
    EPSILON,
    INTEGER,
    RATE,
    check_values,
    read_architecture,
    read_json,
    read_setting,
)
from zoo.models.language_model import LanguageModel
from zoo.storage.arrays import assign_arrays

_SIZES = {  # Names in `config.json`, by those of `LanguageModelConfig`.
    "vocabulary_size": "vocab_size",
    "num_layers": "n_layer",
    "hidden_dim": "n_embd",
    "num_heads": "n_head",
    "max_positions": "n_positions",
}
_RATES = {"dropout": "resid_pdrop", "attention_dropout": "attn_pdrop"}
_EPSILON = 1e-5  # The default of GPT-2's configuration.
_QKV = "attn.c_attn"  # Queries, keys and values in one matrix.
_LAYERS = {
    "ln_1": "self_attention_residual/norm",
    "attn.c_proj": "self_attention/output_dense",
    "ln_2": "feed_forward_residual/norm",
    "mlp.c_fc": "feed_forward/inner_dense",
    "mlp.c_proj": "feed_forward/output_dense",
}
_TABLES = {"wte.weight": "embedding/embeddings", "wpe.weight": "positions/embeddings"}
_NORM = {"weight": "gamma", "bias": "beta"}
_DENSE = {"weight": "kernel", "bias": "bias"}
_CONSTANTS = "attn.bias", "attn.masked_bias"  # The causal mask.
_ARCHITECTURES = "GPT2LMHeadModel", "GPT2Model"  # Both have no weights of a head.
_HEAD = "lm_head.weight"  # A copy of the table.


def load_gpt2(folder: str | os.PathLike, dtype: str | None = None) -> Any:
    """Loads a language model from `config.json`, its weights, and `tokenizer.json`, or `vocab.json` and `merges.txt`.

    Documents begin and end with GPT-2's `<|endoftext|>`. Padding, the unknown and the start token, which GPT-2 lacks,
    have vectors of zeros and no probability. Embeddings and sublayers share a dropout rate, that of the sublayers.

    Args:
        folder: Hugging Face folder of the model.
        dtype: As for `zoo.load`.

    Returns:
        A `zoo.language_modelling.predictor.TextGenerator`.

    Raises:
        ValueError: If a file is missing or damaged, the model is no GPT-2, or an array is missing, unknown or of
            another shape; the message names it.
    """
    folder = pathlib.Path(folder)
    found = read_json(folder, CONFIG)
    config = _config(folder, found)
    special = {"end": found["eos_token_id"], "pad": "pad_token"}
    tokenizer, rows = read_byte_pairs(folder, special, config["vocabulary_size"])
    given, path = read_arrays(folder)
    arrays = {name.removeprefix("transformer."): array for name, array in given.items()}
    shapes = {
        "wte.weight": (config["vocabulary_size"], config["hidden_dim"]),
        "wpe.weight": (config["max_positions"], config["hidden_dim"]),
        f"h.{config['num_layers'] - 1}.mlp.c_fc.weight": (config["hidden_dim"], config["intermediate_dim"]),
    }
    check_shapes(path, arrays, shapes)
    if _HEAD in arrays and not np.array_equal(arrays.pop(_HEAD), arrays["wte.weight"]):
        raise ValueError(
            f"{path} must have the table of its embeddings as {_HEAD}. Received: another one. Use another model."
        )
    config |= {"vocabulary_size": tokenizer.vocabulary_size, "num_impossible": START_ID + 1}
    model = LanguageModel(LanguageModelConfig(**config), dtype=dtype)
    model.build()
    assign_arrays(model, _converted(arrays, path, rows), str(path))
    card = {"name": folder.resolve().name, "source": "A GPT-2 model from a Hugging Face folder"}
    generator = importlib.import_module("zoo.language_modelling.predictor").TextGenerator  # The tasks use this package.
    return generator(model, tokenizer, card, max_tokens=config["max_positions"])


def _config(folder, found):
    """Returns the fields of `LanguageModelConfig`, with the rows of the published table as vocabulary."""
    expected = {
        **COMMON,
        "model_type": ("gpt2",),
        "activation_function": (*ACTIVATIONS,),
        "scale_attn_weights": (True, None),
        "scale_attn_by_inverse_layer_idx": (False, None),
        "reorder_and_upcast_attn": (False, None),
        "add_cross_attention": (False, None),
        "tie_word_embeddings": (True, None),
        "bos_token_id": (found.get("eos_token_id"), None),
    }
    check_values(folder, found, expected, "a GPT-2")
    read_architecture(folder, found, _ARCHITECTURES, default=_ARCHITECTURES[0])
    read_setting(folder, found, "eos_token_id", INTEGER)
    values = {ours: read_setting(folder, found, theirs, COUNT) for ours, theirs in _SIZES.items()}
    inner = None if found.get("n_inner") is None else read_setting(folder, found, "n_inner", COUNT)
    return {
        **values,
        **{ours: float(read_setting(folder, found, theirs, RATE, 0.1)) for ours, theirs in _RATES.items()},
        "intermediate_dim": inner or 4 * values["hidden_dim"],
        "activation": ACTIVATIONS[found["activation_function"]],
        "epsilon": float(read_setting(folder, found, "layer_norm_epsilon", EPSILON, _EPSILON)),
        "normalize_first": True,
        "architecture": "gpt2",
    }


def _converted(given, path, rows):
    """Returns the arrays by their names in `LanguageModel`; GPT-2's matrices are `[inputs, outputs]`, as Keras's."""
    arrays = {}
    for name, array in given.items():
        block, layer, kind = _split(name)
        if name in _TABLES:
            arrays[_TABLES[name]] = table_rows(array, rows) if name == "wte.weight" else array
        elif block == "ln_f" and kind in _NORM:
            arrays[f"blocks/norm/{_NORM[kind]}"] = array
        elif block.isdecimal() and layer == _QKV and kind in _DENSE and array.shape[-1] % 3 == 0:
            for part, values in zip(("query", "key", "value"), np.split(array, 3, axis=-1)):
                arrays[f"blocks/block_{block}/self_attention/{part}_dense/{_DENSE[kind]}"] = values
        elif block.isdecimal() and layer in _LAYERS and kind in _DENSE:
            ours = _LAYERS[layer]
            arrays[f"blocks/block_{block}/{ours}/{(_NORM if ours.endswith('norm') else _DENSE)[kind]}"] = array
        elif not (block.isdecimal() and f"{layer}.{kind}" in _CONSTANTS):
            raise ValueError(f"{path} has an array that GPT-2 does not have: {name!r}. Use another model.")
    return arrays


def _split(name):
    """Returns the number of the block, or the layer outside of them, the layer of the block, and the weight."""
    front, _, kind = name.rpartition(".")
    parts = front.split(".")
    return (parts[1], ".".join(parts[2:]), kind) if parts[0] == "h" and len(parts) > 1 else (front, "", kind)
