"""Adam that accumulates gradients under every tf.distribute strategy."""

import keras
from keras import ops


@keras.saving.register_keras_serializable("zoo")
class Adam(keras.optimizers.Adam):
    """Keras's Adam, updating with the mean gradient of every `accumulation_steps` calls.

    Keras's own `gradient_accumulation_steps` fails under a strategy: it decides whether to update before the replicas
    exchange their gradients, and nothing may be exchanged inside a condition. Here each variable decides after it.

    Args:
        accumulation_steps: Calls to an update. `iterations` counts updates; a schedule is handed the calls, see
            `keras_transformer.training.PerUpdate`.
        kwargs: Those of `keras.optimizers.Adam`.
    """

    def __init__(self, *args, accumulation_steps: int = 1, **kwargs):
        super().__init__(*args, **kwargs)
        self.accumulation_steps = accumulation_steps

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        if self.accumulation_steps > 1:
            self._sums = self.add_optimizer_variables(variables, "gradient_accumulator")

    @property
    def iterations(self):
        return ops.floor_divide(self._iterations, self.accumulation_steps)

    def update_step(self, gradient, variable, learning_rate):
        if self.accumulation_steps == 1:
            return super().update_step(gradient, variable, learning_rate)
        total = self._sums[self._get_variable_index(variable)]
        self.assign_add(total, gradient)

        def update():
            mean = ops.divide(total, self.accumulation_steps)
            super(Adam, self).update_step(mean, variable, learning_rate)
            self.assign(total, ops.zeros_like(total))

        ops.cond((self._iterations + 1) % self.accumulation_steps == 0, update, lambda: None)

    def get_config(self):
        return {**super().get_config(), "accumulation_steps": self.accumulation_steps}
