"""Conversion of RoBERTa from Hugging Face folders, without torch and transformers."""

import dataclasses
import os

from zoo.conversion.byte_pairs import read_byte_pairs, table_rows
from zoo.conversion.from_bert import encoder_config, make_predictor
from zoo.conversion.heads import read_head
from zoo.conversion.hugging_face import check_shapes, read_arrays
from zoo.conversion.settings import INTEGER, read_json, read_setting
from zoo.serving.predictor import Predictor

_WORDS, _POSITIONS, _SEGMENTS = (f"embeddings.{name}_embeddings.weight" for name in ("word", "position", "token_type"))
_HEAD = "lm_head."
_SPECIAL_IDS = {"pad": "pad_token_id", "start": "bos_token_id", "end": "eos_token_id"}


def load_roberta(folder: str | os.PathLike, dtype: str | None = None) -> Predictor:
    """Loads a RoBERTa from `config.json`, its weights, and `tokenizer.json`, or `vocab.json` and `merges.txt`.

    RoBERTa (Liu et al. 2019) is a BERT of byte pairs, whose positions begin behind the number of the padding. The
    vector of its only segment becomes a part of the positions. The architecture says what the model is, as for
    `load_bert`.

    Args:
        folder: Hugging Face folder of the model.
        dtype: As for `zoo.load`.

    Raises:
        ValueError: If a file is missing or damaged, the architecture is not RoBERTa, or an array is missing, unknown,
            or of another shape; the message names it.
    """
    kind, config = encoder_config(folder, ["roberta"])
    head = read_head(folder, kind)
    found = read_json(folder, "config.json")
    special = {name: read_setting(folder, found, theirs, INTEGER) for name, theirs in _SPECIAL_IDS.items()}
    tokenizer, rows = read_byte_pairs(
        folder, {**special, "unknown": "unk_token", "mask": "mask_token"}, config.vocabulary_size
    )
    given, path = read_arrays(folder)
    arrays = {name.removeprefix("roberta."): array for name, array in given.items() if not name.startswith(_HEAD)}
    shapes = {
        _WORDS: (config.vocabulary_size, config.hidden_dim),
        _POSITIONS: (config.max_positions, config.hidden_dim),
        _SEGMENTS: (config.num_segments, config.hidden_dim),
    }
    check_shapes(path, arrays, shapes)
    arrays[_WORDS], arrays[_POSITIONS] = table_rows(arrays[_WORDS], rows), arrays[_POSITIONS][special["pad"] + 1 :]
    if config.num_segments == 1:
        arrays[_POSITIONS] = arrays[_POSITIONS] + arrays.pop(_SEGMENTS)
    sizes = {
        "vocabulary_size": tokenizer.vocabulary_size,
        "max_positions": len(arrays[_POSITIONS]),
        "num_segments": 0 if config.num_segments == 1 else config.num_segments,
    }
    return make_predictor("bert", dataclasses.replace(config, **sizes), tokenizer, arrays, path, dtype, head)
