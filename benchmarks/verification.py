"""Which promises hold: `keras_transformer.verify` on the same models built from three libraries' layers.

    python benchmarks/verification.py [--details]

An encoder that labels each token, and a translator: token ids to logits, two layers, 32 wide, random weights, sentences
of up to 300 tokens, `mask_zero=True` in all embeddings. Positions are sinusoids, in KerasHub TokenAndPositionEmbedding
unless told.
"""

import argparse

import keras
import numpy as np

import keras_transformer
from keras_transformer import verify
from zoo.extras import exit_without

VOCABULARY, WIDTH, HEADS, INNER, LAYERS = 50, 32, 4, 64, 2
RATES = (10_000.0 ** -(np.arange(0, WIDTH, 2) / WIDTH)).astype("float32")


def ours_encoder():
    ids = keras.Input((None,), dtype="int32")
    x = keras_transformer.PositionalEncoding()(keras_transformer.TokenEmbedding(VOCABULARY, WIDTH)(ids))
    x = keras_transformer.Encoder(num_layers=LAYERS, num_heads=HEADS, intermediate_dim=INNER)(x)
    return keras.Model(ids, keras.layers.Dense(7)(x))


def ours_translator():
    def embedded(ids):
        return keras_transformer.PositionalEncoding()(keras_transformer.TokenEmbedding(VOCABULARY, WIDTH)(ids))

    source, target = (keras.Input((None,), dtype="int32", name=name) for name in ("source", "target"))
    sizes = {"num_layers": LAYERS, "num_heads": HEADS, "intermediate_dim": INNER}
    x = keras_transformer.Decoder(**sizes)(embedded(target), keras_transformer.Encoder(**sizes)(embedded(source)))
    return keras.Model({"source": source, "target": target}, keras.layers.Dense(VOCABULARY)(x))


@keras.saving.register_keras_serializable("benchmarks")
class Positions(keras.layers.Layer):
    """Sinusoids, which Keras has no layer for; in float32 until they are added."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, x):
        angles = keras.ops.arange(keras.ops.shape(x)[1], dtype="float32")[:, None] * RATES
        return x + keras.ops.cast(keras.ops.concatenate([keras.ops.sin(angles), keras.ops.cos(angles)], -1), x.dtype)


def keras_block(x, memory=None):
    """A post-norm block of `keras.layers`, as Keras's tutorials write it."""
    layers = keras.layers
    attention = layers.MultiHeadAttention(HEADS, WIDTH // HEADS)
    x = layers.LayerNormalization()(layers.Add()([x, attention(x, x, use_causal_mask=memory is not None)]))
    if memory is not None:
        attention = layers.MultiHeadAttention(HEADS, WIDTH // HEADS)
        x = layers.LayerNormalization()(layers.Add()([x, attention(x, memory)]))
    inner = layers.Dense(WIDTH)(layers.Dense(INNER, activation="relu")(x))
    return layers.LayerNormalization()(layers.Add()([x, inner]))


def keras_embedded(ids):
    return Positions()(keras.layers.Embedding(VOCABULARY, WIDTH, mask_zero=True)(ids))


def keras_encoder():
    ids = keras.Input((None,), dtype="int32")
    x = keras_embedded(ids)
    for _ in range(LAYERS):
        x = keras_block(x)
    return keras.Model(ids, keras.layers.Dense(7)(x))


def keras_translator():
    source, target = (keras.Input((None,), dtype="int32", name=name) for name in ("source", "target"))
    memory, x = keras_embedded(source), keras_embedded(target)
    for _ in range(LAYERS):
        memory = keras_block(memory)
    for _ in range(LAYERS):
        x = keras_block(x, memory)
    return keras.Model({"source": source, "target": target}, keras.layers.Dense(VOCABULARY)(x))


def hub_embedded(ids):
    from keras_hub.layers import TokenAndPositionEmbedding

    return TokenAndPositionEmbedding(VOCABULARY, 320, WIDTH, mask_zero=True)(ids)


def hub_sinusoids(ids):
    from keras_hub.layers import SinePositionEncoding

    x = keras.layers.Embedding(VOCABULARY, WIDTH, mask_zero=True)(ids)
    return keras.layers.Add()([x, SinePositionEncoding()(x)])


def hub_encoder(embedded=hub_embedded):
    from keras_hub.layers import TransformerEncoder

    ids = keras.Input((None,), dtype="int32")
    x = embedded(ids)
    for _ in range(LAYERS):
        x = TransformerEncoder(INNER, HEADS)(x)
    return keras.Model(ids, keras.layers.Dense(7)(x))


def hub_translator():
    from keras_hub.layers import TransformerDecoder, TransformerEncoder

    source, target = (keras.Input((None,), dtype="int32", name=name) for name in ("source", "target"))
    memory, x = hub_embedded(source), hub_embedded(target)
    for _ in range(LAYERS):
        memory = TransformerEncoder(INNER, HEADS)(memory)
    for _ in range(LAYERS):
        x = TransformerDecoder(INNER, HEADS)(x, memory)
    return keras.Model({"source": source, "target": target}, keras.layers.Dense(VOCABULARY)(x))


MODELS = {
    "ours, encoder": ours_encoder,
    "ours, translator": ours_translator,
    "keras.layers, encoder": keras_encoder,
    "keras.layers, translator": keras_translator,
    "KerasHub, encoder": hub_encoder,
    "KerasHub, its sinusoids": lambda: hub_encoder(hub_sinusoids),
    "KerasHub, translator": hub_translator,
}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--details", action="store_true", help="the table of each model too")
    options = arguments.parse_args()
    exit_without("This benchmark", "keras_hub")
    rng = np.random.default_rng(1)
    source, target = (rng.integers(1, VOCABULARY, (3, 300)) for _ in range(2))
    source[0, 11:] = source[1, 200:] = target[1, 7:] = target[2, 250:] = 0
    columns = {}
    for name, make in MODELS.items():
        keras.utils.set_random_seed(1)
        model = make()
        translates = len(model.inputs) > 1
        inputs = {"source": source, "target": target} if translates else source
        columns[name] = verify(model, inputs, causal="target" if translates else None, show=False)
        if options.details:
            print(f"{name}\n{columns[name]}\n")
    print("|".join(["", "promise", *columns, ""]))
    print("|".join(["", "---", *["---"] * len(columns), ""]))
    for row in zip(*(report.findings for report in columns.values())):
        cells = [
            found.result if found.difference is None else f"{found.result} {found.difference:.0e}" for found in row
        ]
        print("|".join(["", row[0].probe, *cells, ""]))


if __name__ == "__main__":
    main()
