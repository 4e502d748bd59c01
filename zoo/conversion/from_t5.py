"""Conversion of T5, mT5 and FLAN-T5 from Hugging Face folders, without torch and transformers."""

import importlib
import os
import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from zoo.config import ModelConfig
from zoo.conversion.hugging_face import check_shapes, read_arrays
from zoo.conversion.search_settings import read_search
from zoo.conversion.settings import (
    COMMON,
    CONFIG,
    COUNT,
    EPSILON,
    FLAG,
    RATE,
    TOKENIZER_CONFIG,
    Rule,
    check_values,
    read_added_tokens,
    read_architecture,
    read_json,
    read_setting,
)
from zoo.models.seq2seq import Seq2Seq
from zoo.storage.arrays import assign_arrays
from zoo.text.t5_tokenizer import T5Tokenizer

SIZES = {
    "hidden_dim": "d_model",
    "key_dim": "d_kv",
    "intermediate_dim": "d_ff",
    "num_heads": "num_heads",
    "num_encoder_layers": "num_layers",
    "num_decoder_layers": "num_decoder_layers",
}
_PARTS = {
    "encoder": ("self_attention", "feed_forward"),
    "decoder": ("self_attention", "cross_attention", "feed_forward"),
}
_PROJECTIONS = {"q": "query_dense", "k": "key_dense", "v": "value_dense", "o": "output_dense"}
_NAMES = {"self_attention": "SelfAttention", "cross_attention": "EncDecAttention", "feed_forward": "DenseReluDense"}
_DENSE = {
    "t5": {"wi": "inner_dense", "wo": "output_dense"},
    "t5.1.1": {"wi_0": "inner_dense", "wi_1": "gate_dense", "wo": "output_dense"},
}
SHARED, HEAD = "shared.weight", "lm_head.weight"
# Copies of the shared table, and a table of the first T5 models that nothing reads.
_IGNORED = {
    "encoder.embed_tokens.weight",
    "decoder.embed_tokens.weight",
    "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",
}
_ARCHITECTURES = "T5ForConditionalGeneration", "MT5ForConditionalGeneration", "T5WithLMHeadModel"  # The last is older.
_SENTINELS = Rule("a whole number from 0 on", lambda value: type(value) is int and value >= 0)
_MAX_SOURCE_TOKENS = 512  # T5 was trained on texts of this length.


def load_t5(folder: str | os.PathLike, prefix: str = "", dtype: str | None = None) -> Any:
    """Loads a T5 (1.0, 1.1, FLAN-T5, mT5) from `config.json`, its weights and `spiece.model`.

    The translator does not divide texts into sentences, as they may be of any kind and begin with a prefix.

    Args:
        folder: Hugging Face folder of the model.
        prefix: Text before each source, such as "translate English to German: "; it is saved with the model. Empty if
            the sources have one themselves.
        dtype: As for `zoo.load`.

    Returns:
        A `zoo.translation.predictor.Translator`.

    Raises:
        ValueError: If a file is missing or damaged, the model is no T5, or an array is missing, unknown or of another
            shape; the message names it.
    """
    folder = pathlib.Path(folder)
    found = read_json(folder, CONFIG)
    config, scaled = _config(folder, found)
    search = read_search(folder, found, "a T5", start=0, end=1, pad=0)
    tokenizer = _tokenizer(folder, found, prefix)
    arrays, path = read_arrays(folder)
    _check_arrays(path, arrays, config, found["vocab_size"])
    config = ModelConfig(**config, vocabulary_size=tokenizer.vocabulary_size)
    model = Seq2Seq(config, dtype=dtype)
    model.build()
    assign_arrays(model, _converted(arrays, path, tokenizer.rows, config, scaled), str(path))
    card = {"name": folder.resolve().name, "source": "A T5 model from a Hugging Face folder"}
    translator = importlib.import_module("zoo.translation.predictor").Translator  # The tasks use this package.
    return translator(model, tokenizer, card, _MAX_SOURCE_TOKENS, split_sentences=False, **search)


def array_names(config: ModelConfig) -> Iterator[tuple[str, str]]:
    """Yields for each weight of the stacks its name in T5 and that in `Seq2Seq`."""
    layers = {"encoder": config.num_encoder_layers, "decoder": config.num_decoder_layers}
    for side, parts in _PARTS.items():
        first = f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        yield first, f"{side}/buckets/biases"
        yield f"{side}.final_layer_norm.weight", f"{side}/norm/scale"
        for i in range(layers[side]):
            for j, part in enumerate(parts):
                theirs, ours = f"{side}.block.{i}.layer.{j}", f"{side}/block_{i}/{part}"
                yield f"{theirs}.layer_norm.weight", f"{ours}_residual/norm/scale"
                dense = _DENSE[config.architecture] if part == "feed_forward" else _PROJECTIONS
                for name, layer in dense.items():
                    yield f"{theirs}.{_NAMES[part]}.{name}.weight", f"{ours}/{layer}/kernel"


