"""Base class of predictors of classes whose probabilities are calibrated by a temperature."""

from keras import ops

from zoo.serving.predictor import Predictor


class CalibratedPredictor(Predictor):
    """A `Predictor` with a `temperature`; see `zoo.serving.calibration`."""

    @property
    def temperature(self) -> float:
        """Divisor of the logits, which makes probabilities as high as predictions are right.

        Raises:
            ValueError: If it is set to 0 or less.
        """
        return self._temperature

    @temperature.setter
    def temperature(self, value: float):
        if not value > 0:
            raise ValueError(f"`temperature` must be above 0. Received: temperature={value}. Use 1 for none.")
        self._temperature = value
        self._compiled.clear()  # Compiled functions hold the value as a constant.

    def calibrated(self, logits):
        """Computes float32 probabilities of logits, at the temperature, without compilation."""
        return ops.softmax(ops.cast(logits, "float32") / self.temperature)
