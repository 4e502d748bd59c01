"""What all tasks share: training from two corpora to a checkpoint, and evaluation. A task says what differs."""

import contextlib
import dataclasses
import functools
import pathlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import keras
import numpy as np

from zoo.config import Recipe, TrainingConfig
from zoo.config_values import to_dict
from zoo.corpora.batching import BatchStream, Corpus
from zoo.corpora.labelled_corpus import NO_LABEL, SampledRows, TokenDropout, split_labels
from zoo.distribution.current import current_workers
from zoo.serving.predictor import Predictor
from zoo.storage.arrays import assign_arrays
from zoo.storage.checkpoints import Checkpoint
from zoo.text.tokenizer import SampledTokenizer, Tokenizer
from zoo.text.vocabularies import Vocabulary
from zoo.training import fine_tuning
from zoo.training.runs import (
    check_corpus,
    check_settings,
    choose_weights,
    prepare_folder,
    run_vocabulary,
    train_model,
)
from zoo.training.scores import Score
from zoo.training.trainer import Split

Log = Callable[[str], None]


class TrainingData(NamedTuple):
    """The corpora of a training run, read.

    Args:
        train: Examples, in the form that `Task.encode` takes.
        dev: Examples, in the form that `Task.score` takes.
        texts: Returns the texts that a vocabulary is learned from.
        sizes: Fields of the model's configuration that follow from the data, such as the number of classes.
        arguments: Arguments of the predictor that follow from the data, such as the names of classes.
    """

    train: Any
    dev: Any
    texts: Callable[[], Iterable[str]]
    sizes: Mapping[str, int] = {}
    arguments: Mapping[str, Any] = {}


class Evaluation(NamedTuple):
    """Scores of a predictor on examples, with what was right and what was predicted, and the mean loss if known."""

    scores: list[Score]
    gold: Any
    predicted: Any
    loss: float | None = None


