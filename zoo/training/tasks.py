"""The base class of tasks: training from two corpora to a checkpoint, and evaluation."""

import contextlib
import dataclasses
import pathlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import keras
import numpy as np

from keras_transformer.training import set_reproducible
from zoo.config import EncoderConfig, Recipe
from zoo.config_values import to_dict
from zoo.corpora.batching import BatchStream, Corpus
from zoo.corpora.labelled_corpus import SampledRows, TokenDropout
from zoo.distribution.current import current_workers
from zoo.reports.outcomes import Outcomes
from zoo.serving.predictor import Predictor, Progress
from zoo.storage.arrays import assign_arrays
from zoo.storage.checkpoints import Checkpoint
from zoo.storage.mirrors import copy_back
from zoo.text.terminal import working
from zoo.text.tokenizer import SampledTokenizer, Tokenizer
from zoo.text.vocabularies import Vocabulary
from zoo.training import fine_tuning
from zoo.training.digests import check_corpus, check_dev
from zoo.training.finishing import check_model, write_result
from zoo.training.optimizers import make_loss
from zoo.training.progress import regular_lines
from zoo.training.reporting import KeptLog, write_report
from zoo.training.runs import (
    Log,
    Run,
    TrainingData,
    check_settings,
    prepare_folder,
    run_vocabulary,
    train_model,
    write_recipe,
)
from zoo.training.scores import Score

NOT_TEXT = "image_augment", "box_augment", "sound_augment"
"""The fields of `TrainingConfig` that have no effect in tasks on texts."""


class Evaluation(NamedTuple):
    """Scores of a predictor on examples, with the correct and the predicted outputs.

    `loss` is the mean loss, if it is known; `outcomes` computes what a report shows of each example, if it can.
    """

    scores: list[Score]
    gold: Any
    predicted: Any
    loss: float | None = None
    outcomes: Callable[[], Outcomes] | None = None


