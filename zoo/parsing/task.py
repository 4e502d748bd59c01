"""Training a parser, of spans or linearised: trees, vocabulary, model, loss and scores put together."""

import dataclasses
import functools
import pathlib
import typing
from collections.abc import Callable, Iterable, Sequence

import keras
import numpy as np

from zoo.config import PAD_ID, ModelConfig, Recipe
from zoo.conversion.from_bert import PretrainedEncoder
from zoo.corpora.encoded_corpus import EncodedCorpus
from zoo.corpora.token_rows import TokenRows
from zoo.corpora.word_rows import window_boundaries, window_characters, windows
from zoo.distribution.current import workers_of
from zoo.models.seq2seq import Seq2Seq
from zoo.models.span_parser import SpanParser
from zoo.parsing.data import ChartCorpus, TreeReader, chart_cells, label_names
from zoo.parsing.linear import Symbols, symbol_names
from zoo.parsing.linear_parser import LinearParser, source_rows
from zoo.parsing.metrics import parsing_scores
from zoo.parsing.parser import TreeParser
from zoo.parsing.trees import Tree, escaped, to_spans
from zoo.serving.predictor import Predictor
from zoo.storage.checkpoints import Checkpoint
from zoo.text.vocabularies import Vocabulary
from zoo.training.fine_tuning import with_encoder_of
from zoo.training.runs import check_settings, prepare_folder, run_vocabulary, train_predictor
from zoo.training.scores import Score
from zoo.training.trainer import teacher_forced

__all__ = ["LinearParser", "TreeParser", "evaluate", "from_checkpoint", "train"]

Parser = TreeParser | LinearParser
_OF_ENCODERS = ("token_dropout", "frozen_layers", "layer_decay", "lora_rank")


def from_checkpoint(checkpoint: Checkpoint) -> Parser:
    """The parser that a checkpoint describes."""
    return (LinearParser if checkpoint.card.get("parser") == "linear" else TreeParser).from_checkpoint(checkpoint)


def train(
    recipe: Recipe,
    train_trees: TreeReader,
    dev_trees: TreeReader,
    folder: str | pathlib.Path,
    card: dict | None = None,
    tokenizer: Vocabulary | None = None,
    initial: Predictor | PretrainedEncoder | None = None,
    log: Callable[[str], None] = print,
    strategy: typing.Any = None,
) -> Parser:
    """Trains a parser and writes it to `folder/checkpoint`; goes on where an earlier run in `folder` stopped.

    Args:
        recipe: What to train and how: a span parser or, if its model is a `ModelConfig`, a linearised one. The numbers
            of labels and tags follow from the corpus; the vocabulary may become smaller.
        train_trees, dev_trees: Of `zoo.parsing.data`. Training leaves out sentences of more than `max_tokens` tokens.
        folder: New, empty, or begun by the same recipe.
        card: What the checkpoint shall say of itself.
        tokenizer: A vocabulary to use; by default one is learned from the words of the training trees.
        initial: What to fine-tune, such as `zoo.conversion.from_bert.load_bert` returns: its vocabulary and
            encoder, whose sizes take the place of the recipe's, and its head if it knows the same labels. For span
            parsers only.
        log: Told what happens.
        strategy: A `tf.distribute` strategy whose devices share each batch; None for one device.

    Raises:
        ValueError: If `folder` holds anything else or was begun with another vocabulary or corpus, or a corpus is
            empty.
    """
    linear = isinstance(recipe.model, ModelConfig)
    _check(recipe.training, linear, initial)
    trees, dev = [*train_trees], [*dev_trees]
    log(f"train: {train_trees.report}")
    log(f"dev: {dev_trees.report}")
    if not trees or not dev:
        raise ValueError("There must be trees to learn from, and dev trees, which decide which checkpoint is kept.")
    workers = workers_of(strategy)
    folder = prepare_folder(folder, recipe, workers)
    words = [[escaped(word) for word in tree.leaves()] for tree in trees]
    tokenizer = initial.tokenizer if initial else tokenizer
    vocabulary = run_vocabulary(folder, tokenizer, lambda: map(" ".join, words), recipe, workers)
    plan = (_linear_plan if linear else _span_plan)(recipe, trees, vocabulary, initial)

    def encode(tokenizer):
        _, _, owners = windows(words, tokenizer, plan.longest)
        whole = np.flatnonzero(np.bincount(owners, minlength=len(words)) == 1)
        if len(whole) < len(words) and tokenizer is vocabulary:
            log(f"left out: {len(words) - len(whole):,} sentences of more than {plan.longest} tokens")
        kept = [words[i] for i in whole]
        tokens, places, _ = windows(kept, tokenizer, plan.longest)
        return plan.corpus(tokens, places, kept, [trees[i] for i in whole])

    return train_predictor(
        plan.make,
        plan.make_model,
        lambda parser: DevSet(dev, parser, **plan.look),
        encode,
        recipe,
        folder,
        dict(card or {}),
        log,
        strategy,
        initial,
        **plan.training,
    )


