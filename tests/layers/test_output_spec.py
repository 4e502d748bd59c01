"""Tests of symbolic calls: they know the shapes of outputs, and trace `call` for scores and caches only."""

import keras
import pytest

from keras_transformer import Decoder, DecoderBlock, Encoder, EncoderBlock, MultiHeadAttention

X, MEMORY = keras.Input((7, 6)), keras.Input((None, 4))
BLOCK = {"num_heads": 2, "intermediate_dim": 5}
CALLS = {
    "attention": (lambda dtype: MultiHeadAttention(2, 3, output_shape=11, dtype=dtype), (X, MEMORY), (None, 7, 11)),
    "encoder block": (lambda dtype: EncoderBlock(**BLOCK, dtype=dtype), (X,), (None, 7, 6)),
    "decoder block": (lambda dtype: DecoderBlock(**BLOCK, dtype=dtype), (X, MEMORY), (None, 7, 6)),
    "encoder": (lambda dtype: Encoder(2, **BLOCK, dtype=dtype), (X,), (None, 7, 6)),
    "decoder": (lambda dtype: Decoder(2, **BLOCK, dtype=dtype), (X, MEMORY), (None, 7, 6)),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", ["float32", "mixed_float16"])
def test_shapes_without_tracing(name, dtype, monkeypatch):
    make, inputs, shape = CALLS[name]
    layer = make(dtype)
    layer.build(*[x.shape for x in inputs])
    traced = keras.Operation.compute_output_spec(layer, *inputs)

    def fail(*args, **kwargs):
        raise AssertionError("the call was traced")

    monkeypatch.setattr(keras.Operation, "compute_output_spec", fail)
    found = layer(*inputs)
    assert found.shape == traced.shape == shape and found.dtype == layer.compute_dtype
    with pytest.raises(AssertionError, match="was traced"):  # The shapes of scores are those that `call` returns.
        layer(*inputs, return_attention_scores=True)
