"""Conversion of BERT and DistilBERT from Hugging Face folders, without torch and transformers."""

import dataclasses
import os
import pathlib
from collections.abc import Collection

import numpy as np

from zoo.config import EncoderConfig
from zoo.conversion.heads import Head, read_head
from zoo.conversion.hugging_face import ACTIVATION, ACTIVATIONS, check_shapes, read_arrays
from zoo.conversion.settings import COMMON, COUNT, EPSILON, RATE, check_values, read_json, read_setting
from zoo.conversion.word_pieces import read_word_pieces
from zoo.serving.predictor import Predictor
from zoo.storage.arrays import assign_arrays
from zoo.text.vocabularies import Vocabulary

# Arrays that are ignored: the heads of pretraining, and a constant.
_IGNORED = ("pooler.", "cls.", "embeddings.position_ids", "vocab_")
TABLES = {"word_embeddings": "embedding", "position_embeddings": "positions", "token_type_embeddings": "segments"}
BLOCKS = {  # Of each model_type: where its blocks are, and their layers.
    "bert": (
        "encoder.layer",
        {
            "attention.self.query": "self_attention/query_dense",
            "attention.self.key": "self_attention/key_dense",
            "attention.self.value": "self_attention/value_dense",
            "attention.output.dense": "self_attention/output_dense",
            "attention.output.LayerNorm": "self_attention_residual/norm",
            "intermediate.dense": "feed_forward/inner_dense",
            "output.dense": "feed_forward/output_dense",
            "output.LayerNorm": "feed_forward_residual/norm",
        },
    ),
    "distilbert": (
        "transformer.layer",
        {
            "attention.q_lin": "self_attention/query_dense",
            "attention.k_lin": "self_attention/key_dense",
            "attention.v_lin": "self_attention/value_dense",
            "attention.out_lin": "self_attention/output_dense",
            "sa_layer_norm": "self_attention_residual/norm",
            "ffn.lin1": "feed_forward/inner_dense",
            "ffn.lin2": "feed_forward/output_dense",
            "output_layer_norm": "feed_forward_residual/norm",
        },
    ),
}
SETTINGS = {  # Names in `config.json`, by those of `EncoderConfig`.
    "bert": {
        "vocabulary_size": "vocab_size",
        "num_layers": "num_hidden_layers",
        "hidden_dim": "hidden_size",
        "intermediate_dim": "intermediate_size",
        "num_heads": "num_attention_heads",
        "dropout": "hidden_dropout_prob",
        "attention_dropout": "attention_probs_dropout_prob",
        "activation": "hidden_act",
        "epsilon": "layer_norm_eps",
        "max_positions": "max_position_embeddings",
        "num_segments": "type_vocab_size",
    },
    "distilbert": {
        "vocabulary_size": "vocab_size",
        "num_layers": "n_layers",
        "hidden_dim": "dim",
        "intermediate_dim": "hidden_dim",
        "num_heads": "n_heads",
        "dropout": "dropout",
        "attention_dropout": "attention_dropout",
        "activation": "activation",
        "max_positions": "max_position_embeddings",
    },
}
SETTINGS["roberta"] = SETTINGS["bert"]
# Of the settings that are no counts.
_RULES = {"dropout": RATE, "attention_dropout": RATE, "epsilon": EPSILON, "activation": ACTIVATION}
_EPSILON = 1e-12  # DistilBERT's, which no file says.


def load_bert(folder: str | os.PathLike, dtype: str | None = None, pairs: bool = False) -> Predictor:
    """Loads a BERT or DistilBERT from `config.json`, its weights, and `tokenizer.json` or `vocab.txt`.

    The architecture says whether it is an encoder, a classifier of texts or a tagger of words. The heads of pretraining
    are ignored.

    Args:
        folder: Hugging Face folder of the model.
        dtype: As for `zoo.load`.
        pairs: Whether a classifier reads pairs of texts.

    Returns:
        A `SentenceEncoder`, a `TextClassifier` or a `WordTagger`.

    Raises:
        ValueError: If a file is missing, the architecture is not BERT, or an array is missing, unknown, or of another
            shape; the message names it.
    """
    kind, config = encoder_config(folder, BLOCKS.keys())
    head = read_head(folder, kind, pairs)
    given, weights = read_arrays(folder)
    tokenizer = read_word_pieces(folder)
    if tokenizer.vocabulary_size > config.vocabulary_size:
        raise ValueError(
            f"{folder} has a vocabulary of {tokenizer.vocabulary_size} pieces for a model of "
            f"{config.vocabulary_size}. Use the files of one model."
        )
    arrays = {name.removeprefix(f"{kind}."): array for name, array in given.items()}
    return make_predictor(kind, config, tokenizer, arrays, weights, dtype, head)


