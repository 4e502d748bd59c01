"""Pictures of a beam search, step by step."""

from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformer.visualize.figures import make_figure


class BeamRecorder:
    """A step function that records the beams of a search for one sentence, for `plot_beam`.

        recorder = BeamRecorder(step, state, beam_size=4)
        beam_search(recorder.step, recorder.state, beam_size=4, ...)
        plot_beam(recorder, names)

    It tells where a beam comes from by a number in the state, which the search moves as it moves the beams. That needs
    a search that runs step by step, as outside of compiled functions on TensorFlow and torch.

    Args:
        step, state: What the search would be given; see `keras_transformer.decoding`.
        beam_size: Number of beams K.

    Attributes:
        tokens: The last token of each beam, one array `[K]` a step.
        parents: Which beam of the step before each beam continues, alike; all 0 at the first step.
        log_probs: The log-probability of each beam, alike; -inf for those that are none.
        considered: The 3 K most probable extensions of all beams together, best first, one triple a step: the beams
            they extend, their tokens and their log-probabilities, arrays `[3 K]`. The search keeps K of them.

    Raises:
        ValueError: If the backend is JAX.
    """

    def __init__(self, step: Callable, state: Any, beam_size: int):
        if keras.backend.backend() == "jax":
            raise ValueError("JAX compiles searches. Received: backend jax. Use TensorFlow or torch for this picture.")
        self._step, self.beam_size = step, beam_size
        self.state = {"own": state, "row": ops.arange(beam_size, dtype="int32")}
        self.tokens, self.parents, self.log_probs, self.considered = [], [], [], []
        self._next = np.zeros((beam_size, 1))

    def step(self, token_ids: Any, state: Any, index: Any) -> tuple[Any, Any]:
        """Computes the logits of the next tokens as the step function does, and records the beams."""
        tokens = ops.convert_to_numpy(token_ids)
        if len(tokens) != self.beam_size:
            raise ValueError(f"The search must be for one sentence. Received: {len(tokens)} rows at a step.")
        parents = ops.convert_to_numpy(state["row"])
        logits, own = self._step(token_ids, state["own"], index)
        if self.tokens:
            log_probs = self._next[parents, tokens]
        else:
            parents, log_probs = np.zeros_like(parents), np.r_[0.0, np.full(len(tokens) - 1, -np.inf)]
        self.tokens.append(tokens)
        self.parents.append(parents)
        self.log_probs.append(log_probs)
        following = ops.convert_to_numpy(ops.log_softmax(ops.cast(logits, "float32")))
        self._next = self.log_probs[-1][:, None] + following
        best = np.argsort(-self._next, axis=None, kind="stable")[: 3 * self.beam_size]
        self.considered.append((*np.divmod(best, following.shape[-1]), self._next.flat[best]))
        return logits, {"own": own, "row": ops.arange(self.beam_size, dtype="int32")}


def plot_beam(recorder: BeamRecorder, names: Callable[[int], str] | Sequence[str] = str) -> Any:
    """Draws the beams of each step, best first, with lines to those that continue them; what dies out is pale.

    Args:
        recorder: The recorder of a search; or an object with the same attributes.
        names: Function from a token to its name, or the names of all tokens.

    Returns:
        A `matplotlib.figure.Figure`.

    Raises:
        ValueError: If no step was recorded.
        ImportError: If matplotlib is not installed.
    """
    if not recorder.tokens:
        raise ValueError("A search must be recorded first. Received: no step. Run it with `recorder.step`.")
    name = names if callable(names) else [*names].__getitem__
    steps, beams = len(recorder.tokens), len(recorder.tokens[0])
    alive = _ancestors(recorder)
    figure, axes = make_figure(1.5 + 1.3 * steps, 1.0 + 0.6 * beams)
    place = axes[0, 0]
    for step in range(steps):
        for beam in range(beams):
            log_prob = recorder.log_probs[step][beam]
            if not np.isfinite(log_prob):
                continue
            colour = "black" if alive[step][beam] else "silver"
            if step:
                place.plot([step - 1, step], [recorder.parents[step][beam], beam], color=colour, linewidth=1, zorder=1)
            text = f"{name(int(recorder.tokens[step][beam]))}\n{log_prob:.2f}"
            box = {"facecolor": "white", "edgecolor": colour, "boxstyle": "round,pad=0.2"}
            place.text(step, beam, text, ha="center", va="center", fontsize=8, color=colour, bbox=box, parse_math=False)
    place.set(xlim=(-0.6, steps - 0.4), ylim=(beams - 0.4, -0.6), xlabel="step", ylabel="beam, best first")
    place.set_xticks(range(steps))
    place.set_yticks(range(beams))
    return figure


def _ancestors(recorder):
    """Returns which beams of each step the beams of the last step come from."""
    alive = [np.isfinite(recorder.log_probs[-1])]
    for step in range(len(recorder.tokens) - 1, 0, -1):
        before = np.zeros(len(alive[0]), bool)
        before[recorder.parents[step][alive[0]]] = True
        alive.insert(0, before)
    return alive
