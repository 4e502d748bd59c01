"""Faults in models and corpora of images."""

from faults import Fault

GRIDS = "tests/layers/test_grids.py"
BATCHES = "tests/layers/test_batch_normalization.py"
REPLICAS = "tests/training/test_replicas.py"
ROWS = "tests/zoo/corpora/test_image_rows.py"
READING = "tests/zoo/images/test_decoding.py tests/zoo/images/test_data.py"
TASK = "tests/zoo/images/test_task.py"
OPERATIONS = "tests/zoo/corpora/test_random_operations.py tests/zoo/corpora/test_image_rows.py"
STACKED = "tests/zoo/corpora/test_stacked_images.py"
VIT = "tests/zoo/conversion/test_from_vit.py"
FORMATS = "tests/zoo/conversion/test_export_formats.py"

IMAGES = [
    Fault("zoo/images/predictor.py", "ops.flip(images, axis=2)", "ops.flip(images, axis=1)", TASK),
    Fault(
        "zoo/images/predictor.py",
        "self._mirrored = bool(value)\n        self._compiled.clear()",
        "self._mirrored = value",
        TASK,
    ),
    Fault("zoo/models/image_encoder.py", "alone or", "True or", "tests/zoo/models/test_image_classifier.py", slow=True),
    Fault("zoo/corpora/stacked_images.py", "np.ascontiguousarray(image)", "image.T.copy()", STACKED),
    Fault("zoo/corpora/stacked_images.py", "if image.shape != shape or", "if", STACKED),
    Fault("keras_transformer/layers/patch_embedding.py", "-1) > 0.5", "-1) > 1.5", GRIDS),
    Fault(
        "keras_transformer/layers/convolutional_embedding.py",
        "mask = mask[:, ::2, ::2]\n            inputs",
        "mask = mask[:, 1::2, ::2]\n            inputs",
        GRIDS,
    ),
    Fault("keras_transformer/layers/convolutional_embedding.py", "block(inputs, mask=mask)", "block(inputs)", GRIDS),
    Fault(
        "keras_transformer/layers/convolutional_embedding.py",
        "for j in range(num_res",
        "for j in range(0 * num_res",
        GRIDS,
    ),
    Fault("keras_transformer/layers/residual_convolutions.py", "if mask is not None", "if mask is False", GRIDS),
    Fault("keras_transformer/layers/residual_convolutions.py", "return inputs + x", "return x", GRIDS),
    Fault(
        "keras_transformer/layers/residual_convolutions.py",
        "ops.relu(normalize(norm, x, mask))",
        "normalize(norm, ops.relu(x), mask)",
        GRIDS,
    ),
    Fault("keras_transformer/layers/residual_convolutions.py", "norm, x, mask)", "norm, x, None)", GRIDS),
    Fault("keras_transformer/layers/convolutional_embedding.py", "growth**i", "growth", GRIDS),
    Fault(
        "keras_transformer/ops/statistics.py",
        "values if real is None else real * values",
        "values",
        BATCHES,
    ),
    Fault("keras_transformer/layers/batch_normalization.py", "count > 0, 1", "count >= 0, 1", BATCHES),
    Fault("keras_transformer/layers/batch_normalization.py", "training and self.trainable", "training", BATCHES),
    Fault("keras_transformer/ops/statistics.py", "return sum_over_replicas(total)", "return total", REPLICAS),
    Fault(
        "keras_transformer/layers/grid_positional_encoding.py",
        "horizontal[None], shape",
        "vertical[None], shape",
        GRIDS,
    ),
    Fault(
        "keras_transformer/layers/feature_map_attention.py",
        "unscaled = query * ops.cast(query.shape[-1] ** 0.5, query.dtype)",
        "unscaled = query",
        "tests/layers/test_feature_map_attention.py",
    ),
    Fault("zoo/corpora/image_rows.py", "default_rng((self.seed, epoch))", "default_rng(self.seed)", ROWS),
    Fault("zoo/corpora/image_rows.py", "[rows] - changes.cutout // 2", "[rows] + changes.cutout // 2", ROWS),
    Fault("zoo/corpora/random_operations.py", "else -magnitude", "else magnitude", OPERATIONS),
    Fault("zoo/corpora/random_operations.py", "-shear * width / 2", "0", OPERATIONS),
    Fault("zoo/corpora/image_rows.py", "if draws[4] < mix", "if draws[4] > mix", ROWS),
    Fault("zoo/models/image_classifier.py", "in reversed(scores)", "in scores", TASK),
    Fault("zoo/commands/file_answers.py", "self.failed += 1", "self.failed += 0", TASK),
    Fault("zoo/commands/checking.py", "base64.b64decode(content)", "content.encode()", TASK),
    Fault("zoo/conversion/from_vit.py", "(MEAN / 255 - mean)", "(MEAN / 255 + mean)", VIT),
    Fault("zoo/conversion/from_vit.py", "arrays[name][0, 0] + positions[place]", "arrays[name][0, 0]", VIT),
    Fault("zoo/conversion/from_vit.py", ".T / len(heads) for", ".T for", VIT),
    Fault("zoo/images/decoding.py", "ImageOps.exif_transpose(image)", "image", READING),
    Fault("zoo/images/decoding.py", "(height - high) // 2", "0", READING),
    Fault("zoo/images/data.py", "depth = 1 if all", "depth = 0 if all", READING),
    Fault("zoo/tf/image_decoding.py", "among(3, 4, 7, 8)", "among(3, 4, 7)", "tests/zoo/tf/test_image_decoding.py"),
    Fault(
        "zoo/tf/image_decoding.py",
        "exif, 0, 4) == order",
        "exif, 0, 4) != order",
        "tests/zoo/tf/test_image_decoding.py",
    ),
    Fault("zoo/serving/calibrated_predictor.py", "        self._compiled.clear()", "        ", TASK),
    Fault("zoo/serving/calibrated_predictor.py", "/ self.temperature)", ")", TASK),
    Fault("zoo/conversion/model_graphs.py", "predictor.softmax(images)", "predictor.model(images)", FORMATS, slow=True),
]
