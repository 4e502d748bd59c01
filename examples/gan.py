"""Trains a small GAN with and without self-attention on its feature maps (SAGAN: Zhang et al. 2019), and compares both.

    python examples/gan.py --data cifar10/train.zip --output runs/gan --minutes 10

Generator and discriminator are convolutional, with spectral normalization and the hinge loss, as in the paper; with
attention, each has one `FeatureMapAttention` where the map has 16 x 16 cells. Both train for the same minutes, from
the same seed. Writes a sheet of images of each, and prints the Frechet distance between 2,000 generated images and as
many real ones, on the features of the shipped classifier `images/cifar10`: a scale of its own, not that of Inception.
"""

import argparse
import pathlib
import time

import keras
import numpy as np
import tensorflow as tf
from keras import layers

import zoo
from keras_transformer import FeatureMapAttention
from zoo.extras import exit_without
from zoo.images.data import open_images

SIZE, NOISE, BATCH, COUNT = 32, 64, 64, 2_000


def main() -> None:
    """Trains both, and prints their distances."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", required=True, help="folder or zip file of images of 32 x 32 pixels, CLASS/FILE")
    parser.add_argument("--output", required=True, help="folder to create, for the sheets")
    parser.add_argument("--minutes", type=float, default=10, help="minutes of training of each, %(default)s by default")
    parser.add_argument("--seed", type=int, default=1, help="%(default)s by default")
    options = parser.parse_args()
    exit_without("This example", "PIL", "scipy")
    folder = pathlib.Path(options.output)
    folder.mkdir(parents=True)
    images = np.stack([example.image for example in open_images(options.data)])
    np.random.default_rng(options.seed).shuffle(images)
    real, rest, features = images[:COUNT], images[COUNT:], Features()
    of_real = features(real)
    print(f"real images beside other real images: {frechet_distance(of_real, features(rest[:COUNT])):.2f}")
    for attention in (False, True):
        name = "with-attention" if attention else "without"
        generator, updates = train(rest, attention, options)
        noise = tf.random.stateless_normal((COUNT, NOISE), (options.seed, 7))
        made = to_pixels(generator.predict(noise, batch_size=256, verbose=0))
        distance = frechet_distance(of_real, features(made))
        print(f"{name}: {generator.count_params():,} parameters of the generator, {updates:,} updates: {distance:.2f}")
        write_sheet(made[:64], folder / f"{name}.png")


def make_generator(attention):
    """Returns a model of noise `[B, NOISE]` whose outputs are images in [-1, 1]."""
    noise = keras.Input((NOISE,))
    x = layers.Reshape((4, 4, 128))(layers.Dense(4 * 4 * 128)(noise))
    for channels in (128, 64, 32):
        x = layers.UpSampling2D()(x)
        x = layers.Conv2D(channels, 3, padding="same", use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
        if attention and channels == 64:
            x = FeatureMapAttention()(x)
    return keras.Model(noise, layers.Conv2D(3, 3, padding="same", activation="tanh")(x))


def make_discriminator(attention):
    """Returns a model of images whose output is high for real ones."""
    images = x = keras.Input((SIZE, SIZE, 3))
    for channels in (32, 64, 128, 128):
        stride = 1 if channels == 32 else 2
        x = layers.SpectralNormalization(layers.Conv2D(channels, 2 + stride, stride, padding="same"))(x)
        x = layers.LeakyReLU(negative_slope=0.1)(x)
        if attention and x.shape[1] == SIZE // 2:
            x = FeatureMapAttention()(x)
    x = layers.SpectralNormalization(layers.Dense(1))(layers.Flatten()(x))
    return keras.Model(images, x)


def train(images, attention, options):
    """Trains for some minutes; returns the generator and the number of updates."""
    keras.utils.set_random_seed(options.seed)
    generator, discriminator = make_generator(attention), make_discriminator(attention)
    of_generator, of_discriminator = (keras.optimizers.Adam(rate, beta_1=0.0, beta_2=0.9) for rate in (2e-4, 4e-4))

    @tf.function
    def update(real):
        noise = tf.random.normal((BATCH, NOISE))
        with tf.GradientTape() as tape:
            fake = generator(noise, training=True)
            scores = discriminator(tf.concat([real, fake], 0), training=True)
            loss = tf.reduce_mean(tf.nn.relu(1 - scores[:BATCH])) + tf.reduce_mean(tf.nn.relu(1 + scores[BATCH:]))
        weights = discriminator.trainable_variables
        of_discriminator.apply(tape.gradient(loss, [weight.value for weight in weights]), weights)
        with tf.GradientTape() as tape:
            loss = -tf.reduce_mean(discriminator(generator(noise, training=True), training=True))
        weights = generator.trainable_variables
        of_generator.apply(tape.gradient(loss, [weight.value for weight in weights]), weights)

    rng, updates = np.random.default_rng(options.seed), 0
    bar = keras.utils.Progbar(round(60 * options.minutes), unit_name="second")
    ends = time.monotonic() + 60 * options.minutes
    while (left := ends - time.monotonic()) > 0:
        update(tf.constant(images[rng.integers(0, len(images), BATCH)] / 127.5 - 1, tf.float32))
        updates += 1
        if updates % 50 == 0:
            bar.update(min(bar.target, round(60 * options.minutes - left)))
    bar.update(bar.target, finalize=True)
    return generator, updates


def to_pixels(images):
    return np.clip((images + 1) * 127.5, 0, 255).astype("uint8")


class Features:
    """Computes features of images, `[N, D]`, by the shipped classifier."""

    def __init__(self):
        self._predictor = zoo.load("images/cifar10")

    def __call__(self, images):
        parts = (self._predictor.model.pooled({"images": part}) for part in np.array_split(images, 50))
        return np.concatenate([keras.ops.convert_to_numpy(part) for part in parts]).astype("float64")


def frechet_distance(one, other):
    """Computes the distance of two normal distributions with the moments of features (Heusel et al. 2017, eq. 6)."""
    from scipy.linalg import sqrtm

    apart = one.mean(0) - other.mean(0)
    covariances = [np.cov(features, rowvar=False) for features in (one, other)]
    root = sqrtm(covariances[0] @ covariances[1]).real
    return float(apart @ apart + np.trace(covariances[0] + covariances[1] - 2 * root))


def write_sheet(images, path):
    """Writes images as a square sheet, in twice their size."""
    from PIL import Image

    side = int(len(images) ** 0.5)
    sheet = images.reshape(side, side, SIZE, SIZE, 3).transpose(0, 2, 1, 3, 4).reshape(side * SIZE, side * SIZE, 3)
    Image.fromarray(sheet).resize((2 * side * SIZE, 2 * side * SIZE), Image.NEAREST).save(path)


if __name__ == "__main__":
    main()
