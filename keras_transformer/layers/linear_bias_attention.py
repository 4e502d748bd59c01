"""Multi-head attention with scores that fall with the distance."""

import keras
import numpy as np
from keras import ops

from keras_transformer.layers.multi_head_attention import MultiHeadAttention


def head_slopes(num_heads: int) -> np.ndarray:
    """Returns the slopes of N heads, float32 `[N]`: 2^(-8 n / N) for n = 1 ... N.

    If N is no power of two, the heads beyond the last power have every second slope of twice that power, as in the
    published code (Press et al. 2022).
    """
    power = 2 ** int(np.log2(num_heads))
    slopes = 2.0 ** (-8 / power * np.arange(1, power + 1))
    more = 2.0 ** (-4 / power * np.arange(1, 2 * power, 2))
    return np.concatenate([slopes, more[: num_heads - power]]).astype("float32")


@keras.saving.register_keras_serializable("keras_transformer")
class LinearBiasAttention(MultiHeadAttention):
    """`MultiHeadAttention` whose scores fall with the distance of the key (ALiBi: Press et al. 2022, section 3).

        score = q_t . k_s / sqrt(H) - m_n |t - s|

    The slopes m_n of the heads are constants; see `head_slopes`. Inputs need no positional encoding, and models work on
    inputs longer than those they were trained on. Arguments are those of `MultiHeadAttention`.

    Axes: T query steps, S key steps, N heads, H width of a head.
    """

    def _bias(self, query_positions, key_positions):
        distances = ops.abs(ops.expand_dims(query_positions, 1) - ops.expand_dims(key_positions, 0))
        slopes = ops.convert_to_tensor(head_slopes(self.num_heads)[None, :, None, None])
        return -slopes * ops.cast(distances, "float32")
