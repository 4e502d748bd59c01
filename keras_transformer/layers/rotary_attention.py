"""Multi-head attention with rotary positions."""

import keras
from keras import ops

from keras_transformer.layers.multi_head_attention import MultiHeadAttention
from keras_transformer.ops.arguments import check_positive_numbers
from keras_transformer.ops.positions import PAIRINGS, rotate


@keras.saving.register_keras_serializable("keras_transformer")
class RotaryAttention(MultiHeadAttention):
    """`MultiHeadAttention` that rotates queries and keys by their positions (RoPE: Su et al. 2021, eq. 34).

        score = (R_t q_t) . (R_s k_s) / sqrt(H) = q_t . (R_{s - t} k_s) / sqrt(H)

    R_p turns each of the H / 2 pairs of a head in its plane, pair i by the angle p * base^(-2 i / H), so that scores
    depend on the distance of the steps only. Inputs need no positional encoding.

    Axes: T query steps, S key steps, H width of a head.

    Args:
        num_heads, key_dim: As for `MultiHeadAttention`; `key_dim` is even.
        base: A larger one turns more slowly, for longer inputs.
        pairing: Which numbers of a head are a pair: "interleaved" for 2 i and 2 i + 1, as published (GPT-J), or
            "halves" for i and i + H / 2 (GPT-NeoX, Llama).
        kwargs: Other arguments of `MultiHeadAttention`.

    Raises:
        ValueError: If `key_dim` is odd, `base` not positive, or `pairing` unknown.
    """

    def __init__(
        self, num_heads: int, key_dim: int, *args, base: float = 10_000.0, pairing: str = "interleaved", **kwargs
    ):
        super().__init__(num_heads, key_dim, *args, **kwargs)
        if key_dim % 2:
            raise ValueError(f"`key_dim` must be even, as pairs are rotated. Received: key_dim={key_dim}.")
        check_positive_numbers(base=base)
        if pairing not in PAIRINGS:
            raise ValueError(f"`pairing` must be one of {', '.join(PAIRINGS)}. Received: pairing={pairing!r}.")
        self.base, self.pairing = base, pairing

    def get_config(self):
        return {**super().get_config(), "base": self.base, "pairing": self.pairing}

    def _place(self, heads, positions):
        return ops.cast(rotate(heads, positions, self.base, self.pairing), heads.dtype)
