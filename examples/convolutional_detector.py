"""Trains a plain convolutional detector, to set beside `python -m zoo.detection` on the same data, at the same cost.

    python examples/convolutional_detector.py --data train.zip --dev-data val.zip --rows 240 --steps 6500

The backbone is that of `zoo.models.detector`, followed by further residual blocks in place of the Transformer. Each
cell of the feature map predicts, for each class, whether the centre of an object is in it, where in it, and how large
the object is: Zhou et al. (2019), "Objects as points". A cell whose score is the highest around it is an object. Images
change as in `python -m zoo.detection`, in the same batches. Prints AP50, AP, and both of each class, for averages of
the weights.
"""

import argparse
import time

import keras
import numpy as np
from keras import ops

from zoo.corpora.batching import BatchStream
from zoo.corpora.box_rows import ChangedBoxes, fit_to_canvas
from zoo.detection.data import open_boxes
from zoo.detection.metrics import Found, detection_scores
from zoo.detection.predictor import encode_objects
from zoo.detection_config import DetectorConfig
from zoo.extras import exit_without
from zoo.models.backbone import ResidualBackbone
from zoo.models.image_encoder import DEVIATION, MEAN
from zoo.training_config import BoxAugmentConfig

STRIDE = 16


def main() -> None:
    """Trains and evaluates."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", required=True, help="corpus, as for python -m zoo.detection")
    parser.add_argument("--dev-data", required=True, help="corpus to evaluate on")
    parser.add_argument("--rows", type=int, default=320, help="rows of images, %(default)s by default")
    parser.add_argument("--columns", type=int, default=320, help="columns of images, %(default)s by default")
    parser.add_argument("--blocks", type=int, default=3, help="further residual blocks, %(default)s by default")
    parser.add_argument("--batch", type=int, default=8, help="images of an update, %(default)s by default")
    parser.add_argument("--steps", type=int, default=6500, help="updates, %(default)s by default")
    parser.add_argument("--seed", type=int, default=0, help="%(default)s by default")
    options = parser.parse_args()
    exit_without("This example", "pycocotools", "scipy", "PIL")
    keras.utils.set_random_seed(options.seed)
    config = DetectorConfig(normalize_first=True, image_rows=options.rows, image_columns=options.columns)
    train, labels = encode_objects(((each.image, each.objects) for each in open_boxes(options.data)), config)
    changes = BoxAugmentConfig(flip=True, quarter_turns=True, scale=0.4, colour=0.2)
    stream = BatchStream(ChangedBoxes(train, changes, options.seed), options.batch, seed=options.seed)
    model = make_model(options, len(labels))
    rate = keras.optimizers.schedules.CosineDecay(0.0, options.steps, warmup_target=1e-3, warmup_steps=300)
    model.compile(keras.optimizers.Adam(rate, use_ema=True, ema_momentum=0.998), losses, jit_compile=False)
    print(f"{model.count_params():,} parameters")
    started = time.time()
    examples = ((batch["images"], targets(batch["labels"], options, len(labels))) for batch in stream)
    model.fit(examples, steps_per_epoch=options.steps, verbose=2)
    model.optimizer.finalize_variable_values(model.trainable_variables)
    print(f"{time.time() - started:,.0f} s")

    known, found = [], []
    for example in open_boxes(options.dev_data):
        image, size = fit_to_canvas(example.image, options.rows, options.columns)
        scale = np.tile(np.array(example.image.shape[1::-1]) / np.array(size[::-1]), 2)
        found.append(detect(model.predict_on_batch(image[None])[0], scale))
        classes = np.array([labels.index(item.label) for item in example.objects], int)
        known.append(Found(classes, np.array([item.box for item in example.objects]).reshape(-1, 4)))
    scores, by_class = detection_scores(known, found, labels, 0.3, resamples=1000)
    print(*scores, *(f"{name}: AP {ap:.1f}, AP50 {half:.1f}" for name, (ap, half) in by_class.items()), sep="\n")


def make_model(options, num_classes):
    """Returns a model of images `[B, H, W, 3]` whose outputs are `[B, rows, columns, C + 4]`."""
    images = keras.Input((options.rows, options.columns, 3))
    (x,) = ResidualBackbone(32, 3, 1)((images - MEAN) / DEVIATION)
    for _ in range(options.blocks):
        y = x
        for _ in range(2):
            y = ops.relu(keras.layers.LayerNormalization(epsilon=1e-6)(y))
            y = keras.layers.Conv2D(128, 3, padding="same", kernel_initializer="he_normal")(y)
        x = x + y
    x = ops.relu(keras.layers.LayerNormalization(epsilon=1e-6)(x))
    bias = keras.initializers.Constant(-3.0)  # Centres are rare.
    centres = keras.layers.Conv2D(num_classes, 1, bias_initializer=bias)(x)
    return keras.Model(images, ops.concatenate([centres, keras.layers.Conv2D(4, 1)(x)], axis=-1))


def targets(labels, options, num_classes):
    """Returns heat maps of the classes, place in the cell, logarithm of the size, and whether a centre is there."""
    rows, columns = -(-options.rows // STRIDE), -(-options.columns // STRIDE)
    found = np.zeros((len(labels), rows, columns, num_classes + 5), "float32")
    across, down = np.arange(columns), np.arange(rows)[:, None]
    for row, objects in zip(found, labels):
        for label, x, y, width, height in objects[objects[:, 0] >= 0]:
            x, y, width, height = (np.array([x, y, width, height]) * ([columns, rows] * 2)).tolist()
            column, line = min(int(x), columns - 1), min(int(y), rows - 1)
            spread = ((across - column) / max(0.3, width / 6)) ** 2 + ((down - line) / max(0.3, height / 6)) ** 2
            row[..., int(label)] = np.maximum(row[..., int(label)], np.exp(-spread / 2))
            row[line, column, -5:] = x - column, y - line, np.log(width), np.log(height), 1
    return found


def losses(y_true, y_pred):
    """Computes the penalty-reduced focal loss of Zhou et al. (2019), eq. 1, and L1 of places and sizes."""
    heat, there = y_true[..., :-5], y_true[..., -1:]
    logits = y_pred[..., :-4]
    probability = ops.sigmoid(logits)
    right = (1 - probability) ** 2 * ops.log_sigmoid(logits)
    wrong = (1 - heat) ** 4 * probability**2 * ops.log_sigmoid(-logits)
    centre = -ops.sum(ops.where(heat > 0.999, right, wrong))
    apart = ops.sum(ops.abs(y_true[..., -5:-1] - y_pred[..., -4:]) * there)
    return (centre + apart) / ops.maximum(ops.sum(there), 1.0)


def detect(output, scale):
    """Returns the objects of an output `[rows, columns, C + 4]`: cells with the highest score of their neighbours."""
    scores = 1 / (1 + np.exp(-output[..., :-4]))
    padded = np.pad(scores, ((1, 1), (1, 1), (0, 0)))
    shifted = (padded[i : i + len(scores), j : j + scores.shape[1]] for i in range(3) for j in range(3))
    chosen = np.argwhere(scores >= np.max([*shifted], axis=0))
    order = np.argsort(-scores[tuple(chosen.T)])[:100]
    lines, columns, classes = chosen[order].T
    x, y, width, height = output[lines, columns, -4:].T
    centres = STRIDE * np.stack([columns + x, lines + y], 1)
    sizes = STRIDE * np.exp(np.stack([width, height], 1))
    boxes = np.concatenate([centres - sizes / 2, centres + sizes / 2], 1) * scale
    return Found(classes, boxes, scores[lines, columns, classes])


if __name__ == "__main__":
    main()
