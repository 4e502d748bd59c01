"""SavedModel of a detector of objects, from the bytes of images to boxes."""

import tensorflow as tf

from zoo.corpora.box_rows import GREY
from zoo.limits import Limits
from zoo.tf.image_decoding import decode_upright
from zoo.tf.limits import check_bytes, start_timer


class DetectionService(tf.Module):
    """Finds the objects of images.

        image: string [B], contents of JPEG, PNG, GIF or BMP files of any sizes
        -> labels: string [B, Q], scores: float32 [B, Q], sorted, and boxes: float32 [B, Q, 4] in pixels, each
           (left, top, right, bottom); count: int32 [B], how many of them have at least the card's `min_score`

    Of an animation, the first picture counts.

    Args:
        predictor: A `zoo.detection.predictor.ObjectDetector`.
        limits: Limits of a call; `max_bytes` of a file.
    """

    def __init__(self, predictor, limits: Limits):
        super().__init__()
        self._predictor, self._limits = predictor, limits
        self._tracked = [variable.value for variable in predictor.model.variables]
        self._rows, self._columns = predictor.model.config.image_rows, predictor.model.config.image_columns

    def signatures(self) -> dict:
        """Returns the functions to save, by name."""
        return {tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY: self.detect}

    @tf.function(input_signature=[tf.TensorSpec((None,), tf.string, name="image")], autograph=False)
    def detect(self, image):
        check = start_timer(self._limits)
        check_bytes(tf.strings.length(image), self._limits)
        most, queries = self._predictor.batch_images, self._predictor.model.config.num_queries
        found = tf.zeros((0, queries), tf.int32), tf.zeros((0, queries)), tf.zeros((0, queries, 4))
        kinds = tf.float32, tf.int32, tf.int32

        def body(start, *found):
            check()
            canvases, sizes, originals = tf.map_fn(self._fitted, image[start : start + most], fn_output_signature=kinds)
            classes, scores, boxes = self._predictor.predictions(canvases, sizes)
            scale = tf.cast(originals[:, ::-1], tf.float32) / tf.cast(sizes[:, ::-1], tf.float32)
            limits = tf.cast(tf.tile(originals[:, ::-1], (1, 2)), tf.float32)[:, None]
            boxes = tf.clip_by_value(boxes * tf.tile(scale, (1, 2))[:, None], 0.0, limits)
            parts = zip(found, (classes, scores, boxes))
            return start + most, *(tf.concat(part, 0) for part in parts)

        shapes = tf.TensorShape([]), *(tf.TensorShape([None, *each.shape[1:]]) for each in found)
        _, *found = tf.while_loop(lambda start, *_: start < tf.size(image), body, (0, *found), shapes)
        classes, scores, boxes = found
        count = tf.reduce_sum(tf.cast(scores >= self._predictor.min_score, tf.int32), axis=1)
        labels = tf.gather(tf.constant(self._predictor.labels), classes)
        return {"labels": labels, "scores": scores, "boxes": boxes, "count": count}

    def _fitted(self, content):
        """Decodes an image and resizes it as `zoo.corpora.box_rows.fit_to_canvas` does."""
        pixels = decode_upright(content)
        height, width = tf.unstack(tf.shape(pixels)[:2])
        tall = height * self._columns > width * self._rows
        size = tf.where(
            tall,
            tf.stack([self._rows, _scaled(width, self._rows, height)]),
            tf.stack([_scaled(height, self._columns, width), self._columns]),
        )
        resized = tf.image.resize(pixels, size, tf.image.ResizeMethod.BILINEAR, antialias=True)
        resized = tf.round(tf.clip_by_value(resized, 0, 255)) - GREY
        canvas = tf.pad(resized, [[0, self._rows - size[0]], [0, self._columns - size[1]], [0, 0]]) + GREY
        canvas.set_shape((self._rows, self._columns, 3))
        return canvas, size, tf.stack([height, width])


def _scaled(length, new, old):
    """Returns `length * new / old`, rounded, at least 1."""
    return tf.maximum(1, tf.cast(tf.round(length * new / old), tf.int32))
