"""The predictor of classes of images."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from keras import ops

from zoo.corpora.image_rows import ImageRows
from zoo.image_config import ImageClassifierConfig
from zoo.images.decoding import fit_image, read_image
from zoo.models.image_classifier import ImageClassifier
from zoo.serving.calibrated_predictor import CalibratedPredictor
from zoo.serving.predictor import Progress, raise_mismatch
from zoo.text.checks import check_same_length, numbers_of

_TOLERANCE = 0.02  # Of probabilities: TensorFlow and Pillow decode and resize with other rounding.


class ImagePredictor(CalibratedPredictor):
    """Classifies images with a `zoo.models.image_classifier.ImageClassifier`.

    Args:
        model, card: As for `Predictor`. There is no vocabulary.
        labels: Names of the classes.
        batch_images: Maximum number of images in one call of the model.
        temperature: See `CalibratedPredictor`.
        mirrored: Whether the logits of an image are the means of those of the image and of its mirror image, which
            takes twice the time; for pictures where left and right mean nothing (Krizhevsky et al. 2012, section 4.1,
            with ten patches). An attribute, saved with the checkpoint.

    Raises:
        ValueError: If the labels are not as many as the classes of the model.
    """

    task, model_class, config_class = "images", ImageClassifier, ImageClassifierConfig
    searched_with = ("mirrored",)
    settings = ("labels", "temperature", *searched_with)
    has_vocabulary, max_bytes = False, 20_000_000

    def __init__(
        self,
        model: ImageClassifier,
        tokenizer: None = None,
        labels: Sequence[str] = (),
        card: dict | None = None,
        batch_images: int = 64,
        temperature: float = 1.0,
        mirrored: bool = False,
    ):
        super().__init__(model, tokenizer, card)
        if model.config.num_classes != len(labels):
            raise ValueError(
                f"There must be a label for each of the {model.config.num_classes} classes of the model. Received: "
                f"{len(labels)} labels. Use those of the same training run."
            )
        self.labels, self.batch_images, self.temperature = list(labels), batch_images, temperature
        self.mirrored = mirrored

    @property
    def mirrored(self) -> bool:
        """Whether logits are means over the image and its mirror image.

        Raises:
            ValueError: If it is set to something else than True or False.
        """
        return self._mirrored

    @mirrored.setter
    def mirrored(self, value: bool):
        if value not in (True, False):
            raise ValueError(f"`mirrored` must be True or False. Received: mirrored={value!r}.")
        self._mirrored = bool(value)
        self._compiled.clear()  # Compiled functions compute one or the other.

    def classify(self, images: Sequence[Any], progress: Progress = None) -> list[tuple[str, float]]:
        """Predicts the class of each image; returns (class, probability) for each.

        Args:
            images: List of paths, of the bytes of files, or of arrays uint8 `[H, W, 3]`, of any sizes.
            progress: Called with the number of images done since the last call.

        Raises:
            ValueError: If one is no image; the message contains its path.
        """
        probabilities = self.probabilities(images, progress)
        return [(self.labels[row.argmax()], float(row.max())) for row in probabilities]

    def probabilities(self, images: Sequence[Any], progress: Progress = None) -> np.ndarray:
        """Computes the probability of each class, float32 `[N, C]`, in the order of `labels`; see `classify`."""
        if isinstance(images, (str, bytes)):
            raise ValueError(f"`images` must be a list. Received: {images[:40]!r}. Put it into a list.")
        found = [np.zeros((0, len(self.labels)), "float32")]
        for start in range(0, len(images), self.batch_images):
            chunk = self.rows(images[start : start + self.batch_images])
            fill = self.rounded(len(chunk)) - len(chunk)
            padded = np.pad(chunk, ((0, fill), (0, 0), (0, 0), (0, 0)))
            found.append(ops.convert_to_numpy(self.compiled(self.softmax)(padded))[: len(chunk)])
            if progress is not None:
                progress(len(chunk))
        return np.concatenate(found)

    def attention(self, images: Sequence[Any]) -> np.ndarray:
        """Computes how much each cell of an image counts, float32 `[N, rows, columns]`: attention rollout."""
        return ops.convert_to_numpy(self.model.attention_rollout(self.rows(images)))

    def rows(self, images: Sequence[Any]) -> np.ndarray:
        """Reads images and resizes them to those of the model, uint8 `[N, H, W, 3]`; see `fit_image`."""
        size = self.model.config.image_size
        fitted = [fit_image(read_image(image), size, size) for image in images]
        return np.stack(fitted) if fitted else np.zeros((0, size, size, 3), "uint8")

    def softmax(self, images):
        """Computes float32 probabilities `[B, C]` of images `[B, H, W, 3]`, without compilation."""
        logits = self.model({"images": images}, training=False)
        if self.mirrored:
            logits = (logits + self.model({"images": ops.flip(images, axis=2)}, training=False)) / 2
        return self.calibrated(logits)

    def encode_examples(self, images: Sequence[Any], labels: Sequence[str]) -> ImageRows:
        """Reads images, and encodes their labels."""
        check_same_length(images=images, labels=labels)
        return ImageRows(self.rows(images), np.array(numbers_of(labels, self.labels), "int32"))

    def _make_service(self, limits):
        from zoo.tf.image_service import ImageService

        return ImageService(self, limits)

    def _check_signature(self, limits, signature):
        import tensorflow as tf

        size = self.model.config.image_size
        noise = np.random.default_rng(0).integers(0, 256, (size, size, 3), "uint8")
        smooth = np.linspace(0, 255, 4 * size * size * 6, dtype="uint8").reshape(2 * size, 4 * size, 3)
        files = [tf.io.encode_png(image).numpy() for image in (noise, smooth)]
        found = signature(image=tf.constant(files))["probabilities"].numpy()
        expected = self.probabilities(files)
        if not np.allclose(found, expected, rtol=0, atol=_TOLERANCE):
            raise_mismatch("model for images", "two images", expected.max(1), found.max(1))
