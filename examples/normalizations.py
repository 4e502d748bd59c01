"""Normalisations compared: post-norm, pre-norm, RMSNorm and PowerNorm in the same small model, and their loss curves.

    python examples/normalizations.py --output normalizations.svg

A causal encoder of four layers writes numbers as German words: "4711=" is followed by "viertausendsiebenhundertelf".
The words are made by the library num2words. Seed, batches and learning rates, which are constant unless the name says
"warm-up", are the same for all. `exact` is the share of numbers never seen in training of which each letter is
predicted right. Two CPU cores take three minutes; `--smoke` takes seconds and only shows that everything runs.
Sample output:

                            rate  loss of the last steps    exact
    post-norm              0.001                  0.0659   58.4 %
    post-norm, warm-up     0.001                  0.0787   49.8 %
    pre-norm               0.001                  0.0400   73.4 %
    pre-norm, RMSNorm      0.001                  0.0443   67.0 %
    pre-norm, PowerNorm    0.001                  0.0451   68.0 %
    post-norm              0.005                  0.0689   50.0 %
    post-norm, warm-up     0.005                  0.0349   73.0 %
    pre-norm               0.005                  0.0417   73.2 %
    pre-norm, RMSNorm      0.005                  0.0451   73.2 %
    pre-norm, PowerNorm    0.005                  0.0309   79.6 %
"""

import argparse
import random

import keras
import numpy as np

from keras_transformer import (
    Encoder,
    EncoderBlock,
    PositionalEncoding,
    PowerNormalization,
    Residual,
    TokenEmbedding,
)
from keras_transformer.layers.normalization import LayerNormalization
from keras_transformer.training import InverseSquareRoot, TokenCrossEntropy
from zoo.extras import exit_without

WARMUP_STEPS = 100  # Of the learning rate, and of the statistics of PowerNorm.
RATES = 0.001, 0.005
BATCH, STEPS_PER_POINT = 32, 10
LETTERS = "0123456789=abcdefghijklmnopqrstuvwxyzäöüß."  # "." ends a number; id 0 is padding.


class ShortPowerNormalization(PowerNormalization):
    def __init__(self, epsilon, **kwargs):
        super().__init__(epsilon, warmup_steps=WARMUP_STEPS, **kwargs)


WAYS = {
    "post-norm": (LayerNormalization, False),
    "post-norm, warm-up": (LayerNormalization, False),
    "pre-norm": (LayerNormalization, True),
    "pre-norm, RMSNorm": (keras.layers.RMSNormalization, True),
    "pre-norm, PowerNorm": (ShortPowerNormalization, True),
}


def make_model(num_layers, normalization, normalize_first):
    class OwnResidual(Residual):
        normalization_class = normalization

    class Block(EncoderBlock):
        residual_class = OwnResidual

    class Stack(Encoder):
        block_class = Block

    keras.utils.set_random_seed(1)
    ids = keras.Input((None,), dtype="int32")
    x = PositionalEncoding()(TokenEmbedding(len(LETTERS) + 1, 64)(ids))
    x = Stack(num_layers, num_heads=4, intermediate_dim=256, normalize_first=normalize_first)(x, use_causal_mask=True)
    return keras.Model(ids, keras.layers.Dense(len(LETTERS) + 1)(x))


def encode(numbers):
    """Returns ids `[rows, T]` and the letter that follows each, 0 where it is not to be predicted."""
    from num2words import num2words

    texts = [f"{n}={num2words(n, lang='de')}." for n in numbers]
    ids = np.zeros((len(texts), max(map(len, texts))), "int32")
    for row, text in zip(ids, texts):
        row[: len(text)] = [LETTERS.index(letter) + 1 for letter in text]
    labels = np.where(np.cumsum(ids == LETTERS.index("=") + 1, axis=1) > 0, np.roll(ids, -1, axis=1), 0)
    labels[:, -1] = 0
    return ids, labels


def draw(curves, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rates = sorted({rate for _, rate in curves})
    size = {"figsize": (9, 3.5), "sharey": True, "squeeze": False}
    figure, [panels] = pyplot.subplots(1, len(rates), **size, layout="constrained")
    for panel, rate in zip(panels, rates):
        for name in WAYS:
            losses = curves[name, rate]
            panel.plot((np.arange(len(losses)) + 1) * STEPS_PER_POINT, losses, label=name)
        panel.set(title=f"learning rate {rate}", xlabel="training steps", yscale="log")
    panels[0].set_ylabel("cross entropy of a letter")
    panels[0].legend(fontsize="small")
    figure.savefig(path, metadata={"Date": None} if str(path).endswith(".svg") else None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", default="normalizations.svg", help="the picture, SVG or PNG")
    parser.add_argument("--points", type=int, default=30, help=f"of each curve, {STEPS_PER_POINT} training steps each")
    parser.add_argument("--smoke", action="store_true", help="two points of one layer, to see that it runs")
    options = parser.parse_args()
    exit_without("This example", "num2words", "matplotlib")
    points, rates, layers = (2, RATES[-1:], 1) if options.smoke else (options.points, RATES, 4)
    numbers = random.Random(1).sample(range(10_000), 10_000)
    test_ids, test_labels = encode(numbers[:500])
    ids, labels = encode(numbers[500:])
    rows = np.random.default_rng(1).integers(0, len(ids), points * STEPS_PER_POINT * BATCH)

    curves = {}
    print(f"{'':20}{'rate':>8}{'loss of the last steps':>24}{'exact':>9}")
    for rate in rates:
        for name, way in WAYS.items():
            model = make_model(layers, *way)
            schedule = InverseSquareRoot(rate, WARMUP_STEPS) if "warm-up" in name else rate
            model.compile(keras.optimizers.Adam(schedule, beta_2=0.98), TokenCrossEntropy())
            # An "epoch" of a few steps for each point of the curve.
            steps = {"batch_size": BATCH, "steps_per_epoch": STEPS_PER_POINT, "epochs": points, "shuffle": False}
            losses = curves[name, rate] = model.fit(ids[rows], labels[rows], **steps, verbose=0).history["loss"]
            found = model.predict(test_ids, batch_size=len(test_ids), verbose=0).argmax(-1)
            exact = np.mean(np.all((found == test_labels) | (test_labels == 0), axis=1))
            print(f"{name:20}{rate:8}{losses[-1]:24.4f}{100 * exact:7.1f} %", flush=True)
    draw(curves, options.output)


if __name__ == "__main__":
    main()
