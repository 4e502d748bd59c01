"""What every training does around its trainer: the folder of a run, its vocabulary, the choice of final weights."""

import contextlib
import dataclasses
import hashlib
import json
import pathlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import keras
import numpy as np

from keras_transformer.training import average_arrays
from zoo.config import PAD_ID, Recipe, TrainingConfig
from zoo.config_values import from_dict, to_dict
from zoo.corpora.batching import BatchStream, Corpus
from zoo.corpora.encoded_corpus import EncodedCorpus
from zoo.corpora.labelled_corpus import NO_LABEL, LabelledCorpus, SampledRows, TokenDropout, split_labels
from zoo.distribution.current import workers_of
from zoo.distribution.workers import ALONE, Workers, told_of_lost_workers
from zoo.serving.predictor import Predictor
from zoo.storage.arrays import assign_arrays, write_whole
from zoo.storage.lock import locked
from zoo.text.tokenizer import SampledTokenizer, Tokenizer, train_tokenizer
from zoo.text.vocabularies import Vocabulary, read_vocabulary
from zoo.training import planning
from zoo.training.fine_tuning import restrict, start_from
from zoo.training.scores import Score
from zoo.training.trainer import Split, Trainer, teacher_forced


def check_settings(settings: TrainingConfig, scores: Sequence[str], unused: Sequence[str] = ()) -> None:
    """Raises `ValueError` for a score that a task does not know, or settings that it has no use for."""
    if settings.score not in scores:
        raise ValueError(f"`score` must here be one of {', '.join(scores)}. Received: score={settings.score!r}.")
    for name in unused:
        default, value = getattr(TrainingConfig, name), getattr(settings, name)
        if value != default:
            raise ValueError(f"`{name}` has no meaning here. Received: {name}={value}. Leave it at {default}.")


def prepare_folder(folder: str | pathlib.Path, recipe: Recipe, workers: Workers = ALONE) -> pathlib.Path:
    """Makes the folder of a run, or checks that it was begun by the same recipe, which is kept in `recipe.json`.

    Returns:
        The folder or, of a worker that is not the chief, one of its own.

    Raises:
        ValueError: If the folder holds a finished checkpoint, another recipe or other files, or another worker was
            started with another recipe.
    """
    folder = pathlib.Path(folder)
    workers.shared(lambda: (_prepare(folder, recipe), {}))
    workers.check_same("recipe", json.dumps(to_dict(_same_on_any_machine(recipe))).encode())
    own = workers.own_folder(folder)
    if own != folder:
        _prepare(own, recipe)
    return own


def _prepare(folder, recipe):
    path = folder / "recipe.json"
    if (folder / "checkpoint").exists():
        raise ValueError(f"{folder} holds a finished checkpoint. Train into another folder; nothing was changed.")
    if path.exists():
        begun = from_dict(type(recipe), json.loads(path.read_text("utf-8")))
        if _same_on_any_machine(begun) != _same_on_any_machine(recipe):
            raise ValueError(
                f"{folder} was begun with another recipe ({_difference(begun, recipe)}). "
                "Use that one to go on, or another folder; nothing was changed."
            )
    elif folder.exists() and any(folder.iterdir()):
        raise ValueError(f"{folder} is not empty and holds no run to go on with. Use another folder.")
    else:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, (json.dumps(to_dict(recipe), indent=1) + "\n").encode())


def run_vocabulary(
    folder: pathlib.Path,
    tokenizer: Vocabulary | None,
    texts: Callable[[], Iterable[str]],
    recipe: Recipe,
    workers: Workers = ALONE,
) -> Vocabulary:
    """The vocabulary of a run: the one that it was begun with, else the one given, else one learned from `texts()`.

    All workers have the chief's.

    Raises:
        ValueError: If the run was begun with another one than is given, or the given one should fold case and does not.
    """

    def of_chief():
        return None, {"model": np.frombuffer(_vocabulary(folder, tokenizer, texts, recipe).model, "uint8")}

    return read_vocabulary(workers.shared(of_chief)[1]["model"].tobytes())


