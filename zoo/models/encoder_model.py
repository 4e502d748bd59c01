"""Base classes of the models, each of which is described by one configuration."""

import dataclasses

import keras

from zoo.config import EncoderConfig
from zoo.models.character_encoder import CharacterEncoder
from zoo.models.text_encoder import TextEncoder


class ConfiguredModel(keras.Model):
    """Model that is described by one `config` and saved with it.

    Args:
        config: Sizes and rates, an instance of the subclass's `config_class`.
    """

    config_class: type
    default_name: str

    def __init__(self, config, **kwargs):
        super().__init__(**{"name": self.default_name, **kwargs})
        self.config = config

    def compile(self, *args, jit_compile="auto", **kwargs):
        """As Keras's, but on TensorFlow "auto" does not mean XLA, which compiles each shape of a batch anew.

        Keras turns XLA on if there is one GPU. Batches of sentences come in hundreds of shapes; see docs/training.md.
        """
        if jit_compile == "auto" and keras.backend.backend() == "tensorflow":
            jit_compile = False
        super().compile(*args, jit_compile=jit_compile, **kwargs)

    def stateless_call(self, trainable_variables, non_trainable_variables, *args, return_losses=False, **kwargs):
        """As Keras's, which `fit` calls on JAX, but the layers inside learn of `training`.

        Keras's skips `__call__`, so that a dropout to which `call` does not pass `training` would do nothing.
        """
        own = self.trainable_variables, self.non_trainable_variables
        given = trainable_variables, non_trainable_variables
        mapping = [pair for names, values in zip(own, given) for pair in zip(names, values, strict=True)]
        with keras.StatelessScope(state_mapping=mapping, collect_losses=return_losses) as scope:
            outputs = self(*args, **kwargs)
            losses = self.losses if return_losses else None
        following = [scope.get_current_value(variable) for variable in self.non_trainable_variables]
        return (outputs, following, losses) if return_losses else (outputs, following)

    def compile_from_config(self, config):
        self.compile(**keras.saving.deserialize_keras_object(config))
        if self.built:
            self.optimizer.build(self.trainable_variables)

    def get_config(self):
        return {**super().get_config(), "config": dataclasses.asdict(self.config)}

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "config": cls.config_class(**config["config"])})


@keras.saving.register_keras_serializable("zoo")
class EncoderModel(ConfiguredModel):
    """Computes hidden states of token ids by a `TextEncoder`.

    Args:
        config: Sizes and rates.

    Call arguments:
        inputs: As for `TextEncoder`.

    Returns:
        Float `[B, T, D]`.
    """

    config_class, default_name = EncoderConfig, "encoder_model"

    def __init__(self, config: EncoderConfig, **kwargs):
        super().__init__(config, **kwargs)
        self.text_encoder = TextEncoder(config, dtype=self.dtype_policy, name="text_encoder")

    def build(self, inputs_shape=None):
        self.text_encoder.build()
        self.built = True

    def call(self, inputs, training=None):
        return self.text_encoder(inputs)[0]


class WordModel(EncoderModel):
    """Base of models that read the subwords and, with `config.character_filters`, the characters of words."""

    def __init__(self, config, **kwargs):
        super().__init__(config, **kwargs)
        self.characters = None
        if config.character_filters:
            sizes = config.character_filters, config.hidden_dim
            self.characters = CharacterEncoder(*sizes, dtype=self.dtype_policy, name="characters")

    def build(self, inputs_shape=None):
        super().build()
        if self.characters is not None:
            self.characters.build()

    def hidden_states(self, inputs):
        """Returns float `[B, T, D]`, one vector for each token."""
        added = None if self.characters is None else self.characters(inputs["character_ids"])
        return self.text_encoder(inputs, added)[0]
