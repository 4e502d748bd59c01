"""The optimizer of a training run: Adam with a schedule, and with learning rates that fall from layer to layer."""

import keras

from keras_transformer.training import InverseSquareRoot, PerUpdate
from zoo.config import TrainingConfig


def make_optimizer(config: TrainingConfig, model: keras.Model, accumulation: int = 1) -> keras.optimizers.Optimizer:
    """Returns Adam with the betas and epsilon of Vaswani et al. (2017), section 5.3, and the schedule of `config`."""
    tail = {"total_steps": config.steps, "cooldown_steps": config.cooldown_steps}
    if config.peak_learning_rate:
        schedule = InverseSquareRoot(config.peak_learning_rate, config.warmup_steps, **tail)
    else:
        schedule = InverseSquareRoot.noam(model.config.hidden_dim, config.warmup_steps, **tail)
    if accumulation > 1:
        schedule = PerUpdate(schedule, accumulation)
    values = {"learning_rate": schedule, "beta_1": 0.9, "beta_2": 0.98, "epsilon": 1e-9}
    if keras.backend.backend() == "tensorflow":
        from zoo.tf.adam import Adam

        values["accumulation_steps"] = accumulation
    else:
        Adam = keras.optimizers.Adam
        values["gradient_accumulation_steps"] = accumulation if accumulation > 1 else None
    if config.layer_decay == 1:
        return Adam(**values)
    factors = _factors(model, config.layer_decay)

    class LayerwiseAdam(Adam):
        def update_step(self, gradient, variable, learning_rate):
            factor = factors[self._get_variable_index(variable)]
            return super().update_step(gradient, variable, learning_rate * factor)

    return LayerwiseAdam(**values)


def _factors(model, decay):
    """Returns `decay ** n` for each variable, n layers below the top; n is 0 for variables outside the encoder."""
    layers = model.text_encoder.layers_bottom_up()
    depths = {
        id(variable): len(layers) - i for i, level in enumerate(layers) for part in level for variable in part.variables
    }
    return [decay ** depths.get(id(variable), 0) for variable in model.trainable_variables]
