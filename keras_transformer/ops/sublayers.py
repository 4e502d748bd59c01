"""Layers inside layers."""

import keras


def sublayers(layer: keras.layers.Layer, include_self: bool = False) -> list[keras.layers.Layer]:
    """Returns all layers inside a layer or model, at any depth."""
    # Keras has no public function for it: `Model.layers` are those of the first level.
    return list(layer._flatten_layers(include_self=include_self))


def owners(model: keras.Model) -> list[keras.layers.Layer]:
    """Returns the layers inside a model that have trainable weights of their own, not only in layers inside them."""
    return [layer for layer in sublayers(model) if _has_own(layer)]


def _has_own(layer):
    inside = {id(weight) for part in sublayers(layer) for weight in part.trainable_variables}
    return any(id(weight) not in inside for weight in layer.trainable_variables)
