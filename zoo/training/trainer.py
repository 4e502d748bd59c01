"""Trains a model by a TrainingConfig: accumulates, logs, evaluates, keeps the best, averages, resumes."""

import contextlib
import itertools
import json
import math
import pathlib
import time
from collections.abc import Callable, Iterable, Mapping

import keras
import numpy as np

from keras_transformer.training import TokenCrossEntropy, average_arrays, prepare_replicas
from zoo.config import PAD_ID, TrainingConfig
from zoo.distribution.current import current_workers
from zoo.storage.arrays import load_arrays, named_arrays, save_arrays, write_atomically
from zoo.training.finite import FiniteGuard
from zoo.training.micro_batches import accumulation_steps, micro_batches, own_shares
from zoo.training.optimizers import make_optimizer
from zoo.training.progress import Progress
from zoo.training.run_state import load_state, save_state
from zoo.training.scalars import ScalarLog

Evaluate = Callable[[keras.Model], Mapping[str, float]]
Split = Callable[[Mapping[str, np.ndarray]], tuple[Mapping[str, np.ndarray], np.ndarray]]


def teacher_forced(batch: Mapping[str, np.ndarray]) -> tuple[dict, np.ndarray]:
    """A decoder reads the target `[B, T + 1]` but for its end, and predicts it but for its start."""
    return {"source": batch["source"], "target": batch["target"][:, :-1]}, batch["target"][:, 1:]


