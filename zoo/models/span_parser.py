"""Model that labels all spans of words."""

import keras
from keras import ops

from keras_transformer.layers.normalization import LayerNormalization
from zoo.config import SpanParserConfig
from zoo.models.class_padding import pad_classes
from zoo.models.encoder_model import WordModel


@keras.saving.register_keras_serializable("zoo")
class SpanParser(WordModel):
    """Computes logits of labels for all spans of words, and of tags for words.

        y = TextEncoder(ids, CharacterEncoder(characters)),  v_k = [y[p_k - 1, :D/2], y[p_k, D/2:]]
        span(i, j) = W2 ReLU(LayerNorm(W1 (v_j - v_i) + b1)) + b2,  tag(i) = W3 y[p_i] + b3

    p_k is the position of the token after boundary k: the first token of word k or, after the last word, the end
    token. Spans are differences of boundary vectors, half from the left and half from the right (Stern et al. 2017;
    Kitaev and Klein 2018); each span has its own softmax (Teng and Zhang 2018). Axes: B batch, T tokens, N boundaries,
    one more than words, C the larger of the number of labels and the number of tags.

    Args:
        config: Sizes and rates.

    Call arguments:
        inputs: As for `TextEncoder`, with int `boundary_ids` `[B, N]`, the p_k, padded with 0; for a model that
            reads characters also int `character_ids` `[B, T, K]` of each token's word; see `zoo.text.word_characters`.

    Returns:
        Logits `[B, N (N + 1) / 2, C]` in the compute dtype: first the tags of each word, the last of which has
        no meaning, then the labels of each span (i, j), from word i to word j - 1, in the order of `span_pairs`.
    """

    config_class, default_name = SpanParserConfig, "span_parser"

    def __init__(self, config: SpanParserConfig, **kwargs):
        super().__init__(config, **kwargs)
        policy = self.dtype_policy
        self.boundary_projection = keras.layers.Dense(config.span_dim, dtype=policy, name="boundary_projection")
        self.span_norm = LayerNormalization(dtype=policy, name="span_norm")
        self.head = keras.layers.Dense(config.num_labels, dtype=policy, name="head")
        self.tag_head = keras.layers.Dense(config.num_tags, dtype=policy, name="tag_head")

    def build(self, inputs_shape=None):
        super().build()
        for layer in (self.boundary_projection, self.tag_head):
            layer.build((None, None, self.config.hidden_dim))
        for layer in (self.span_norm, self.head):
            layer.build((None, None, self.config.span_dim))

    def call(self, inputs, training=None):
        count = max(self.config.num_labels, self.config.num_tags)
        return ops.concatenate([pad_classes(logits, count) for logits in reversed(self.logits(inputs))], axis=1)

    def logits(self, inputs):
        """Returns the logits of spans `[B, N (N - 1) / 2, labels]` and of tags `[B, N, tags]`."""
        y, after = self.hidden_states(inputs), inputs["boundary_ids"]
        right, left = (ops.take_along_axis(y, p[..., None], axis=1) for p in (after, ops.maximum(after - 1, 0)))
        half = self.config.hidden_dim // 2
        boundaries = self.boundary_projection(ops.concatenate([left[..., :half], right[..., half:]], axis=-1))
        first, last = span_pairs(ops.shape(after)[1])
        differences = ops.take(boundaries, last, axis=1) - ops.take(boundaries, first, axis=1)
        return self.head(ops.relu(self.span_norm(differences))), self.tag_head(right)


def span_pairs(boundaries):
    """Returns all i < j below N = `boundaries` as two int32 arrays `[N (N - 1) / 2]`: (0, 1), (0, 2), (1, 2), ...

    Pair m has j = floor((1 + sqrt(1 + 8 m)) / 2) and i = m - j (j - 1) / 2.
    """
    number = ops.arange(boundaries * (boundaries - 1) // 2, dtype="int32")
    last = ops.cast((1.0 + ops.sqrt(1.0 + 8.0 * ops.cast(number, "float32"))) / 2.0, "int32")
    last = last - ops.cast(last * (last - 1) // 2 > number, "int32")  # Square roots are rounded up or down.
    last = last + ops.cast(last * (last + 1) // 2 <= number, "int32")
    return number - last * (last - 1) // 2, last
