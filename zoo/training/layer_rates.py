"""Learning rates that differ between layers, for any optimizer."""

import functools
from collections.abc import Sequence

import keras


class LayerRates:
    """Mixin of optimizers that multiplies the learning rate of each variable by a factor.

    Args:
        factors: One factor for each trainable variable, in the order in which `build` receives them; None for 1.
    """

    def __init__(self, *args, factors: Sequence[float] | None = None, **kwargs):
        super().__init__(*args, **kwargs)
        self.factors = None if factors is None else [*factors]

    def update_step(self, gradient, variable, learning_rate):
        if self.factors is not None:
            learning_rate = learning_rate * self.factors[self._get_variable_index(variable)]
        return super().update_step(gradient, variable, learning_rate)

    def get_config(self):
        return {**super().get_config(), "factors": self.factors}


@functools.cache
def with_layer_rates(optimizer_class: type) -> type:
    """Returns a subclass of an optimizer class that also takes the `factors` of `LayerRates`."""
    made = type(f"Layerwise{optimizer_class.__name__}", (LayerRates, optimizer_class), {})
    return keras.saving.register_keras_serializable("zoo", f"{optimizer_class.__module__}.{made.__name__}")(made)
