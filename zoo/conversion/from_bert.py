"""Conversion of BERT encoders from Hugging Face folders, without torch and transformers."""

import dataclasses
import os

from zoo.config import EncoderConfig
from zoo.conversion.hugging_face import check_values, read_arrays, read_json
from zoo.models.encoder_model import EncoderModel
from zoo.serving.sentence_encoder import SentenceEncoder
from zoo.storage.arrays import assign_arrays
from zoo.text.word_pieces import WordPieceTokenizer

# Arrays that are ignored: the pretraining heads, and a constant.
_IGNORED = ("pooler.", "cls.", "embeddings.position_ids")
_BLOCK = {
    "attention.self.query": "self_attention/query_dense",
    "attention.self.key": "self_attention/key_dense",
    "attention.self.value": "self_attention/value_dense",
    "attention.output.dense": "self_attention/output_dense",
    "attention.output.LayerNorm": "self_attention_residual/norm",
    "intermediate.dense": "feed_forward/inner_dense",
    "output.dense": "feed_forward/output_dense",
    "output.LayerNorm": "feed_forward_residual/norm",
}


def load_bert(folder: str | os.PathLike, dtype: str | None = None) -> SentenceEncoder:
    """Loads a BERT encoder from `config.json`, its weights, and `tokenizer.json` or `vocab.txt`.

    The pretraining heads are ignored.

    Args:
        folder: Hugging Face folder of the model.
        dtype: As for `zoo.load`.

    Raises:
        ValueError: If a file is missing, the architecture is not BERT, or an array is missing, unknown, or of another
            shape; the message names it.
    """
    config = _config(folder)
    given, weights = read_arrays(folder)
    tokenizer = WordPieceTokenizer.from_folder(folder)
    if tokenizer.vocabulary_size > config.vocabulary_size:
        raise ValueError(
            f"{folder} has a vocabulary of {tokenizer.vocabulary_size} pieces for a model of "
            f"{config.vocabulary_size}. Use the files of one model."
        )
    rows, config = config.vocabulary_size, dataclasses.replace(config, vocabulary_size=tokenizer.vocabulary_size)
    model = EncoderModel(config, dtype=dtype)
    model.build()
    arrays = {}
    for name, array in given.items():
        name = name.removeprefix("bert.")
        if not name.startswith(_IGNORED):
            ours, transposed = _convert_name(name, weights)
            arrays[ours] = array.T if transposed else array
    table = "text_encoder/embedding/embeddings"
    if table in arrays and len(arrays[table]) == rows:  # Some models have rows beyond their vocabulary.
        arrays[table] = arrays[table][: tokenizer.vocabulary_size]
    assign_arrays(model, arrays, str(weights))
    return SentenceEncoder(model, tokenizer, config.max_positions)


def _config(folder):
    found = read_json(folder, "config.json")
    expected = {
        "model_type": ("bert",),
        "hidden_act": ("gelu", "relu"),
        "position_embedding_type": ("absolute", None),
        "is_decoder": (False, None),
    }
    check_values(folder, found, expected, "a BERT encoder")
    return EncoderConfig(
        vocabulary_size=found["vocab_size"],
        num_layers=found["num_hidden_layers"],
        hidden_dim=found["hidden_size"],
        intermediate_dim=found["intermediate_size"],
        num_heads=found["num_attention_heads"],
        dropout=float(found["hidden_dropout_prob"]),
        attention_dropout=float(found["attention_probs_dropout_prob"]),
        activation=found["hidden_act"],
        epsilon=found["layer_norm_eps"],
        max_positions=found["max_position_embeddings"],
        num_segments=found["type_vocab_size"],
        bert_embeddings=True,
    )


def _convert_name(name, path):
    """Returns the name of an array in `EncoderModel`, and whether the array must be transposed."""
    tables = {"word_embeddings": "embedding", "position_embeddings": "positions", "token_type_embeddings": "segments"}
    *parts, kind = name.split(".")
    norm, dense = "gamma" if kind in ("weight", "gamma") else "beta", "kernel" if kind == "weight" else "bias"
    if parts[0] == "embeddings" and len(parts) == 2:
        if parts[1] in tables:
            return f"text_encoder/{tables[parts[1]]}/embeddings", False
        if parts[1] == "LayerNorm":
            return f"text_encoder/embedding_norm/{norm}", False
    layer = _BLOCK.get(".".join(parts[3:]))
    if parts[:2] == ["encoder", "layer"] and layer is not None:
        weight, transposed = (norm, False) if layer.endswith("norm") else (dense, dense == "kernel")
        return f"text_encoder/encoder/block_{parts[2]}/{layer}/{weight}", transposed
    raise ValueError(f"{path} has an array that BERT encoders do not have: {name!r}. Use another model.")