def query_scale(config: ModelConfig) -> float:
    """Returns by what T5's query kernels are multiplied, as it does not divide scores by the root of the head width."""
    return (config.key_dim or config.hidden_dim // config.num_heads) ** 0.5


def _config(folder, found):
    """Returns the arguments of `ModelConfig`, without the vocabulary, and whether the published logits are scaled."""
    expected = {
        **COMMON,
        "model_type": ("t5", "mt5"),
        "feed_forward_proj": ("relu", "gated-gelu", None),
        "dense_act_fn": ("relu", "gelu_new", None),
        "is_encoder_decoder": (True, None),
        "is_decoder": (False, None),
        "relative_attention_num_buckets": (32, None),
        "relative_attention_max_distance": (128, None),
        "pad_token_id": (0, None),
        "eos_token_id": (1, None),
        "decoder_start_token_id": (0, None),
    }
    check_values(folder, found, expected, "a T5")
    read_architecture(folder, found, _ARCHITECTURES, default=_ARCHITECTURES[0])
    if found.get("num_decoder_layers") is None:
        found = {**found, "num_decoder_layers": found.get("num_layers")}
    sizes = {ours: read_setting(folder, found, theirs, COUNT) for ours, theirs in SIZES.items()}
    read_setting(folder, found, "vocab_size", COUNT)
    multilingual = found["model_type"] == "mt5"  # It has the gate and the logits of T5 1.1 unless it says otherwise.
    gated = (found.get("feed_forward_proj") or ("gated-gelu" if multilingual else "relu")) == "gated-gelu"
    tied = read_setting(folder, found, "tie_word_embeddings", FLAG, True) and not multilingual
    # The newer name, since 1.1 may be tied as well.
    scaled = read_setting(folder, found, "scale_decoder_outputs", FLAG, tied)
    if not gated and not scaled:
        check_values(folder, {"tie_word_embeddings": False}, {"tie_word_embeddings": (True, None)}, "a T5 with relu")
    dropout = float(read_setting(folder, found, "dropout_rate", RATE, 0.1))
    return {
        **sizes,
        **{f"{name}dropout": dropout for name in ("", "attention_", "activation_")},
        "activation": "gelu_tanh" if gated else "relu",
        "epsilon": float(read_setting(folder, found, "layer_norm_epsilon", EPSILON, 1e-6)),
        "normalize_first": True,
        "architecture": "t5.1.1" if gated else "t5",
    }, scaled


def _tokenizer(folder, found, prefix):
    path = folder / "spiece.model"
    if not path.is_file():
        hint = " A tokenizer.json alone is not enough." if (folder / "tokenizer.json").is_file() else ""
        raise ValueError(f"{folder} has no spiece.model.{hint} Fetch the model with its sentencepiece vocabulary.")
    settings = read_json(folder, TOKENIZER_CONFIG, required=False)
    size = found["vocab_size"]
    sentinels = read_setting(folder, settings, "extra_ids", _SENTINELS, 100, TOKENIZER_CONFIG)
    sentinels = min(sentinels, size)  # More cannot fit.
    tokenizer = T5Tokenizer(path.read_bytes(), sentinels, prefix)
    if tokenizer.rows.max() >= size:
        raise ValueError(
            f"{folder} has a vocabulary of {tokenizer.rows.max() + 1} pieces, sentinels included, for a model of "
            f"{size}. Use the files of one model."
        )
    unknown = sorted(read_added_tokens(folder, settings).keys() - {*tokenizer.pieces})
    if unknown:
        raise ValueError(
            f"{folder} has a token that is neither in spiece.model nor a sentinel: {unknown[0]!r}. Use a model without "
            "added tokens."
        )
    return tokenizer


def _check_arrays(path, arrays, config, rows):
    """Checks the sizes of `config.json` by some arrays, before a model of these sizes is built."""
    width, heads = config["hidden_dim"], config["num_heads"] * config["key_dim"]
    (inner, *_), inwards = _DENSE[config["architecture"]], (config["intermediate_dim"], width)
    layers = {"encoder": config["num_encoder_layers"], "decoder": config["num_decoder_layers"]}
    shapes = {SHARED: (rows, width)}
    for side, parts in _PARTS.items():
        last = f"{side}.block.{layers[side] - 1}.layer"
        shapes[f"{last}.0.SelfAttention.q.weight"] = heads, width
        shapes[f"{last}.{len(parts) - 1}.DenseReluDense.{inner}.weight"] = inwards
        shapes[f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"] = 32, config["num_heads"]
    if HEAD in arrays:
        shapes[HEAD] = rows, width
    check_shapes(path, arrays, shapes)


def _converted(given, path, rows, config, scaled):
    """Returns the arrays by their names in `Seq2Seq`, which scales embeddings and divides scores."""
    names = dict(array_names(config))
    unknown = sorted(given.keys() - names.keys() - _IGNORED - {SHARED, HEAD})
    if unknown:
        raise ValueError(f"{path} has an array that this T5 does not have: {unknown[0]!r}. Use another model.")
    root = config.hidden_dim**0.5
    head = given.get(HEAD, given[SHARED])
    arrays = {"embedding/embeddings": given[SHARED][rows] / root}
    if config.architecture == "t5.1.1":
        arrays["output_embedding/embeddings"] = head[rows] / (root if scaled else 1)
    elif not np.array_equal(head, given[SHARED]):
        raise ValueError(
            f"{path} has an output matrix of its own, {HEAD!r}, which T5 with feed_forward_proj of relu has not. Use "
            "another model."
        )
    for theirs, ours in names.items():
        if theirs in given:
            array = given[theirs].T if ours.endswith("kernel") else given[theirs]
            arrays[ours] = array * query_scale(config) if "/query_dense/" in ours else array
    return {name: array.astype("float32") for name, array in arrays.items()}
