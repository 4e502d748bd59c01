"""A trained span parser: sentences in, trees out."""

from collections.abc import Callable, Sequence

from keras import ops

from zoo.config import SpanParserConfig
from zoo.corpora.word_rows import encode_windows, window_boundaries, window_characters
from zoo.models.compiling import compile_function
from zoo.models.span_parser import SpanParser
from zoo.parsing.chart import best_trees, span_number
from zoo.parsing.sentences import joined, window_words, words_of
from zoo.parsing.trees import Tree, bracketed, to_tree
from zoo.serving.encoder_predictor import PROBES, EncoderPredictor
from zoo.serving.saved_model import refuse
from zoo.text.vocabularies import Vocabulary


class TreeParser(EncoderPredictor):
    """A `zoo.models.span_parser.SpanParser` with its vocabulary and the names of its labels and tags.

    Sentences of more than `max_tokens` tokens are parsed in windows of as many whole words as fit, whose trees stand
    side by side under the root.

    Args:
        model, tokenizer, labels, card, max_tokens, batch_tokens: As for `EncoderPredictor`. The first label is that
            of no constituent, others are chains as in `zoo.parsing.trees.Spans`.
        tags: Names of the tags.
        threshold: The tree is that with the largest sum, over its constituents, of their probability less this: about
            the one with the most constituents right (Goodman 1996). Smaller ones find more constituents and are wrong
            more often.

    Raises:
        ValueError: If model, vocabulary, labels and tags do not have the same sizes.
    """

    task, model_class, config_class = "parsing", SpanParser, SpanParserConfig
    card_fields = (*EncoderPredictor.card_fields, "tags", "threshold")

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
            raise ValueError(f"A model of {model.config.num_tags} tags needs their names. Received: {len(tags)} names.")
        self.tags, self.threshold = list(tags), threshold
        self._best = compile_function(model, self.best)

    def parse(
        self, sentences: Sequence[str | Sequence[str]], progress: Callable[[int], None] | None = None
    ) -> list[Tree | None]:
        """Predicts the best tree of each sentence over exactly its words, under the root TOP.

        Args:
            sentences: Texts, which are split into words as the Penn treebank is, or lists of words. Of a sentence
                without words the tree is None.
            progress: Called with the number of windows done since the last call.

        Raises:
            ValueError: If a sentence is neither; the message names it.
        """
        words, escaped_words = words_of(sentences)
        tokens, places, owners = encode_windows(escaped_words, self.tokenizer, self.max_tokens)
        parts, rows = window_words(words, places, owners), self._rows(tokens, places, escaped_words)
        trees = [None] * len(parts)
        for chunk, (scores, labels, tags) in self.outputs(self._best, rows, progress):
            lengths = rows["boundary_ids"].lengths[chunk] - 1
            for row, spans, own_labels, own_tags in zip(chunk, best_trees(scores, lengths), labels, tags):
                numbers = ((span, own_labels[span_number(*span)]) for span in spans)
                labelled = {span: self.labels[number] for span, number in numbers if number}
                names = [self.tags[number] for number in own_tags[: len(parts[row])]]
                trees[row] = to_tree(parts[row], names, labelled)
        return joined(trees, owners, len(words))

    def _rows(self, tokens, places, sentences):
        """Returns what the model reads of windows, by the names of `inputs`."""
        rows = {"token_ids": tokens, "boundary_ids": window_boundaries(tokens, places)}
        if "character_ids" in self.inputs:
            rows["character_ids"] = window_characters(tokens, places, sentences)
        return rows

    def best(self, *inputs):
        """Of each span what its best label adds to a tree, and that label; of each word the best tag.

        Not compiled. Float32 `[B, N (N - 1) / 2]`: probabilities less the threshold, 0 where that is negative; int32 of
        the same shape, 0, the label of none, where that is; int32 `[B, N]`, whose last means nothing.
        """
        spans, tags = self.model.logits(dict(zip(self.inputs, inputs, strict=True)))
        probabilities = ops.softmax(ops.cast(spans, "float32"), axis=-1)[..., 1:]
        scores = ops.maximum(ops.max(probabilities, axis=-1) - self.threshold, 0.0)
        labels = ops.argmax(probabilities, axis=-1) + 1
        return (
            scores,
            ops.cast(ops.where(scores > 0, labels, 0), "int32"),
            ops.cast(ops.argmax(tags, axis=-1), "int32"),
        )

    def _make_service(self, limits):
        from zoo.tf.parsing_service import ParsingService

        return ParsingService(self, limits)

    def _check_service(self, limits, folder):
        """The SavedModel must give the same trees."""
        import tensorflow as tf

        signature = tf.saved_model.load(str(folder)).signatures["serving_default"]
        sentences = [text.split() for text in PROBES]
        width = max(map(len, sentences))
        found = signature(words=tf.constant([[*words, *[""] * (width - len(words))] for words in sentences]))
        for words, tree, served in zip(sentences, self.parse(sentences), found["trees"].numpy()):
            expected = bracketed(tree) if tree else ""
            if served.decode() != expected:
                refuse("parser", words, expected, served.decode())
        return {}
