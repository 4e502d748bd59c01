"""Predictors whose weights differ a little from those of others."""

import numpy as np
from keras import ops


def perturbed(predictor, scale, seed=0):
    """Returns a predictor of the same kind, with normal noise of a standard deviation of `scale` on all weights."""
    model = type(predictor.model)(predictor.model.config)
    model.build()
    rng = np.random.default_rng(seed)
    for new, old in zip(model.trainable_weights, predictor.model.trainable_weights):
        new.assign(ops.convert_to_numpy(old) + scale * rng.normal(size=old.shape))
    return type(predictor)(model, predictor.tokenizer)
