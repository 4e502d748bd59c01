"""Training runs: their data, folder, vocabulary and corpus, training, and the choice of the final weights."""

import contextlib
import dataclasses
import json
import pathlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from keras_transformer.training import average_arrays
from zoo.config import Recipe, TrainingConfig
from zoo.config_values import from_dict, to_dict
from zoo.corpora.batching import Corpus
from zoo.distribution.current import current_workers
from zoo.distribution.workers import SINGLE_PROCESS, Workers, lost_worker_errors
from zoo.serving.predictor import Predictor
from zoo.storage.arrays import assign_arrays, write_atomically
from zoo.storage.lock import folder_lock
from zoo.storage.mirrors import local_path, open_folder
from zoo.text.tokenizer_training import train_tokenizer
from zoo.text.vocabularies import Vocabulary, read_vocabulary
from zoo.training import data_workers, planning
from zoo.training.finishing import finished_steps
from zoo.training.progress import regular_lines
from zoo.training.tracking import is_tracked
from zoo.training.trainer import Trainer

Log = Callable[[str], None]


class TrainingData(NamedTuple):
    """Corpora of a training run after reading.

    Args:
        train: Examples, in the form that `Task.encode` takes.
        dev: Examples, in the form that `Task.score` takes: a list, or a tuple of two lists.
        texts: Function that returns the texts to learn a vocabulary from.
        sizes: Fields of the model's configuration that follow from the data, such as the number of classes.
        arguments: Arguments of the predictor that follow from the data, such as the names of classes.
        vocabulary: Further arguments of `zoo.text.tokenizer_training.train_tokenizer`.
    """

    train: Any
    dev: Any
    texts: Callable[[], Iterable[str]]
    sizes: Mapping[str, int] = {}
    arguments: Mapping[str, Any] = {}
    vocabulary: Mapping[str, Any] = {}

    @property
    def dev_size(self) -> int:
        """Number of examples of the dev set, which is a list or a tuple of two lists."""
        return len(self.dev[1] if isinstance(self.dev, tuple) else self.dev)

    def first_of_dev(self, count: int) -> "TrainingData":
        """Returns the data with the first examples of the dev set only."""
        dev = tuple(side[:count] for side in self.dev) if isinstance(self.dev, tuple) else self.dev[:count]
        return self._replace(dev=dev)


@dataclasses.dataclass
class Run:
    """A training run: what the methods of a task share.

    Args:
        recipe: Configuration of the model, with the sizes that follow from the data, and of the training run.
        data: Both corpora.
        vocabulary: The vocabulary; None for models that read no text.
        folder: The folder of the run.
        initial: Model to fine-tune, or None.
        log: Called with lines that report what happens.
    """

    recipe: Recipe
    data: TrainingData
    vocabulary: Vocabulary | None
    folder: pathlib.Path
    initial: Any = None
    log: Log = print

    @property
    def config(self) -> Any:
        """Configuration of the model."""
        return self.recipe.model

    @property
    def settings(self) -> TrainingConfig:
        """Configuration of the training run."""
        return self.recipe.training

    @property
    def max_tokens(self) -> int:
        """Maximum number of tokens of a row."""
        return self.token_limit[1]

    @property
    def token_limit(self) -> tuple[str, int]:
        """The setting that decides `max_tokens`, and its value."""
        limits = {f"model.{name}": getattr(self.config, name, 0) for name in ("max_positions", "max_length")}
        limits = {"training.max_tokens": self.settings.max_tokens, **limits}
        return min(((name, limit) for name, limit in limits.items() if limit), key=lambda pair: pair[1])


def check_settings(settings: TrainingConfig, scores: Sequence[str], unused: Sequence[str] = ()) -> None:
    """Raises `ValueError` for a score that is not one of `scores`, or a setting of `unused` that is not its default."""
    if settings.score not in scores:
        raise ValueError(
            f"`score` must be one of {', '.join(scores)} for this task. Received: score={settings.score!r}."
        )
    for name in unused:
        default, value = getattr(TrainingConfig, name), getattr(settings, name)
        if value == default:
            continue
        if dataclasses.is_dataclass(value):  # A group of settings, of which the message names one.
            known = (item.name for item in dataclasses.fields(value))
            part = next(part for part in known if getattr(value, part) != getattr(default, part))
            name, value, default = f"{name}.{part}", getattr(value, part), getattr(default, part)
        raise ValueError(f"`{name}` has no effect in this task. Received: {name}={value}. Leave it at {default}.")


