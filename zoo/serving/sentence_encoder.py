"""The predictor of sentence embeddings."""

from collections.abc import Callable, Sequence

import numpy as np
from keras import ops

from zoo.config import EncoderConfig
from zoo.corpora.batching import length_sorted_chunks, original_order
from zoo.corpora.labelled_corpus import frame_rows
from zoo.corpora.token_rows import TokenRows
from zoo.models.encoder_model import EncoderModel
from zoo.models.text_encoder import masked_mean
from zoo.serving.encoder_predictor import PROBES
from zoo.serving.predictor import Predictor, raise_mismatch
from zoo.storage.checkpoints import Checkpoint
from zoo.text.checks import check_texts
from zoo.text.vocabularies import Vocabulary


class SentenceEncoder(Predictor):
    """Encoder with its vocabulary, to embed texts or to fine-tune as `initial` of another model.

    Args:
        model: A `zoo.models.encoder_model.EncoderModel`.
        tokenizer, card: As for `Predictor`.
        max_tokens: Maximum number of tokens of a text; longer texts are truncated.
    """

    task, model_class, config_class = "encoder", EncoderModel, EncoderConfig
    settings, labels = ("max_tokens",), ()
    inputs, batch_tokens = ("token_ids",), 16_384

    def __init__(self, model: EncoderModel, tokenizer: Vocabulary, max_tokens: int, card: dict | None = None):
        super().__init__(model, tokenizer, card)
        self.max_tokens = max_tokens

    def embed(self, texts: Sequence[str], batch_tokens: int = 16_384) -> np.ndarray:
        """Computes sentence embeddings: hidden states averaged over real steps, scaled to length 1.

        The product of two embeddings is the cosine of their angle, which measures how similar the texts are.

        Args:
            texts: List of strings.
            batch_tokens: Maximum number of positions in one call of the model.

        Returns:
            Float32 `[N, D]`.

        Raises:
            ValueError: If `texts` is not a list of strings.
        """
        tokens = self.rows(texts)
        lengths = [self.rounded_width(length) for length in tokens.lengths.tolist()]
        found, chunks = [], length_sorted_chunks(lengths, batch_tokens)
        for chunk in chunks:
            rows = tokens.padded(chunk, self.rounded_width(int(tokens.lengths[chunk[0]])))
            found.append(ops.convert_to_numpy(self.compiled(self.mean_vectors)(rows)))
        return np.array(original_order(chunks, found), "float32").reshape(len(lengths), self.model.config.hidden_dim)

    def rows(self, texts: Sequence[str]) -> TokenRows:
        """Encodes each text as a row of ids, special ones included; long texts are truncated."""
        ids = [[row] for row in self.tokenizer.encode(check_texts(texts))]
        return frame_rows(ids, self.tokenizer.start_id, self.tokenizer.end_id, self.max_tokens)[0]

    def mean_vectors(self, token_ids):
        """Computes the embeddings `[B, D]` of token ids `[B, T]`, not compiled."""
        x, mask = self.model.text_encoder({"token_ids": token_ids})
        mean = ops.cast(masked_mean(x, mask), "float32")
        return mean / ops.sqrt(ops.sum(mean**2, axis=-1, keepdims=True))

    def _make_service(self, limits):
        from zoo.tf.predictor_service import EmbeddingService

        return EmbeddingService(self, limits)

    def _check_signature(self, limits, signature: Callable):
        """Checks that the SavedModel computes the same embeddings."""
        found, expected = signature(text=PROBES)["embeddings"].numpy(), self.embed(PROBES)
        if not np.allclose(found, expected, rtol=0, atol=1e-4):
            raise_mismatch("encoder", PROBES, expected, found)


def from_checkpoint(checkpoint: Checkpoint, dtype: str | None = None) -> SentenceEncoder:
    """Restores the encoder of a checkpoint."""
    return SentenceEncoder.from_checkpoint(checkpoint, dtype)
