"""SavedModel of a classifier of images, from the bytes of files to labels and probabilities."""

import tensorflow as tf

from zoo.limits import Limits
from zoo.tf.image_decoding import decode_upright
from zoo.tf.limits import check_bytes, start_timer


class ImageService(tf.Module):
    """Classifies images.

        image: string [B], contents of JPEG, PNG, GIF or BMP files of any sizes
        -> labels: string [B], probabilities: float32 [B, C] in the order of the card's `labels`

    Of an animation, the first picture counts.

    Args:
        predictor: A `zoo.images.predictor.ImagePredictor`.
        limits: Limits of a call; `max_bytes` of a file.
    """

    def __init__(self, predictor, limits: Limits):
        super().__init__()
        self._predictor, self._limits = predictor, limits
        self._tracked = [variable.value for variable in predictor.model.variables]
        self._size = predictor.model.config.image_size

    def signatures(self) -> dict:
        """Returns the functions to save, by name."""
        return {tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY: self.classify}

    @tf.function(input_signature=[tf.TensorSpec((None,), tf.string, name="image")], autograph=False)
    def classify(self, image):
        check = start_timer(self._limits)
        check_bytes(tf.strings.length(image), self._limits)
        names, most = tf.constant(self._predictor.labels), self._predictor.batch_images
        empty = tf.zeros((0, len(self._predictor.labels)))

        def body(start, found):
            check()
            pixels = tf.map_fn(self._fitted, image[start : start + most], fn_output_signature=tf.float32)
            return start + most, tf.concat([found, self._predictor.softmax(pixels)], 0)

        shapes = tf.TensorShape([]), tf.TensorShape([None, empty.shape[1]])
        _, probabilities = tf.while_loop(lambda start, found: start < tf.size(image), body, (0, empty), shapes)
        return {"labels": tf.gather(names, tf.argmax(probabilities, -1)), "probabilities": probabilities}

    def _fitted(self, content):
        """Decodes an image and resizes it as `zoo.images.decoding.fit_image` does, float32 `[H, W, 3]`."""
        pixels = decode_upright(content)
        height, width = tf.unstack(tf.shape(pixels)[:2])
        high, wide = tf.minimum(height, tf.maximum(1, width)), tf.minimum(width, tf.maximum(1, height))
        pixels = tf.image.crop_to_bounding_box(pixels, (height - high) // 2, (width - wide) // 2, high, wide)
        size = (self._size, self._size)
        resized = tf.image.resize(pixels, size, tf.image.ResizeMethod.BILINEAR, antialias=True)
        return tf.round(tf.clip_by_value(resized, 0, 255))
