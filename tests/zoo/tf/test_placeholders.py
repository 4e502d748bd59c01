"""The graph replaces what Python replaces."""

import random

import pytest

tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed")
pytest.importorskip("tensorflow_text", reason="tensorflow-text is not installed")

from zoo.text import placeholders  # noqa: E402
from zoo.text.placeholders import placeholder  # noqa: E402
from zoo.tf.placeholders import hide, restore  # noqa: E402

PARTS = [
    *(
        "a",
        "B",
        "1",
        "23",
        " ",
        " ",
        ".",
        ",",
        "@",
        "/",
        "-",
        ":",
        "(",
        ")",
        "é",
        "ß",
        "中",
        "🙂",
        "\n",
        "+49 ",
        "h",
        "m",
    ),
    *"<>_={}%&;s",
    *(
        "<b>",
        "</p >",
        "www.",
        "https://",
        "a@b.org",
        "B12",
        "AX-4471",
        "15h30",
        "192.168.0.1",
        "#x",
        "[",
        "]",
        placeholder(1),
        "…",
    ),
]


def some_texts(count=400):
    rng = random.Random(1)
    return ["", "AX-4471", *("".join(rng.choices(PARTS, k=rng.randrange(1, 16))) for _ in range(count))]


def test_texts_are_hidden_and_restored_as_in_python():
    texts = some_texts()
    expected, kept = zip(*map(placeholders.hide, texts))
    found, found_kept = tf.function(hide)(tf.constant(texts))
    assert [text.decode() for text in found.numpy()] == list(expected)
    assert [[text.decode() for text in row] for row in found_kept.to_list()] == list(kept)
    shuffled = ["x" + text[::-1] + placeholder(2) for text in expected]
    restored = tf.function(restore)(tf.constant(shuffled), found_kept)
    assert [text.decode() for text in restored.numpy()] == [*map(placeholders.restore, shuffled, kept)]


def test_more_than_the_most_are_left():
    text = " ".join(f"A{i}" for i in range(placeholders.MOST + 3))
    found, kept = hide(tf.constant([text, "no"]))
    assert found.numpy()[0].decode() == placeholders.hide(text)[0]
    assert kept.row_lengths().numpy().tolist() == [placeholders.MOST, 0]


def test_no_text_at_all():
    found, kept = hide(tf.zeros([0], tf.string))
    assert restore(found, kept).shape == (0,)
