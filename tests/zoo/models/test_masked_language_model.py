"""The output of a masked language model equals its equation."""

import numpy as np
import reference as ref

from zoo.config import EncoderConfig
from zoo.models.masked_language_model import MaskedLanguageModel


def test_logits_at_the_positions():
    config = EncoderConfig(vocabulary_size=11, num_layers=1, hidden_dim=8, intermediate_dim=12, num_heads=2)
    model = MaskedLanguageModel(config)
    model.build()
    rng = np.random.default_rng(0)
    for weight in model.weights:
        weight.assign(rng.normal(size=weight.shape))
    ids = np.array([[2, 5, 6, 7, 3], [2, 9, 3, 0, 0]])
    positions = np.array([[3, 1], [1, 0]])
    x = np.asarray(model.text_encoder({"token_ids": ids})[0], "float64")
    x = np.stack([row[places] for row, places in zip(x, positions)])
    dense, norm = model.transform, model.norm
    x = x @ np.asarray(dense.kernel) + np.asarray(dense.bias)
    x = ref.layer_norm(ref.gelu(x), ref.weights_of(norm))
    expected = x @ np.asarray(model.text_encoder.embedding.embeddings).T + np.asarray(model.output_bias)
    found = model({"token_ids": ids, "positions": positions})
    np.testing.assert_allclose(found, expected, atol=1e-4)
