"""Words in capitals are encoded as small letters between markers, and decoded again, in Python and in a graph."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_vocabulary import WORDS

from zoo.text.case_markup import BEGIN, END, capitals, mark_capitals, restore_capitals
from zoo.text.tokenizer_training import train_tokenizer

CORPUS = [f"{a} {b} {c}." for a in WORDS for b in WORDS[::3] for c in WORDS[::5]]
PYTHON = train_tokenizer([*CORPUS, *map(str.upper, CORPUS[::10])], 500, case_markup=True, split_digits=True)

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\u2581\ufdd1\ufdd2\ufdd3"), max_size=30)
SHOUTED = st.text('ABÄßẞ éİIiı .,!"12\n日', max_size=20)
TEXTS = TEXT | SHOUTED | st.lists(st.sampled_from([*WORDS, *map(str.upper, WORDS), "(", ")"])).map(" ".join)


@settings(max_examples=500, deadline=None)
@given(TEXTS)
def test_restoring_inverts_marking(text):
    assert restore_capitals(mark_capitals(text)) == text
    rows = [*PYTHON.encode([text]), *PYTHON.with_dropout(0.3, 1).encode([text])]
    assert PYTHON.decode(rows) == [text, text]


@pytest.mark.parametrize(
    "text, marked",
    [
        ("WHERE IS IT?", "{ where is it}?"),
        ("He said: STOP IT, now!", "He said: { stop it}, now!"),
        ('"NO"', '" {no}"'),
        ("Tom is in the USA", "Tom is in the { usa}"),
        ("McDONALD and Mr. T", "Mc {donald} and Mr. T"),
        ("A. B. Smith is IN Rome", "A. B. Smith is { in} Rome"),
        ("WIE HEI\u1e9eT DAS?", "{ wie hei\xdft das}?"),
    ],
)
def test_words_of_several_capitals_are_marked(text, marked):
    assert mark_capitals(text).replace(BEGIN, "{").replace(END, "}") == marked


def test_words_in_capitals_have_the_subwords_of_small_letters():
    word = WORDS[0].lower()
    (begin, *small, end), plain = PYTHON.encode([word.upper(), word])
    assert small == plain and PYTHON.decode([[begin, *small]]) == [word.upper()], "the end marker may be left out"
    assert PYTHON.decode([[*small, end]]) == [word]


def test_reserved_code_points_are_replaced():
    assert mark_capitals("a\ufdd1b\ufdd2c\ufdd3") == "a\ufffdb\ufffdc\ufffd"


def test_spans_of_words_in_capitals():
    words, spans = PYTHON.words(PYTHON.encode(['THE DOG ran. "YES" AND no'])[0])
    assert words == ["THE", "DOG", "ran.", '"YES"', "AND", "no"]
    assert [first for first, _ in spans[1:]] == [last for _, last in spans[:-1]]


def test_digits_are_pieces_of_their_own():
    pieces = [PYTHON.decode([[i]])[0] for i in PYTHON.encode(["dog 2048"])[0]]
    assert [piece for piece in pieces if piece][-4:] == ["2", "0", "4", "8"]


def test_markup_needs_capitals():
    with pytest.raises(ValueError, match="`case_markup` is for vocabularies with capitals"):
        train_tokenizer(CORPUS, 500, case_markup=True, lowercase=True)


def test_the_graph_equals_python():
    tf = pytest.importorskip("tensorflow")
    tokenizers = pytest.importorskip("zoo.tf.tokenizers", reason="tensorflow-text", exc_type=ImportError)
    graph, texts = tokenizers.GraphTokenizer(PYTHON), []

    @settings(max_examples=400, database=None, derandomize=True)
    @given(TEXTS)
    def collect(text):
        texts.append(text.replace("\0", ""))

    collect()
    rows = PYTHON.encode(texts)
    encoded = tf.function(graph.encode)(tf.constant(texts))
    assert encoded.to_list() == rows
    numbers = tf.function(graph.word_numbers)(encoded).to_list()
    for row, found in zip(rows, numbers, strict=True):
        assert found == [word for word, (first, last) in enumerate(PYTHON.words(row)[1]) for _ in range(first, last)]
    shuffled = [row[::-1] for row in rows]  # Markers in any order, as a model may give them.
    for ids in (rows, shuffled):
        found = [text.decode() for text in graph.decode(tf.ragged.constant(ids, dtype="int32")).numpy()]
        assert found == [text.encode(errors="replace").decode() for text in PYTHON.decode(ids)]


def test_capitals_lead_back_to_small_letters():
    assert capitals("heißt") == "HEIẞT" and capitals("heißt").lower() == "heißt"
