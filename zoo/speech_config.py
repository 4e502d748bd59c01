"""Configuration of models that recognize speech."""

from dataclasses import dataclass

from zoo.config import TransformerConfig
from zoo.config_checks import checked, positive, zero_or_more


@dataclass(frozen=True)
class SpeechConfig(TransformerConfig):
    """Configures a model that writes the text of a recording.

    Args:
        num_encoder_layers, num_decoder_layers: Blocks N in each stack.
        sampling_rate: Samples a second; recordings of other rates are resampled.
        num_mels: Mel bands of a frame of 25 ms.
        num_convolutions: Convolutions between the frames, of which there are 100 in a second, and the encoder; each
            halves their number.
        attention_window: Steps of the encoder before and after which a step does not see; 0 for no limit.
        ctc_weight: Share of connectionist temporal classification in the loss (w in Watanabe et al. 2017).
        time_masks, time_width, time_share, frequency_masks, frequency_width: Bars over the frames in training; see
            `keras_transformer.SpecAugment`.
    """

    num_encoder_layers: int = positive(6)
    num_decoder_layers: int = positive(2)
    sampling_rate: int = positive(16_000)
    num_mels: int = positive(80)
    num_convolutions: int = positive(2)
    attention_window: int = zero_or_more(32)
    ctc_weight: float = checked(0.3, "lie in (0, 1)", lambda value: 0 < value < 1)
    time_masks: int = zero_or_more(2)
    time_width: int = zero_or_more(40)
    time_share: float = checked(0.2, "lie in [0, 1]", lambda value: 0 <= value <= 1)
    frequency_masks: int = zero_or_more(2)
    frequency_width: int = zero_or_more(15)

    @property
    def samples_per_step(self) -> int:
        """Samples from one step of the encoder to the next."""
        return round(0.01 * self.sampling_rate) * 2**self.num_convolutions
