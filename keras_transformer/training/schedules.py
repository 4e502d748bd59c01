"""Learning rate schedules."""

import keras
from keras import ops

from keras_transformer.ops.arguments import check_positive_integers


@keras.saving.register_keras_serializable("keras_transformer")
class InverseSquareRoot(keras.optimizers.schedules.LearningRateSchedule):
    """Linear warm-up, inverse-square-root decay and an optional linear cool-down to zero.

        rate(s) = peak * min(s / warmup_steps, sqrt(warmup_steps / s)) * min(1, (total_steps + 1 - s) / cooldown_steps)

    with s counted from 1. Vaswani et al. (2017), eq. 3 is `InverseSquareRoot.noam(hidden_dim, warmup_steps)`.
    The cool-down of Zhai et al. (2022, section 3.5) brings most of the gain of averaging checkpoints.

    Args:
        peak_learning_rate: Rate at the end of the warm-up.
        warmup_steps: Steps of the warm-up.
        total_steps: Step after which the rate is zero; required for a cool-down only.
        cooldown_steps: Last steps over which the rate falls to zero; 0 for none.

    Raises:
        ValueError: If a number is not positive, or a cool-down has no `total_steps`.
    """

    def __init__(
        self,
        peak_learning_rate: float,
        warmup_steps: int,
        total_steps: int | None = None,
        cooldown_steps: int = 0,
        name: str = "inverse_square_root",
    ):
        super().__init__()
        if peak_learning_rate <= 0 or warmup_steps < 1:
            raise ValueError(
                "`peak_learning_rate` and `warmup_steps` must be positive. "
                f"Received: peak_learning_rate={peak_learning_rate}, warmup_steps={warmup_steps}."
            )
        for name, steps in (("total_steps", total_steps), ("cooldown_steps", cooldown_steps)):
            if steps is not None and steps < 0:
                raise ValueError(f"`{name}` must not be negative. Received: {name}={steps}. Leave it out for none.")
        if cooldown_steps and not total_steps:
            raise ValueError(
                "A cool-down needs `total_steps`, the step at which the rate is zero. "
                f"Received: total_steps={total_steps}, cooldown_steps={cooldown_steps}."
            )
        self.peak_learning_rate = peak_learning_rate
        self.warmup_steps = warmup_steps
        self.total_steps = total_steps
        self.cooldown_steps = cooldown_steps
        self.name = name

    @classmethod
    def noam(cls, hidden_dim: int, warmup_steps: int = 4000, scale: float = 1.0, **kwargs) -> "InverseSquareRoot":
        """Returns `scale * hidden_dim^-0.5 * min(s^-0.5, s * warmup_steps^-1.5)`, eq. 3 of Vaswani et al. (2017)."""
        return cls(scale * (hidden_dim * warmup_steps) ** -0.5, warmup_steps, **kwargs)

    def __call__(self, step):
        step = ops.cast(step, "float32") + 1.0  # Keras counts from 0, where eq. 3 would be infinite.
        rate = self.peak_learning_rate * ops.minimum(step / self.warmup_steps, ops.sqrt(self.warmup_steps / step))
        if self.cooldown_steps:
            left = (self.total_steps + 1.0 - step) / self.cooldown_steps
            rate = rate * ops.clip(left, 0.0, 1.0)
        return rate

    def get_config(self):
        return {
            "peak_learning_rate": self.peak_learning_rate,
            "warmup_steps": self.warmup_steps,
            "total_steps": self.total_steps,
            "cooldown_steps": self.cooldown_steps,
            "name": self.name,
        }


@keras.saving.register_keras_serializable("keras_transformer")
class PerUpdate(keras.optimizers.schedules.LearningRateSchedule):
    """Counts optimiser updates where Keras counts batches: `rate(s) = schedule(s // accumulation_steps)`.

    With `gradient_accumulation_steps` Keras 3 passes schedules the number of batches, not of updates, so that
    warm-up and decay would run `accumulation_steps` times too fast.

    Args:
        schedule: The schedule over updates.
        accumulation_steps: Batches per update.

    Raises:
        ValueError: If `accumulation_steps` is not a positive integer.
    """

    def __init__(self, schedule, accumulation_steps: int):
        super().__init__()
        check_positive_integers(accumulation_steps=accumulation_steps)
        self.schedule = schedule
        self.accumulation_steps = accumulation_steps

    def __call__(self, step):
        return self.schedule(ops.floor_divide(ops.cast(step, "int32"), self.accumulation_steps))

    def get_config(self):
        return {
            "schedule": keras.saving.serialize_keras_object(self.schedule),
            "accumulation_steps": self.accumulation_steps,
        }

    @classmethod
    def from_config(cls, config):
        return cls(keras.saving.deserialize_keras_object(config["schedule"]), config["accumulation_steps"])
