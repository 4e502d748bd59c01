"""Tests that a step of a search is a small graph: every node costs time at every step."""

import pytest
from keras import ops
from layer_checks import tensorflow_only

from keras_transformer.decoding import beam_search, greedy_search
from zoo.config import ModelConfig
from zoo.models.seq2seq import Seq2Seq


def step_nodes(num_layers, beam_size):
    """Returns the number of nodes of the innermost loop that its results depend on."""
    import tensorflow as tf

    sizes = {"hidden_dim": 16, "intermediate_dim": 32, "num_heads": 2, "vocabulary_size": 100}
    model = Seq2Seq(ModelConfig(**sizes, num_encoder_layers=1, num_decoder_layers=num_layers))
    model.build()

    @tf.function(
        input_signature=[tf.TensorSpec([None, None], "int32"), tf.TensorSpec([None], "int32")], autograph=False
    )
    def search(source, limits):
        width = ops.max(limits)
        state, step = model.init_state(source, beam_size), model.step_function(beam_size)
        options = {"max_lengths": limits, "max_length": width, "start_id": 2, "end_id": 3}
        if beam_size == 1:
            return greedy_search(step, state, **options).ids
        return beam_search(step, state, beam_size=beam_size, **options).ids

    library = search.get_concrete_function().graph.as_graph_def().library
    bodies = [function for function in library.function if "body" in function.signature.name]
    return max(map(live_nodes, bodies))


def live_nodes(function):
    nodes = {node.name: node for node in function.node_def}
    waiting, seen = [name.split(":")[0] for name in function.ret.values()], set()
    while waiting:
        name = waiting.pop()
        if name in nodes and name not in seen:
            seen.add(name)
            waiting += [origin.lstrip("^").split(":")[0] for origin in nodes[name].input]
    return len(seen)


@tensorflow_only
@pytest.mark.parametrize("beam_size, each", [(1, 140), (4, 155)])
def test_nodes_of_a_layer_in_a_step(beam_size, each):
    """Before sizes and masks were shared, a decoder block had 419 nodes at every step."""
    nodes = [step_nodes(num_layers, beam_size) for num_layers in (1, 2)]
    assert nodes[1] - nodes[0] <= each, nodes
