"""Model that finds the objects of an image as a set."""

import keras
import numpy as np
from keras import ops

from keras_transformer import Decoder, Encoder
from keras_transformer.layers.dropout import Dropout
from keras_transformer.ops.positions import sinusoidal_encoding
from zoo.detection_config import DetectorConfig
from zoo.models.backbone import ResidualBackbone
from zoo.models.encoder_model import ConfiguredModel
from zoo.models.image_encoder import DEVIATION, MEAN


@keras.saving.register_keras_serializable("zoo")
class Detector(ConfiguredModel):
    """Predicts a set of objects, each with a class and a box (Carion et al. 2020, "End-to-end object detection").

        memory = Encoder(Conv(Backbone(image)) + P) + P, and the same of finer feature maps without the encoder
        x_0 = queries,  x_n = DecoderBlock(x_(n-1) + W P(b_(n-1)), memory)
        b_n = sigmoid(logit(b_(n-1)) + MLP(Norm(x_n))),  classes_n = Norm(x_n) W + bias

    All objects are found at once: the decoder sees no order, and no causal mask. The queries are learned, and so are
    their boxes b_0 (Liu et al. 2022, "DAB-DETR"), from which each block departs (Zhu et al. 2021, "Deformable DETR",
    section 4.2). The heads are the same after all blocks.
    With `two_stage`, the queries are not learned: each cell of the encoder's feature map predicts whether the centre of
    an object is in it, and a box; the Q most probable cells are the queries x_0, and their boxes are b_0 (the same
    section of Zhu et al.). Cells whose probability is the highest of the 3 x 3 around it come first.
    Axes: B batch, H rows, W columns, Q queries, G groups of queries, N decoder blocks, C classes, T cells.

    Args:
        config: Sizes and rates.

    Call arguments:
        inputs: Dictionary of `images`, uint8 or float `[B, H, W, 3]`, values from 0 to 255, of the size of `config`,
            and `sizes`, int32 `[B, 2]`: rows and columns of the image, the rest is padding at the bottom and the right.
        training: Whether to return the predictions after all blocks, by all groups of queries, and by all cells.

    Returns:
        Float32 `[B, Q, C + 5]`: logits of C classes, of "no object", and a box (centre x, centre y, width, height) in
        units of the columns and rows of the model. In training, `[B, N * G * Q, C + 5]`, and with `two_stage` as many
        rows more as there are cells; their logit of "no object" is 0, and cells of padding have logits of -1e4.
    """

    config_class, default_name = DetectorConfig, "detector"

    def __init__(self, config: DetectorConfig, **kwargs):
        super().__init__(config, **kwargs)
        named, width = {"dtype": self.dtype_policy}, config.hidden_dim
        sizes = config.channels, config.num_stages, config.num_residual_blocks, config.num_levels
        self.backbone = ResidualBackbone(*sizes, **named, name="backbone")
        names = ("_".join(("projection", str(level))) for level in range(config.num_levels))
        self.projections = [keras.layers.Dense(width, **named, name=name) for name in names]
        self.embedding_dropout = Dropout(config.dropout, **named, name="embedding_dropout")
        blocks = config.block_arguments()
        self.encoder = Encoder(config.num_encoder_layers, **blocks, **named, name="encoder")
        self.decoder = Decoder(config.num_decoder_layers, **blocks, **named, name="decoder")
        self.box_positions = keras.layers.Dense(width, **named, name="box_positions")
        self.class_head = keras.layers.Dense(config.num_classes + 1, **named, name="class_head")
        self.box_hidden = [keras.layers.Dense(width, "relu", **named, name=f"box_hidden_{i}") for i in range(2)]
        self.box_head = keras.layers.Dense(4, kernel_initializer="zeros", **named, name="box_head")
        if config.two_stage:
            rare = keras.initializers.Constant(-3.0)  # Most cells have no object.
            self.cell_classes = keras.layers.Dense(
                config.num_classes, bias_initializer=rare, **named, name="cell_classes"
            )
            self.cell_boxes = keras.layers.Dense(4, kernel_initializer="zeros", **named, name="cell_boxes")
            self.cell_queries = keras.layers.Dense(width, **named, name="cell_queries")

    def build(self, inputs_shape=None):
        width = self.config.hidden_dim
        self.backbone.build()
        for projection, shape in zip(self.projections, self.backbone.compute_output_shape((None, None, None, 3))):
            projection.build(shape)
        for layer in (self.encoder, self.decoder, self.class_head, *self.box_hidden, self.box_head):
            layer.build((None, None, width))
        self.box_positions.build((None, None, 2 * width))
        if self.config.two_stage:
            for layer in (self.cell_classes, self.cell_boxes, self.cell_queries):
                layer.build((None, None, width))
        else:
            count = self.config.query_groups * self.config.num_queries
            start = keras.initializers.RandomNormal(stddev=0.1)
            self.queries = self.add_weight(name="queries", shape=(count, width), initializer=start)
            boxes = _spread_boxes(self.config.num_queries)
            self.query_boxes = self.add_weight(name="query_boxes", shape=(count, 4), initializer="zeros")
            self.query_boxes.assign(np.tile(_logit(boxes), (self.config.query_groups, 1)))
        self._look_at_centres()
        self.built = True

    def call(self, inputs, training=None):
        memory, memory_mask, encoded = self.encode(inputs)
        groups = self.config.query_groups if training else 1
        if self.config.two_stage:
            cells = self.propose(encoded, inputs["sizes"])
            x, logits = self._best_cells(encoded, *cells)
        else:
            x, logits = self._learned_queries(ops.shape(memory)[0], groups * self.config.num_queries)
        predicted = self.decode(x, logits, memory, memory_mask, groups)
        if not training:
            return predicted[-1]
        if self.config.two_stage:
            classes, boxes = cells
            predicted.append(ops.concatenate([classes, ops.zeros_like(classes[..., :1]), ops.sigmoid(boxes)], axis=-1))
        return ops.concatenate(predicted, axis=1)

    def encode(self, inputs):
        """Returns the cells of all feature maps, `[B, T, D]`, their mask, and what the encoder returns."""
        config = self.config
        images = ops.reshape(inputs["images"], (-1, config.image_rows, config.image_columns, 3))
        x = (ops.cast(images, self.compute_dtype) - MEAN) / DEVIATION
        memories, masks = [], []
        for projection, grid, stride in zip(self.projections, self.backbone(x), config.strides):
            rows, columns = config.grid(stride)
            cells = ops.reshape(projection(grid), (-1, rows * columns, config.hidden_dim))
            mask, positions = self._mask(inputs["sizes"], stride), self._positions(stride)
            if stride == config.strides[-1]:
                cells = encoded = self.encoder(self.embedding_dropout(cells + positions), inputs_mask=mask)
            memories.append(cells + positions)
            masks.append(mask)
        return ops.concatenate(memories, axis=1), ops.concatenate(masks, axis=1), encoded

    def propose(self, encoded, sizes):
        """Returns logits of the classes, float32 `[B, T, C]`, and of the box, `[B, T, 4]`, that each cell predicts."""
        stride = self.config.strides[-1]
        classes = ops.cast(self.cell_classes(encoded), "float32")
        classes = ops.where(self._mask(sizes, stride)[..., None], classes, -1e4)
        changes = ops.cast(self.cell_boxes(encoded), "float32")
        return classes, changes + ops.convert_to_tensor(_logit(self._cell_boxes(stride)), "float32")

    def _best_cells(self, encoded, classes, boxes):
        """Returns the queries, `[B, Q, D]`, and the logits of their boxes, `[B, Q, 4]`, without gradient."""
        grid = ops.reshape(ops.sigmoid(classes), (-1, *self.config.grid(self.config.strides[-1]), classes.shape[-1]))
        highest = grid >= ops.max_pool(grid, 3, strides=1, padding="same")
        scores = ops.max(ops.where(highest, grid, grid - 1), axis=-1)
        scores = ops.reshape(scores, (-1, classes.shape[1]))
        _, best = ops.top_k(ops.stop_gradient(scores), self.config.num_queries)
        x, logits = (ops.take_along_axis(each, best[..., None], axis=1) for each in (encoded, boxes))
        return self.cell_queries(x), ops.stop_gradient(logits)

    def _learned_queries(self, batch, count):
        """Returns the same of learned queries and boxes."""
        x = ops.broadcast_to(ops.cast(self.queries[:count], self.compute_dtype), (batch, count, self.config.hidden_dim))
        return x, ops.broadcast_to(ops.cast(self.query_boxes[:count], "float32"), (batch, count, 4))

    def decode(self, x, logits, memory, memory_mask, groups: int = 1) -> list:
        """Returns what each decoder block predicts, float32 `[B, groups * Q, C + 5]`.

        Args:
            x: Queries, float `[B, groups * Q, D]`.
            logits: Logits of their boxes, float32 `[B, groups * Q, 4]`.
            memory, memory_mask: Cells, float `[B, T, D]`, and which are inside of the image.
            groups: Groups of queries, which do not see each other.
        """
        alone = {} if groups == 1 else {"attention_mask": self._same_group(groups)}
        predicted = []
        for block in self.decoder.blocks:
            x = x + self.box_positions(self._encode_boxes(ops.sigmoid(logits)))
            x = block(x, memory, memory_mask=memory_mask, use_causal_mask=False, **alone)
            hidden = change = self.decoder.norm(x)
            for layer in self.box_hidden:
                change = layer(change)
            logits = logits + ops.cast(self.box_head(change), "float32")
            classes = ops.cast(self.class_head(hidden), "float32")
            predicted.append(ops.concatenate([classes, ops.sigmoid(logits)], axis=-1))
            logits = ops.stop_gradient(logits)
        return predicted

    def _look_at_centres(self):
        """Makes queries attend to the cells at the centres of their boxes, before anything is learned.

        Centres are encoded as cells are, and queries and keys of each cross-attention start with the same projection,
        whose products are largest for the same position.
        """
        width = self.config.hidden_dim
        self.box_positions.kernel.assign(np.concatenate([np.eye(width), np.zeros((width, width))]))
        for block in self.decoder.blocks:
            block.cross_attention.key_dense.kernel.assign(block.cross_attention.query_dense.kernel)

    def _mask(self, sizes, stride):
        """Returns which cells start inside of the image, boolean `[B, T]`."""
        sizes, (height, width) = ops.cast(sizes, "int32"), self.config.grid(stride)
        rows, columns = ops.arange(height) * stride < sizes[:, :1], ops.arange(width) * stride < sizes[:, 1:]
        return ops.reshape(ops.logical_and(rows[:, :, None], columns[:, None, :]), (-1, height * width))

    def _positions(self, stride):
        """Encodes the centres of cells, `[T, D]`, in units of the coarsest feature map."""
        height, width = self.config.grid(stride)
        scale = stride / self.config.strides[-1]
        down, across = np.divmod(np.arange(height * width), width)
        numbers = ((place + 0.5) * scale - 0.5 for place in (down, across))
        return self._encode(numbers)

    def _cell_boxes(self, stride):
        """Returns boxes around the centres of cells, float `[T, 4]`, as shares of the image."""
        height, width = self.config.grid(stride)
        down, across = np.divmod(np.arange(height * width), width)
        sizes = np.array([self.config.image_columns, self.config.image_rows])
        centres = np.minimum((np.stack([across, down], axis=1) + 0.5) * stride / sizes, 0.99)
        return np.concatenate([centres, np.full((height * width, 2), 0.1)], axis=1)

    def _encode(self, numbers):
        """Encodes numbers by sinusoids of half the width each, side by side."""
        half = self.config.hidden_dim // 2
        parts = [sinusoidal_encoding(ops.convert_to_tensor(each, "float32"), half) for each in numbers]
        return ops.cast(ops.concatenate(parts, axis=-1), self.compute_dtype)

    def _same_group(self, groups):
        group = np.repeat(np.arange(groups), self.config.num_queries)
        return ops.convert_to_tensor(group[None, :, None] == group[None, None, :])

    def _encode_boxes(self, boxes):
        """Encodes centres as the feature map encodes its cells, and sizes alike, `[B, Q, 2 D]`."""
        across, down, wide, high = (boxes[..., i] for i in range(4))
        stride = self.config.strides[-1]
        rows, columns = self.config.image_rows / stride, self.config.image_columns / stride
        return self._encode((down * rows - 0.5, across * columns - 0.5, high * rows, wide * columns))


def _spread_boxes(count):
    """Returns boxes whose centres are spread evenly, float `[count, 4]`: the R2 sequence of Roberts (2018)."""
    ratio = 1.32471795724474602596  # The real root of x^3 = x + 1.
    centres = (0.5 + np.arange(1, count + 1)[:, None] * ratio ** -np.array([1.0, 2.0])) % 1
    return np.concatenate([0.02 + 0.96 * centres, np.full((count, 2), 0.2)], axis=1)


def _logit(shares):
    return np.log(shares / (1 - shares))
