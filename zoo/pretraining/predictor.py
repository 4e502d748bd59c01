"""The predictor of masked tokens."""

from collections.abc import Sequence

import numpy as np
from keras import ops

from zoo.corpora.batching import length_sorted_chunks
from zoo.corpora.labelled_corpus import NO_LABEL, LabelledCorpus, frame_rows
from zoo.corpora.prepared_corpus import encoded_rows
from zoo.corpora.token_rows import TokenRows
from zoo.models.masked_language_model import MaskedLanguageModel
from zoo.serving.sentence_encoder import SentenceEncoder
from zoo.text.checks import check_texts
from zoo.text.vocabularies import Vocabulary


class MaskedEncoder(SentenceEncoder):
    """Predicts masked tokens with a `zoo.models.masked_language_model.MaskedLanguageModel`, and encodes texts.

    Arguments are those of `SentenceEncoder`.
    """

    task, model_class = "pretraining", MaskedLanguageModel

    def examples(self, texts: Sequence[str], batch_size: int = 32, shuffle: bool = True, seed: int = 0):
        """Encodes texts and masks some of their tokens for `model.fit`; see `Predictor.examples`."""
        from zoo.tf.masking import TokenMasker
        from zoo.tf.pipeline import shuffled_dataset

        masker, batches = (
            TokenMasker(self.tokenizer, seed),
            shuffled_dataset(self.encode_examples(texts), batch_size, shuffle, seed),
        )
        return batches.enumerate().map(lambda number, batch: self.split(masker(batch["token_ids"], number)))

    def encode_examples(self, texts: Sequence[str]) -> LabelledCorpus:
        """Encodes texts; long ones are split into several rows."""
        return LabelledCorpus(encode_rows(check_texts(texts), self.tokenizer, self.max_tokens))

    def predict_masked(self, rows: TokenRows, masker) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Predicts the tokens of some rows that `masker`, a `zoo.tf.masking.TokenMasker`, masks.

        Returns:
            The masked tokens, the predicted ones, and the log-probabilities of the masked ones, each `[M]`.
        """
        found = []
        for number, chunk in enumerate(length_sorted_chunks(rows.lengths, self.batch_tokens)):
            batch = masker(rows.padded(chunk, int(rows.lengths[chunk].max())), number)
            labels = np.asarray(batch["labels"])
            inputs = np.asarray(batch["token_ids"]), np.asarray(batch["positions"])
            predicted = self.compiled(self._masked_predictions)(*inputs, np.maximum(labels, 0))
            real = labels != NO_LABEL
            found.append((labels[real], *(ops.convert_to_numpy(part)[real] for part in predicted)))
        return tuple(np.concatenate(parts) for parts in zip(*found))

    def _masked_predictions(self, token_ids, positions, labels):
        inputs = {"token_ids": token_ids, "positions": positions}
        log_probabilities = ops.log_softmax(ops.cast(self.model(inputs, training=False), "float32"))
        gold = ops.take_along_axis(log_probabilities, labels[..., None], axis=-1)[..., 0]
        return ops.argmax(log_probabilities, axis=-1), gold


def encode_rows(texts, tokenizer: Vocabulary, max_tokens: int) -> TokenRows:
    """Encodes texts as rows of at most `max_tokens` tokens, special tokens included; long texts get several rows."""
    room = max_tokens - 2
    parts = [[ids[i : i + room]] for ids in encoded_rows(texts, tokenizer) for i in range(0, len(ids), room)]
    return frame_rows(parts, tokenizer.start_id, tokenizer.end_id, max_tokens)[0]
