"""Decoding inverts encoding, special tokens cannot be injected, and results are repeatable."""

import io
import os
import random
import subprocess
import sys
import unicodedata
from collections import Counter

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from zoo.text.tokenizer import Tokenizer
from zoo.text.tokenizer_training import train_tokenizer

WORDS = [
    "the",
    "a",
    "small",
    "large",
    "dog",
    "cat",
    "house",
    "sees",
    "hears",
    "finds",
    "and",
    "under",
    "behind",
    "ein",
    "der",
    "kleine",
    "Hund",
    "Straße",
]
CORPUS = [f"{a} {b} {c}, {d}." for a in WORDS for b in WORDS[::2] for c in WORDS[::3] for d in WORDS[::5]]
TOKENIZER = train_tokenizer(CORPUS, 400)
LOWERCASE = train_tokenizer(CORPUS, 400, lowercase=True)

# U+2581 is decoded as a space by sentencepiece.
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\u2581"), max_size=40)
WORDY = st.lists(st.sampled_from([*WORDS, "", "  ", "x", "<s>", "\U0001f600"]), max_size=8).map(" ".join)


@settings(max_examples=300, deadline=None)
@given(TEXT | WORDY)
def test_decoding_inverts_encoding(text):
    ids = TOKENIZER.encode([text])
    assert all(4 <= i < TOKENIZER.vocabulary_size for i in ids[0])
    assert TOKENIZER.decode(ids) == [text]


@settings(max_examples=100, deadline=None)
@given(TEXT | WORDY, st.floats(0.01, 0.99), st.integers(0, 5))
def test_decoding_inverts_encoding_with_dropout(text, rate, seed):
    ids = TOKENIZER.with_dropout(rate, seed).encode([text])
    assert all(4 <= i < TOKENIZER.vocabulary_size for i in ids[0])
    assert TOKENIZER.decode(ids) == [text]
    assert TOKENIZER.with_dropout(rate, seed).encode([text]) == ids


@settings(max_examples=200, deadline=None)
@given(TEXT | WORDY)
def test_tiny_dropout_changes_nothing(text):
    for tokenizer in (TOKENIZER, LOWERCASE):
        assert tokenizer.with_dropout(1e-15, 0).encode([text]) == tokenizer.encode([text])


@settings(max_examples=200, deadline=None)
@given(st.text("aZéÜß Ωя中Ａ１ﬁ\t!\U0001f600", max_size=20) | WORDY)
def test_lower_case_follows_unicode(text):
    (ids,) = LOWERCASE.encode([text])
    assert LOWERCASE.decode([ids]) == [unicodedata.normalize("NFKC", text.lower())]
    assert LOWERCASE.with_dropout(0.5, 1).encode([text.upper().replace("SS", "ß")]) == LOWERCASE.with_dropout(
        0.5, 1
    ).encode([text.lower()])
    assert (TOKENIZER.lowercase, LOWERCASE.lowercase) == (False, True)


def test_spaces_of_all_kinds_are_preserved():
    texts = [" lead", "  two", "tail ", "a  b", " ", "", "\t", "a\nb", "a\r\nb", "\u2028", "\x00", "\u00a0a"]
    assert TOKENIZER.decode(TOKENIZER.encode(texts)) == texts


@pytest.mark.parametrize("piece", ["<s>", "</s>", "<pad>", "<unk>", "<0x41>", "\u2047"])
def test_text_like_a_special_token_is_plain_text(piece):
    corpus = [f"x{piece}y {piece} {piece}{piece}", *CORPUS[:200]] * 20
    for tokenizer in (TOKENIZER, train_tokenizer(corpus, 400)):
        for text in (piece, f"a{piece}b", f"a {piece} {piece}"):
            for ids in (tokenizer.encode([text]), tokenizer.with_dropout(0.5, 0).encode([text])):
                assert min(ids[0]) >= 4
                assert tokenizer.decode(ids) == [text]
    assert TOKENIZER.encode(["<0x41>"]) != TOKENIZER.encode(["A"])


def test_training_and_saving_are_deterministic(tmp_path):
    assert train_tokenizer(iter(CORPUS), 400).model == TOKENIZER.model
    samples = [train_tokenizer(CORPUS, 300, max_sentences=150).model for _ in range(2)]
    assert samples[0] == samples[1] != train_tokenizer(CORPUS, 300).model
    TOKENIZER.save(tmp_path / "vocabulary.model")
    assert [path.name for path in tmp_path.iterdir()] == ["vocabulary.model"]
    loaded = Tokenizer.load(tmp_path / "vocabulary.model")
    assert (loaded.model, loaded.digest) == (TOKENIZER.model, TOKENIZER.digest)
    assert loaded.vocabulary_size == TOKENIZER.vocabulary_size == 400


