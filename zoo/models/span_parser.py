"""Encoder and a score for every span and label: token ids in, logits of tags and spans out."""

import dataclasses

import keras
from keras import ops

from zoo.config import SpanParserConfig
from zoo.models.character_encoder import CharacterEncoder
from zoo.models.text_encoder import TextEncoder

_NEVER = -1e4  # A logit for labels that a cell cannot have; finite in float16.


@keras.saving.register_keras_serializable("zoo")
class SpanParser(keras.Model):
    """Labels of all spans of words, and tags of words, each by itself.

        y = TextEncoder(ids, CharacterEncoder(characters)),  v_k = [y[p_k - 1, :D/2], y[p_k, D/2:]]
        span(i, j) = W2 ReLU(LayerNorm(W1 (v_j - v_i) + b1)) + b2,  tag(i) = W3 y[p_i] + b3

    p_k is the place of the token behind boundary k: the first of word k, at last that of the end. Spans as differences
    of boundary vectors, half of them from the left and half from the right: Stern et al. (2017), Kitaev and Klein
    (2018). A softmax for each span by itself: Teng and Zhang (2018). Axes: B batch, T tokens, N boundaries, one more
    than words, C the larger of the number of labels and that of tags.

    Args:
        config: Sizes and rates.

    Call arguments:
        inputs: As for `TextEncoder`, with int `boundary_ids` `[B, N]`, the p_k, padded with 0; for a model of
            characters with int `character_ids` `[B, T, K]` of each token's word; see `zoo.text.word_characters`.

    Returns:
        Logits `[B, N (N + 1) / 2, C]` in the compute dtype: first those of the tag of each word, of which the last
        means nothing, then those of each span (i, j), from word i to word j - 1, in the order of `span_pairs`.
    """

    def __init__(self, config: SpanParserConfig, **kwargs):
        kwargs.setdefault("name", "span_parser")
        super().__init__(**kwargs)
        self.config = config
        named = {"dtype": self.dtype_policy}
        self.text_encoder = TextEncoder(config, **named, name="text_encoder")
        self.characters = None
        if config.character_filters:
            sizes = config.character_filters, config.hidden_dim
            self.characters = CharacterEncoder(*sizes, **named, name="characters")
        self.boundary_projection = keras.layers.Dense(config.span_dim, **named, name="boundary_projection")
        self.span_norm = keras.layers.LayerNormalization(epsilon=1e-6, **named, name="span_norm")
        self.head = keras.layers.Dense(config.num_labels, **named, name="head")
        self.tag_head = keras.layers.Dense(config.num_tags, **named, name="tag_head")

    def build(self, inputs_shape=None):
        vectors, spans = (None, None, self.config.hidden_dim), (None, None, self.config.span_dim)
        self.text_encoder.build()
        for layer in (self.characters, self.boundary_projection, self.tag_head):
            if layer is not None:
                layer.build(vectors)
        self.span_norm.build(spans)
        self.head.build(spans)
        self.built = True

    def call(self, inputs, training=None):
        count = max(self.config.num_labels, self.config.num_tags)
        return ops.concatenate([_filled(logits, count) for logits in reversed(self.logits(inputs))], axis=1)

    def logits(self, inputs):
        """Of spans `[B, N (N - 1) / 2, labels]` and tags `[B, N, tags]`; see `call`."""
        added = None if self.characters is None else self.characters(inputs["character_ids"])
        y, _ = self.text_encoder(inputs, added)
        places = inputs["boundary_ids"]
        behind, before = (ops.take_along_axis(y, p[..., None], axis=1) for p in (places, ops.maximum(places - 1, 0)))
        half = self.config.hidden_dim // 2
        boundaries = self.boundary_projection(ops.concatenate([before[..., :half], behind[..., half:]], axis=-1))
        first, last = span_pairs(ops.shape(places)[1])
        differences = ops.take(boundaries, last, axis=1) - ops.take(boundaries, first, axis=1)
        return self.head(ops.relu(self.span_norm(differences))), self.tag_head(behind)

    def get_config(self):
        return {**super().get_config(), "config": dataclasses.asdict(self.config)}

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "config": SpanParserConfig(**config["config"])})


def span_pairs(places):
    """All i < j below `places`, as two int32 arrays `[places (places - 1) / 2]`: (0, 1), (0, 2), (1, 2), (0, 3) ...

    Pair m has j = floor((1 + sqrt(1 + 8 m)) / 2) and i = m - j (j - 1) / 2.
    """
    number = ops.arange(places * (places - 1) // 2, dtype="int32")
    last = ops.cast((1.0 + ops.sqrt(1.0 + 8.0 * ops.cast(number, "float32"))) / 2.0, "int32")
    last = last - ops.cast(last * (last - 1) // 2 > number, "int32")  # Roots are rounded, up or down.
    last = last + ops.cast(last * (last + 1) // 2 <= number, "int32")
    return number - last * (last - 1) // 2, last


def _filled(logits, count):
    missing = count - logits.shape[-1]
    return ops.pad(logits, [(0, 0)] * (len(logits.shape) - 1) + [(0, missing)], constant_values=_NEVER)
