"""Word alignments from cross-attention."""

import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from keras import ops

from zoo.config import PAD_ID, START_ID, ModelConfig
from zoo.corpora.batching import source_batch
from zoo.models.compiling import compile_function
from zoo.models.seq2seq import Seq2Seq
from zoo.serving.heatmap import draw_heatmap
from zoo.text.vocabularies import Vocabulary

AlignmentHeads = Sequence[tuple[int, int, str]]
STEPS = "predicts", "reads"
MAX_ALIGNED_TOKENS = 1024  # Maximum number of tokens of a text to align, because memory grows with its square.


class Alignment(NamedTuple):
    """Word alignment of a text and its translation.

    Args:
        source_words, target_words: The words of both texts.
        weights: Attention of each target word to each source word, float32 `[target words, source words]`; empty for
            texts of more than 1,024 tokens.
    """

    source_words: list[str]
    target_words: list[str]
    weights: np.ndarray

    @property
    def links(self) -> list[tuple[int, int]]:
        """For each target word the pair (source word, target word) of its largest weight, as numbers from 0."""
        return [(int(row.argmax()), t) for t, row in enumerate(self.weights)] if self.weights.size else []

    def draw(self, path: str | os.PathLike) -> None:
        """Draws the weights, a column for each source word and a row for each target word.

        Args:
            path: File to write; its suffix determines the format (png, svg, pdf).

        Raises:
            ImportError: If matplotlib is not installed.
            ValueError: If there are no weights, or the suffix is unknown.
        """
        if not self.weights.size:
            raise ValueError(
                f"There must be words in both texts. Received: weights of shape {self.weights.shape}. Use other texts."
            )
        draw_heatmap(self.weights, self.target_words, self.source_words, path)


def check_heads(config: ModelConfig, heads: AlignmentHeads) -> tuple[tuple[int, int, str], ...]:
    """Returns the heads as a tuple; raises `ValueError` if a model of this configuration does not have one."""
    heads = tuple(map(tuple, heads))
    layers, count = range(config.num_decoder_layers), range(config.num_heads)
    for triple in heads:
        if not (len(triple) == 3 and triple[0] in layers and triple[1] in count and triple[2] in STEPS):
            raise ValueError(
                f"`alignment_heads` must be triples: a layer below {len(layers)}, a head below {len(count)}, and "
                f"{' or '.join(map(repr, STEPS))}. Received: {triple!r}."
            )
    return heads


def attention_function(model: Seq2Seq, heads: AlignmentHeads = ()) -> Callable:
    """Compiles a function from ids `[B, S]` and `[B, T]` to cross-attention `[B, T, S]`, averaged over heads.

    Row t is that of the token after `target[:, t]`.

    Args:
        model: A `Seq2Seq`.
        heads: Triples (layer, head, step). The step is "predicts", that which predicts the token, or "reads", the next
            one, which reads it: lower layers align that one better (Chen et al. 2020, "Accurate Word Alignment
            Induction from Neural Machine Translation"). Empty for all heads of the last layer, which predict.
            `benchmarks/alignment.py` chooses heads by hand-aligned sentences.
    """
    config = model.config
    last = config.num_decoder_layers - 1
    heads = check_heads(config, heads) or [(last, head, "predicts") for head in range(config.num_heads)]

    def weights(source, target):
        memory, seen = model.encode(source), ops.not_equal(source, PAD_ID)
        _, scores = model.decoder(model.embed(target), memory, memory_mask=seen, return_attention_scores=True)
        rows = [(scores[layer].cross_attention[:, head], step) for layer, head, step in heads]
        return sum(_next_step(row) if step == "reads" else row for row, step in rows) / len(rows)

    return compile_function(model, weights)


def _next_step(weights):
    """Moves the weights `[B, T, S]` of each step to the one before."""
    return ops.concatenate([weights[:, 1:], ops.zeros_like(weights[:, :1])], axis=1)


def align_words(
    weights_of: Callable, tokenizer: Vocabulary, sources: Sequence[str], targets: Sequence[str]
) -> list[Alignment]:
    """Aligns each target with its source by cross-attention.

    Attention between subwords becomes attention between words: the sum over the subwords of a source word, and the mean
    over those of a target word.

    Args:
        weights_of: The `attention_function` of a model.
        tokenizer: The vocabulary of the model.
        sources, targets: Texts and their translations.

    Raises:
        ValueError: If the numbers of sources and targets differ.
    """
    if len(sources) != len(targets):
        raise ValueError(
            f"There must be as many translations as texts. Received: {len(sources)} texts, {len(targets)} "
            "translations. Pass one translation for each text."
        )
    alignments = []
    for source, target in zip(sources, targets):
        (source_ids,), (target_ids,) = tokenizer.encode([source]), tokenizer.encode_targets([target])
        source_words, source_spans = tokenizer.words(source_ids)
        target_words, target_spans = tokenizer.words(target_ids)
        if max(len(source_ids), len(target_ids)) > MAX_ALIGNED_TOKENS:
            alignments.append(Alignment(source_words, target_words, np.zeros((0, 0), "float32")))
            continue
        inputs = np.asarray([[START_ID, *target_ids]], "int32")
        weights = ops.convert_to_numpy(weights_of(source_batch([source_ids]), inputs))[0]
        merged = np.zeros((len(target_words), len(source_words)), "float32")
        for t, (first, last) in enumerate(target_spans):
            # Step i of the decoder predicts token i of the target.
            row = weights[first:last].mean(0)
            merged[t] = [row[start:end].sum() for start, end in source_spans]
        alignments.append(Alignment(source_words, target_words, merged))
    return alignments