def test_dropout_depends_on_the_seed_and_splits_more_the_higher_its_rate():
    lengths = [sum(map(len, TOKENIZER.with_dropout(rate, 0).encode(CORPUS[:500]))) for rate in (0.0, 0.1, 0.3, 0.9)]
    assert lengths == sorted(set(lengths))
    assert lengths[-1] > 2 * lengths[0]
    assert TOKENIZER.with_dropout(0.3, 0).encode(CORPUS[:50]) != TOKENIZER.with_dropout(0.3, 1).encode(CORPUS[:50])
    assert TOKENIZER.with_dropout(0.3, (0, 1)).encode(CORPUS[:50]) != TOKENIZER.with_dropout(0.3, (0, 2)).encode(
        CORPUS[:50]
    )
    assert TOKENIZER.with_dropout(0.3).encode(CORPUS[:50]) != TOKENIZER.with_dropout(0.3).encode(CORPUS[:50])


def test_dropout_has_the_probabilities_of_the_paper():
    # Three characters have two rounds with one possible merge each, which are easy to count by hand.
    tokenizer = train_tokenizer(["ab ab"], 265)
    assert tokenizer._processor.encode("ab", out_type=str) == ["\u2581ab"]
    ids = tokenizer.with_dropout(0.3, 0).encode(["ab"] * 20_000)
    shares = [sum(len(row) == n for row in ids) / len(ids) for n in (3, 2, 1)]
    assert shares == pytest.approx([0.3, 0.7 * 0.3, 0.7 * 0.7], abs=0.015)


def segmentation_by_the_book(word, scores, rate, rng):
    """Implements algorithm 1 of Provilkov et al. (2020) literally."""
    symbols = list(word)
    while True:
        possible = [i for i, pair in enumerate(zip(symbols, symbols[1:])) if "".join(pair) in scores]
        merges = [i for i in possible if rng.random() >= rate]
        if not merges:
            return tuple(symbols)
        best = max(merges, key=lambda i: (scores[symbols[i] + symbols[i + 1]], -i))
        symbols[best : best + 2] = [symbols[best] + symbols[best + 1]]


@pytest.mark.parametrize("rate", [0.2, 0.7])
def test_dropout_follows_the_paper(rate):
    processor = sentencepiece.SentencePieceProcessor(model_proto=TOKENIZER.model)
    scores = {processor.id_to_piece(i): processor.get_score(i) for i in range(260, processor.vocab_size())}
    rng, draws = random.Random(0), 10_000
    expected = [segmentation_by_the_book("\u2581behind", scores, rate, rng) for _ in range(draws)]
    ids = TOKENIZER.with_dropout(rate, 0).encode(["behind"] * draws)
    counts = [Counter(map(tuple, rows)) for rows in (map(processor.id_to_piece, ids), expected)]
    assert len(counts[1]) > 10
    for segmentation in counts[0] | counts[1]:
        a, b = (count[segmentation] / draws for count in counts)
        assert abs(a - b) < 5 * (max(a, b) / draws) ** 0.5 + 2e-3, segmentation


def test_dropout_is_the_same_in_another_process(tmp_path):
    TOKENIZER.save(tmp_path / "model")
    code = (
        f"from zoo.text.tokenizer import *; print(Tokenizer.load('model').with_dropout(0.3, 7).encode({CORPUS[:20]}))"
    )
    command = [sys.executable, "-c", code]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    options = dict(cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    output = subprocess.run(command, **options).stdout
    assert output.strip() == str(TOKENIZER.with_dropout(0.3, 7).encode(CORPUS[:20]))


def test_special_ids_are_absent_from_decoded_text():
    ids = TOKENIZER.encode(["the dog"])[0]
    assert TOKENIZER.decode([[2, *ids, 3, 0, 0], [1, *ids[:0]], [2, ids[0], 0, 1, *ids[1:]]]) == [
        "the dog",
        "",
        "the dog",
    ]
    assert TOKENIZER.decode([]) == []


def test_wrong_arguments_are_explained():
    with pytest.raises(ValueError, match="list of strings.*'the dog'"):
        TOKENIZER.encode("the dog")
    with pytest.raises(ValueError, match=r"\[0, 1\).*dropout=1"):
        TOKENIZER.with_dropout(1)
    with pytest.raises(ValueError, match=r"vocabulary_size=400.*Received: 400"):
        TOKENIZER.decode([[5, 400]])
    with pytest.raises(ValueError, match="vocabulary_size.*Received: -1"):
        TOKENIZER.decode([[-1]])
    with pytest.raises(ValueError, match="sentencepiece model"):
        Tokenizer(b"nonsense")


def test_a_model_with_other_special_ids_is_refused(tmp_path):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS),
        model_writer=model,
        vocab_size=60,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    with pytest.raises(ValueError, match=r"0, 1, 2, 3. Received: \(-1, 0, 1, 2\)"):
        Tokenizer(model.getvalue())