def _vocabulary(folder, tokenizer, texts, recipe):
    path = folder / "vocabulary.model"
    if path.exists():
        begun = read_vocabulary(path.read_bytes())
        if tokenizer is not None and tokenizer.digest != begun.digest:
            raise ValueError(f"{folder} was begun with another vocabulary, {path.name}. Use that, or another folder.")
        return begun
    if tokenizer is None:
        tokenizer = train_tokenizer(texts(), recipe.model.vocabulary_size, lowercase=recipe.training.lowercase)
    elif recipe.training.lowercase and not tokenizer.lowercase:
        raise ValueError(
            "`lowercase` is for a vocabulary learned here; the one given tells capitals from small letters. "
            "Received: lowercase=True. Leave it out, or leave out the vocabulary."
        )
    write_whole(path, tokenizer.model)
    return tokenizer


def choose_weights(
    model: keras.Model,
    candidates: Mapping[str, Mapping[str, np.ndarray]],
    look: Callable[[keras.Model], Mapping[str, float]],
    log: Callable[[str], None],
) -> str:
    """The name of those among several sets of weights that score best on the dev set."""
    scores = {}
    for name, arrays in candidates.items():
        assign_arrays(model, arrays, name)
        scores[name] = look(model)["score"]
        log(f"{name} weights: score {scores[name]:.2f}")
    return max(scores, key=scores.get)


def train_model(
    model: keras.Model,
    settings: TrainingConfig,
    folder: pathlib.Path,
    corpus: Corpus,
    look: Callable[[keras.Model], Mapping[str, float]],
    log: Callable[[str], None],
    split: Split = teacher_forced,
    pad_label: int = PAD_ID,
    masked: Callable[[BatchStream, int], Iterable] | None = None,
) -> dict[str, Mapping[str, np.ndarray]]:
    """Trains to the last step, from where an earlier run in `folder` stopped.

    Args:
        model, settings, folder, look, split, pad_label: Of `Trainer`; the folder is that of the run.
        corpus: What batches are cut from.
        log: Told what happens.
        masked: `(batches, number of the first) -> batches`, what is done to the batches of the corpus.

    Returns:
        The weights that may be the final ones: averaged, the best so far, their mean.

    Raises:
        zoo.training.planning.Planned: If only a plan is wanted.
    """
    with locked(folder), told_of_lost_workers(workers_of(getattr(model, "distribute_strategy", None))):
        trainer = Trainer(model, settings, folder / "training", look, split, pad_label)
        batches = stream = BatchStream(
            corpus,
            settings.batch_tokens,
            seed=settings.seed,
            start=trainer.position,
            pad_multiple=8 if keras.backend.backend() == "jax" else 1,
        )
        if trainer.accumulation * trainer.replicas > 1:
            log(
                f"{settings.batch_tokens:,} tokens a step: {trainer.replicas} device{'s' * (trainer.replicas > 1)}, "
                f"{trainer.accumulation} micro-batch{'es' * (trainer.accumulation > 1)} each"
            )
        if masked is not None:
            batches = masked(batches, trainer.step)
        if planning.asked():
            raise planning.Planned(planning.plan(trainer, stream, batches))
        if trainer.workers.count > 1:
            lengths = corpus.epoch(trainer.position[0]).lengths()
            trainer.workers.check_same("corpus", b"".join(side.tobytes() for side in lengths))
        average = trainer.fit(batches)
        _, best = trainer.workers.shared(lambda: (None, trainer.best()))
    return {"average": average, "best": best, "mean of both": average_arrays([average, best])}


class Look(Protocol):
    """The dev set of a `Predictor`."""

    def __call__(self, model: keras.Model) -> Mapping[str, float]:
        """Figures of the model, `score` (higher is better) among them."""

    def scores(self, predictor: Predictor, resamples: int) -> list[Score]:
        """Its scores with intervals."""


