"""The predictor of trees by scores of spans."""

from collections.abc import Sequence

from keras import ops

from zoo.config import SpanParserConfig
from zoo.corpora.word_rows import window_boundaries, window_characters
from zoo.models.span_parser import SpanParser
from zoo.parsing.chart import best_trees, span_number
from zoo.parsing.data import ChartCorpus, chart_corpus
from zoo.parsing.export import check_exported_parser
from zoo.parsing.sentences import check_trees, encode_sentences, leaves_of
from zoo.parsing.tree_crf import constituent_probabilities, relative_scores
from zoo.parsing.trees import Tree, to_tree
from zoo.serving.encoder_predictor import EncoderPredictor
from zoo.serving.predictor import Progress
from zoo.text.vocabularies import Vocabulary


class TreeParser(EncoderPredictor):
    """Parses sentences with a `zoo.models.span_parser.SpanParser`.

    Sentences of more than `max_tokens` tokens are split into windows of as many whole words as fit. Their trees become
    siblings under the root.

    Args:
        model, tokenizer, labels, card, max_tokens, batch_tokens: As for `EncoderPredictor`. The first label means that
            a span is not a constituent; others are chains as in `zoo.parsing.trees.Spans`.
        tags: Names of the tags.
        threshold: Subtracted from the probability of each constituent. The predicted tree has the largest sum of these
            differences, which is about the tree with the most correct constituents (Goodman 1996). A smaller threshold
            gives more constituents, and more wrong ones. An attribute, saved with the checkpoint.

    Raises:
        ValueError: If the sizes of model, vocabulary, labels and tags differ, or the threshold is outside [0, 1].
    """

    task, model_class, config_class = "parsing", SpanParser, SpanParserConfig
    settings = ("labels", "max_tokens", "tags", "threshold")

    def __init__(
        self,
        model: SpanParser,
        tokenizer: Vocabulary,
        labels: list[str],
        tags: list[str],
        card: dict | None = None,
        max_tokens: int = 512,
        batch_tokens: int = 2_048,
        threshold: float = 0.3,
    ):
        super().__init__(model, tokenizer, labels, card, max_tokens, batch_tokens)
        if len(tags) != model.config.num_tags:
            raise ValueError(
                f"There must be names for the {model.config.num_tags} tags of the model. Received: {len(tags)} names. "
                "Use those of the same training run."
            )
        self.tags, self.threshold = list(tags), threshold

    @property
    def threshold(self) -> float:
        """Subtracted from the probability of each constituent."""
        return self._threshold

    @threshold.setter
    def threshold(self, value: float):
        if not 0 <= value <= 1:
            raise ValueError(f"`threshold` must be a probability, from 0 to 1. Received: threshold={value}.")
        self._threshold = value
        self._compiled.clear()  # Compiled functions hold the value as a constant.

    def parse(self, sentences: Sequence[str | Sequence[str]], progress: Progress = None) -> list[Tree | None]:
        """Predicts the best tree of each sentence over its words, with the root TOP.

        Args:
            sentences: Texts, which are split into words as in the Penn treebank, or lists of words. The tree of a
                sentence without words is None.
            progress: Called with the number of windows done since the last call.

        Raises:
            ValueError: If a sentence is neither a text nor a list of words; the message contains it.
        """
        windows = encode_sentences(sentences, self.tokenizer, self.max_tokens)
        rows = {"token_ids": windows.tokens, "boundary_ids": window_boundaries(windows.tokens, windows.places)}
        if "character_ids" in self.inputs:
            rows["character_ids"] = window_characters(windows.tokens, windows.places, windows.sentences)
        trees = [None] * len(windows.words)
        for chunk, (scores, labels, tags) in self.outputs(self.best_labels, rows, progress):
            lengths = rows["boundary_ids"].lengths[chunk] - 1
            for row, spans, row_labels, row_tags in zip(chunk, best_trees(scores, lengths), labels, tags):
                words, numbers = windows.words[row], ((span, row_labels[span_number(*span)]) for span in spans)
                constituents = {span: self.labels[number] for span, number in numbers if number}
                trees[row] = to_tree(words, [self.tags[number] for number in row_tags[: len(words)]], constituents)
        return windows.join(trees)

    def encode_examples(self, trees: Sequence[Tree]) -> ChartCorpus:
        """Encodes the sentences of trees and the labels of all their spans."""
        trees = check_trees(trees, self.tokenizer, self.max_tokens)
        names = {"labels": self.labels, "tags": self.tags, "characters": "character_ids" in self.inputs}
        return chart_corpus(leaves_of(trees), trees, self.tokenizer, self.max_tokens, **names)

    def best_labels(self, *inputs):
        """Computes the best label of each span with its score, and the best tag of each word, without compilation.

        Returns:
            Float32 `[B, N (N - 1) / 2]`: the probability less the threshold, or 0 if that is negative. Int32 of the
            same shape: the label, or 0 (not a constituent) where the score is 0. Int32 `[B, N]`: the tags; the last one
            of each row is meaningless.
        """
        inputs = dict(zip(self.inputs, inputs, strict=True))
        spans, tags = self.model.logits(inputs)
        probabilities = self._label_probabilities(ops.cast(spans, "float32"), inputs["boundary_ids"])
        scores = ops.maximum(ops.max(probabilities, axis=-1) - self.threshold, 0.0)
        labels = ops.argmax(probabilities, axis=-1) + 1
        return (
            scores,
            ops.cast(ops.where(scores > 0, labels, 0), "int32"),
            ops.cast(ops.argmax(tags, axis=-1), "int32"),
        )

    def _label_probabilities(self, logits, boundaries):
        """Returns the probability of each label but the first one, `[B, N (N - 1) / 2, labels - 1]`."""
        if not self.model.config.tree_crf:
            return ops.softmax(logits, axis=-1)[..., 1:]
        words = ops.maximum(ops.sum(ops.cast(boundaries > 0, "int32"), axis=1) - 1, 0)
        constituents = constituent_probabilities(relative_scores(logits), words)
        return constituents[..., None] * ops.softmax(logits[..., 1:], axis=-1)

    def _make_service(self, limits):
        from zoo.tf.parsing_service import SpanParsingService

        return SpanParsingService(self, limits)

    def _check_signature(self, limits, signature):
        check_exported_parser(self, signature)