class Task:
    """Trains and evaluates predictors. Subclasses define how examples are read, encoded and scored.

    Attributes:
        predictor_class: The class of predictors that the task trains.
        scores: The valid values of `training.score`, each with the metric that it stands for: "loss", or the name of a
            `Score`.
        unused: Fields of `TrainingConfig` that have no effect in the task.
        dev_options: Options of `score` during training.
    """

    predictor_class: type[Predictor]
    scores: Mapping[str, str]
    unused: tuple[str, ...] = ("augment", "placeholders", "denoising", *NOT_TEXT)
    dev_options: Mapping[str, Any] = {}

    def read(self, recipe: Recipe, train: Any, dev: Any, log: Log) -> TrainingData:
        """Reads both corpora, and logs how many examples they have.

        Raises:
            ValueError: If a corpus is empty or does not match the other one or the recipe.
        """
        raise NotImplementedError

    def encode(self, run: Run, tokenizer: Vocabulary | SampledTokenizer) -> Corpus:
        """Encodes `run.data.train` as rows of at most `run.max_tokens` tokens for a model of `run.config`.

        `tokenizer` is the vocabulary of the run, or one with subword dropout. A corpus that does not fit into memory
        may be written to the folder of the run.
        """
        raise NotImplementedError

    def examples(self, predictor: Predictor, data: Any) -> Any:
        """Reads a corpus for `score`; `data` is what `read` takes.

        Raises:
            ValueError: If there is no example, or one that the predictor cannot be scored on.
        """
        raise NotImplementedError

    def score(
        self, predictor: Predictor, examples: Any, resamples: int = 0, progress: Progress = None, **options
    ) -> Evaluation:
        """Scores a predictor on examples, with intervals of `resamples` bootstrap samples."""
        raise NotImplementedError

    def from_checkpoint(self, checkpoint: Checkpoint, dtype: str | None = None) -> Predictor:
        """Restores the predictor of a checkpoint, as `Predictor.from_checkpoint` does."""
        return self.predictor_class.from_checkpoint(checkpoint, dtype)

    def evaluate(
        self, predictor: Predictor, data: Any, resamples: int = 1000, progress: Progress = None, **options
    ) -> Evaluation:
        """Scores a predictor on a corpus.

        Args:
            predictor: The predictor to evaluate.
            data: The corpus, such as a reader of the task's `data.py`.
            resamples: Number of bootstrap samples for the 95 % intervals; 0 for none.
            progress: Called with the number of examples done since the last call.
            options: Options of the task's `score`.

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
        """Trains a predictor and writes it to `folder/checkpoint`; resumes an interrupted training run in `folder`.

        Args:
            recipe: Configuration of the model and of the training run. Sizes that follow from the data replace those
                of the recipe; the vocabulary may become smaller.
            train, dev: Corpora, such as the readers of the task's `data.py`; the second selects the final weights.
            folder: A new or empty folder, or that of a training run with the same recipe, or one with fewer steps.
            card: Further values for the card of the checkpoint.
            tokenizer: A vocabulary to use; by default that of `initial`, or one that is learned from the training
                corpus.
            initial: Model to fine-tune, such as `zoo.conversion.from_bert.load_bert` or `zoo.load` returns. Its
                encoder is used, whose sizes replace those of the recipe, and its head if it has the same task and
                labels. With another `tokenizer`, the pieces that both vocabularies have keep their vectors.
            log: Called with lines that report what happens.
            strategy: A `tf.distribute` strategy whose devices share each batch; None for one device. The result is the
                same for any number of devices but for dropout, and a run may resume on another number.

        Raises:
            ValueError: If `folder` holds other files, its run was started with another recipe, vocabulary, corpus or
                dev set, or a corpus or `initial` does not match the task.
        """
        settings, log = recipe.training, KeptLog(log)
        self.check(recipe, initial)
        if strategy and settings.jit_compile:
            raise ValueError(
                "XLA cannot compile updates under a tf.distribute strategy. Received: jit_compile=True with "
                f"{type(strategy).__name__}. Leave out one of both."
            )
        data = self.read(recipe, train, dev, log)
        workers = current_workers(strategy)
        tokenizer = self.given_vocabulary(train, tokenizer) or (initial and initial.tokenizer)
        folder = prepare_folder(folder, recipe, workers)
        vocabulary = None
        if self.predictor_class.has_vocabulary:
            vocabulary = run_vocabulary(folder, tokenizer, data, recipe, workers)
        run = Run(recipe, data, vocabulary, folder, initial, log)
        run.recipe = dataclasses.replace(recipe, model=self.model_config(run))
        check_model(folder, run.config)
        check_dev(data, folder)
        with working("encoding the training corpus"), regular_lines(log, lambda: "encoding the training corpus"):
            corpus = self.encode(run, vocabulary)
        check_corpus(corpus, folder)
        write_recipe(folder, recipe)

        def make(card, **options):
            model = self.predictor_class.model_class(run.config, **options)
            model.build()
            return self.make_predictor(model, card, run)

        (set_reproducible if settings.deterministic else keras.utils.set_random_seed)(settings.seed)
        with strategy.scope() if strategy else contextlib.nullcontext():
            predictor = make(card, dtype=settings.precision)
            if initial is not None:
                fine_tuning.copy_initial_weights(initial, predictor, log)
            self._save_start(predictor, run)
            fine_tuning.restrict_trainable(predictor.model, settings)
        model = predictor.model
        trainable = sum(int(np.prod(variable.shape)) for variable in model.trainable_variables)
        part = "" if trainable == model.count_params() else f", of which {trainable:,} learn"
        size = f"; vocabulary of {vocabulary.vocabulary_size:,}" if vocabulary else ""
        log(f"{model.count_params():,} parameters{part}{size}")
        log.end()
        with contextlib.closing(self.with_noise(corpus, run)) as noisy:
            chosen, arrays, seconds = train_model(self, run, predictor, noisy)
        found = {"recipe": to_dict(run.recipe), "seed": settings.seed, "weights": chosen, "seconds": seconds}
        final = make({**predictor.card, **found})
        assign_arrays(final.model, arrays, chosen)
        self.calibrate(final, run)
        with working("computing the scores on dev"), regular_lines(log, lambda: "computing the scores on dev"):
            evaluation = self.final_evaluation(final, run)
        search = {name: getattr(final, name) for name in final.searched_with}
        final.card["scores"] = [{**score._asdict(), **search, "data": "dev"} for score in evaluation.scores]
        for score in evaluation.scores:
            log(f"dev: {score}")
        write_result(folder, final.save)
        write_report(run, final, evaluation, corpus, workers)
        self.clean_up(run)
        copy_back(folder, wait=True)
        return final

    def _save_start(self, predictor, run):
        """Saves the untrained predictor, from which `zoo.training.finishing.finish` knows all but the weights."""
        if not (run.folder / "start").exists():
            facts = {"recipe": to_dict(run.recipe), "seed": run.settings.seed, "weights": "initial"}
            self.make_predictor(predictor.model, {**predictor.card, **facts}, run).save(run.folder / "start")

    # The defaults of the following methods suit most tasks.

    def check(self, recipe: Recipe, initial: Any) -> None:
        """Raises `ValueError` if the settings or `initial` do not suit the task; called before anything is read."""
        check_settings(recipe.training, [*self.scores], self.unused)
        if initial is not None and getattr(initial, "has_vocabulary", True) != self.predictor_class.has_vocabulary:
            raise ValueError(f"`initial` must be a model of the same inputs. Received: {type(initial).__name__}.")
        encoder = issubclass(self.predictor_class.config_class, EncoderConfig)
        if encoder and initial is not None and not isinstance(initial.model.config, EncoderConfig):
            raise ValueError(
                "`initial` must have an encoder alone, such as a BERT or a classifier has. Received: "
                f"{type(initial).__name__}. Load another model."
            )

    def given_vocabulary(self, train: Any, tokenizer: Vocabulary | None) -> Vocabulary | None:
        """Returns the vocabulary that the caller or the training corpus provides; None to learn one."""
        return tokenizer

    def model_config(self, run: Run) -> Any:
        """Returns the configuration of the model, with the sizes that follow from the data."""
        config = fine_tuning.copy_config(run.initial, run.config, EncoderConfig)
        return dataclasses.replace(config, vocabulary_size=run.vocabulary.vocabulary_size, **run.data.sizes)

    def make_predictor(self, model: keras.Model, card: Mapping | None, run: Run) -> Predictor:
        """Returns the predictor of a model."""
        return self.predictor_class(model, run.vocabulary, card=card, max_tokens=run.max_tokens, **run.data.arguments)

    def make_loss(self, run: Run, pad_label: int) -> keras.losses.Loss:
        """Returns the loss, which sums over the rows of a batch."""
        return make_loss(run.settings, pad_label)

    def with_noise(self, corpus: Corpus, run: Run) -> Corpus:
        """Returns the corpus with subword dropout and token dropout as in the settings, different in each epoch."""
        settings, vocabulary = run.settings, run.vocabulary
        if settings.subword_dropout:
            if not isinstance(vocabulary, Tokenizer):
                raise ValueError(
                    "`subword_dropout` skips merges of vocabularies of this package. Received: "
                    f"subword_dropout={settings.subword_dropout} and a {type(vocabulary).__name__}. Set it to 0."
                )
            rate, silent = settings.subword_dropout, dataclasses.replace(run, log=lambda text: None)
            corpus = SampledRows(
                lambda epoch: self.encode(silent, vocabulary.with_dropout(rate, (settings.seed, epoch)))
            )
        if settings.token_dropout:
            kept = vocabulary.start_id, vocabulary.end_id
            corpus = TokenDropout(corpus, settings.token_dropout, vocabulary.unknown_id, kept, settings.seed)
        return corpus

    def change_batches(self, batches: BatchStream, step: int, run: Run) -> Iterable:
        """Returns the batches to train on, made from those of the corpus; `step` is the number of the first one."""
        return batches

    def dev_figures(self, predictor: Predictor, run: Run) -> dict[str, float]:
        """Evaluates the predictor on the dev set during training.

        Returns:
            Figures by name; `score` is the one that the settings select, and a higher one is better.
        """
        evaluation = self.score(predictor, run.data.dev, **self.dev_options)
        figures = {} if evaluation.loss is None else {"loss": evaluation.loss}
        figures |= {score.metric: score.value for score in evaluation.scores}
        metric = self.scores[run.settings.score]
        score = -figures["loss"] if metric == "loss" else figures[metric]
        return {**{f"dev_{name.lower().replace(' ', '_')}": value for name, value in figures.items()}, "score": score}

    def calibrate(self, predictor: Predictor, run: Run) -> None:
        """Makes the probabilities of the trained predictor right on the dev set, if it has any."""

    def final_evaluation(self, predictor: Predictor, run: Run) -> Evaluation:
        """Evaluates the trained predictor on the dev set, for its card and the report of the run."""
        return self.score(predictor, run.data.dev, resamples=1000)

    def clean_up(self, run: Run) -> None:
        """Deletes temporary files of a finished training run."""