def prepare_folder(folder: str | pathlib.Path, recipe: Recipe, workers: Workers = SINGLE_PROCESS) -> pathlib.Path:
    """Creates the folder of a training run and writes `recipe.json`, or checks that the run has the same recipe.

    A recipe with more steps extends the run, even a finished one.

    Returns:
        The folder; for a worker that is not the chief, its local folder.

    Raises:
        ValueError: If the folder holds a finished checkpoint, another recipe or other files, or if the workers were
            started with different recipes.
    """
    is_tracked()  # Or says what is missing.
    workers.broadcast(lambda: (_prepare(open_folder(folder), recipe), {}))
    folder = local_path(folder)
    workers.check_same("recipe", json.dumps(to_dict(_without_micro_batches(recipe))).encode())
    local = workers.local_folder(folder)
    if local != folder:
        _prepare(local, recipe)
    return local


def _prepare(folder, recipe):
    path = folder / "recipe.json"
    if finished_steps(folder) >= recipe.training.steps:
        raise ValueError(
            f"{folder} holds a finished checkpoint. Train into another folder, or longer, with a larger "
            "training.steps; nothing was changed."
        )
    if path.exists():
        started = from_dict(recipe, json.loads(path.read_text("utf-8")))
        if not _extends(started, recipe):
            raise ValueError(
                f"The training run in {folder} was started with another recipe ({_difference(started, recipe)}). "
                "Use that recipe to resume it, perhaps with a larger training.steps, or another folder; nothing was "
                "changed."
            )
    elif folder.exists() and any(folder.iterdir()):
        raise ValueError(f"{folder} is not empty and holds no training run to resume. Use another folder.")
    else:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(path, (json.dumps(to_dict(recipe), indent=1) + "\n").encode())


def _extends(started, recipe):
    """Returns whether a run of the first recipe may go on with the second: the same one, or one with more steps."""
    if recipe.training.steps > started.training.steps:  # Warm-up and cool-down follow the number of steps.
        schedule = {name: getattr(started.training, name) for name in ("steps", "warmup_steps", "cooldown_steps")}
        recipe = dataclasses.replace(recipe, training=dataclasses.replace(recipe.training, **schedule))
    return _without_micro_batches(started) == _without_micro_batches(recipe)


def write_recipe(folder: pathlib.Path, recipe: Recipe) -> None:
    """Writes `recipe.json` again if a training run is extended to more steps."""
    path = folder / "recipe.json"
    if from_dict(recipe, json.loads(path.read_text("utf-8"))).training.steps != recipe.training.steps:
        write_atomically(path, (json.dumps(to_dict(recipe), indent=1) + "\n").encode())


def run_vocabulary(
    folder: pathlib.Path,
    tokenizer: Vocabulary | None,
    data: TrainingData,
    recipe: Recipe,
    workers: Workers = SINGLE_PROCESS,
) -> Vocabulary:
    """Returns the vocabulary of a training run.

    It is the one that the run was started with, else `tokenizer`, else one learned from `data.texts()`. All workers get
    that of the chief.

    Raises:
        ValueError: If the run was started with another vocabulary than `tokenizer`, or the recipe sets `lowercase` or
            `case_markup` and `tokenizer` does not have it.
    """

    def make():
        return None, {"model": np.frombuffer(_vocabulary(folder, tokenizer, data, recipe).model, "uint8")}

    return read_vocabulary(workers.broadcast(make)[1]["model"].tobytes())


