"""Encoder and a score for every span and label: token ids in, a chart of logits out."""

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
            characters with int `character_ids` `[B, T, K]` of each token's word; see `zoo.word_characters`.

    Returns:
        Logits `[B, N, N, C]` in the compute dtype: at (i, j) those of the span from word i to word j - 1, on the
        diagonal those of the tag of word i.
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
        vectors, spans = (None, None, self.config.hidden_dim), (None, None, None, self.config.span_dim)
        self.text_encoder.build()
        for layer in (self.characters, self.boundary_projection, self.tag_head):
            if layer is not None:
                layer.build(vectors)
        self.span_norm.build(spans)
        self.head.build(spans)
        self.built = True

    def call(self, inputs, training=None):
        spans, tags = self.logits(inputs)
        labels = max(self.config.num_labels, self.config.num_tags)
        spans, tags = (_filled(logits, labels) for logits in (spans, tags[:, :, None]))
        diagonal = ops.eye(ops.shape(spans)[1], dtype="bool")[None, :, :, None]
        return ops.where(diagonal, tags, spans)

    def logits(self, inputs):
        """Of spans `[B, N, N, labels]` and tags `[B, N, tags]`; the last tag means nothing."""
        added = None if self.characters is None else self.characters(inputs["character_ids"])
        y, _ = self.text_encoder(inputs, added)
        places = inputs["boundary_ids"]
        behind, before = (ops.take_along_axis(y, p[..., None], axis=1) for p in (places, ops.maximum(places - 1, 0)))
        half = self.config.hidden_dim // 2
        boundaries = self.boundary_projection(ops.concatenate([before[..., :half], behind[..., half:]], axis=-1))
        hidden = ops.relu(self.span_norm(boundaries[:, None] - boundaries[:, :, None]))
        return self.head(hidden), self.tag_head(behind)

    def get_config(self):
        return {**super().get_config(), "config": dataclasses.asdict(self.config)}

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "config": SpanParserConfig(**config["config"])})


def _filled(logits, count):
    missing = count - logits.shape[-1]
    return ops.pad(logits, [(0, 0)] * (len(logits.shape) - 1) + [(0, missing)], constant_values=_NEVER)
