"""An encoder that was pretrained to guess masked tokens."""

import numpy as np
from keras import ops

from zoo.config import EncoderConfig
from zoo.conversion.from_bert import PretrainedEncoder
from zoo.corpora.batching import length_sorted_chunks
from zoo.corpora.labelled_corpus import NO_LABEL
from zoo.corpora.token_rows import TokenRows
from zoo.models.compiling import compiled
from zoo.models.masked_language_model import MaskedLanguageModel
from zoo.storage.checkpoints import Checkpoint
from zoo.storage.saving import Saveable, restored_model
from zoo.text.vocabularies import Vocabulary, read_vocabulary


class MaskedEncoder(Saveable, PretrainedEncoder):
    """A `PretrainedEncoder` that still has the output of its pretraining.

    Args:
        model: The Keras model.
        tokenizer: Its vocabulary.
        max_tokens: Longer texts are cut.
        card: What a checkpoint says of itself; see `zoo.storage.checkpoints`.
    """

    task = "pretraining"

    def __init__(self, model: MaskedLanguageModel, tokenizer: Vocabulary, max_tokens: int, card: dict | None = None):
        super().__init__(model, tokenizer, max_tokens)
        self.card = dict(card or {})
        self._guess = compiled(model, self._judged)

    @classmethod
    def from_checkpoint(cls, checkpoint: Checkpoint) -> "MaskedEncoder":
        """The one that a checkpoint describes."""
        model = restored_model(checkpoint, MaskedLanguageModel, EncoderConfig)
        return cls(model, read_vocabulary(checkpoint.vocabulary), checkpoint.card["max_tokens"], checkpoint.card)

    def full_card(self) -> dict:
        """See `Saveable`."""
        return {**super().full_card(), "max_tokens": self.max_tokens}

    def guesses(self, rows: TokenRows, masker, batch_tokens: int = 16_384) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What the model says to rows that `masker`, a `zoo.tf.masking.TokenMasker`, hides tokens of.

        Returns:
            The hidden tokens, the guesses, and the log-probabilities of the hidden tokens, one behind the other.
        """
        found = []
        for number, chunk in enumerate(length_sorted_chunks(rows.lengths, batch_tokens)):
            batch = masker(rows.padded(chunk, int(rows.lengths[chunk].max())), number)
            labels = np.asarray(batch["labels"])
            inputs = np.asarray(batch["token_ids"]), np.asarray(batch["positions"])
            judged = self._guess(*inputs, np.maximum(labels, 0))
            real = labels != NO_LABEL
            found.append((labels[real], *(ops.convert_to_numpy(part)[real] for part in judged)))
        return tuple(np.concatenate(parts) for parts in zip(*found))

    def _judged(self, token_ids, positions, labels):
        inputs = {"token_ids": token_ids, "positions": positions}
        log_probabilities = ops.log_softmax(ops.cast(self.model(inputs, training=False), "float32"))
        gold = ops.take_along_axis(log_probabilities, labels[..., None], axis=-1)[..., 0]
        return ops.argmax(log_probabilities, axis=-1), gold
