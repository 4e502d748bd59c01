"""Base class of predictors with an encoder, which map rows of tokens to logits."""

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import keras
import numpy as np
from keras import ops

from zoo.corpora.batching import length_sorted_chunks, original_order
from zoo.corpora.token_rows import TokenRows, append_rows
from zoo.serving.calibrated_predictor import CalibratedPredictor
from zoo.serving.predictor import Progress, raise_mismatch
from zoo.text.vocabularies import Vocabulary

PROBES = ["Where is my hat?", "", "It's 3 o'clock,\tnaïve Straße!", "xyzzy 🙂 ❤ 中国", "no"]
_TOLERANCE = 1e-3


class EncoderPredictor(CalibratedPredictor):
    """Predicts labels with a model that maps token ids to logits.

    Args:
        model, tokenizer, card: As for `Predictor`.
        labels: Names of the outputs of the model.
        max_tokens: Maximum number of tokens of a row.
        batch_tokens: Maximum number of positions in one call of the model.
        temperature: See `CalibratedPredictor`.

    Raises:
        ValueError: If the sizes of model, vocabulary and labels differ.
    """

    settings = ("labels", "max_tokens", "temperature")

    def __init__(
        self,
        model: keras.Model,
        tokenizer: Vocabulary,
        labels: list[str],
        card: dict | None = None,
        max_tokens: int = 512,
        batch_tokens: int = 16_384,
        temperature: float = 1.0,
    ):
        super().__init__(model, tokenizer, card)
        sizes = model.config.vocabulary_size, model.head.units
        if sizes != (tokenizer.vocabulary_size, len(labels)):
            raise ValueError(
                f"The vocabulary and the labels must have the sizes of the model, {sizes[0]} tokens and {sizes[1]} "
                f"labels. Received: {tokenizer.vocabulary_size} tokens, {len(labels)} labels. Use those of the same "
                "training run."
            )
        self.labels, self.max_tokens, self.batch_tokens = list(labels), max_tokens, batch_tokens
        self.temperature = temperature

    def predict(self, rows: Mapping[str, TokenRows], progress: Progress = None) -> list[np.ndarray]:
        """Computes the probabilities of each row, float32 `[C]` or `[T, C]`, in chunks of similar lengths.

        Args:
            rows: Inputs of the model by name; see `inputs`.
            progress: Called with the number of rows done since the last call.
        """
        found = [*self.outputs(self.softmax, rows, progress)]
        return original_order([chunk for chunk, _ in found], [results for _, results in found])

    def outputs(
        self, function: Callable, rows: Mapping[str, TokenRows], progress: Progress = None
    ) -> Iterator[tuple[np.ndarray, Any]]:
        """Yields (numbers of rows, outputs of a function of their `inputs`, compiled) in chunks of similar lengths."""
        lengths = [self.rounded_width(length) for length in rows["token_ids"].lengths.tolist()]
        for chunk in length_sorted_chunks(lengths, self.batch_tokens):
            widths = [self.rounded_width(int(rows[name].lengths[chunk].max())) for name in self.inputs]
            fill = self.rounded(len(chunk)) - len(chunk)
            arrays = [append_rows(rows[name].padded(chunk, n), fill) for name, n in zip(self.inputs, widths)]
            found = keras.tree.map_structure(ops.convert_to_numpy, self.compiled(function)(*arrays))
            yield chunk, keras.tree.map_structure(operator.itemgetter(slice(len(chunk))), found)
            if progress is not None:
                progress(len(chunk))

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs of the model: int `[B, T]`, but characters `[B, T, K]` and boundaries `[B, N]`."""
        config = self.model.config
        pairs, characters = getattr(config, "num_texts", 1) > 1, getattr(config, "character_filters", 0) > 0
        boundaries = hasattr(config, "span_dim")
        names = ["segment_ids"] * pairs + ["character_ids"] * characters + ["boundary_ids"] * boundaries
        return ("token_ids", *names)

    def softmax(self, *inputs):
        """Computes float32 probabilities `[B, C]` or `[B, T, C]` of the `inputs` `[B, T]`, without compilation."""
        return self.calibrated(self.model(dict(zip(self.inputs, inputs, strict=True)), training=False))

    def _check_signature(self, limits, signature):
        """Checks that the labels of the SavedModel have the highest probability here too, and the same one."""
        longest = " ".join(PROBES * self.max_tokens).encode()[: limits.max_bytes].decode(errors="ignore")
        probes = [*PROBES, longest]
        for rows, label, probability in zip(*self._compare(signature, probes), strict=True):
            label, most = label.decode(), rows.max()
            if not np.allclose([rows[self.labels.index(label)], probability], most, rtol=0, atol=_TOLERANCE):
                expected = self.labels[rows.argmax()], float(most)
                raise_mismatch(f"model for {self.task}", PROBES, expected, (label, float(probability)))

    def _compare(self, signature: Callable, probes: list[str]) -> tuple:
        """Predicts texts; returns probabilities `[L]` of each output, and the SavedModel's labels and probabilities."""
        raise NotImplementedError