def _vocabulary(folder, tokenizer, data, recipe):
    path = folder / "vocabulary.model"
    if path.exists():
        started = read_vocabulary(path.read_bytes())
        if tokenizer is not None and tokenizer.digest != started.digest:
            raise ValueError(
                f"The training run in {folder} was started with another vocabulary, {path.name}. Use that one, or "
                "another folder."
            )
        return started
    if tokenizer is None:
        names = "lowercase", "case_markup", "split_digits", "pieces"
        options = {**{name: getattr(recipe.training, name) for name in names}, **data.vocabulary}
        tokenizer = train_tokenizer(data.texts(), recipe.model.vocabulary_size, **options)
    for name in ("lowercase", "case_markup"):
        if getattr(recipe.training, name) and not getattr(tokenizer, name, False):
            raise ValueError(
                f"`{name}` is for a vocabulary learned from the corpus; the given one treats capitals otherwise. "
                f"Received: {name}=True. Set it to false, or leave out the vocabulary."
            )
    write_atomically(path, tokenizer.model)
    return tokenizer


def train_model(
    task: Any, run: Run, predictor: Predictor, corpus: Corpus
) -> tuple[str, Mapping[str, np.ndarray], float]:
    """Trains the model of a predictor to the last step; resumes an interrupted training run in `run.folder`.

    Args:
        task: The `zoo.training.tasks.Task`.
        run: The training run.
        predictor: The predictor, with the initial weights of its model.
        corpus: Training corpus.

    Returns:
        Name and weights of the best on the dev set of these: averaged, best of the evaluations, the mean of both; and
        the seconds that training took.

    Raises:
        zoo.training.planning.Planned: If only a plan is requested.
    """
    model, settings = predictor.model, run.settings
    identity = data_workers.identity((run.folder / "corpus.sha256").read_text("utf-8"), settings, run.vocabulary)
    if data_workers.is_data_worker():
        data_workers.serve(corpus, identity, run.log)

    def evaluate(model):
        return task.dev_figures(predictor, run)

    with folder_lock(run.folder), lost_worker_errors(current_workers(getattr(model, "distribute_strategy", None))):
        loss = task.make_loss(run, predictor.pad_label)
        batches = predictor.split, predictor.pad_label
        trainer = Trainer(model, settings, run.folder / "training", evaluate, *batches, loss)
        if trainer.step:
            run.log(f"continuing from step {trainer.step:,} of {settings.steps:,}")
        order = {"seed": settings.seed, "start": trainer.position, "pad_multiple": 8 if model.jit_compile else 1}
        stream = data_workers.open_stream(corpus, identity, run.log, settings.batch_tokens, **order)
        if trainer.accumulation * trainer.replicas > 1:
            run.log(
                f"{settings.batch_tokens:,} tokens a step: {trainer.replicas} device{'s' * (trainer.replicas > 1)}, "
                f"{trainer.accumulation} micro-batch{'es' * (trainer.accumulation > 1)} each"
            )
        batches = task.change_batches(stream, trainer.step, run)
        if planning.requested():
            few = dataclasses.replace(run, data=run.data.first_of_dev(planning.EVALUATED))
            share = run.data.dev_size / few.data.dev_size
            evaluation = planning.Evaluation(lambda: task.dev_figures(predictor, few), share)
            raise planning.Planned(planning.plan(trainer, stream, batches, evaluation))
        if trainer.workers.count > 1:
            lengths = corpus.epoch(trainer.position[0]).lengths()
            trainer.workers.check_same("corpus", b"".join(side.tobytes() for side in lengths))
        with contextlib.closing(stream):
            average = trainer.fit(batches)
        _, best = trainer.workers.broadcast(lambda: (None, trainer.best()))
    candidates, scores = {"average": average, "best": best, "mean of both": average_arrays([average, best])}, {}
    for name, arrays in candidates.items():
        assign_arrays(model, arrays, name)
        with regular_lines(run.log, lambda name=name: f"evaluating the {name} weights"):
            scores[name] = evaluate(model)["score"]
        run.log(f"{name} weights: score {scores[name]:.2f}")
    chosen = max(scores, key=scores.get)
    return chosen, candidates[chosen], trainer.facts["seconds"]


def _without_micro_batches(recipe):
    """Returns the recipe without the setting that may differ between machines."""
    return dataclasses.replace(recipe, training=dataclasses.replace(recipe.training, micro_batch_tokens=0))


def _difference(started, received):
    old, new = to_dict(started), to_dict(received)
    pairs = ((group, name) for group in ("model", "training") for name in old[group])
    changes = [f"{g}.{name} was {old[g][name]}" for g, name in pairs if old[g][name] != new[g].get(name)]
    return ", ".join(changes) or "another source"
