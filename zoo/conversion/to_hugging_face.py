"""Writing of encoders and translators as Hugging Face folders, without torch and transformers."""

import os

import numpy as np
import safetensors.numpy

from zoo.config import END_ID, PAD_ID, START_ID, UNKNOWN_ID
from zoo.conversion import from_bert, from_marian, from_t5
from zoo.conversion.hugging_face import ACTIVATIONS
from zoo.models.seq2seq import Seq2Seq
from zoo.storage.arrays import named_arrays, new_folder, write_atomically
from zoo.storage.formats import to_json
from zoo.text.t5_tokenizer import T5Tokenizer
from zoo.text.word_pieces import WordPieceTokenizer

_ENCODER = "text_encoder"  # The part of a model that becomes a `BertModel`.


def write_hugging_face(predictor, folder: str | os.PathLike) -> list[str]:
    """Writes the folder of a model that `transformers` loads.

    A translator becomes a `MarianMTModel` with a `MarianTokenizer`, one that was a T5 a `T5ForConditionalGeneration`
    with a `T5Tokenizer`, an encoder of word pieces a `BertModel` with a `BertTokenizer`, without what is around it.
    Marian's layer normalization adds 1e-5 to variances, where the recipes of this package add 1e-6. For a translator of
    several target languages, the token `>>fra<<` has to be typed there, and the prefix of a T5, too.

    Args:
        predictor: A `zoo.translation.predictor.Translator`, or an encoder, such as `zoo.load("encoder/minilm")`.
        folder: Folder to create.

    Returns:
        Names of the parts of the model that were left out, such as the head of a classifier.

    Raises:
        ValueError: If `folder` exists, or the model has no counterpart in transformers; the message says why.
    """
    write = _bert
    if predictor.task == "translation":
        write = _marian if predictor.model.config.architecture == "transformer" else _t5
    files = {name: part if isinstance(part, bytes) else to_json(part) for name, part in write(predictor).items()}
    with new_folder(folder) as part:
        for name, content in files.items():
            write_atomically(part / name, content)
    if write is not _bert:
        return []
    return sorted({path.split("/")[0] for path in named_arrays(predictor.model)} - {_ENCODER})


def _check(name, expected, reasons):
    for passed, reason in reasons:
        if not passed:
            raise ValueError(f"{name} cannot be written as {expected}: {reason}. Train one with other settings.")


def _bert(predictor):
    config, tokenizer = getattr(predictor.model, "config", None), predictor.tokenizer
    encodes = hasattr(predictor.model, _ENCODER)
    reasons = (
        (encodes, "it has no encoder of texts"),
        (isinstance(tokenizer, WordPieceTokenizer), "its vocabulary is not of word pieces"),
        (encodes and config.bert_embeddings, "its embeddings are not those of BERT (model.bert_embeddings)"),
        (encodes and not config.normalize_first, "it is pre-norm (model.normalize_first)"),
        (encodes and config.max_positions, "its positions are not learned (model.max_positions)"),
    )
    _check(f"The model of {type(predictor).__name__}", "a BERT", reasons)
    blocks, layers = from_bert.BLOCKS["bert"]
    layers = {ours: theirs for theirs, ours in layers.items()}
    tables = {ours: theirs for theirs, ours in from_bert.TABLES.items()}
    arrays = {}
    for path, array in named_arrays(predictor.model).items():
        parts = path.split("/")
        if parts[0] != _ENCODER:
            continue
        if parts[1] == "encoder":
            name = f"{blocks}.{parts[2].removeprefix('block_')}.{layers['/'.join(parts[3:-1])]}"
        else:
            name = f"embeddings.{tables.get(parts[1], 'LayerNorm')}"
        arrays[f"{name}.{_kind(parts[-1])}"] = array.T if parts[-1] == "kernel" else array
    if not config.num_segments:
        arrays["embeddings.token_type_embeddings.weight"] = np.zeros((1, config.hidden_dim), "float32")
    settings = {theirs: getattr(config, ours) for ours, theirs in from_bert.SETTINGS["bert"].items()}
    settings["hidden_act"] = _activation(config)
    return {
        "config.json": {
            "architectures": ["BertModel"],
            "model_type": "bert",
            **settings,
            "type_vocab_size": max(1, config.num_segments),
            "pad_token_id": PAD_ID,
        },
        "model.safetensors": _weights(arrays),
        "vocab.txt": ("\n".join(tokenizer.pieces) + "\n").encode(),
        "tokenizer_config.json": {
            "tokenizer_class": "BertTokenizer",
            "do_lower_case": tokenizer.lowercase,
            "strip_accents": tokenizer.strip_accents,
            "model_max_length": config.max_positions,
        },
    }


