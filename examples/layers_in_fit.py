"""The layers in a functional Keras model with `model.fit`: in which language is this number written?

    pip install num2words
    python examples/layers_in_fit.py

Number words of seven related languages, made by the library num2words and read letter by letter, have different
lengths; the padding mask made by the embedding travels through the encoder to the pooling by itself. The test
numbers are never seen in training. `--smoke` takes seconds and only shows that everything runs.
"""

import argparse
import random

import keras
import numpy as np
from num2words import num2words

from keras_transformer import Encoder, PositionalEncoding

LANGUAGES = ["da", "de", "en", "es", "fr", "it", "nl"]
LONGEST = 64


def make_model():
    letters = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(384, 64, mask_zero=True)(letters)
    x = PositionalEncoding()(x)
    x = Encoder(num_layers=2, num_heads=4, intermediate_dim=128, dropout=0.1)(x)
    x = keras.layers.GlobalAveragePooling1D()(x)
    return keras.Model(letters, keras.layers.Dense(len(LANGUAGES), activation="softmax")(x))


def encode(texts):
    ids = np.zeros((len(texts), LONGEST), "int32")  # 0 is padding.
    for row, text in zip(ids, texts):
        row[: len(text)] = [ord(letter) for letter in text[:LONGEST]]
    return ids


def examples(numbers):
    labels = np.arange(len(numbers)) % len(LANGUAGES)
    texts = [num2words(n, lang=LANGUAGES[label]) for n, label in zip(numbers, labels)]
    return encode(texts), labels


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="a few steps, to see that it runs")
    smoke = parser.parse_args().smoke
    keras.utils.set_random_seed(1)

    numbers = random.Random(1).sample(range(10_000), 200 if smoke else 8_000)
    held_out = len(numbers) // 4
    model = make_model()
    model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(*examples(numbers[held_out:]), batch_size=64, epochs=1 if smoke else 5, verbose=2)

    _, accuracy = model.evaluate(*examples(numbers[:held_out]), verbose=0)
    print(f"accuracy on {held_out:,} numbers never seen: {100 * accuracy:.1f} %")
    texts = ["twenty-one", "einundzwanzig", "vingt et un", "ventuno", "enogtyve"]
    for text, probabilities in zip(texts, model.predict(encode(texts), verbose=0)):
        print(f"{text:14} {LANGUAGES[probabilities.argmax()]} ({probabilities.max():.2f})")


if __name__ == "__main__":
    main()
