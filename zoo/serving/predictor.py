"""What models of token rows share when they are used: compiled calls on sorted chunks, saving."""

import functools
import operator
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import keras
import numpy as np
from keras import ops

from zoo.corpora.batching import length_sorted_chunks, original_order, power_of_two
from zoo.corpora.token_rows import TokenRows, with_rows
from zoo.limits import Limits
from zoo.models.compiling import compiled
from zoo.serving.saved_model import refuse, write_service
from zoo.storage.checkpoints import Checkpoint
from zoo.storage.saving import Saveable, restored_model
from zoo.text.vocabularies import Vocabulary, read_vocabulary

PROBES = ["Where is my hat?", "", "It's 3 o'clock,\tnaïve Straße!", "xyzzy 🙂 ❤ 中国", "no"]
_TOLERANCE = 1e-3


class Predictor(Saveable):
    """A model that maps token ids to logits, with its vocabulary and the names of its outputs.

    Args:
        model: The Keras model, free to be compiled, fitted and changed.
        tokenizer: Its vocabulary.
        labels: Names of its outputs.
        card: What a checkpoint says of itself; see `zoo.storage.checkpoints`.
        max_tokens: Longer rows are cut.
        batch_tokens: Most positions that the model is called on at once.

    Raises:
        ValueError: If model, vocabulary and labels do not have the same sizes.
    """

    model_class = config_class = None  # Of each subclass.

    def __init__(
        self,
        model: keras.Model,
        tokenizer: Vocabulary,
        labels: list[str],
        card: dict | None = None,
        max_tokens: int = 512,
        batch_tokens: int = 16_384,
    ):
        sizes = model.config.vocabulary_size, model.head.units
        if sizes != (tokenizer.vocabulary_size, len(labels)):
            raise ValueError(
                f"A model of {sizes[0]} tokens and {sizes[1]} labels needs a vocabulary and a list of labels of these "
                f"sizes. Received: {tokenizer.vocabulary_size} tokens, {len(labels)} labels. "
                "They come from two different trainings."
            )
        self.model, self.tokenizer, self.labels = model, tokenizer, list(labels)
        self.card = dict(card or {})
        self.max_tokens, self.batch_tokens = max_tokens, batch_tokens
        self._probabilities = compiled(model, self.softmax)

    @classmethod
    def from_checkpoint(cls, checkpoint: Checkpoint) -> "Predictor":
        """The one that a checkpoint describes."""
        model, card = restored_model(checkpoint, cls.model_class, cls.config_class), checkpoint.card
        return cls(model, read_vocabulary(checkpoint.vocabulary), card["labels"], card, card["max_tokens"])

    def export(self, folder: str | os.PathLike, **limits) -> dict:
        """Writes a SavedModel folder that takes strings and needs no part of this package; returns its card.

        Its signature is described at the services of `zoo.tf.predictor_service`. The names of the labels are in the
        card, `assets.extra/card.json`.

        Args:
            folder: Must not exist yet.
            limits: `max_bytes` and `max_seconds` of `zoo.limits.Limits`.

        Raises:
            ValueError: If `folder` exists, a limit is not positive, or Keras does not run on TensorFlow.
            ImportError: If tensorflow-text is not installed, which is needed where the model is loaded, too.
            RuntimeError: If what was written does not answer as this predictor does. It is not kept.
        """
        limits = Limits(**limits)
        check = functools.partial(self._check_served, max_bytes=limits.max_bytes)
        return write_service(folder, self._make_service, check, self.full_card(), limits)

    def _check_served(self, folder, max_bytes):
        """What was written must find the labels most probable that are so here, and as probable."""
        import tensorflow as tf

        signature = tf.saved_model.load(str(folder)).signatures["serving_default"]
        longest = " ".join(PROBES * self.max_tokens).encode()[:max_bytes].decode(errors="ignore")
        probes = [*PROBES, longest]
        for rows, label, probability in zip(*self._ask(signature, probes), strict=True):
            label, most = label.decode(), rows.max()
            if not np.allclose([rows[self.labels.index(label)], probability], most, rtol=0, atol=_TOLERANCE):
                wanted = self.labels[rows.argmax()], float(most)
                refuse(f"model for {self.task}", PROBES, wanted, (label, float(probability)))
        return {}

    def predict(self, rows: Mapping[str, TokenRows], progress: Callable[[int], None] | None = None) -> list[np.ndarray]:
        """Probabilities for each row, float32 `[C]` or `[T, C]`, computed in chunks of like length.

        Args:
            rows: What the model reads, by the names of `inputs`.
            progress: Called with the number of rows done since the last call.
        """
        found = [*self.answers(self._probabilities, rows, progress)]
        return original_order([chunk for chunk, _ in found], [results for _, results in found])

    def answers(
        self, function: Callable, rows: Mapping[str, TokenRows], progress: Callable[[int], None] | None = None
    ) -> Iterator[tuple[np.ndarray, Any]]:
        """(numbers of rows, what a compiled function of the `inputs` gives for them) for chunks of like length."""
        few_shapes = keras.backend.backend() == "jax"  # It compiles each shape anew.

        def width(length):
            return power_of_two(max(16, length)) if few_shapes else length

        lengths = [width(length) for length in rows["token_ids"].lengths.tolist()]
        for chunk in length_sorted_chunks(lengths, self.batch_tokens):
            widths = [width(int(rows[name].lengths[chunk].max())) for name in self.inputs]
            fill = power_of_two(len(chunk)) - len(chunk) if few_shapes else 0
            arrays = [with_rows(rows[name].padded(chunk, n), fill) for name, n in zip(self.inputs, widths)]
            found = keras.tree.map_structure(ops.convert_to_numpy, function(*arrays))
            yield chunk, keras.tree.map_structure(operator.itemgetter(slice(len(chunk))), found)
            if progress is not None:
                progress(len(chunk))

    def full_card(self) -> dict:
        """See `Saveable`."""
        return {**super().full_card(), "labels": self.labels, "max_tokens": self.max_tokens}

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of what the model reads, int `[B, T]` each; of characters `[B, T, K]`, of boundaries `[B, N]`."""
        config = self.model.config
        pairs, characters = getattr(config, "num_texts", 1) > 1, getattr(config, "character_filters", 0) > 0
        boundaries = hasattr(config, "span_dim")
        names = ["segment_ids"] * pairs + ["character_ids"] * characters + ["boundary_ids"] * boundaries
        return ("token_ids", *names)

    def softmax(self, *inputs):
        """Float32 probabilities `[B, C]` or `[B, T, C]` for the `inputs` `[B, T]`, not compiled."""
        logits = self.model(dict(zip(self.inputs, inputs, strict=True)), training=False)
        return ops.softmax(ops.cast(logits, "float32"))
