"""The predictor of objects of images."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from keras import ops

from zoo.corpora.box_rows import BoxRows, fit_objects, fit_to_canvas, padded_objects
from zoo.corpora.stacked_images import stack_images
from zoo.detection.metrics import Found
from zoo.detection_config import DetectorConfig
from zoo.images.decoding import read_image
from zoo.models.detector import Detector
from zoo.serving.predictor import Predictor, Progress, raise_mismatch
from zoo.text.checks import check_same_length, numbers_of

_TOLERANCE = 0.02  # Of scores, and of boxes as shares of an image: TensorFlow and Pillow resize with other rounding.


def encode_objects(
    examples: Iterable[tuple[np.ndarray, Sequence]], config: DetectorConfig, labels: Sequence[str] | None = None
) -> tuple[BoxRows, list[str]]:
    """Resizes images to those of a model, and encodes their objects, those ignored left out.

    Args:
        examples: Pairs of an image and its objects, as of `zoo.detection.data`.
        config: Sizes of the model.
        labels: Names of the classes; by default those of the objects, in order.

    Returns:
        The rows, and the names of the classes.

    Raises:
        ValueError: If an object has another label.
    """
    sizes, names, boxes = [], [], []
    rows, columns = config.image_rows, config.image_columns

    def canvases():
        for image, objects in examples:
            kept = [item for item in objects if not item.ignored]
            canvas, size, places = fit_objects(image, [item.box for item in kept], rows, columns)
            sizes.append(size)
            boxes.append(places)
            names.append([item.label for item in kept])
            yield canvas

    images = stack_images(canvases(), (rows, columns, 3))
    labels = sorted({name for each in names for name in each}) if labels is None else [*labels]
    pairs = [(np.array(numbers_of(each, labels), "int32"), places) for each, places in zip(names, boxes)]
    return BoxRows(images, np.array(sizes, "int32").reshape(-1, 2), *padded_objects(pairs)), labels


class Detection(NamedTuple):
    """A detected object.

    Args:
        label: Its class.
        score: Probability of that class.
        box: Left, top, right and bottom in pixels of the image.
    """

    label: str
    score: float
    box: tuple[float, float, float, float]


class ObjectDetector(Predictor):
    """Finds the objects of images with a `zoo.models.detector.Detector`.

    Args:
        model, card: As for `Predictor`. There is no vocabulary.
        labels: Names of the classes.
        min_score: Probability from which on an object counts as found.
        batch_images: Maximum number of images in one call of the model.

    Raises:
        ValueError: If the labels are not as many as the classes of the model, or `min_score` is no probability.
    """

    task, model_class, config_class = "detection", Detector, DetectorConfig
    settings = "labels", "min_score"
    has_vocabulary, max_bytes = False, 20_000_000

    def __init__(
        self,
        model: Detector,
        tokenizer: None = None,
        labels: Sequence[str] = (),
        card: dict | None = None,
        min_score: float = 0.5,
        batch_images: int = 16,
    ):
        super().__init__(model, tokenizer, card)
        if model.config.num_classes != len(labels):
            raise ValueError(
                f"There must be a label for each of the {model.config.num_classes} classes of the model. Received: "
                f"{len(labels)} labels. Use those of the same training run."
            )
        if not 0 <= min_score <= 1:
            raise ValueError(f"`min_score` must lie in [0, 1]. Received: min_score={min_score}. Change it.")
        self.labels, self.min_score, self.batch_images = list(labels), min_score, batch_images

    def detect(
        self, images: Sequence[Any], min_score: float | None = None, progress: Progress = None
    ) -> list[list[Detection]]:
        """Finds the objects of each image, those with the highest scores first.

        Args:
            images: List of paths, of the bytes of files, or of arrays uint8 `[H, W, 3]`, of any sizes.
            min_score: Least score of an object; by default that of the predictor.
            progress: Called with the number of images done since the last call.

        Raises:
            ValueError: If one is no image; the message contains its path.
        """
        least = self.min_score if min_score is None else min_score
        return [
            [
                Detection(self.labels[label], float(score), tuple(map(float, box)))
                for label, box, score in zip(found.classes, found.boxes, found.scores)
                if score >= least
            ]
            for found in self.find(images, progress)
        ]

    def find(self, images: Sequence[Any], progress: Progress = None) -> list[Found]:
        """Returns the predictions of all queries for each image, sorted by their scores; see `detect`."""
        if isinstance(images, (str, bytes)):
            raise ValueError(f"`images` must be a list. Received: {images[:40]!r}. Put it into a list.")
        found = []
        for start in range(0, len(images), self.batch_images):
            chunk = [read_image(image) for image in images[start : start + self.batch_images]]
            canvases, sizes = self.canvases(chunk)
            fill = self.rounded(len(chunk)) - len(chunk)
            canvases, sizes = (np.concatenate([array, array[:1].repeat(fill, 0)]) for array in (canvases, sizes))
            classes, scores, boxes = map(ops.convert_to_numpy, self.compiled(self.predictions)(canvases, sizes))
            for i, image in enumerate(chunk):
                scale = np.array(image.shape[1::-1]) / sizes[i, ::-1]  # x and y.
                places = np.clip(boxes[i] * np.tile(scale, 2), 0, np.tile(image.shape[1::-1], 2))
                found.append(Found(classes[i], places, scores[i]))
            if progress is not None:
                progress(len(chunk))
        return found

    def canvases(self, images: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Resizes images to fit the model; returns them, uint8 `[N, H, W, 3]`, and their new sizes, int32 `[N, 2]`."""
        rows, columns = self.model.config.image_rows, self.model.config.image_columns
        fitted = [fit_to_canvas(image, rows, columns) for image in images]
        canvases = np.stack([image for image, _ in fitted]) if fitted else np.zeros((0, rows, columns, 3), "uint8")
        return canvases, np.array([size for _, size in fitted], "int32").reshape(-1, 2)

    def predictions(self, images, sizes):
        """Computes the best class of each query, int32 `[B, Q]`, its probability, by which it sorts, and its box."""
        probabilities, boxes = self.queries(images, sizes)
        best = ops.max(probabilities, axis=-1)
        order = ops.argsort(-best, axis=-1)
        classes = ops.cast(ops.argmax(probabilities, axis=-1), "int32")
        sorted_pairs = (ops.take_along_axis(array, order, axis=1) for array in (classes, best))
        return *sorted_pairs, ops.take_along_axis(boxes, order[..., None], axis=1)

    def queries(self, images, sizes):
        """Computes probabilities of the classes, float32 `[B, Q, C]`, and boxes `[B, Q, 4]` in pixels of the model.

        Boxes are (left, top, right, bottom). The class "no object" is left out, and may be more probable.
        """
        output = self.model({"images": images, "sizes": sizes}, training=False)
        centres, lengths = output[..., -4:-2], output[..., -2:]
        units = ops.convert_to_tensor(np.array([self.model.config.image_columns, self.model.config.image_rows] * 2))
        boxes = ops.concatenate([centres - lengths / 2, centres + lengths / 2], axis=-1) * ops.cast(units, "float32")
        return ops.softmax(output[..., :-4])[..., :-1], boxes

    def encode_examples(self, images: Sequence[Any], objects: Sequence[Sequence]) -> BoxRows:
        """Reads images, and encodes their objects: lists of `zoo.detection.data.Object`, those ignored left out."""
        check_same_length(images=images, objects=objects)
        pairs = zip(map(read_image, images), objects)
        return encode_objects(pairs, self.model.config, self.labels)[0]

    def _make_service(self, limits):
        from zoo.tf.detection_service import DetectionService

        return DetectionService(self, limits)

    def _check_signature(self, limits, signature):
        import tensorflow as tf

        rows, columns = self.model.config.image_rows, self.model.config.image_columns
        smooth = np.linspace(0, 255, 4 * rows * columns * 3, dtype="uint8").reshape(2 * rows, 2 * columns, 3)
        for image in (smooth, smooth[:rows]):
            content = tf.io.encode_png(image).numpy()
            found = {name: tensor.numpy()[0] for name, tensor in signature(image=tf.constant([content])).items()}
            expected = self.find([content])[0]
            size = np.tile(image.shape[1::-1], 2)
            near = np.allclose(found["boxes"] / size, expected.boxes / size, rtol=0, atol=_TOLERANCE)
            if not (near and np.allclose(found["scores"], expected.scores, rtol=0, atol=_TOLERANCE)):
                raise_mismatch("detector", "an image", expected.scores[:5], found["scores"][:5])