class _Plan(typing.NamedTuple):
    """What differs between the two kinds of parser."""

    longest: int
    make: Callable
    make_model: Callable
    corpus: Callable  # (tokens, places, words, trees) -> corpus
    look: dict  # Arguments of `parse` at a look at the dev set.
    training: dict  # Arguments of `train_predictor`.


def _span_plan(recipe, trees, vocabulary, initial):
    spans = [to_spans(tree) for tree in trees]
    labels, tags = label_names(spans)
    sizes = {"vocabulary_size": vocabulary.vocabulary_size, "num_labels": len(labels), "num_tags": len(tags)}
    config = dataclasses.replace(with_encoder_of(initial, recipe.model), **sizes)
    longest = min(recipe.training.max_tokens, config.max_positions or recipe.training.max_tokens)

    def corpus(tokens, places, words, trees):
        features = {"boundary_ids": window_boundaries(tokens, places)}
        if config.character_filters:
            features["character_ids"] = window_characters(tokens, places, words)
        return ChartCorpus(tokens, chart_cells([to_spans(tree) for tree in trees], labels, tags), features)

    def make(model, card):
        return TreeParser(model, vocabulary, labels, tags, card, longest)

    return _Plan(longest, make, functools.partial(SpanParser, config), corpus, {}, {})


def _linear_plan(recipe, trees, vocabulary, initial):
    labels, tags = symbol_names(trees)
    symbols = Symbols(labels, tags, vocabulary.vocabulary_size)
    config = dataclasses.replace(recipe.model, vocabulary_size=symbols.size)

    def corpus(tokens, places, words, trees):
        return EncodedCorpus(TokenRows.of(source_rows(tokens)), TokenRows.of([symbols.encode(tree) for tree in trees]))

    def make(model, card):
        return LinearParser(model, vocabulary, labels, tags, card, recipe.training.max_tokens)

    training = {"split": teacher_forced, "pad_label": PAD_ID}
    look = {"beam_size": 1}
    return _Plan(recipe.training.max_tokens, make, functools.partial(Seq2Seq, config), corpus, look, training)


def _check(settings, linear, initial):
    check_settings(settings, ("bracket_f1",), _OF_ENCODERS if linear else ())
    if linear and initial is not None:
        raise ValueError("A linearised parser is trained from random weights. Leave out `initial`.")
    if not linear and settings.label_smoothing:
        raise ValueError(
            "`label_smoothing` must be 0: it would spread over labels that a cell of a chart cannot have. "
            f"Received: label_smoothing={settings.label_smoothing}."
        )


def evaluate(
    parser: Parser,
    trees: Iterable[Tree],
    resamples: int = 1000,
    progress: Callable[[int], None] | None = None,
    outermost: bool = True,
    **options,
) -> tuple[list[Score], list[Tree], list[Tree]]:
    """Scores of a parser on cleaned trees, with bootstrap intervals; the trees, and the parser's for their words.

    Args:
        parser, trees: What is scored, on what.
        resamples: Bootstrap samples of sentences for the intervals; 0 for none.
        progress: Called with the number of windows done since the last call.
        outermost: See `zoo.parsing.metrics.parsing_scores`.
        options: For the parser's `parse`.

    Raises:
        ValueError: If there is no tree.
    """
    gold = [*trees]
    found = parser.parse([tree.leaves() for tree in gold], progress, **options)
    return parsing_scores(gold, found, resamples, outermost), gold, found


class DevSet:
    """A look at the dev set: bracket F1 and the accuracy of tags."""

    def __init__(self, trees: Sequence[Tree], parser: Parser, **options):
        self._trees, self._parser, self._options = trees, parser, options

    def __call__(self, model: keras.Model) -> dict[str, float]:
        """`dev_bracket_f1`, `dev_exact_match`, `dev_tag_accuracy` and `score`, which is the first."""
        values = {score.metric: score.value for score in evaluate(self._parser, self._trees, 0, **self._options)[0]}
        names = "bracket F1", "exact match", "tag accuracy"
        figures = {f"dev_{name.lower().replace(' ', '_')}": values[name] for name in names}
        return {**figures, "score": values["bracket F1"]}

    def scores(self, parser: Parser, resamples: int) -> list[Score]:
        """The scores of a parser on the dev set."""
        return evaluate(parser, self._trees, resamples)[0]
