"""Small byte-level vocabularies, and the files of a GPT-2 or a RoBERTa that has one."""

import json
import random

import safetensors.numpy

VISIBLE = [*range(33, 127), *range(161, 173), *range(174, 256)]  # As in the program of GPT-2's authors.
BYTES = [*map(chr, VISIBLE), *map(chr, range(256, 256 + 256 - len(VISIBLE)))]
SPACE = chr(256 + 32)  # 32 bytes below the space are not visible either.
MERGES = [f"{SPACE} t", "h e", f"{SPACE}t he", f"{SPACE} s", "e e", "d o", f"{SPACE} do", "a a", "aa a", f"{SPACE}s ee"]
END = "<|endoftext|>"
ROBERTA = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}

_RANDOM = random.Random(0)
_PARTS = [
    *["'", "s", "t", "re", "ve ", "ll", "'s", "’s", " ", "  ", "\n", "\t", "\r\n", "\u00a0", "\u3000", "\x1c", "\x85"],
    *["a", "the", " the", " see", "Z", "ß", "é", "e\u0301", "1", "²", "Ⅷ", "٣", "!", "...", "-", "!'"],
    *["\0", "\u200b", "\ufffd", "\U0001f600", "\U0001f468\u200d\U0001f469", "漢字", "ا", "<|endoftext|>", "<s>"],
]
TEXTS = ["", " ", "'", "a" * 33, "- " * 9, *("".join(_RANDOM.choices(_PARTS, k=1 + i % 13)) for i in range(400))]


def characters(text):
    """Writes the bytes of a text as the characters of vocabularies."""
    hidden = [byte for byte in range(256) if byte not in VISIBLE]
    return "".join(chr(byte) if byte in VISIBLE else chr(256 + hidden.index(byte)) for byte in text.encode())


def make_vocabulary(first=(), last=()):
    """Returns rows by piece, with special tokens before and behind."""
    return {piece: row for row, piece in enumerate([*first, *BYTES, *(m.replace(" ", "") for m in MERGES), *last])}


def write_folder(folder, config, vocabulary, arrays, merges=MERGES, **settings):
    """Writes the files of a model."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *merges, ""]), "utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    safetensors.numpy.save_file(arrays, folder / "model.safetensors")
    return folder
