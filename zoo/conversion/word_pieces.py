"""WordPiece vocabularies of Hugging Face folders."""

import os
import pathlib

from zoo.conversion.settings import (
    CONFIG,
    FLAG,
    OPTIONAL_FLAG,
    TOKENIZER_CONFIG,
    check_values,
    is_numbered,
    read_json,
    read_setting,
)
from zoo.text.word_pieces import WordPieceTokenizer

_WHOLE, _PLAIN = "tokenizer.json", "vocab.txt"
_CLASSES = (
    *("BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer"),
    *("BertTokenizerFast", "DistilBertTokenizerFast", "ElectraTokenizerFast"),
    *("PreTrainedTokenizerFast", "TokenizersBackend", None),  # These say what they do in tokenizer.json.
)
_SETTINGS = {
    "tokenizer_class": _CLASSES,
    "word_tokenizer_type": ("basic", None),
    "subword_tokenizer_type": ("wordpiece", None),
    "tokenize_chinese_chars": (True, None),
    "do_basic_tokenize": (True, None),
}
_PARTS = {  # Of a tokenizer in one file.
    "model": {
        "type": ("WordPiece",),
        "continuing_subword_prefix": ("##", None),
        "max_input_chars_per_word": (100, None),
        "unk_token": ("[UNK]", None),
    },
    "normalizer": {"type": ("BertNormalizer",), "clean_text": (True, None), "handle_chinese_chars": (True, None)},
    "pre_tokenizer": {"type": ("BertPreTokenizer",)},
}


def read_word_pieces(folder: str | os.PathLike) -> WordPieceTokenizer:
    """Reads `tokenizer.json`, or `vocab.txt`, and `tokenizer_config.json`.

    Raises:
        ValueError: If both are missing, a file is damaged, or the tokenizer is not BERT's.
    """
    folder = pathlib.Path(folder)
    config = read_json(folder, CONFIG, required=False)
    check_values(folder, config, {"tokenizer_class": _CLASSES}, "BERT's tokenizer")
    settings = read_json(folder, TOKENIZER_CONFIG, required=False)
    check_values(folder, settings, _SETTINGS, "BERT's tokenizer", TOKENIZER_CONFIG)
    if (folder / _WHOLE).is_file():
        return _read_whole(folder)
    path = folder / _PLAIN
    if not path.is_file():
        raise ValueError(f"{folder} has neither {_WHOLE} nor {_PLAIN}. Fetch the model's vocabulary.")
    lowercase = read_setting(folder, settings, "do_lower_case", FLAG, True, TOKENIZER_CONFIG)
    strip_accents = read_setting(folder, settings, "strip_accents", OPTIONAL_FLAG, None, TOKENIZER_CONFIG)
    try:
        pieces = path.read_text("utf-8").removesuffix("\n").split("\n")
    except ValueError as error:
        raise ValueError(f"{path} is not UTF-8: {error}. Fetch it again.") from error
    return WordPieceTokenizer(pieces, lowercase, strip_accents)


def _read_whole(folder):
    found = read_json(folder, _WHOLE)
    parts = {name: found[name] if isinstance(found.get(name), dict) else {} for name in _PARTS}
    for name, expected in _PARTS.items():
        check_values(folder, parts[name], expected, f"a {name} of BERT's tokenizer", _WHOLE)
    ids = parts["model"].get("vocab")
    if not is_numbered(ids):
        raise ValueError(f"{folder / _WHOLE} must have a vocab that numbers its pieces from 0 on. Fetch it again.")
    lowercase = read_setting(folder, parts["normalizer"], "lowercase", FLAG, file=_WHOLE)
    strip_accents = read_setting(folder, parts["normalizer"], "strip_accents", OPTIONAL_FLAG, file=_WHOLE)
    return WordPieceTokenizer(sorted(ids, key=ids.get), lowercase, strip_accents)