class Trainer:
    """Runs `model.fit` in stretches of `evaluate_every` updates and writes a checkpoint after each.

    A batch is an update on any machine. It is cut into micro-batches that fit the devices, each with the weight
    `accumulation / tokens of the whole update`: the gradient is the mean over the real tokens of the update, however
    it is cut into micro-batches or spread over devices, and a run may go on with other devices than it began with.

    Args:
        model: A built model that maps named inputs to logits. If it was made under a tf.distribute strategy, all
            devices of that train together.
        config: How to train.
        folder: Where checkpoints, `log.jsonl` and the state to resume from are kept. A run that finds a state
            there goes on from it.
        evaluate: Called with the model after each stretch; returns named figures. `score` (higher is better)
            decides which checkpoint is kept as the best.
        split: What of a batch the model reads and what it is to say: `batch -> (inputs, labels)`.
        pad_label: Label that does not count.
    """

    def __init__(
        self,
        model: keras.Model,
        config: TrainingConfig,
        folder: str | pathlib.Path,
        evaluate: Evaluate | None = None,
        split: Split = teacher_forced,
        pad_label: int = PAD_ID,
    ):
        self.model, self.config, self.evaluate = model, config, evaluate
        self._split, self._pad_label = split, pad_label
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.scalars = ScalarLog(self.folder / "tensorboard")
        self._strategy = strategy = getattr(model, "distribute_strategy", None)  # TensorFlow has one.
        self.workers = current_workers(strategy)
        self.replicas = self.workers.replicas
        self.accumulation = accumulation_steps(config, self.replicas)
        self.facts = {"step": 0, "position": [0, 0], "best_score": None, "best_step": 0, "history": []}
        with strategy.scope() if strategy else contextlib.nullcontext():
            prepare_replicas(model).compile(
                optimizer=make_optimizer(config, model, self.accumulation),
                loss=TokenCrossEntropy(config.label_smoothing, pad_label, reduction="sum"),
            )
            # Past Keras's tracking of attributes, as `compile` sets it.
            object.__setattr__(model, "_loss_tracker", _UpdateMean(name="loss"))
            model.optimizer.build(model.trainable_variables)
        self._restore()

    @property
    def step(self) -> int:
        """Optimiser updates done so far, those of earlier runs included."""
        return self.facts["step"]

    @property
    def position(self) -> tuple[int, int]:
        """(epoch, batch) at which `batches` has to start."""
        return tuple(self.facts["position"])

    def fit(self, batches: Iterable[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
        """Trains to the last step and returns the final weights by name.

        Args:
            batches: The updates, endless, from `position` on, for `split`. If it has a method `position(consumed)`,
                as `zoo.corpora.batching.BatchStream`, resuming goes on exactly there.

        Returns:
            The mean of the last `config.average` checkpoints.

        Raises:
            FloatingPointError: If an update is not finite; the message tells where that began.
        """
        stretches = -(-self.config.steps // self.config.evaluate_every)
        if self.step < self.config.steps and not self._out_of_patience():
            first = self.position
            place = getattr(batches, "position", lambda consumed: first)
            with Progress(self.config.steps, self.step, self.workers.chief) as progress:
                guard = FiniteGuard(self.accumulation, self.replicas, self.step)
                examples = guard.remember(self._examples(batches, progress.count))
                # Made here, as TensorFlow would turn the errors of a bad corpus into its own.
                beginning = [*itertools.islice(examples, 1)]
                self.model.fit(
                    self._dataset(itertools.chain(beginning, examples)),
                    initial_epoch=self.step // self.config.evaluate_every,
                    epochs=stretches,
                    steps_per_epoch=self.config.evaluate_every * self.accumulation,
                    callbacks=[guard, progress.callback(self.accumulation), _Stretch(self, place, progress)],
                    verbose=0,
                    shuffle=False,
                )
        return self.workers.broadcast(lambda: (None, self._average()))[1]

    def _average(self):
        paths = sorted(self.folder.glob("step-*.safetensors"))[-self.config.average :]
        return average_arrays(load_arrays(path)[0] for path in paths)

    def measure(self, batches: Iterable[Mapping[str, np.ndarray]], updates: int) -> tuple[float, float]:
        """Mean seconds and real labels of an update, of those after the first two, in which graphs are made.

        The model is trained by them; nothing is written.
        """
        counts, clock = [], _Clock(self.accumulation)
        steps = (updates + 2) * self.accumulation
        examples = self._dataset(self._examples(batches, counts.append))
        self.model.fit(examples, steps_per_epoch=steps, callbacks=[clock], verbose=0, shuffle=False)
        return (clock.times[-1] - clock.times[1]) / updates, float(np.mean(counts[: updates + 2]))

    def _examples(self, batches, count):
        parts = map(self._split, batches)
        return micro_batches(parts, self.accumulation, self.replicas, count, self._pad_label)

    def _dataset(self, examples):
        """What `fit` reads fastest: a prefetching tf.data.Dataset on TensorFlow, the iterator itself elsewhere."""
        if self.workers.count > 1:
            examples = own_shares(examples, self.workers, keras.backend.backend() == "tensorflow")
        if keras.backend.backend() != "tensorflow":
            return (batch for batch in examples)  # Of iterators, Keras takes generators only.
        from zoo.distribution.on_tensorflow import distributed_dataset
        from zoo.tf.pipeline import training_dataset

        return training_dataset(examples) if self.workers.count == 1 else distributed_dataset(self._strategy, examples)

    def best(self) -> dict[str, np.ndarray]:
        """The weights with the best score so far."""
        return load_arrays(self.folder / "best.safetensors")[0]

    def end_stretch(self, step: int, position: tuple[int, int], loss: float, progress: Progress) -> bool:
        """Writes the checkpoint of this step and looks at the dev set; returns whether to go on."""
        self.facts |= {"step": step, "position": list(position)}
        self._begin_update()
        arrays = named_arrays(self.model)
        save_arrays(self.folder / f"step-{self.step:07d}.safetensors", arrays)
        figures = {"step": self.step, "epoch": position[0], "train_loss": loss, **progress.figures()}
        if self.evaluate is not None:
            own = self.evaluate(self.model)
            figures |= self.workers.broadcast(lambda: (own, {}))[0]
            score, best = figures.get("score", 0.0), self.facts["best_score"]
            if best is None or score > best or math.isnan(best):
                self.facts |= {"best_score": score, "best_step": self.step}
                save_arrays(self.folder / "best.safetensors", arrays, {"step": self.step, "score": score})
        self.facts["history"].append(figures)
        self.scalars.write(self.step, figures)
        self._save()
        for old in sorted(self.folder.glob("step-*.safetensors"))[: -self.config.average]:
            old.unlink()
        progress.report(figures)
        return not self._out_of_patience()

    def _out_of_patience(self):
        waited = (self.step - self.facts["best_step"]) // self.config.evaluate_every
        return bool(self.config.patience and self.facts["best_step"]) and waited >= self.config.patience

    def _state(self):
        """Everything that one update hands on to the next, on any devices: weights, moments, seeds."""
        metrics = (variable for metric in self.model.metrics for variable in metric.variables)
        left_out = {id(variable) for variable in (*metrics, *self._counters())}
        variables = itertools.chain(self.model.variables, self.model.optimizer.variables)
        kept = (variable for variable in variables if id(variable) not in left_out)
        return {f"{i:05d}": variable for i, variable in enumerate(kept)}

    def _counters(self):
        """Variables of the optimiser that count and add up micro-batches."""
        for variable in self.model.optimizer.variables:
            if variable.path.endswith(("/iteration", "gradient_accumulator")):
                yield variable

    def _begin_update(self):
        """Makes the optimiser expect the first micro-batch of an update.

        It expects another one if it scales losses, as it then skips each micro-batch that overflows.
        """
        for variable in self._counters():
            micro_batches = self.step * self.accumulation if variable.path.endswith("/iteration") else 0
            variable.assign(np.full(variable.shape, micro_batches, variable.dtype))

    def _save(self):
        arrays = {name: np.asarray(variable) for name, variable in self._state().items()}
        save_state(self.folder, self.step, arrays, self.facts)
        lines = "".join(json.dumps(figures) + "\n" for figures in self.facts["history"])
        write_atomically(self.folder / "log.jsonl", lines.encode())

    def _saved(self):
        path, arrays, facts = load_state(self.folder) or (None, {}, None)
        return (path and str(path), facts), arrays

    def _restore(self):
        (path, facts), arrays = self.workers.broadcast(self._saved)
        if path is None:
            return
        state = self._state()
        shapes = {name: tuple(variable.shape) for name, variable in state.items()}
        if shapes != {name: array.shape for name, array in arrays.items()}:
            raise ValueError(
                f"{path} is the state of another model or optimiser. Train with the recipe that it "
                "was begun with, or into another folder."
            )
        for name, variable in state.items():
            variable.assign(arrays[name])
        self.facts = facts
        self._begin_update()


class _Stretch(keras.callbacks.Callback):
    """Ends each stretch of updates with a checkpoint.

    Updates are counted by batches: a loss-scaling optimiser skips what overflows, but the data goes on.
    """

    def __init__(self, trainer, place, progress):
        super().__init__()
        self._trainer, self._place, self._progress = trainer, place, progress
        self._start, self._batches = trainer.step, 0

    def on_train_batch_end(self, batch, logs=None):
        self._batches += 1
        if self._step >= self._trainer.config.steps:
            self.model.stop_training = True  # The last stretch may be shorter than the others.

    def on_epoch_end(self, epoch, logs=None):
        position = self._place(self._batches // self._trainer.accumulation)
        if not self._trainer.end_stretch(self._step, position, float(logs["loss"]), self._progress):
            self.model.stop_training = True

    @property
    def _step(self):
        return self._start + self._batches // self._trainer.accumulation


class _Clock(keras.callbacks.Callback):
    """When each update ended."""

    def __init__(self, accumulation):
        super().__init__()
        self._accumulation, self.times = accumulation, []

    def on_train_batch_end(self, batch, logs=None):
        if (batch + 1) % self._accumulation == 0:
            self.times.append(time.perf_counter())


class _UpdateMean(keras.metrics.Mean):
    """The mean loss of the updates. Keras weighs batches by rows, of which those of short sentences have more."""

    def update_state(self, values, sample_weight=None):
        return super().update_state(values)
