"""Loss and optimizer of a training run: Adam with a schedule; weight decay, rates by layer, averages."""

import contextlib
from collections.abc import Iterator

import keras
from keras import ops

from keras_transformer.training import InverseSquareRoot, PerUpdate, RDropCrossEntropy, TokenCrossEntropy
from zoo.config import TrainingConfig


def make_loss(config: TrainingConfig, pad_label: int) -> keras.losses.Loss:
    """Returns the cross entropy of `config`, summed: the weights of the rows include the division."""
    options = {"label_smoothing": config.label_smoothing, "pad_id": pad_label, "reduction": "sum"}
    return RDropCrossEntropy(config.r_drop, **options) if config.r_drop else TokenCrossEntropy(**options)


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
    if config.ema:
        values |= {"use_ema": True, "ema_momentum": config.ema}
        Adam = _averaging_updates(Adam, accumulation)
    if config.weight_decay:
        Adam = _decaying_weights(Adam, config.weight_decay, accumulation)
    if config.layer_decay == 1:
        return Adam(**values)
    factors = _factors(model, config.layer_decay)

    class LayerwiseAdam(Adam):
        def update_step(self, gradient, variable, learning_rate):
            factor = factors[self._get_variable_index(variable)]
            return super().update_step(gradient, variable, learning_rate * factor)

    return LayerwiseAdam(**values)


def _averaging_updates(optimizer_class, accumulation):
    """Returns a class whose averages change at updates only; those of Keras change with each micro-batch."""

    class Averaging(optimizer_class):
        @property
        def ema_momentum(self):
            return ops.where((self._iterations + 1) % accumulation == 0, self._ema_momentum, 1.0)

        @ema_momentum.setter
        def ema_momentum(self, value):
            self._ema_momentum = value

        def finalize_variable_values(self, var_list):
            """Leaves the weights as they are, which Keras would replace at the end of `fit`."""

    return Averaging


def _decaying_weights(optimizer_class, decay, accumulation):
    """Returns a class that decays weights at updates, at the rate of their layer; Keras knows only one rate for all."""

    class Decaying(optimizer_class):
        def build(self, variables):
            super().build(variables)
            self._decayed = [len(each.shape) > 1 and "bias" not in each.name for each in variables]

        def update_step(self, gradient, variable, learning_rate):
            if self._decayed[self._get_variable_index(variable)]:
                share = ops.where((self._iterations + 1) % accumulation == 0, learning_rate * decay, 0.0)
                self.assign_sub(variable, ops.cast(share, variable.dtype) * variable)
            super().update_step(gradient, variable, learning_rate)

    return Decaying


@contextlib.contextmanager
def averaged_weights(model: keras.Model) -> Iterator[None]:
    """Gives a compiled model the moving averages of its weights for a block, if its optimizer has any."""
    averages = [variable for variable in model.optimizer.variables if variable.path.endswith("_average")]
    weights = [ops.convert_to_numpy(variable) for variable in model.trainable_variables] if averages else []
    for variable, average in zip(model.trainable_variables, averages):
        variable.assign(average)
    try:
        yield
    finally:
        for variable, value in zip(model.trainable_variables, weights):
            variable.assign(value)


def _factors(model, decay):
    """Returns `decay ** n` for each variable, n layers below the top; n is 0 for variables outside the encoder."""
    layers = model.text_encoder.layers_bottom_up()
    depths = {
        id(variable): len(layers) - i for i, level in enumerate(layers) for part in level for variable in part.variables
    }
    return [decay ** depths.get(id(variable), 0) for variable in model.trainable_variables]