def test_impossible_vocabularies_are_explained():
    with pytest.raises(ValueError, match="above 260.*vocabulary_size=260"):
        train_tokenizer(CORPUS, 260)
    with pytest.raises(ValueError, match="every character.*vocabulary_size=300"):
        train_tokenizer([chr(i) for i in range(0x4E00, 0x4F00)], 300)
    for corpus in ([], ["", ""]):
        with pytest.raises(ValueError, match="not empty"):
            train_tokenizer(corpus, 400)
    with pytest.raises(ValueError, match="max_sentence_bytes=10"):
        train_tokenizer(["a long sentence"], 400, max_sentence_bytes=10)
    with pytest.raises(ValueError, match="above 100, or 0.*max_sentences=100"):
        train_tokenizer(CORPUS, 400, max_sentences=100)
    with pytest.raises(ValueError, match="one string"):
        train_tokenizer("text", 400)
    with pytest.raises(ValueError, match="Received: 3"):
        train_tokenizer(["text", 3], 400)
    assert train_tokenizer(["a b"], 8000).vocabulary_size < 300


def test_errors_of_the_reader_are_raised():
    def reader():
        yield "text"
        raise OSError("disk on fire")

    with pytest.raises(OSError, match="disk on fire"):
        train_tokenizer(reader(), 400)


def test_a_vocabulary_with_a_piece_twice_is_refused(tokenizer):
    assert tokenizer.model.count(b"<0x41>") == 1
    with pytest.raises(ValueError, match="must be the bytes of a sentencepiece model"):
        Tokenizer(tokenizer.model.replace(b"<0x41>", b"<0x42>"))


@pytest.mark.parametrize("pieces", ["subwords", "characters", "bytes"])
@pytest.mark.parametrize("text", ["", " ", "\n", "  two  spaces\n\nand\tmore \n", "Straße 🙂 \x07", "▁"])
def test_whole_texts_are_encoded_as_they_are(pieces, text):
    tokenizer = train_tokenizer(["a text, a text\n", " and more"], 290, pieces=pieces, whole_texts=True)
    (ids,) = tokenizer.encode([text])
    assert tokenizer.whole_texts and tokenizer.decode([ids]) == [text.replace("▁", " ")]
    if pieces == "bytes" and "▁" not in text:
        assert len(ids) == len(text.encode())
    halves = tokenizer.encode([text[:1], text[1:]]) if pieces != "subwords" else [ids]
    assert sum(halves, []) == ids


def test_a_character_of_the_corpus_is_one_piece():
    tokenizer = train_tokenizer(["naïve text"], 400, pieces="characters")
    assert len(tokenizer.encode(["ïtxe"])[0]) == 5  # With the space at the beginning.
    assert not tokenizer.whole_texts


@pytest.mark.parametrize("pieces", ["subwords", "bytes"])
def test_sentinels_are_in_no_text(pieces):
    """They have ids of their own, which no text is encoded as and which are decoded as nothing."""
    tokenizer = train_tokenizer(["one two three <extra_id_1>"] * 9, 300, sentinels=7, pieces=pieces)
    assert tokenizer.sentinels.tolist() == [*range(4, 11)]
    assert [tokenizer.pieces[i] for i in tokenizer.sentinels] == [f"<extra_id_{i}>" for i in range(7)]
    (ids,) = tokenizer.encode(["<extra_id_0> one <extra_id_1>"])
    assert not {*ids} & {*tokenizer.sentinels}
    assert tokenizer.decode([[5, *ids, 4]]) == ["<extra_id_0> one <extra_id_1>"]
    assert not tokenizer.kept_kinds[tokenizer.sentinels].any()
    (sampled,) = tokenizer.with_dropout(0.5, 1).encode(["<extra_id_0> one"])
    assert not {*sampled} & {*tokenizer.sentinels}
    assert not len(train_tokenizer(["one"], 300).sentinels)


def test_sentinels_that_do_not_fit_raise():
    with pytest.raises(ValueError, match="must be above 360 .special ids, bytes and sentinels"):
        train_tokenizer(["one"], 360, sentinels=100)
    with pytest.raises(ValueError, match="`sentinels` must be 0 or more. Received: sentinels=-1"):
        train_tokenizer(["one"], 360, sentinels=-1)
