"""Layer that encodes the characters of words."""

import keras
from keras import ops

from keras_transformer import TokenEmbedding
from zoo.config import NUM_CHARACTERS

_CHARACTER_DIM = 32
_WINDOW = 5


@keras.saving.register_keras_serializable("zoo")
class CharacterEncoder(keras.layers.Layer):
    """Encodes the spelling of words by a convolution and its maxima (Santos and Zadrozny 2014; Ma and Hovy 2016).

        y = W max_k ReLU(Conv5(E[c]))_k

    W is initialized with zeros, so that adding this layer to a trained encoder changes nothing at first. Axes: B batch,
    T steps, K characters, F filters, D width.

    Args:
        num_filters: Filters F of the convolution over five characters.
        hidden_dim: Width D of the vectors.

    Call arguments:
        character_ids: Int `[B, T, K]` of `zoo.text.word_characters`.

    Returns:
        Float `[B, T, D]`.
    """

    def __init__(self, num_filters: int, hidden_dim: int, **kwargs):
        super().__init__(**kwargs)
        self.num_filters, self.hidden_dim = num_filters, hidden_dim
        named = {"dtype": self.dtype_policy}
        self.table = TokenEmbedding(NUM_CHARACTERS, _CHARACTER_DIM, mask_zero=False, scale=False, **named, name="table")
        self.convolution = keras.layers.Conv1D(
            num_filters, _WINDOW, padding="same", activation="relu", **named, name="convolution"
        )
        self.projection = keras.layers.Dense(
            hidden_dim, use_bias=False, kernel_initializer="zeros", **named, name="projection"
        )

    def build(self, inputs_shape=None):
        self.table.build()
        self.convolution.build((None, None, _CHARACTER_DIM))
        self.projection.build((None, None, self.num_filters))
        self.built = True

    def call(self, character_ids):
        batch, steps, characters = ops.shape(character_ids)
        x = self.table(ops.reshape(character_ids, (-1, characters)))
        x = ops.max(self.convolution(x), axis=1)
        return self.projection(ops.reshape(x, (batch, steps, self.num_filters)))

    def get_config(self):
        return {**super().get_config(), "num_filters": self.num_filters, "hidden_dim": self.hidden_dim}
