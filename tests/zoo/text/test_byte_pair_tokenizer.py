"""Byte pairs against results by hand and the library of GPT-2's vocabularies."""

import itertools
import json
import os
import pathlib
import random

import byte_pair_folder as folder
import pytest

from zoo.corpora.plain_texts import TextReader
from zoo.corpora.reading import TableRows
from zoo.text.byte_pair_tokenizer import BytePairTokenizer
from zoo.text.byte_pairs import byte_characters, merge_pieces, split_words
from zoo.text.vocabularies import read_vocabulary

VOCABULARY = folder.make_vocabulary(last=[folder.END])
SPECIAL = {"end": VOCABULARY[folder.END]}


def made(vocabulary=VOCABULARY, merges=folder.MERGES, special=SPECIAL, **options):
    return BytePairTokenizer.from_vocabulary(vocabulary, merges, special, **options)


def real_lines(count):
    """Returns English, German and French lines."""
    data = pathlib.Path(os.environ.get("KERAS_TRANSFORMER_DATA") or "")
    files = [data / "classification/imdb/dev.tsv.gz"]
    files += [data / f"translation/tatoeba_eng_{language}/dev.tsv" for language in ("deu", "fra")]
    if not all(file.exists() for file in files):
        pytest.skip("KERAS_TRANSFORMER_DATA names no folder with IMDB and Tatoeba")
    return [*itertools.chain.from_iterable(itertools.islice(TextReader(TableRows(file, [1])), 350) for file in files)]


def library_tokenizer(texts, size, prefix_space=False, shuffled=False):
    """Trains a vocabulary with the library; returns its tokenizer and ours."""
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    trained = tokenizers.ByteLevelBPETokenizer(add_prefix_space=prefix_space)
    trained.train_from_iterator(texts, vocab_size=size, special_tokens=[folder.END], show_progress=False)
    whole = json.loads(trained.to_str())
    whole["added_tokens"] = []  # They would be found in texts.
    if shuffled:
        random.Random(1).shuffle(whole["model"]["merges"])
    vocabulary, pairs = whole["model"]["vocab"], [" ".join(pair) for pair in whole["model"]["merges"]]
    ours = made(vocabulary, pairs, {"end": vocabulary[folder.END]}, prefix_space=prefix_space)
    return tokenizers.Tokenizer.from_str(json.dumps(whole)), *ours


def check_ids(library, ours, rows, texts):
    found = [[rows[i] for i in row] for row in ours.encode(texts)]
    assert found == [encoding.ids for encoding in library.encode_batch(texts)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("the  dog", ["the", " ", " dog"]),
        (" the dog", [" the", " dog"]),
        ("it's 'tis we'LL", ["it", "'s", " '", "tis", " we", "'", "LL"]),
        ("x'' y", ["x", "''", " y"]),
        ("a1b2²", ["a", "1", "b", "2²"]),
        ("\n\nx\ty ", ["\n", "\n", "x", "\t", "y", " "]),
        ("x \n ", ["x", " \n "]),
        ("a\u3000b", ["a", "\u3000", "b"]),
        ("e\u0301\x1c", ["e", "\u0301\x1c"]),
        ("", []),
    ],
)
def test_words_of_the_expression(text, words):
    """By hand from the expression in the program of GPT-2's authors."""
    assert split_words(text) == words


def test_pairs_are_merged_by_rank():
    tokenizer, rows = made()
    names = {row: piece for piece, row in VOCABULARY.items()}

    def pieces(text):
        return [names[rows[i]].replace(folder.SPACE, "_") for i in tokenizer.encode([text])[0]]

    assert pieces("the see seee") == ["t", "he", "_see", "_see", "e"]
    assert pieces(" thee do") == ["_the", "e", "_do"]
    assert pieces("aaaaaa") == ["aa", "aa", "aa"]  # Each pair of two has a lower rank than three.
    assert "".join(byte_characters()[:128]) == "".join(folder.characters(chr(i)) for i in range(128))
    assert sorted(byte_characters()) == sorted(folder.BYTES)
    assert merge_pieces([1, 1, 1, 2], {(1, 1): (5, 3), (1, 2): (4, 9)}) == [3, 9]


