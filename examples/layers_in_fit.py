"""The layers in a functional Keras model with `model.fit`: are the brackets of a string balanced?

    python examples/layers_in_fit.py

Strings of round and square brackets, half of them balanced, half with two of their brackets exchanged, have
different lengths; the padding mask made by the embedding travels through the encoder to the pooling by itself.
Two CPU cores take about a minute; `--smoke` takes seconds. Sample output:

    accuracy on 2,000 new strings: 65.5 %
    ([]()[[]])     balanced: 0.58
    ([]()[[)]]     balanced: 0.58

Six epochs are the beginning of learning this: nesting is hard for two layers.
"""

import argparse
import random

import keras
import numpy as np

from keras_transformer import Encoder, PositionalEncoding

LETTERS = {letter: i for i, letter in enumerate("()[]", start=1)}  # 0 is padding.
LONGEST = 24


def make_model():
    ids = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(1 + len(LETTERS), 64, mask_zero=True)(ids)
    x = PositionalEncoding()(x)
    x = Encoder(num_layers=2, num_heads=4, intermediate_dim=128, dropout=0.0, normalize_first=True)(x)
    x = keras.layers.GlobalAveragePooling1D()(x)
    return keras.Model(ids, keras.layers.Dense(1, activation="sigmoid")(x))


def balanced(rng, length):
    if not length:
        return ""
    inside = rng.randrange(0, length, 2)
    left, right = rng.choice(["()", "[]"])
    return left + balanced(rng, inside) + right + balanced(rng, length - inside - 2)


def exchanged(rng, text):
    """The text with two different brackets exchanged, such that it is balanced no more."""
    while True:
        i, j = rng.sample(range(len(text)), 2)
        letters = list(text)
        letters[i], letters[j] = letters[j], letters[i]
        if not is_balanced("".join(letters)):
            return "".join(letters)


def is_balanced(text):
    while "()" in text or "[]" in text:
        text = text.replace("()", "").replace("[]", "")
    return not text


def encode(texts):
    ids = np.zeros((len(texts), LONGEST), "int32")
    for row, text in zip(ids, texts):
        row[: len(text)] = [LETTERS[letter] for letter in text]
    return ids


def examples(rng, count):
    good = [balanced(rng, rng.randrange(6, LONGEST + 1, 2)) for _ in range(count)]
    labels = np.arange(count) % 2
    texts = [text if label else exchanged(rng, text) for text, label in zip(good, labels)]
    return encode(texts), labels


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="a few steps, to see that it runs")
    smoke = parser.parse_args().smoke
    keras.utils.set_random_seed(1)
    rng = random.Random(1)

    x, y = examples(rng, 64 if smoke else 20_000)
    model = make_model()
    model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="binary_crossentropy", metrics=["accuracy"])
    model.fit(x, y, batch_size=64, epochs=1 if smoke else 6, verbose=2)

    x, y = examples(rng, 64 if smoke else 2000)
    _, accuracy = model.evaluate(x, y, verbose=0)
    print(f"accuracy on {len(x):,} new strings: {100 * accuracy:.1f} %")
    texts = ["([]()[[]])", "([]()[[)]]"]
    for text, probability in zip(texts, model.predict(encode(texts), verbose=0)[:, 0]):
        print(f"{text:14} balanced: {probability:.2f}")


if __name__ == "__main__":
    main()