def train_predictor(
    make: Callable[[keras.Model, dict], Predictor],
    make_model: Callable[..., keras.Model],
    make_look: Callable[[Predictor], Look],
    encode: Callable[[Vocabulary | SampledTokenizer], LabelledCorpus | EncodedCorpus],
    recipe: Recipe,
    folder: pathlib.Path,
    card: dict,
    log: Callable[[str], None],
    strategy: Any = None,
    initial: Predictor | None = None,
    masked: Callable[[BatchStream, int], Iterable] | None = None,
    split: Split = split_labels,
    pad_label: int = NO_LABEL,
) -> Predictor:
    """Trains a predictor on encoded rows and writes it to `folder/checkpoint`.

    Args:
        make: `(model, card) -> predictor`.
        make_model: `(dtype=...) -> model`, not yet built.
        make_look: `predictor -> look` at the dev set, which chooses the weights and scores them.
        encode: `tokenizer -> rows` to train on.
        recipe, folder, card, log, strategy: As for the `train` of a task; the folder is a prepared one.
        initial: Whose encoder to start from, and whose head too if it has the same task and labels.
        masked, split, pad_label: As for `train_model`.

    Raises:
        ValueError: If the run was begun with another corpus.
    """
    settings = recipe.training
    keras.utils.set_random_seed(settings.seed)
    with strategy.scope() if strategy else contextlib.nullcontext():
        model = make_model(dtype=settings.precision)
        model.build()
        predictor = make(model, card)
        if initial is not None:
            start_from(initial, predictor)
        restrict(model, settings)
    corpus = encode(predictor.tokenizer)
    content = b"".join(np.ascontiguousarray(array).tobytes() for array in corpus.arrays())
    check_digest(hashlib.sha256(content).hexdigest(), folder)
    learning = sum(int(np.prod(variable.shape)) for variable in model.trainable_variables)
    part = "" if learning == model.count_params() else f", of which {learning:,} learn"
    log(f"{model.count_params():,} parameters{part}; vocabulary of {model.config.vocabulary_size:,}")
    look = make_look(predictor)
    corpus = _noisy(corpus, encode, predictor.tokenizer, settings)
    candidates = train_model(model, settings, folder, corpus, look, log, split, pad_label, masked)
    chosen = choose_weights(model, candidates, look, log)
    final = make_model()
    final.build()
    assign_arrays(final, candidates[chosen], chosen)
    done = to_dict(dataclasses.replace(recipe, model=final.config))  # With the sizes that corpus and `initial` gave.
    predictor = make(final, {**card, "recipe": done, "seed": settings.seed, "weights": chosen})
    scores = look.scores(predictor, resamples=1000)
    predictor.card["scores"] = [{**score._asdict(), "data": "dev"} for score in scores]
    for score in scores:
        log(f"dev: {score}")
    predictor.save(folder / "checkpoint")
    return predictor


def _noisy(corpus, encode, tokenizer, settings):
    """The corpus with the noise that the settings ask for, another in each epoch."""
    if settings.subword_dropout:
        if not isinstance(tokenizer, Tokenizer):
            raise ValueError(
                "`subword_dropout` skips merges, which the word pieces of a BERT are not made by. "
                f"Received: subword_dropout={settings.subword_dropout}. Set it to 0."
            )
        corpus = SampledRows(lambda epoch: encode(tokenizer.sampled(settings.subword_dropout, (settings.seed, epoch))))
    if settings.token_dropout:
        kept = tokenizer.start_id, tokenizer.end_id
        corpus = TokenDropout(corpus, settings.token_dropout, tokenizer.unknown_id, kept, settings.seed)
    return corpus


def check_digest(digest: str, folder: pathlib.Path) -> None:
    """Keeps the digest of the corpus in the folder of a run; raises `ValueError` if another one is there."""
    path = folder / "corpus.sha256"
    if not path.exists():
        write_whole(path, digest.encode())
    elif path.read_text("utf-8") != digest:
        raise ValueError(
            f"{folder} was begun with another corpus. Use that one to go on, or another folder; nothing was changed."
        )


def _same_on_any_machine(recipe):
    return dataclasses.replace(recipe, training=dataclasses.replace(recipe.training, micro_batch_tokens=0))


def _difference(begun, asked):
    names = []
    for group in ("model", "training"):
        old, new = getattr(begun, group), getattr(asked, group)
        names += [
            f"{group}.{f.name} was {getattr(old, f.name)}"
            for f in dataclasses.fields(old)
            if getattr(old, f.name) != getattr(new, f.name)
        ]
    return ", ".join(names) or "another source"
