"""Tests that a batch without sentences gives results without rows, in their usual shapes."""

import keras
import layer_checks as checks
import numpy as np
import pytest
from keras import ops

from keras_transformer import Decoder, TokenEmbedding
from keras_transformer.decoding import PerSentence, beam_search, greedy_search, sample
from keras_transformer.ops.ancestry import add_step, no_ancestors, visible_slots

V, D, L, K = 520, 12, 5, 3  # A vocabulary that is searched in groups.
SEARCHES = {"greedy": greedy_search, "beam": beam_search, "sample": sample}


@pytest.fixture(scope="module")
def layers():
    embedding, decoder = TokenEmbedding(V, D), Decoder(1, 2, 8)
    embedding.build()
    decoder.build((None, None, D), (None, None, D))
    return embedding, decoder


def searched(layers, name, memory, limits):
    embedding, decoder = layers
    beams = K if name == "beam" else 1
    cache = PerSentence(decoder.init_cache(memory, L, beams))
    state = {"cache": cache, "ancestors": no_ancestors(ops.shape(memory)[0] * beams, L)}

    def step(token_ids, state, index):
        ancestors = add_step(state["ancestors"], index, beams)
        seen = visible_slots(ancestors, beams) if beams > 1 else None
        vectors, caches = embedding(token_ids[:, None]), state["cache"].tensors
        x, caches = decoder(vectors, cache=caches, cache_index=index, attention_mask=seen)
        return embedding.logits(x[:, 0]), {"cache": PerSentence(caches), "ancestors": ancestors}

    extra = {"beam": {"beam_size": K, "num_return": 2}, "sample": {"seed": 0}}.get(name, {})
    return SEARCHES[name](step, state, max_lengths=limits, max_length=L, start_id=1, end_id=2, **extra)


@pytest.mark.parametrize("name", SEARCHES)
def test_no_sentences_give_no_rows(layers, name):
    def run(memory, limits):
        return tuple(searched(layers, name, memory, limits))

    functions = [run, checks.compiled(run)]
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        signature = [tf.TensorSpec((None, 4, D)), tf.TensorSpec((None,), "int32")]
        options = {"input_signature": signature}, {"jit_compile": True}
        functions += [tf.function(run, autograph=False, **option) for option in options]
    returned = 2 if name == "beam" else 1
    for function in functions:
        found = function(ops.zeros((0, 4, D)), ops.zeros((0,), "int32"))
        assert [tuple(x.shape) for x in found] == [(0, returned, L)] + 3 * [(0, returned)]


def test_cached_step_without_rows_keeps_its_shapes(layers):
    _, decoder = layers
    cache = decoder.init_cache(ops.zeros((0, 4, D)), L, K)
    seen = np.ones((0, K, L * K), bool)
    outputs, cache = decoder(ops.zeros((0, 1, D)), cache=cache, cache_index=0, attention_mask=seen)
    assert tuple(outputs.shape) == (0, 1, D) and tuple(cache[0].self_attention.key.shape) == (0, L * K, D // 2)
    attention = decoder.blocks[0].self_attention
    arguments = {"cache": cache[0].self_attention, "cache_index": 1, "attention_mask": seen}
    _, scores, _ = attention(outputs, outputs, return_attention_scores=True, **arguments)
    assert tuple(scores.shape) == (0, 2, 1, L * K)