def _marian(translator):
    config, tokenizer = translator.model.config, translator.tokenizer
    reasons = (
        (isinstance(translator.model, Seq2Seq), "it is non-autoregressive"),
        (not config.normalize_first, "Marian's are post-norm, and it is pre-norm (model.normalize_first)"),
        (not tokenizer.case_markup, "its vocabulary marks words in capitals (training.case_markup)"),
        (not translator.placeholders, "it reads placeholders (training.placeholders)"),
    )
    _check("The translator", "a Marian model", reasons)
    given = named_arrays(translator.model)
    # The end comes first and the padding, which starts translations, too, last, as in OPUS-MT.
    others = [i for i in range(tokenizer.vocabulary_size) if i not in (PAD_ID, UNKNOWN_ID, START_ID, END_ID)]
    rows, pieces = [END_ID, UNKNOWN_ID, *others, START_ID], tokenizer.pieces
    vocabulary = {"</s>": 0, "<unk>": 1, **{pieces[i]: row for row, i in enumerate(others, 2)}, "<pad>": len(rows) - 1}
    order = np.argsort(from_marian.residual_order(config.hidden_dim))
    bias = given.get("output_bias", np.zeros(tokenizer.vocabulary_size, "float32"))[rows]
    bias[-1] = from_marian.NEVER
    arrays = {
        "model.shared.weight": given.pop("embedding/embeddings")[rows][:, order],
        "final_logits_bias": bias[None],
    }
    layers = {ours: theirs for theirs, ours in from_marian.LAYERS.items()}
    for path, array in given.items():
        if path == "output_bias":
            continue
        side, block, *layer, kind = path.split("/")
        name = layers["/".join(layer)]
        array = from_marian.reordered(array, name.split(".")[-1], kind, order)
        full = f"model.{side}.layers.{block.removeprefix('block_')}.{name}.{_kind(kind)}"
        arrays[full] = array.T if kind == "kernel" else array
    card = translator.card
    languages = {"source_lang": card.get("source_language"), "target_lang": card.get("target_language")}
    models = list(tokenizer.sentencepiece_models().values())
    return {
        "config.json": _marian_config(translator, len(rows)),
        "generation_config.json": {
            "num_beams": translator.beam_size,
            "length_penalty": translator.length_penalty,
            "max_length": 512,
            "bad_words_ids": [[len(rows) - 1]],
            "pad_token_id": len(rows) - 1,
            "decoder_start_token_id": len(rows) - 1,
            "eos_token_id": 0,
        },
        "model.safetensors": _weights(arrays),
        "vocab.json": vocabulary,
        "source.spm": models[0],
        "target.spm": models[-1],
        "tokenizer_config.json": {
            "tokenizer_class": "MarianTokenizer",
            **{name: language for name, language in languages.items() if language},
            "model_max_length": 512,
        },
    }


def _marian_config(translator, size):
    config = translator.model.config
    return {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "vocab_size": size,
        "d_model": config.hidden_dim,
        "encoder_layers": config.num_encoder_layers,
        "decoder_layers": config.num_decoder_layers,
        "encoder_attention_heads": config.num_heads,
        "decoder_attention_heads": config.num_heads,
        "encoder_ffn_dim": config.intermediate_dim,
        "decoder_ffn_dim": config.intermediate_dim,
        "activation_function": _activation(config),
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "activation_dropout": config.activation_dropout,
        "scale_embedding": True,
        "static_position_embeddings": True,
        "share_encoder_decoder_embeddings": True,
        "tie_word_embeddings": True,
        "max_position_embeddings": 512,
        "pad_token_id": size - 1,
        "decoder_start_token_id": size - 1,
        "eos_token_id": 0,
        "forced_eos_token_id": 0,
        "num_beams": translator.beam_size,
    }


def _t5(translator):
    config, tokenizer = translator.model.config, translator.tokenizer
    gated, activations = config.architecture == "t5.1.1", {"t5": "relu", "t5.1.1": "gelu_tanh"}
    activation = activations[config.architecture]
    reasons = (
        (isinstance(tokenizer, T5Tokenizer), "its vocabulary is not that of a T5"),
        (not translator.placeholders, "it reads placeholders (training.placeholders)"),
        (not config.output_bias, "its logits have biases (model.output_bias)"),
        (
            config.activation == activation,
            f"its activation is {config.activation}, not {activation} (model.activation)",
        ),
    )
    _check("The translator", "a T5", reasons)
    given, rows = named_arrays(translator.model), tokenizer.rows
    tables = {from_t5.SHARED: given["embedding/embeddings"] * config.hidden_dim**0.5}
    if gated:
        tables[from_t5.HEAD] = given["output_embedding/embeddings"]
    arrays = {}
    for name, table in tables.items():
        arrays[name] = np.zeros((rows.max() + 1, config.hidden_dim), "float32")
        arrays[name][rows] = table  # The start comes after the padding, whose row it takes.
    for theirs, ours in from_t5.array_names(config):
        array = given[ours].T if ours.endswith("kernel") else given[ours]
        arrays[theirs] = array / from_t5.query_scale(config) if "/query_dense/" in ours else array
    special = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
    sizes = {theirs: getattr(config, ours) for ours, theirs in from_t5.SIZES.items()}
    return {
        "config.json": {
            "architectures": ["T5ForConditionalGeneration"],
            "model_type": "t5",
            **sizes,
            "d_kv": config.key_dim or config.hidden_dim // config.num_heads,
            "vocab_size": int(rows.max() + 1),
            "feed_forward_proj": "gated-gelu" if gated else "relu",
            "tie_word_embeddings": not gated,
            "relative_attention_num_buckets": 32,
            "relative_attention_max_distance": 128,
            "layer_norm_epsilon": config.epsilon,
            "dropout_rate": config.dropout,
            **special,
        },
        "generation_config.json": {
            "num_beams": translator.beam_size,
            "length_penalty": translator.length_penalty,
            "max_length": translator.max_source_tokens,
            **special,
        },
        "model.safetensors": _weights(arrays),
        "spiece.model": tokenizer.source_model,
        "tokenizer_config.json": {
            "tokenizer_class": "T5Tokenizer",
            "extra_ids": len(tokenizer.sentinels),
            "model_max_length": translator.max_source_tokens,
        },
    }


def _activation(config):
    """Returns the name that transformers has for the activation."""
    return next(theirs for theirs, ours in ACTIVATIONS.items() if ours == config.activation)


def _kind(name):
    """Returns the name of a weight of PyTorch's layers."""
    return "weight" if name in ("kernel", "gamma", "embeddings") else "bias"


def _weights(arrays):
    contiguous = {name: np.ascontiguousarray(array, "float32") for name, array in arrays.items()}
    return safetensors.numpy.save(contiguous, metadata={"format": "pt"})
