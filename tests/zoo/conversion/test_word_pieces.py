"""Word pieces of folders are read, and tokenizers that give other ids are refused by name."""

import json

import pytest

from zoo.conversion.word_pieces import read_word_pieces

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##aff", "café", "A"]
WHOLE = {
    "model": {"type": "WordPiece", "vocab": {piece: i for i, piece in enumerate(PIECES)}},
    "normalizer": {"type": "BertNormalizer", "lowercase": True, "strip_accents": False},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(PIECES) + "\n", "utf-8")
    return tmp_path


def write(folder, name, content):
    (folder / name).write_text(json.dumps(content))
    return folder


def test_folders(folder):
    assert read_word_pieces(folder).lowercase
    plain = read_word_pieces(write(folder, "tokenizer_config.json", {"do_lower_case": False, "strip_accents": None}))
    assert (plain.lowercase, plain.strip_accents, plain.pieces) == (False, False, tuple(PIECES))
    found = read_word_pieces(write(folder, "tokenizer.json", WHOLE))
    assert (found.lowercase, found.strip_accents, found.pieces) == (True, False, tuple(PIECES))
    for name in ("tokenizer.json", "vocab.txt"):
        (folder / name).unlink()
    with pytest.raises(ValueError, match="neither tokenizer.json nor vocab.txt"):
        read_word_pieces(folder)


def test_settings_of_published_models(folder):
    """Those of all-MiniLM-L6-v2."""
    settings = {
        **{"cls_token": "[CLS]", "do_basic_tokenize": True, "do_lower_case": True, "never_split": None},
        **{"strip_accents": None, "tokenize_chinese_chars": True, "tokenizer_class": "BertTokenizer"},
    }
    assert read_word_pieces(write(folder, "tokenizer_config.json", settings)).pieces == tuple(PIECES)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tokenizer_class": "BertJapaneseTokenizer"}, "tokenizer_class='BertJapaneseTokenizer'"),
        (
            {"word_tokenizer_type": "mecab"},
            "word_tokenizer_type of basic or None. Received: word_tokenizer_type='mecab'",
        ),
        ({"subword_tokenizer_type": "character"}, "subword_tokenizer_type='character'"),
        ({"tokenize_chinese_chars": False}, "tokenize_chinese_chars=False"),
        ({"do_basic_tokenize": False}, "do_basic_tokenize=False"),
        ({"do_lower_case": "no"}, "tokenizer_config.json must have true or false as do_lower_case. Received: 'no'"),
        ({"strip_accents": "no"}, "true, false or null as strip_accents"),
    ],
)
def test_other_tokenizers_are_refused(folder, settings, message):
    with pytest.raises(ValueError, match=message):
        read_word_pieces(write(folder, "tokenizer_config.json", settings))


@pytest.mark.parametrize(
    ("part", "changes", "message"),
    [
        ("model", {"type": "BPE"}, "tokenizer.json must describe a model of BERT's tokenizer .* Received: type='BPE'"),
        ("model", {"continuing_subword_prefix": ""}, "continuing_subword_prefix=''"),
        ("model", {"max_input_chars_per_word": 9}, "max_input_chars_per_word=9"),
        ("model", {"vocab": [*PIECES]}, "must have a vocab that numbers its pieces from 0 on"),
        ("model", {"vocab": {**WHOLE["model"]["vocab"], "far": 99}}, "numbers its pieces from 0 on"),
        ("normalizer", {"type": "NFC"}, "a normalizer of BERT's tokenizer .* Received: type='NFC'"),
        ("normalizer", {"handle_chinese_chars": False}, "handle_chinese_chars=False"),
        ("normalizer", {"clean_text": False}, "clean_text=False"),
        ("normalizer", {"lowercase": None}, "true or false as lowercase. Received: None"),
        ("pre_tokenizer", {"type": "Whitespace"}, "Received: type='Whitespace'"),
    ],
)
def test_other_parts_are_refused(folder, part, changes, message):
    with pytest.raises(ValueError, match=message):
        read_word_pieces(write(folder, "tokenizer.json", {**WHOLE, part: {**WHOLE[part], **changes}}))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "tokenizer.json must be a JSON object. Received: list"),
        ("{}", "type of WordPiece. Received: type=None"),
        ('{"model": null}', "type of WordPiece. Received: type=None"),
        ("x", "tokenizer.json is not JSON"),
    ],
)
def test_damaged_files_are_named(folder, content, message):
    (folder / "tokenizer.json").write_text(content)
    with pytest.raises(ValueError, match=message):
        read_word_pieces(folder)
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="vocab.txt is not UTF-8"):
        read_word_pieces(folder)
