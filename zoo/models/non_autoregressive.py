"""Encoder-decoder Transformer that predicts all tokens of the target at once."""

import keras
from keras import ops

from keras_transformer.ops import masks
from keras_transformer.ops.gather import gather
from keras_transformer.ops.sizes import flattened
from zoo.config import PAD_ID, NonAutoregressiveConfig
from zoo.models.class_padding import pad_classes
from zoo.models.seq2seq import EncoderDecoder
from zoo.models.text_encoder import masked_mean


@keras.saving.register_keras_serializable("zoo")
class NonAutoregressive(EncoderDecoder):
    """Conditional masked language model (Ghazvininejad et al. 2019): a decoder without a causal mask.

        memory = Encoder(x_source),  p(y_i | X, y_observed) = softmax(Decoder(x_target, memory)_i E^T (+ b))
        p(length | X) = softmax(W mean_s memory_s + c)

    The start token, which such a decoder has no other use for, stands for what is masked, so that the vocabulary is
    that of the autoregressive teacher. Lengths are classes of differences to the length of the source.

    Args:
        config: Sizes and rates.

    Call arguments:
        inputs: Dictionary of int `source` `[B, S]`, each row ended by the end token, and `target` `[B, T]` with masked
            tokens, both padded with 0.

    Returns:
        Logits in the compute dtype. With predicted lengths `[B, T + 1, max(V, C)]`: first those of the C classes of
        lengths, and then those of the tokens; else those of the tokens `[B, T, V]`.

    Raises:
        ValueError: If an id is outside of the vocabulary, in an eager call.
    """

    config_class, default_name = NonAutoregressiveConfig, "non_autoregressive"

    def __init__(self, config: NonAutoregressiveConfig, **kwargs):
        super().__init__(config, **kwargs)
        self.length_head = None
        if config.num_length_classes:
            self.length_head = keras.layers.Dense(
                config.num_length_classes, dtype=self.dtype_policy, name="length_head"
            )

    def build(self, inputs_shape=None):
        if self.length_head is not None:
            self.length_head.build((None, self.config.hidden_dim))
        super().build()

    def call(self, inputs, training=None):
        source = inputs["source"]
        self.check_inputs(inputs)
        memory, memory_mask = self.encode(source), masks.padding_mask(source, PAD_ID)
        logits = self.logits(self.decode(inputs["target"], memory, memory_mask))
        if self.length_head is None:
            return logits
        lengths = self.length_logits(memory, memory_mask)[:, None]
        count = max(logits.shape[-1], lengths.shape[-1])
        return ops.concatenate([pad_classes(lengths, count), pad_classes(logits, count)], axis=1)

    def length_logits(self, memory, memory_mask):
        """Computes logits of the classes of lengths `[B, C]` from the memory `[B, S, D]`."""
        return self.length_head(masked_mean(memory, memory_mask))

    def decode(self, target, memory, memory_mask, cache=None):
        """Computes the vectors `[B, T, D]` of a target `[B, T]` with masked tokens."""
        return self.decoder(
            self.embed(target),
            memory,
            inputs_mask=masks.padding_mask(target, PAD_ID),
            memory_mask=memory_mask,
            use_causal_mask=False,
            cache=cache,
        )

    def step_function(self, memory, memory_mask):
        """Returns the `step` of `keras_transformer.decoding.mask_predict` for any number of rows of each sentence.

        Call this method in the graph of the search: the function holds the output matrix and the projected memory,
        computed once.
        """
        output_kernel = self.output_table.output_kernel()
        cache = self.decoder.init_cache(memory, None)

        def step(token_ids, places):
            x = self.decode(token_ids, None, memory_mask, cache)
            return self.logits(gather(flattened(x), places), output_kernel)

        return step
