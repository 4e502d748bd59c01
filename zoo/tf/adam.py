"""Adam with one pass over each variable, and gradient accumulation under every `tf.distribute` strategy."""

import keras
import tensorflow as tf
from keras import ops


@keras.saving.register_keras_serializable("zoo")
class Adam(keras.optimizers.Adam):
    """Keras's Adam that updates with the mean gradient of every `accumulation_steps` calls.

    The Adam of Keras makes a dozen passes over the weights, and its `gradient_accumulation_steps` fails under a
    strategy: it decides whether to update before the replicas exchange their gradients, but an exchange is not allowed
    inside of a condition. Here the condition comes after the exchange, separately for each variable.

    Args:
        accumulation_steps: Calls for each update. `iterations` counts updates; schedules receive the number of calls,
            see `keras_transformer.training.PerUpdate`.
        kwargs: Arguments of `keras.optimizers.Adam`.
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
            return self._update(gradient, variable, learning_rate)
        total = self._sums[self._get_variable_index(variable)]
        self.assign_add(total, gradient)

        def update():
            self._update(ops.divide(total, self.accumulation_steps), variable, learning_rate)
            self.assign(total, ops.zeros_like(total))

        ops.cond((self._iterations + 1) % self.accumulation_steps == 0, update, lambda: None)

    def _update(self, gradient, variable, learning_rate):
        if self.amsgrad:
            return super().update_step(gradient, variable, learning_rate)
        index, dtype = self._get_variable_index(variable), variable.dtype
        step = ops.cast(self.iterations + 1, dtype)
        beta_1, beta_2 = ops.cast(self.beta_1, dtype), ops.cast(self.beta_2, dtype)
        tf.raw_ops.ResourceApplyAdam(
            var=_handle(variable),
            m=_handle(self._momentums[index]),
            v=_handle(self._velocities[index]),
            beta1_power=ops.power(beta_1, step),
            beta2_power=ops.power(beta_2, step),
            lr=ops.cast(learning_rate, dtype),
            beta1=beta_1,
            beta2=beta_2,
            epsilon=ops.cast(self.epsilon, dtype),
            grad=ops.cast(gradient, dtype),
        )

    def get_config(self):
        return {**super().get_config(), "accumulation_steps": self.accumulation_steps}


def _handle(variable):
    return (variable.value if isinstance(variable, keras.Variable) else variable).handle
