"""The span parser against its equations, and the order of the spans."""

import layer_checks as checks
import numpy as np
import pytest
import reference as ref
from keras import ops

from zoo.config import SpanParserConfig
from zoo.models.span_parser import SpanParser, span_pairs


@pytest.mark.parametrize("places", [1, 2, 3, 50, 200])
def test_all_pairs_in_order(places):
    first, last = (ops.convert_to_numpy(side).tolist() for side in span_pairs(places))
    assert list(zip(first, last)) == [(i, j) for j in range(places) for i in range(j)]


def test_logits_follow_the_equations(monkeypatch):
    """From vectors in place of those of the encoder."""
    sizes = dict(vocabulary_size=13, num_layers=1, hidden_dim=6, intermediate_dim=5, num_heads=3)
    model = SpanParser(SpanParserConfig(**sizes, num_labels=3, num_tags=5, span_dim=7))
    model.build()
    checks.randomize(model)
    y, after = checks.array(2, 8, 6), np.array([[1, 2, 5, 7], [1, 3, 4, 6]])
    monkeypatch.setattr(SpanParser, "hidden_states", lambda self, inputs: ops.convert_to_tensor(y))
    spans, tags = (checks.numpy(part) for part in model.logits({"boundary_ids": ops.convert_to_tensor(after)}))
    weights = ref.weights_of(model)
    for row, places in enumerate(after):
        v = np.concatenate([y[row, places - 1, :3], y[row, places, 3:]], axis=-1)
        v = ref.dense(v, ref.part(weights, "boundary_projection"))
        pairs = [v[j] - v[i] for j in range(4) for i in range(j)]
        inner = ref.relu(ref.layer_norm(np.array(pairs), ref.part(weights, "span_norm")))
        np.testing.assert_allclose(spans[row], ref.dense(inner, ref.part(weights, "head")), atol=1e-4)
        np.testing.assert_allclose(tags[row], ref.dense(y[row, places], ref.part(weights, "tag_head")), atol=1e-5)
