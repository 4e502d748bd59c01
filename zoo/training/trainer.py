"""The trainer: gradient accumulation, evaluation, checkpoints, averaging, and resuming of training runs."""

import contextlib
import itertools
import json
import math
import pathlib
import signal
import time
from collections.abc import Callable, Iterable, Mapping

import keras
import numpy as np

from keras_transformer import Decoder, Encoder
from keras_transformer.ops.sublayers import sublayers
from keras_transformer.training import average_arrays, prepare_replicas
from zoo.config import PAD_ID, TrainingConfig
from zoo.corpora.encoded_corpus import teacher_forced
from zoo.distribution.current import current_workers
from zoo.distribution.mesh import shard_optimizer
from zoo.storage.arrays import load_arrays, named_arrays, save_arrays, write_atomically
from zoo.storage.mirrors import copy_back
from zoo.training.advice import stagnant_score
from zoo.training.evaluations import Evaluations, UpdateMean
from zoo.training.finite import FiniteGuard
from zoo.training.micro_batches import accumulation_steps, local_shares, micro_batches, twins
from zoo.training.optimizers import averaged_weights, make_loss, make_optimizer
from zoo.training.prefetching import prefetched
from zoo.training.progress import Progress
from zoo.training.run_state import load_state, save_state
from zoo.training.scalars import ScalarLog
from zoo.training.stopping import StopSignals, TrainingStopped

Evaluate = Callable[[keras.Model], Mapping[str, float]]
Split = Callable[[Mapping[str, np.ndarray]], tuple[Mapping[str, np.ndarray], np.ndarray]]


