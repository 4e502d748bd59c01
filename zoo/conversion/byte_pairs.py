"""Byte-level vocabularies of Hugging Face folders."""

import os
import pathlib
from collections.abc import Mapping, Sequence

import numpy as np

from zoo.conversion.settings import (
    FLAG,
    TOKEN,
    TOKENIZER_CONFIG,
    read_added_tokens,
    read_json,
    read_setting,
    token_text,
)
from zoo.text.byte_pair_tokenizer import BytePairTokenizer

_NAMED = "bos_token", "eos_token", "cls_token", "sep_token", "unk_token", "pad_token", "mask_token"
_DEFAULTS = {"unk_token": "<unk>", "pad_token": "<pad>", "mask_token": "<mask>"}
_PLAIN = {"<s>", "</s>", "<pad>", "<unk>", "<mask>"}  # Special tokens that no merge makes, whatever they are used for.
_WITHOUT = "dropout", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback", "ignore_merges"


def read_byte_pairs(
    folder: str | os.PathLike, special: Mapping[str, int | str], size: int
) -> tuple[BytePairTokenizer, list[int]]:
    """Reads `tokenizer.json`, or `vocab.json` and `merges.txt`; returns also the row of each of our ids.

    Args:
        folder: Hugging Face folder.
        special: Rows of "pad", "unknown", "start", "end" and "mask"; or their names in `tokenizer_config.json`, such as
            "pad_token", for those that the vocabulary may lack. The row of one that is missing, or the same as the end,
            is -1.
        size: Rows of the model's table.

    Raises:
        ValueError: If a file is missing or damaged, the tokenizer is another one, it finds further tokens in texts, or
            rows do not fit.
    """
    folder = pathlib.Path(folder)
    settings = read_json(folder, TOKENIZER_CONFIG, required=False)
    if (folder / "tokenizer.json").is_file():
        vocabulary, merges, added, prefix_space = _whole(folder / "tokenizer.json")
    else:
        vocabulary, merges, added = _parts(folder, settings)
        prefix_space = read_setting(folder, settings, "add_prefix_space", FLAG, False, TOKENIZER_CONFIG)
    vocabulary = {**vocabulary, **added}
    rows = [*vocabulary.values()]
    if not all(type(row) is int for row in rows) or len({*rows}) < len(rows):
        raise ValueError(f"The vocabulary of {folder} must have a number of its own for each piece. Fetch it again.")
    if rows and not 0 <= min(rows) <= max(rows) < size:
        raise ValueError(
            f"{folder} has a vocabulary with rows from {min(rows)} to {max(rows)} for a model of {size}. Use the files "
            "of one model."
        )
    names = {
        token: token_text(read_setting(folder, settings, token, TOKEN, _DEFAULTS.get(token), TOKENIZER_CONFIG))
        for token in _NAMED
    }
    found = {name: vocabulary.get(names[row]) if isinstance(row, str) else row for name, row in special.items()}
    for name, row in found.items():
        if row not in rows and not isinstance(special[name], str):
            raise ValueError(f"{folder} does not say which token is {name}: {row!r}. Fetch it again.")
    special = {name: None if name != "end" and row == found["end"] else row for name, row in found.items()}
    known = {piece for piece, row in vocabulary.items() if row in found.values()} | {*names.values()}
    further = sorted(added.keys() - known)
    if further:
        raise ValueError(
            f"The tokenizer of {folder} must have no tokens besides its pieces and special ones. Received: "
            f"{further[0]!r}, which it finds in texts. Use another model."
        )
    _check_merges(folder, vocabulary, merges, known | _PLAIN)
    mask = {row: piece for piece, row in vocabulary.items()}.get(special.pop("mask", None))
    return BytePairTokenizer.from_vocabulary(vocabulary, merges, special, prefix_space, mask)


def table_rows(table: np.ndarray, rows: Sequence[int]) -> np.ndarray:
    """Returns the row of a table `[R, D]` for each of our ids `[V]`, zeros for tokens that the model lacks, -1."""
    rows = np.array(rows)
    return np.where(rows[:, None] < 0, np.float32(0), table[rows])


def _check_merges(folder, vocabulary, merges, special):
    """Checks that merges make each piece that consists of two others: those of a file that is cut off do not."""
    unmade = vocabulary.keys() - {merge.replace(" ", "") for merge in merges} - special
    for piece in sorted(unmade, key=vocabulary.get):
        if any(piece[:i] in vocabulary and piece[i:] in vocabulary for i in range(1, len(piece))):
            raise ValueError(
                f"{folder} must have a merge for each piece of two others. Received: {len(merges):,} merges, and none "
                f"that makes {piece!r}. Fetch its tokenizer again, as a file may be cut off."
            )


def _whole(path):
    """Reads vocabulary, merges, added tokens and whether a space is put before texts from a `tokenizer.json`."""
    found = read_json(path.parent, path.name)
    try:
        model, splitter = found["model"], found.get("pre_tokenizer") or {}
        kinds = model.get("type"), (found.get("normalizer") or {}).get("type"), splitter.get("type")
        expected = kinds == ("BPE", None, "ByteLevel") and splitter.get("use_regex", True)
        if not expected or any(map(model.get, _WITHOUT)):
            options = [f"{name}={model[name]!r}" for name in _WITHOUT if model.get(name)]
            options += ["use_regex=False"] * (splitter.get("use_regex", True) is False)
            raise ValueError(
                f"{path} must be a byte-level BPE tokenizer as GPT-2's: its model, normalizer and pre-tokenizer BPE, "
                f"None and ByteLevel. Received: {', '.join(map(str, [*kinds, *options]))}. Use another model."
            )
        merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]]
        added = {token["content"]: token["id"] for token in found.get("added_tokens") or ()}
        if not isinstance(model["vocab"], dict) or not all(isinstance(text, str) for text in added):
            raise TypeError("its vocab must be an object, and its added_tokens must have texts")
        prefix_space = read_setting(path.parent, splitter, "add_prefix_space", FLAG, False, path.name)
        return model["vocab"], merges, added, prefix_space
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is no tokenizer: {error!r}. Fetch it again.") from error


def _parts(folder, settings):
    """Reads vocabulary, merges and added tokens from files of their own."""
    path = folder / "merges.txt"
    if not path.is_file():
        raise ValueError(f"{folder} has neither tokenizer.json nor merges.txt. Fetch the model with its vocabulary.")
    try:
        lines = path.read_text("utf-8").split("\n")
    except ValueError as error:
        raise ValueError(f"{path} is not UTF-8: {error}. Fetch it again.") from error
    merges = [line.rstrip("\r") for line in lines if line.strip() and not line.startswith("#version")]
    return read_json(folder, "vocab.json"), merges, read_added_tokens(folder, settings)
