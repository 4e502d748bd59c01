"""Training runs: their folder, their vocabulary, their corpus, the choice of the final weights."""

import dataclasses
import hashlib
import json
import pathlib
from collections.abc import Callable, Iterable, Mapping, Sequence

import keras
import numpy as np

from keras_transformer.training import average_arrays
from zoo.config import PAD_ID, Recipe, TrainingConfig
from zoo.config_values import from_dict, to_dict
from zoo.corpora.batching import BatchStream, Corpus
from zoo.distribution.current import current_workers
from zoo.distribution.workers import SINGLE_PROCESS, Workers, lost_worker_errors
from zoo.storage.arrays import assign_arrays, write_atomically
from zoo.storage.lock import folder_lock
from zoo.text.tokenizer import train_tokenizer
from zoo.text.vocabularies import Vocabulary, read_vocabulary
from zoo.training import planning
from zoo.training.trainer import Evaluate, Split, Trainer, teacher_forced


def check_settings(settings: TrainingConfig, scores: Sequence[str], unused: Sequence[str] = ()) -> None:
    """Raises `ValueError` for a score that a task does not know, or settings that it has no use for."""
    if settings.score not in scores:
        raise ValueError(f"`score` must here be one of {', '.join(scores)}. Received: score={settings.score!r}.")
    for name in unused:
        default, value = getattr(TrainingConfig, name), getattr(settings, name)
        if value != default:
            raise ValueError(f"`{name}` has no meaning here. Received: {name}={value}. Leave it at {default}.")


def prepare_folder(folder: str | pathlib.Path, recipe: Recipe, workers: Workers = SINGLE_PROCESS) -> pathlib.Path:
    """Makes the folder of a run, or checks that it was begun by the same recipe, which is kept in `recipe.json`.

    Returns:
        The folder or, of a worker that is not the chief, one of its own.

    Raises:
        ValueError: If the folder holds a finished checkpoint, another recipe or other files, or another worker was
            started with another recipe.
    """
    folder = pathlib.Path(folder)
    workers.broadcast(lambda: (_prepare(folder, recipe), {}))
    workers.check_same("recipe", json.dumps(to_dict(_same_on_any_machine(recipe))).encode())
    own = workers.local_folder(folder)
    if own != folder:
        _prepare(own, recipe)
    return own


def _prepare(folder, recipe):
    path = folder / "recipe.json"
    if (folder / "checkpoint").exists():
        raise ValueError(f"{folder} holds a finished checkpoint. Train into another folder; nothing was changed.")
    if path.exists():
        begun = from_dict(recipe, json.loads(path.read_text("utf-8")))
        if _same_on_any_machine(begun) != _same_on_any_machine(recipe):
            raise ValueError(
                f"{folder} was begun with another recipe ({_difference(begun, recipe)}). "
                "Use that one to go on, or another folder; nothing was changed."
            )
    elif folder.exists() and any(folder.iterdir()):
        raise ValueError(f"{folder} is not empty and holds no run to go on with. Use another folder.")
    else:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(path, (json.dumps(to_dict(recipe), indent=1) + "\n").encode())


def run_vocabulary(
    folder: pathlib.Path,
    tokenizer: Vocabulary | None,
    texts: Callable[[], Iterable[str]],
    recipe: Recipe,
    workers: Workers = SINGLE_PROCESS,
) -> Vocabulary:
    """The vocabulary of a run: the one that it was begun with, else the one given, else one learned from `texts()`.

    All workers have the chief's.

    Raises:
        ValueError: If the run was begun with another one than is given, or the given one should fold case and does not.
    """

    def of_chief():
        return None, {"model": np.frombuffer(_vocabulary(folder, tokenizer, texts, recipe).model, "uint8")}

    return read_vocabulary(workers.broadcast(of_chief)[1]["model"].tobytes())


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
    write_atomically(path, tokenizer.model)
    return tokenizer


def choose_weights(
    model: keras.Model,
    candidates: Mapping[str, Mapping[str, np.ndarray]],
    evaluate: Evaluate,
    log: Callable[[str], None],
) -> str:
    """Returns the name of the set of weights that scores best on the dev set."""
    scores = {}
    for name, arrays in candidates.items():
        assign_arrays(model, arrays, name)
        scores[name] = evaluate(model)["score"]
        log(f"{name} weights: score {scores[name]:.2f}")
    return max(scores, key=scores.get)


def train_model(
    model: keras.Model,
    settings: TrainingConfig,
    folder: pathlib.Path,
    corpus: Corpus,
    evaluate: Evaluate,
    log: Callable[[str], None],
    split: Split = teacher_forced,
    pad_label: int = PAD_ID,
    change_batches: Callable[[BatchStream, int], Iterable] = lambda batches, step: batches,
) -> dict[str, Mapping[str, np.ndarray]]:
    """Trains to the last step, from where an earlier training run in `folder` stopped.

    Args:
        model, settings, folder, evaluate, split, pad_label: Of `Trainer`; the folder is that of the run.
        corpus: What batches are cut from.
        log: Called with lines that report what happens.
        change_batches: `(batches, number of the first) -> batches`, applied to the batches of the corpus.

    Returns:
        The weights that may be the final ones: averaged, the best so far, their mean.

    Raises:
        zoo.training.planning.Planned: If only a plan is wanted.
    """
    with folder_lock(folder), lost_worker_errors(current_workers(getattr(model, "distribute_strategy", None))):
        trainer = Trainer(model, settings, folder / "training", evaluate, split, pad_label)
        stream = BatchStream(
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
        batches = change_batches(stream, trainer.step)
        if planning.requested():
            raise planning.Planned(planning.plan(trainer, stream, batches))
        if trainer.workers.count > 1:
            lengths = corpus.epoch(trainer.position[0]).lengths()
            trainer.workers.check_same("corpus", b"".join(side.tobytes() for side in lengths))
        average = trainer.fit(batches)
        _, best = trainer.workers.broadcast(lambda: (None, trainer.best()))
    return {"average": average, "best": best, "mean of both": average_arrays([average, best])}


def check_corpus(corpus: Corpus, folder: pathlib.Path) -> None:
    """Keeps the digest of the corpus in the folder of a run.

    Raises:
        ValueError: If the run was begun with another corpus.
    """
    path, digest = folder / "corpus.sha256", _digest(corpus)
    if not path.exists():
        write_atomically(path, f"{digest} {len(corpus)}".encode())
        return
    begun, _, rows = path.read_text("utf-8").partition(" ")
    if begun != digest:
        rows = f", of {int(rows):,} examples" if rows else ""
        raise ValueError(
            f"{folder} was begun with another corpus{rows}. Received: {len(corpus):,} examples. Use that one to go on, "
            "or another folder; nothing was changed."
        )


def _digest(corpus):
    """The SHA-256 of everything in a corpus; a prepared one has it already."""
    if hasattr(corpus, "digest"):
        return corpus.digest
    found = hashlib.sha256()
    for array in corpus.arrays():
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def _same_on_any_machine(recipe):
    return dataclasses.replace(recipe, training=dataclasses.replace(recipe.training, micro_batch_tokens=0))


def _difference(begun, given):
    names = []
    for group in ("model", "training"):
        old, new = getattr(begun, group), getattr(given, group)
        names += [
            f"{group}.{f.name} was {getattr(old, f.name)}"
            for f in dataclasses.fields(old)
            if getattr(old, f.name) != getattr(new, f.name)
        ]
    return ", ".join(names) or "another source"