class Trainer:
    """Trains a model by `model.fit`, with an evaluation and a checkpoint after every `evaluate_every` updates.

    A batch is one update on any machine. It is split into micro-batches that fit the devices, each with the weight
    `accumulation / tokens of the whole update`. The gradient is the mean over the real tokens of the update for any
    number of micro-batches and devices, so that a training run may resume on other devices.

    Args:
        model: A built model that maps named inputs to logits. If it was made under a tf.distribute strategy, all
            devices of that strategy train together.
        config: How to train.
        folder: Folder of checkpoints, `log.jsonl` and the state to resume from. If it holds a state, the trainer
            resumes from it.
        evaluate: Called with the model at each evaluation; returns figures by name. The checkpoint with the highest
            `score` is kept as the best.
        split: Splits a batch into what the model reads and what it predicts: `batch -> (inputs, labels)`.
        pad_label: Label of padding, which has no weight in the loss.
        loss: A loss that is summed; by default `zoo.training.optimizers.make_loss`.
    """

    def __init__(
        self,
        model: keras.Model,
        config: TrainingConfig,
        folder: str | pathlib.Path,
        evaluate: Evaluate | None = None,
        split: Split = teacher_forced,
        pad_label: int = PAD_ID,
        loss: keras.losses.Loss | None = None,
    ):
        self.model, self.config, self.evaluate = model, config, evaluate
        self._split, self._pad_label = split, pad_label
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._strategy = strategy = getattr(model, "distribute_strategy", None)  # Only on TensorFlow.
        self.workers = current_workers(strategy)
        self.scalars = ScalarLog(self.folder, self.workers.chief)
        self.replicas = self.workers.replicas
        self.accumulation = accumulation_steps(config, self.replicas)
        self.signals = StopSignals(self.workers)
        self.facts = {"step": 0, "position": [0, 0], "best_score": None, "best_step": 0, "history": [], "seconds": 0.0}
        self.facts["interval"] = [0.0, 0.0]  # The sum of the losses since the last evaluation, and their number.
        self._clock = time.monotonic()
        for layer in sublayers(model) if config.remat else ():
            if isinstance(layer, Encoder | Decoder):
                layer.remat = True
        with strategy.scope() if strategy else contextlib.nullcontext():
            prepare_replicas(model).compile(
                optimizer=make_optimizer(config, model, self.accumulation),
                loss=loss or make_loss(config, pad_label),
                jit_compile=config.jit_compile or "auto",
            )
            self.loss = UpdateMean(name="loss")
            # Bypasses Keras's tracking of attributes, as `compile` does.
            object.__setattr__(model, "_loss_tracker", self.loss)
            model.optimizer.build(model.trainable_variables)
        if keras.backend.backend() == "jax":
            shard_optimizer(model.optimizer)
        self._restore()

    @property
    def step(self) -> int:
        """Number of updates so far, those before an interruption included."""
        return self.facts["step"]

    @property
    def position(self) -> tuple[int, int]:
        """The (epoch, batch) at which `batches` must start."""
        return tuple(self.facts["position"])

    def fit(self, batches: Iterable[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
        """Trains to the last step and returns the final weights by name.

        Args:
            batches: The batches from `position` on, without an end, as `split` takes them. If it has a method
                `position(consumed)`, as `zoo.corpora.batching.BatchStream` does, training resumes exactly there.

        Returns:
            The mean of the last `config.average` checkpoints.

        Raises:
            FloatingPointError: If an update is not finite; the message says where the first such value appears.
            TrainingStopped: After SIGINT or SIGTERM. The state after the current update is saved.
        """
        with (
            self.signals,
            self.scalars,
            Progress(self.config.steps, self.step, self.accumulation, self.workers.chief) as progress,
        ):
            if self.facts["interval"][1] and self.is_evaluated(self.step):  # Stopped during an evaluation.
                self.loss.assign_sums(self.facts["interval"], self.accumulation)
                self.save_and_evaluate(self.step, self.position, progress)
            if self.step < self.config.steps and not self._out_of_patience():
                self._fit(batches, progress)
        return self.workers.broadcast(lambda: (None, self._average()))[1]

    def _fit(self, batches, progress):
        first = self.position
        position = getattr(batches, "position", lambda consumed: first)
        guard = FiniteGuard(self.accumulation, self.replicas, self.step)
        examples = guard.remember(self._examples(batches, progress.count))
        # The first example is made here because tf.data would replace the errors of a bad corpus by its own.
        beginning = [*itertools.islice(examples, 1)]
        for _, labels, _ in beginning:
            progress.unit = {1: "examples", 3: "objects"}.get(np.ndim(labels), progress.unit)
        self.model.fit(
            self._dataset(itertools.chain(beginning, examples)),
            steps_per_epoch=(self.config.steps - self.step) * self.accumulation,
            callbacks=[guard, progress, Evaluations(self, position, progress)],
            verbose=0,
            shuffle=False,
        )

    def is_evaluated(self, step: int) -> bool:
        """Returns whether the model is evaluated after the update of this number."""
        return step % self.config.evaluate_every == 0 or step >= self.config.steps

    def _average(self):
        paths = sorted(self.folder.glob("step-*.safetensors"))[-self.config.average :]
        return average_arrays(load_arrays(path)[0] for path in paths)

    def measure(self, batches: Iterable[Mapping[str, np.ndarray]], updates: int) -> tuple[float, float]:
        """Measures updates; returns the mean seconds and the mean number of real labels of an update.

        Two further updates, in which graphs are compiled, come first. The weights change; nothing is written.
        """
        counts, times = [], []
        clock = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: times.append(time.perf_counter()))
        steps = (updates + 2) * self.accumulation
        examples = self._dataset(self._examples(batches, counts.append))
        self.model.fit(examples, steps_per_epoch=steps, callbacks=[clock], verbose=0, shuffle=False)
        return (times[-1] - times[2 * self.accumulation - 1]) / updates, float(np.mean(counts[: updates + 2]))

    def _examples(self, batches, count):
        parts = map(self._split, batches)
        examples = micro_batches(parts, self.accumulation, self.replicas, count, self._pad_label)
        return map(twins, examples) if self.config.r_drop else examples

    def _dataset(self, examples):
        """Returns what `fit` reads fastest: a tf.data.Dataset on TensorFlow, a generator elsewhere; both prefetch."""
        if self.workers.count > 1:
            examples = local_shares(examples, self.workers, keras.backend.backend() == "tensorflow")
        if keras.backend.backend() != "tensorflow":
            return prefetched(examples)
        from zoo.distribution.on_tensorflow import distributed_dataset
        from zoo.tf.pipeline import training_dataset

        return training_dataset(examples) if self.workers.count == 1 else distributed_dataset(self._strategy, examples)

    def best(self) -> dict[str, np.ndarray]:
        """Returns the weights with the best score so far."""
        return load_arrays(self.folder / "best.safetensors")[0]

    def save_and_evaluate(self, step: int, position: tuple[int, int], progress: Progress) -> bool:
        """Writes the checkpoint of a step and evaluates the model; returns whether to continue training."""
        self._advance(step, position)
        figures = {"step": self.step, "epoch": position[0], "train_loss": float(self.loss.result())}
        figures[f"{progress.unit}_per_second"] = progress.pop_speed()
        try:
            with averaged_weights(self.model):
                arrays = named_arrays(self.model)
                save_arrays(self.folder / f"step-{self.step:07d}.safetensors", arrays)
                if self.evaluate is not None:
                    with self.signals.interruptible():
                        local = self.evaluate(self.model)
        except KeyboardInterrupt:  # The weights are no averages any more.
            self.stop(step, position, self.signals.received or signal.SIGINT)
        if self.evaluate is not None:
            figures |= self.workers.broadcast(lambda: (local, {}))[0]
            score, best = figures.get("score", 0.0), self.facts["best_score"]
            if best is None or score > best or math.isnan(best):
                self.facts |= {"best_score": score, "best_step": self.step}
                save_arrays(self.folder / "best.safetensors", arrays, {"step": self.step, "score": score})
        self.facts["history"].append(figures)
        self.facts["interval"] = [0.0, 0.0]
        self.scalars.write(self.step, figures)
        self._save()
        for old in sorted(self.folder.glob("step-*.safetensors"))[: -self.config.average]:
            old.unlink()
        progress.print_figures(figures)
        if warning := stagnant_score(self.facts["history"]):
            progress.print_line(warning)
        return not self._out_of_patience()

    def stop(self, step: int, position: tuple[int, int], number: int, saved: bool = False) -> None:
        """Saves the exact state after a step, if it is not `saved` yet, and raises `TrainingStopped` for a signal."""
        if not saved:
            self._advance(step, position)
            self._save()
            with averaged_weights(self.model):
                save_arrays(self.folder / "last.safetensors", named_arrays(self.model), {"step": step})
        copy_back(self.folder.parent, wait=True)
        self.workers.sums([0])  # Waits for all: `srun` ends the others as soon as one has ended with an error.
        raise TrainingStopped(
            f"{signal.Signals(number).name}: saved at step {step:,} of {self.config.steps:,}; the same command "
            "continues from there",
            number,
        )

    def _advance(self, step, position):
        self.facts |= {"step": step, "position": list(position), "interval": self.loss.sums(self.accumulation)}
        self._begin_update()

    def _out_of_patience(self):
        waited = (self.step - self.facts["best_step"]) // self.config.evaluate_every
        return bool(self.config.patience and self.facts["best_step"]) and waited >= self.config.patience

    def _state(self):
        """Returns the variables that an update passes on to the next one, on any devices: weights, moments, seeds."""
        metrics = (variable for metric in self.model.metrics for variable in metric.variables)
        left_out = {id(variable) for variable in (*metrics, *self._counters())}
        variables = itertools.chain(self.model.variables, self.model.optimizer.variables)
        kept = (variable for variable in variables if id(variable) not in left_out)
        return {f"{i:05d}": variable for i, variable in enumerate(kept)}

    def _counters(self):
        """Yields the variables of the optimizer that count and accumulate micro-batches."""
        for variable in self.model.optimizer.variables:
            if variable.path.endswith(("/iteration", "gradient_accumulator")):
                yield variable

    def _begin_update(self):
        """Resets the optimizer to the first micro-batch of an update.

        An optimizer that scales losses is elsewhere otherwise, because it skips micro-batches that overflow.
        """
        for variable in self._counters():
            micro_batches = self.step * self.accumulation if variable.path.endswith("/iteration") else 0
            variable.assign(np.full(variable.shape, micro_batches, variable.dtype))

    def _save(self):
        now = time.monotonic()
        self.facts["seconds"] += now - self._clock
        self._clock = now
        arrays = {name: np.asarray(variable) for name, variable in self._state().items()}
        save_state(self.folder, self.step, arrays, self.facts)
        lines = "".join(json.dumps(figures) + "\n" for figures in self.facts["history"])
        write_atomically(self.folder / "log.jsonl", lines.encode())
        copy_back(self.folder.parent)

    def _load(self):
        path, arrays, facts = load_state(self.folder) or (None, {}, None)
        return (path and str(path), facts), arrays

    def _restore(self):
        (path, facts), arrays = self.workers.broadcast(self._load)
        if path is None:
            return
        state = self._state()
        shapes = {name: tuple(variable.shape) for name, variable in state.items()}
        if shapes != {name: array.shape for name, array in arrays.items()}:
            wrong = next((name for name in state if name not in arrays or shapes[name] != arrays[name].shape), None)
            first = f"{state[wrong].path} has the shape {shapes[wrong]}" if wrong else "fewer variables"
            saved = arrays[wrong].shape if wrong in arrays else f"{len(arrays)} variables"
            raise ValueError(
                f"{path} is the state of another model or optimizer. Expected: {saved}. Received: {first}. Train with "
                "the recipe that the training run was started with, or into another folder."
            )
        for name, variable in state.items():
            variable.assign(arrays[name])
        self.facts |= facts
        self._begin_update()