def make_predictor(
    kind: str,
    config: EncoderConfig,
    tokenizer: Vocabulary,
    arrays: dict[str, np.ndarray],
    weights: pathlib.Path,
    dtype: str | None,
    head: Head,
) -> Predictor:
    """Makes a predictor from published arrays.

    Args:
        kind: One of BLOCKS, which names the arrays.
        config: Sizes of the arrays. The vocabulary may have fewer pieces than the table has rows.
        tokenizer: The vocabulary.
        arrays: Arrays by name.
        weights: File that they come from.
        dtype: As for `zoo.load`.
        head: What the model ends with.
    """
    blocks, layers = BLOCKS[kind]
    (inner,) = (theirs for theirs, ours in layers.items() if ours == "feed_forward/inner_dense")
    shapes = {
        "embeddings.word_embeddings.weight": (config.vocabulary_size, config.hidden_dim),
        "embeddings.position_embeddings.weight": (config.max_positions, config.hidden_dim),
        f"{blocks}.{config.num_layers - 1}.{inner}.weight": (config.intermediate_dim, config.hidden_dim),
    }
    if config.num_segments:
        shapes["embeddings.token_type_embeddings.weight"] = config.num_segments, config.hidden_dim
    check_shapes(weights, arrays, shapes)
    rows, config = config.vocabulary_size, dataclasses.replace(config, vocabulary_size=tokenizer.vocabulary_size)
    given, arrays = arrays, head.take(arrays, config.hidden_dim, weights)
    model = head.make_model(config, dtype)
    for name, array in given.items():
        if not name.startswith((*_IGNORED, *head.layers)):
            ours, transposed = _convert_name(name, kind, weights)
            arrays[ours] = array.T if transposed else array
    table = "text_encoder/embedding/embeddings"
    if table in arrays and len(arrays[table]) == rows:  # Some models have rows beyond their vocabulary.
        arrays[table] = arrays[table][: tokenizer.vocabulary_size]
    assign_arrays(model, arrays, str(weights))
    return head.make_predictor(model, tokenizer, config.max_positions)


def encoder_config(folder: str | os.PathLike, kinds: Collection[str]) -> tuple[str, EncoderConfig]:
    """Reads the kind of the model, one of `kinds`, and its configuration."""
    found = read_json(folder, "config.json")
    expected = {
        **COMMON,
        "model_type": (*kinds,),
        "hidden_act": (*ACTIVATIONS, None),
        "activation": (*ACTIVATIONS, None),
        "position_embedding_type": ("absolute", None),
        "is_decoder": (False, None),
        "add_cross_attention": (False, None),
    }
    check_values(folder, found, expected, "a BERT encoder")
    kind = found["model_type"]
    values = {
        ours: read_setting(folder, found, theirs, _RULES.get(ours, COUNT)) for ours, theirs in SETTINGS[kind].items()
    }
    values |= {name: float(values[name]) for name in ("dropout", "attention_dropout")}
    values["activation"] = ACTIVATIONS[values["activation"]]
    return kind, EncoderConfig(**{"epsilon": _EPSILON, **values}, bert_embeddings=True)


def _convert_name(name, kind, path):
    """Returns the name of an array in `EncoderModel`, and whether the array must be transposed."""
    *parts, weight = name.split(".")
    norm, dense = "gamma" if weight in ("weight", "gamma") else "beta", "kernel" if weight == "weight" else "bias"
    if parts[0] == "embeddings" and len(parts) == 2:
        if parts[1] in TABLES:
            return f"text_encoder/{TABLES[parts[1]]}/embeddings", False
        if parts[1] == "LayerNorm":
            return f"text_encoder/embedding_norm/{norm}", False
    blocks, layers = BLOCKS[kind]
    layer = layers.get(".".join(parts[3:]))
    if ".".join(parts[:2]) == blocks and layer is not None:
        weight, transposed = (norm, False) if layer.endswith("norm") else (dense, dense == "kernel")
        return f"text_encoder/encoder/block_{parts[2]}/{layer}/{weight}", transposed
    raise ValueError(f"{path} has an array that BERT encoders do not have: {name!r}. Use another model.")