@pytest.mark.parametrize("prefix_space", [False, True])
def test_ids_of_the_library(prefix_space):
    library, ours, rows = library_tokenizer(folder.TEXTS, 500, prefix_space)
    check_ids(library, ours, rows, folder.TEXTS)
    assert ours.ordered and ours.whole_texts is not prefix_space
    texts = [f" {text}" if prefix_space and text[:1] not in ("", " ") else text for text in folder.TEXTS]
    assert ours.decode(ours.encode(folder.TEXTS)) == texts


def test_ids_with_merges_in_any_order():
    library, ours, rows = library_tokenizer(folder.TEXTS, 500, shuffled=True)
    assert not ours.ordered
    check_ids(library, ours, rows, folder.TEXTS)


def test_ids_of_a_thousand_lines():
    lines = real_lines(1000)
    library, ours, rows = library_tokenizer(lines, 3000)
    check_ids(library, ours, rows, lines)
    assert len(lines) > 1000 and ours.decode(ours.encode(lines)) == lines


def test_texts_of_any_ids():
    library, ours, rows = library_tokenizer(folder.TEXTS, 500)
    ids = [[random.Random(i).randrange(4, ours.vocabulary_size) for _ in range(i % 9)] for i in range(300)]
    assert ours.decode(ids) == library.decode_batch([[rows[i] for i in row] for row in ids])
    assert ours.decode([[2, *ids[8], 3, 0]]) == ours.decode(ids[8:9])
    with pytest.raises(ValueError, match=r"Ids must lie in \[0, vocabulary_size=\d+\). Received: 9999"):
        ours.decode([[9999]])


def test_numbers_of_a_roberta():
    vocabulary = folder.make_vocabulary(first=folder.ROBERTA, last=["<mask>"])
    special = {"pad": 1, "unknown": 3, "start": 0, "end": 2}
    tokenizer, rows = made(vocabulary, special=special, mask="<mask>")
    assert tokenizer.pieces[:4] == ("<pad>", "<unk>", "<s>", "</s>") and rows[:5] == [1, 3, 0, 2, 4]
    assert (tokenizer.mask_id, tokenizer.pieces[tokenizer.mask_id]) == (len(vocabulary) - 1, "<mask>")
    assert tokenizer.encode(["<s>"]) == [[tokenizer.byte_ids[byte] for byte in b"<s>"]]  # Plain text.


def test_bytes_of_the_vocabulary():
    tokenizer, rows = made({**VOCABULARY, "<pad>": len(VOCABULARY)})
    assert rows[:4] == [-1, -1, -1, SPECIAL["end"]] and tokenizer.pieces[0] == "<pad>_"  # "<pad>" is a piece.
    again = read_vocabulary(tokenizer.model)
    assert type(again) is BytePairTokenizer and again.digest == tokenizer.digest
    assert again.encode(folder.TEXTS) == tokenizer.encode(folder.TEXTS)
    assert made(prefix_space=True)[0].digest != made()[0].digest


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda v, m: v.pop("a"), "without 'a'"),
        (lambda v, m: v.pop("he"), "without 'he'"),
        (lambda v, m: m.append("he he"), "without 'hehe'"),
        (lambda v, m: m.append("h e e"), "without 'hee'"),
        (lambda v, m: m.append("he"), f"and {len(folder.MERGES) + 1} merges. Use"),
    ],
)
def test_vocabularies_that_lack_something_are_refused(change, message):
    vocabulary, merges = dict(VOCABULARY), [*folder.MERGES]
    change(vocabulary, merges)
    with pytest.raises(ValueError, match=message):
        made(vocabulary, merges)


def test_one_text_is_refused():
    with pytest.raises(ValueError, match="must be a list of strings. Received: 'the'"):
        made()[0].encode("the")
