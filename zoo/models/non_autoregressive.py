"""Encoder-decoder Transformer that predicts all tokens of the target at once."""

import keras
from keras import ops

from keras_transformer.ops import masks
from keras_transformer.ops.gather import gather
from keras_transformer.ops.sizes import flattened
from keras_transformer.training import ctc_alignment
from zoo.config import END_ID, PAD_ID, START_ID, NonAutoregressiveConfig
from zoo.models.class_padding import certain_positions, pad_classes
from zoo.models.seq2seq import EncoderDecoder
from zoo.models.text_encoder import masked_mean


@keras.saving.register_keras_serializable("zoo")
class NonAutoregressive(EncoderDecoder):
    """Encoder-decoder whose decoder has no causal mask: a conditional masked language model, or an aligned one.

        memory = Encoder(x_source),  p(y_i | X, y_observed) = softmax(Decoder(x_target, memory)_i E^T (+ b))
        p(length | X) = softmax(W mean_s memory_s + c)

    (Ghazvininejad et al. 2019.) The start token, which such a decoder has no other use for, stands for what is masked,
    so that the vocabulary is that of the autoregressive teacher. Lengths are classes of differences to the length of
    the source.

    With aligned outputs there is no length: each token of the source has U positions, and the decoder reads its vector
    at them. A token may stand at several positions in a row, and others are blank, for which the end token stands
    (Libovicky and Helcl 2018). In training, all positions are predicted once, and then again with some of the most
    probable alignment of the target shown: the more the worse the first prediction was (Qian et al. 2021, for aligned
    outputs as in Gu and Kong 2021), or any share, for decoding in several iterations (Saharia et al. 2020).

    Args:
        config: Sizes and rates.

    Call arguments:
        inputs: Dictionary of int `source` `[B, S]`, each row ended by the end token, and `target` `[B, T]`, both padded
            with 0. The target has masked tokens; that of an aligned model has none, and is used in training only.

    Returns:
        Logits in the compute dtype. With predicted lengths `[B, T + 1, max(V, C)]`: first those of the C classes of
        lengths, and then those of the tokens; with a fixed one those of the tokens `[B, T, V]`; with aligned outputs
        those of the positions `[B, U S, V]`, of which those of padding are blank for certain, and those shown in
        training what they are (float32 for float16).

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
        self.aligned = config.lengths == "aligned"
        shows = self.aligned and (config.glancing or config.imputed)
        self.seed_generator = keras.random.SeedGenerator() if shows else None

    def build(self, inputs_shape=None):
        if self.length_head is not None:
            self.length_head.build((None, self.config.hidden_dim))
        super().build()

    def call(self, inputs, training=None):
        source, target = inputs["source"], inputs["target"]
        self.check_inputs(inputs)
        memory, memory_mask = self.encode(source), masks.padding_mask(source, PAD_ID)
        if self.aligned:
            return self._aligned_logits(source, target, memory, memory_mask, training)
        logits = self.logits(self.decode(target, memory, memory_mask))
        if self.length_head is None:
            return logits
        lengths = self.length_logits(memory, memory_mask)[:, None]
        count = max(logits.shape[-1], lengths.shape[-1])
        return ops.concatenate([pad_classes(lengths, count), pad_classes(logits, count)], axis=1)

    def length_logits(self, memory, memory_mask):
        """Computes logits of the classes of lengths `[B, C]` from the memory `[B, S, D]`."""
        return self.length_head(masked_mean(memory, memory_mask))

    def _aligned_logits(self, source, target, memory, memory_mask, training):
        positions, copies = self.masked_positions(source), self.copies(memory)
        real = masks.padding_mask(positions, PAD_ID)

        def predict(positions, given, class_ids):
            logits = self.logits(self.decode(positions, memory, memory_mask, None, copies))
            return certain_positions(logits, given, class_ids)

        padding = ops.logical_not(real)
        guessed = predict(positions, padding, END_ID)
        if not (training and self.seed_generator):
            return guessed
        guessed = ops.stop_gradient(guessed)
        path = ctc_alignment(ops.where(ops.equal(target, PAD_ID), END_ID, target), guessed, END_ID)
        wrong = ops.logical_and(real, ops.not_equal(ops.argmax(guessed, axis=-1), path))
        wrong, count = (ops.sum(ops.cast(each, "float32"), axis=1, keepdims=True) for each in (wrong, real))
        rate = self.config.glancing * wrong / ops.maximum(count, 1.0)
        if self.config.imputed:
            any_rate = self._uniform(ops.shape(rate)) / self.config.imputed
            rate = ops.where(any_rate < 1.0, any_rate, rate)
        shown = ops.logical_and(real, self._uniform(ops.shape(positions)) < rate)
        return predict(ops.where(shown, path, positions), ops.logical_or(shown, padding), path)

    def _uniform(self, shape):
        return keras.random.uniform(shape, dtype="float32", seed=self.seed_generator)

    def masked_positions(self, source):
        """Returns the positions `[B, U S]` of an aligned output: masked, or padding behind the source."""
        positions = ops.where(ops.equal(source, PAD_ID), PAD_ID, START_ID)
        return ops.cast(ops.repeat(positions, self.config.positions_per_token, axis=1), "int32")

    def copies(self, memory):
        """Returns the vector of the source at each position of an aligned output `[B, U S, D]`, or None."""
        return ops.repeat(memory, self.config.positions_per_token, axis=1) if self.aligned else None

    def decode(self, target, memory, memory_mask, cache=None, copies=None):
        """Computes the vectors `[B, T, D]` of a target `[B, T]` with masked tokens."""
        x = self.embed(target)
        return self.decoder(
            x if copies is None else x + copies,
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
        cache, copies = self.decoder.init_cache(memory, None), self.copies(memory)

        def step(token_ids, places):
            x = self.decode(token_ids, None, memory_mask, cache, copies)
            return self.logits(gather(flattened(x), places), output_kernel)

        return step
