"""The graph finds the names, and makes the choices, of Python."""

import random

import pytest

tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed")
pytest.importorskip("tensorflow_text", reason="tensorflow-text is not installed")

from zoo.text import known_words  # noqa: E402
from zoo.text.placeholders import MOST, hide  # noqa: E402
from zoo.tf import placeholders  # noqa: E402
from zoo.tf.known_words import KnownWords  # noqa: E402
from zoo.translation.decoding import hide_names  # noqa: E402

WORDS = "the queen met élan ärger straße łódź οδός"
PARTS = ["the", "The", "QUEEN", "élan", "Élan", "ÄRGER", "Ärger", "Straße", "ŁÓDŹ", "ΟΔΌΣ", "Sunniva", "Zoë", "sunniva"]
PARTS += ["Siebzehn", "Ärger-Élan", "The-Queen", "Xyz-Zoë", "the-Queen", "Q-Xyz", "Queen-", "-"]
PARTS += ["Mrs. Queen", "Frau Élan", "Herr Präsident", "Herr Dr. Met", "M. The-Queen", "Mr. The's", "Mr.", "\ufdd4The"]
PARTS += ["Q", "Xyz", "B12", "www.Xyz.org", "中Xyz", "X-Ray", "O'Brien", "McGee", "1Xa", "İzmir", "", "🙂", "a@b.org"]


@pytest.fixture(scope="module")
def known():
    return KnownWords(WORDS)


def some_texts(count, seed):
    rng = random.Random(seed)
    texts = [rng.choice((" ", " ", ", ")).join(rng.choices(PARTS, k=rng.randrange(7))) for _ in range(count)]
    return ["", *texts, "Xyz " * (MOST + 2), "B12 " * MOST + "Xyz", "B12 " * (MOST - 1) + "Xyz Sunniva"]


def test_names_are_hidden_as_in_python(known):
    texts = some_texts(300, 1)
    expected = hide_names([hide(text) for text in texts], known_words.KnownWords(WORDS))
    numbers, hidden, kept = known.hide_names(*placeholders.hide(tf.constant(texts)))
    assert numbers.numpy().tolist() == expected[0] and len(expected[0]) > 100
    assert [text.decode() for text in hidden.numpy()] == [text for text, _ in expected[1]]
    assert [[part.decode() for part in row] for row in kept.to_list()] == [row for _, row in expected[1]]


def test_no_text_has_no_name(known):
    numbers, hidden, kept = known.hide_names(*placeholders.hide(tf.constant([], tf.string)))
    assert numbers.shape == hidden.shape == (0,) and kept.nrows() == 0
    assert known.choose(tf.constant([], tf.string), numbers, tf.constant([], tf.string), tf.constant([])).shape == (0,)


def test_choices_are_those_of_python(known):
    rng, python = random.Random(2), known_words.KnownWords(WORDS)
    sources = [text for text in some_texts(400, 3) if len(text) < 100]
    numbers = [i for i in range(len(sources)) if rng.random() < 0.9]
    shuffled = [" ".join(rng.sample(text.split(), len(text.split()))) for text in sources]
    plain = [" ".join(rng.choices((word, "met", "zorp"), (6, 2, 1))[0] for word in text.split()) for text in shuffled]
    kept = [shuffled[i] if rng.random() < 0.7 else plain[i] for i in numbers]
    scores = [rng.uniform(-4, 0) for _ in plain + kept]
    expected = list(range(len(sources)))
    for row, i in enumerate(numbers):
        other = len(sources) + row
        if python.prefers_kept(sources[i], (plain[i], scores[i]), (kept[row], scores[other])):
            expected[i] = other
    rows = tf.constant(numbers, tf.int64)
    found = known.choose(tf.constant(sources), rows, tf.constant(plain + kept), tf.constant(scores))
    changed = sum(i != number for i, number in enumerate(expected))
    assert found.numpy().tolist() == expected and 20 < changed < len(numbers) - 20


def test_letters_are_lowered_as_in_python(known):
    """Of the alphabets that names are found in."""
    letters = [c for c in map(chr, range(0x530)) if c.isalpha()]
    lowered = tf.strings.lower(tf.constant(letters), encoding="utf-8").numpy()
    assert [low.decode() for low in lowered] == [c.lower() for c in letters]