class Task:
    """Trains and evaluates predictors. A subclass says how examples are read, encoded and scored.

    Attributes:
        predictor_class: What is trained; its `model_class` is called with a configuration of its `config_class`.
        scores: The values of `training.score` that the task knows, each with the metric that it stands for: "loss", or
            the name of a `Score`.
        unused: Fields of `TrainingConfig` that have no meaning for the task.
        split, pad_label: As for `zoo.training.trainer.Trainer`.
        dev_options: Options of `score` while a model is trained.
    """

    predictor_class: type[Predictor]
    scores: Mapping[str, str]
    unused: tuple[str, ...] = ()
    split: Split = staticmethod(split_labels)
    pad_label: int = NO_LABEL
    dev_options: Mapping[str, Any] = {}

    def read(self, recipe: Recipe, train: Any, dev: Any, log: Log) -> TrainingData:
        """Reads both corpora, and reports to `log` what is in them.

        Raises:
            ValueError: If a corpus is empty or does not fit the other one or the recipe.
        """
        raise NotImplementedError

    def encode(
        self,
        data: TrainingData,
        tokenizer: Vocabulary | SampledTokenizer,
        config: Any,
        max_tokens: int,
        folder: pathlib.Path,
        log: Log,
    ) -> Corpus:
        """Encodes the training examples as rows of at most `max_tokens` tokens for a model of the configuration.

        What does not fit into memory may be written to the folder of the run.
        """
        raise NotImplementedError

    def examples(self, predictor: Predictor, data: Any) -> Any:
        """Reads a corpus for `score`; `data` is what `read` takes.

        Raises:
            ValueError: If there is no example, or one that the predictor cannot be scored on.
        """
        raise NotImplementedError

    def score(
        self,
        predictor: Predictor,
        examples: Any,
        resamples: int = 0,
        progress: Callable[[int], None] | None = None,
        **options,
    ) -> Evaluation:
        """Scores a predictor on examples, with intervals of `resamples` bootstrap samples."""
        raise NotImplementedError

    def from_checkpoint(self, checkpoint: Checkpoint) -> Predictor:
        """Restores the predictor that a checkpoint holds."""
        return self.predictor_class.from_checkpoint(checkpoint)

    def evaluate(
        self,
        predictor: Predictor,
        data: Any,
        resamples: int = 1000,
        progress: Callable[[int], None] | None = None,
        **options,
    ) -> Evaluation:
        """Scores a predictor on a corpus.

        Args:
            predictor: What is evaluated.
            data: The corpus, as a reader of the task's `data.py` gives it.
            resamples: Bootstrap samples for the 95 % intervals; 0 for none.
            progress: Called with the number of examples done since the last call.
            options: Those of the task's `score`.

        Raises:
            ValueError: If there is no example, or one that the predictor cannot be scored on.
        """
        return self.score(predictor, self.examples(predictor, data), resamples, progress, **options)

    def train(
        self,
        recipe: Recipe,
        train: Any,
        dev: Any,
        folder: str | pathlib.Path,
        card: Mapping | None = None,
        tokenizer: Vocabulary | None = None,
        initial: Any = None,
        log: Log = print,
        strategy: Any = None,
    ) -> Predictor:
        """Trains a predictor and writes it to `folder/checkpoint`; resumes an earlier training run in `folder`.

        Args:
            recipe: What to train and how. The sizes that follow from the data take the place of the recipe's; the
                vocabulary may become smaller.
            train, dev: Corpora, such as the readers of the task's `data.py`; the second chooses the final weights.
            folder: New, empty, or begun by the same recipe.
            card: What the checkpoint says of itself.
            tokenizer: A vocabulary to use; by default one is learned from the training corpus.
            initial: What to fine-tune, such as `zoo.conversion.from_bert.load_bert` or `zoo.load` returns: its
                vocabulary and encoder, whose sizes take the place of the recipe's, and its head if it has the same
                task and labels.
            log: Called with lines that report what happens.
            strategy: A `tf.distribute` strategy whose devices share each batch; None for one device. The result is the
                same on any number, and a run may go on with another.

        Raises:
            ValueError: If `folder` holds anything else or was begun with another vocabulary or corpus, or a corpus or
                `initial` does not fit.
        """
        settings = recipe.training
        self.check(recipe, initial)
        data = self.read(recipe, train, dev, log)
        workers = current_workers(strategy)
        tokenizer = self.given_vocabulary(train, initial.tokenizer if initial else tokenizer)
        folder = prepare_folder(folder, recipe, workers)
        vocabulary = run_vocabulary(folder, tokenizer, data.texts, recipe, workers)
        config = self.model_config(recipe, data, vocabulary, initial)
        max_tokens = min(settings.max_tokens, getattr(config, "max_positions", 0) or settings.max_tokens)
        encode = functools.partial(self.encode, data, config=config, max_tokens=max_tokens, folder=folder)
        corpus = encode(vocabulary, log=log)
        check_corpus(corpus, folder)

        def make(card, **options):
            model = self.predictor_class.model_class(config, **options)
            model.build()
            return self.make_predictor(model, vocabulary, data, card, settings, max_tokens)

        keras.utils.set_random_seed(settings.seed)
        with strategy.scope() if strategy else contextlib.nullcontext():
            predictor = make(card, dtype=settings.precision)
            if initial is not None:
                fine_tuning.start_from(initial, predictor)
            fine_tuning.restrict(predictor.model, settings)
        model = predictor.model
        learning = sum(int(np.prod(variable.shape)) for variable in model.trainable_variables)
        part = "" if learning == model.count_params() else f", of which {learning:,} learn"
        log(f"{model.count_params():,} parameters{part}; vocabulary of {config.vocabulary_size:,}")
        dev_set = self.dev_set(predictor, data, settings, log)
        candidates = train_model(
            model,
            settings,
            folder,
            self.with_noise(corpus, data, encode, vocabulary, settings, folder, log),
            dev_set,
            log,
            self.split,
            self.pad_label,
            functools.partial(self.change_batches, vocabulary=vocabulary, settings=settings),
        )
        chosen = choose_weights(model, candidates, dev_set, log)
        done = to_dict(dataclasses.replace(recipe, model=config))
        final = make({**predictor.card, "recipe": done, "seed": settings.seed, "weights": chosen})
        assign_arrays(final.model, candidates[chosen], chosen)
        scores = self.final_scores(final, data, settings)
        final.card["scores"] = [{**score, "data": "dev"} for score in scores]
        for score in scores:
            log(f"dev: {Score(**{name: score[name] for name in Score._fields})}")
        final.save(folder / "checkpoint")
        self.clean_up(folder)
        return final

    # What follows fits most tasks.

    def check(self, recipe: Recipe, initial: Any) -> None:
        """Raises `ValueError` for settings or a start that do not fit the task, before anything is read."""
        check_settings(recipe.training, [*self.scores], self.unused)

    def given_vocabulary(self, train: Any, tokenizer: Vocabulary | None) -> Vocabulary | None:
        """Returns the vocabulary that is given, by the caller or with the training corpus."""
        return tokenizer

    def model_config(self, recipe: Recipe, data: TrainingData, vocabulary: Vocabulary, initial: Any) -> Any:
        """Returns the configuration of the model, with the sizes of the data."""
        config = fine_tuning.with_encoder_of(initial, recipe.model)
        return dataclasses.replace(config, vocabulary_size=vocabulary.vocabulary_size, **data.sizes)

    def make_predictor(
        self,
        model: keras.Model,
        vocabulary: Vocabulary,
        data: TrainingData,
        card: Mapping | None,
        settings: TrainingConfig,
        max_tokens: int,
    ) -> Predictor:
        """Returns the predictor of a model."""
        return self.predictor_class(model, vocabulary, card=card, max_tokens=max_tokens, **data.arguments)

    def clean_up(self, folder: pathlib.Path) -> None:
        """Deletes what a finished training run does not need any more."""

    def with_noise(
        self,
        corpus: Corpus,
        data: TrainingData,
        encode: Callable,
        tokenizer: Vocabulary,
        settings: TrainingConfig,
        folder: pathlib.Path,
        log: Log,
    ) -> Corpus:
        """Returns the corpus with the noise that the settings name, different in each epoch."""
        if settings.subword_dropout:
            if not isinstance(tokenizer, Tokenizer):
                raise ValueError(
                    "`subword_dropout` skips merges, which the word pieces of a BERT are not made by. "
                    f"Received: subword_dropout={settings.subword_dropout}. Set it to 0."
                )
            rate, seed = settings.subword_dropout, settings.seed
            corpus = SampledRows(
                lambda epoch: encode(tokenizer.with_dropout(rate, (seed, epoch)), log=lambda text: None)
            )
        if settings.token_dropout:
            kept = tokenizer.start_id, tokenizer.end_id
            corpus = TokenDropout(corpus, settings.token_dropout, tokenizer.unknown_id, kept, settings.seed)
        return corpus

    def change_batches(
        self, batches: BatchStream, step: int, vocabulary: Vocabulary, settings: TrainingConfig
    ) -> Iterable:
        """Returns the batches that are trained on, from those of the corpus, of which the first is that of `step`."""
        return batches

    def dev_set(self, predictor: Predictor, data: TrainingData, settings: TrainingConfig, log: Log) -> "DevSet":
        """Returns what evaluates the model while it is trained."""
        return DevSet(self, predictor, data.dev, settings.score)

    def final_scores(self, predictor: Predictor, data: TrainingData, settings: TrainingConfig) -> list[dict]:
        """Returns the scores of the trained predictor on the dev set, for its card."""
        return [score._asdict() for score in self.score(predictor, data.dev, resamples=1000).scores]


class DevSet:
    """Evaluates a model on the dev set while it is trained: its loss, if the task knows it, and all its scores."""

    def __init__(self, task: Task, predictor: Predictor, examples: Any, score: str):
        self.task, self.predictor, self.examples, self.metric = task, predictor, examples, task.scores[score]

    def __call__(self, model: keras.Model) -> dict[str, float]:
        """Returns figures by name; `score` is that of the settings, higher being better."""
        evaluation = self.task.score(self.predictor, self.examples, **self.task.dev_options)
        figures = {} if evaluation.loss is None else {"loss": evaluation.loss}
        figures |= {score.metric: score.value for score in evaluation.scores}
        score = -figures["loss"] if self.metric == "loss" else figures[self.metric]
        return {**{f"dev_{name.lower().replace(' ', '_')}": value for name, value in figures.items()}, "score": score}
