"""The task of constituency parsing, by scores of spans or by sequences of symbols."""

import dataclasses
import functools

import numpy as np

from zoo.config import ModelConfig, Recipe
from zoo.corpora.batching import Corpus
from zoo.corpora.inspection import inspect_reader, warn_of_overlap
from zoo.parsing.data import chart_corpus, label_names
from zoo.parsing.linear import Symbols
from zoo.parsing.linear_parser import LinearParser, symbol_corpus
from zoo.parsing.metrics import parsing_scores
from zoo.parsing.predictor import TreeParser
from zoo.parsing.sentences import leaves_of, whole_sentences
from zoo.parsing.tree_crf import TreeCrossEntropy
from zoo.parsing.trees import to_spans
from zoo.reports.outcomes import Outcomes, Shown
from zoo.storage.checkpoints import Checkpoint
from zoo.training.runs import Run
from zoo.training.tasks import Evaluation, Task, TrainingData

_SHORT = 5  # Sentences of at most so many words occur in all corpora.


class Parsing(Task):
    """Trains and evaluates span parsers. Each corpus is a `zoo.parsing.data.TreeReader`.

    Training leaves out sentences of more than `max_tokens` tokens. The training corpus determines the numbers of labels
    and tags. Examples are cleaned trees.
    """

    predictor_class = TreeParser
    scores = {"bracket_f1": "bracket F1"}

    def check(self, recipe, initial):
        super().check(recipe, initial)
        if recipe.training.label_smoothing:
            raise ValueError(
                "`label_smoothing` must be 0, as it would give probability to labels that a cell of a chart cannot "
                f"have. Received: label_smoothing={recipe.training.label_smoothing}. Set it to 0."
            )
        if getattr(recipe.model, "tree_crf", False) and recipe.training.r_drop:
            raise ValueError(
                "`r_drop` compares the softmax of each span, which a model with `tree_crf` does not have. "
                f"Received: r_drop={recipe.training.r_drop}. Set one of the two to 0."
            )

    def make_loss(self, run, pad_label):
        if getattr(run.config, "tree_crf", False):
            return TreeCrossEntropy(pad_id=pad_label, reduction="sum")
        return super().make_loss(run, pad_label)

    def read(self, recipe, train, dev, log):
        trees, dev_trees = [*train], [*dev]
        log(f"train: {train.report}")
        log(f"dev: {dev.report}")
        inspect_reader(train, "train", log)
        inspect_reader(dev, "dev", log)
        if not trees or not dev_trees:
            raise ValueError(
                "There must be training trees, and dev trees to select the best checkpoint. Received: "
                f"{len(trees)} and {len(dev_trees)}. Check the files."
            )
        leaves = (
            [tuple(tree.leaves()) for tree in corpus if len(tree.leaves()) > _SHORT] for corpus in (trees, dev_trees)
        )
        warn_of_overlap(*leaves, log)
        words = leaves_of(trees)
        sizes, arguments = self.names(trees)
        return TrainingData((words, trees), dev_trees, lambda: map(" ".join, words), sizes, arguments)

    def names(self, trees: list) -> tuple[dict, dict]:
        """Returns the `sizes` and `arguments` of `TrainingData` that follow from the training trees."""
        labels, tags = label_names([to_spans(tree) for tree in trees])
        return {"num_labels": len(labels), "num_tags": len(tags)}, {"labels": labels, "tags": tags}

    def encode(self, run, tokenizer):
        words, trees = run.data.train
        whole = whole_sentences(words, tokenizer, run.max_tokens)
        if len(whole) < len(words):
            run.log(f"left out: {len(words) - len(whole):,} sentences of more than {run.max_tokens} tokens")
        kept = [words[i] for i in whole], [trees[i] for i in whole], tokenizer, run.max_tokens
        return self.corpus(run, *kept)

    def corpus(self, run: Run, *sentences) -> Corpus:
        """Encodes sentences with their trees; the arguments are the first ones of `chart_corpus`."""
        return chart_corpus(*sentences, **run.data.arguments, characters=run.config.character_filters > 0)

    def examples(self, predictor, data):
        trees = [*data]
        inspect_reader(data, "corpus")
        return trees

    def score(self, predictor, examples, resamples=0, progress=None, outermost=True, **options):
        """Computes F1, recall and precision of brackets, exact match, and accuracy of tags.

        For `outermost` see `zoo.parsing.metrics.parsing_scores`; `options` are those of the parser's `parse`.
        """
        trees = predictor.parse([tree.leaves() for tree in examples], progress, **options)
        scores = parsing_scores(examples, trees, resamples, outermost)
        return Evaluation(scores, examples, trees, outcomes=functools.partial(_outcomes, examples, trees, outermost))


def _outcomes(gold, trees, outermost):
    return Outcomes(
        "bracket F1 of the sentence, %",
        np.array([parsing_scores([one], [other], outermost=outermost)[0].value for one, other in zip(gold, trees)]),
        lambda i: Shown(" ".join(gold[i].leaves()), gold[i].pformat(), trees[i].pformat()),
        np.array([len(tree.leaves()) for tree in gold]),
    )


class LinearParsing(Parsing):
    """Trains and evaluates linearised parsers, whose output are brackets (Vinyals et al. 2015)."""

    predictor_class = LinearParser
    unused = (*Task.unused, "token_dropout", "frozen_layers", "layer_decay", "lora_rank")
    dev_options = {"beam_size": 1}

    def check(self, recipe, initial):
        Task.check(self, recipe, initial)
        if initial is not None:
            raise ValueError(
                f"A linearised parser has no initial model. Received: {type(initial).__name__}. Leave out `initial`."
            )

    def names(self, trees):
        _, names = super().names(trees)
        labels = {label for chain in names["labels"] for label in chain.split()}
        return {}, {**names, "labels": sorted(labels)}

    def model_config(self, run):
        return dataclasses.replace(run.config, vocabulary_size=self.symbols(run).size)

    def corpus(self, run, *sentences):
        return symbol_corpus(*sentences, self.symbols(run))

    def symbols(self, run: Run) -> Symbols:
        """Returns the symbols of the trees, whose numbers follow those of the vocabulary."""
        return Symbols(**run.data.arguments, first=run.vocabulary.vocabulary_size)


def _task(linear: bool) -> Parsing:
    return LinearParsing() if linear else Parsing()


def train(recipe: Recipe, *arguments, **options) -> TreeParser | LinearParser:
    """Trains a span parser or, if the model of the recipe is a `ModelConfig`, a linearised one; see `Task.train`."""
    return _task(isinstance(recipe.model, ModelConfig)).train(recipe, *arguments, **options)


def from_checkpoint(checkpoint: Checkpoint, dtype: str | None = None) -> TreeParser | LinearParser:
    """Restores the parser of a checkpoint."""
    return _task(checkpoint.settings.get("parser") == "linear").from_checkpoint(checkpoint, dtype)


evaluate = Parsing().evaluate
