"""Training a span parser: trees, vocabulary, model, loss and scores put together."""

import dataclasses
import functools
import pathlib
import typing
from collections.abc import Callable, Iterable, Sequence

import keras
import numpy as np

from zoo.fine_tuning import with_encoder_of
from zoo.models.span_parser import SpanParser
from zoo.parsing.data import ChartCorpus, TreeReader, chart_cells, label_names
from zoo.parsing.metrics import parsing_scores
from zoo.parsing.parser import TreeParser
from zoo.parsing.recipes import ParserRecipe
from zoo.parsing.trees import Tree, escaped, to_spans
from zoo.predictor import Predictor
from zoo.pretrained import PretrainedEncoder
from zoo.runs import check_settings, prepare_folder, run_vocabulary, train_predictor
from zoo.scores import Score
from zoo.vocabularies import Vocabulary
from zoo.word_rows import window_boundaries, window_characters, windows

__all__ = ["TreeParser", "evaluate", "from_checkpoint", "train"]

from_checkpoint = TreeParser.from_checkpoint


def train(
    recipe: ParserRecipe,
    train_trees: TreeReader,
    dev_trees: TreeReader,
    folder: str | pathlib.Path,
    card: dict | None = None,
    tokenizer: Vocabulary | None = None,
    initial: Predictor | PretrainedEncoder | None = None,
    log: Callable[[str], None] = print,
    strategy: typing.Any = None,
) -> TreeParser:
    """Trains a parser and writes it to `folder/checkpoint`; goes on where an earlier run in `folder` stopped.

    Args:
        recipe: What to train and how. The numbers of labels and tags follow from the corpus; the vocabulary may become
            smaller.
        train_trees, dev_trees: Of `zoo.parsing.data`. Training leaves out sentences of more than `max_tokens` tokens.
        folder: New, empty, or begun by the same recipe.
        card: What the checkpoint shall say of itself.
        tokenizer: A vocabulary to use; by default one is learned from the words of the training trees.
        initial: What to fine-tune, such as `zoo.pretrained.load_bert` returns: its vocabulary and encoder, whose sizes
            take the place of the recipe's, and its head if it knows the same labels.
        log: Told what happens.
        strategy: A `tf.distribute.MirroredStrategy` whose devices share each batch; None for one device.

    Raises:
        ValueError: If `folder` holds anything else or was begun with another vocabulary or corpus, or a corpus is
            empty.
    """
    settings = recipe.training
    check_settings(settings, ("bracket_f1",))
    if settings.label_smoothing:
        raise ValueError(
            "`label_smoothing` must be 0: it would spread over labels that a cell of a chart cannot have. "
            f"Received: label_smoothing={settings.label_smoothing}."
        )
    trees = [to_spans(tree) for tree in train_trees]
    labels, tags = label_names(trees)
    log(f"train: {train_trees.report}; {len(labels) - 1} labels and chains, {len(tags)} tags")
    dev = [*dev_trees]
    log(f"dev: {dev_trees.report}")
    if not dev:
        raise ValueError("The dev corpus has no tree. It decides which checkpoint is kept: give one.")
    folder = prepare_folder(folder, recipe)
    tokenizer = initial.tokenizer if initial else tokenizer
    words = [[escaped(word) for word in spans.words] for spans in trees]
    vocabulary = run_vocabulary(folder, tokenizer, lambda: map(" ".join, words), recipe)
    sizes = {"vocabulary_size": vocabulary.vocabulary_size, "num_labels": len(labels), "num_tags": len(tags)}
    config = dataclasses.replace(with_encoder_of(initial, recipe.model), **sizes)
    longest = min(settings.max_tokens, config.max_positions or settings.max_tokens)

    def encode(tokenizer):
        _, _, owners = windows(words, tokenizer, longest)
        whole = np.flatnonzero(np.bincount(owners, minlength=len(words)) == 1)
        if len(whole) < len(words) and tokenizer is vocabulary:
            log(f"left out: {len(words) - len(whole):,} sentences of more than {longest} tokens")
        kept = [words[i] for i in whole]
        tokens, places, _ = windows(kept, tokenizer, longest)
        features = {"boundary_ids": window_boundaries(tokens, places)}
        if config.character_filters:
            features["character_ids"] = window_characters(tokens, places, kept)
        return ChartCorpus(tokens, chart_cells([trees[i] for i in whole], labels, tags), features)

    return train_predictor(
        lambda model, card: TreeParser(model, vocabulary, labels, tags, card, longest),
        functools.partial(SpanParser, config),
        lambda parser: DevSet(dev, parser),
        encode,
        recipe,
        folder,
        dict(card or {}),
        log,
        strategy,
        initial,
    )


def evaluate(
    parser: TreeParser,
    trees: Iterable[Tree],
    resamples: int = 1000,
    progress: Callable[[int], None] | None = None,
    outermost: bool = True,
) -> tuple[list[Score], list[Tree], list[Tree]]:
    """Scores of a parser on cleaned trees, with bootstrap intervals; the trees, and the parser's for their words.

    Args:
        parser, trees: What is scored, on what.
        resamples: Bootstrap samples of sentences for the intervals; 0 for none.
        progress: Called with the number of windows done since the last call.
        outermost: See `zoo.parsing.metrics.parsing_scores`.

    Raises:
        ValueError: If there is no tree.
    """
    gold = [*trees]
    found = parser.parse([tree.leaves() for tree in gold], progress)
    return parsing_scores(gold, found, resamples, outermost), gold, found


class DevSet:
    """A look at the dev set: bracket F1 and the accuracy of tags."""

    def __init__(self, trees: Sequence[Tree], parser: TreeParser):
        self._trees, self._parser = trees, parser

    def __call__(self, model: keras.Model) -> dict[str, float]:
        """`dev_bracket_f1`, `dev_exact_match`, `dev_tag_accuracy` and `score`, which is the first."""
        values = {score.metric: score.value for score in self.scores(self._parser, resamples=0)}
        names = "bracket F1", "exact match", "tag accuracy"
        figures = {f"dev_{name.lower().replace(' ', '_')}": values[name] for name in names}
        return {**figures, "score": values["bracket F1"]}

    def scores(self, parser: TreeParser, resamples: int) -> list[Score]:
        """The scores of a parser on the dev set."""
        return evaluate(parser, self._trees, resamples)[0]
