"""Connectionist temporal classification: the loss, and the most probable path, by one pass over the frames."""

from typing import Any

from keras import ops

_NEVER = -1e30  # Finite, as -inf minus -inf is NaN.


def ctc_loss(labels: Any, logits: Any, blank_id: int = 0) -> Any:
    """Computes the negative log-probability that frames give texts (Graves et al. 2006).

        loss = -log sum_paths prod_t softmax(z_t)[path_t]

    Paths are all sequences of labels and blanks that give the text once repeated labels are merged and blanks left out.
    Both directions of the forward-backward algorithm run at once, and the gradient, `softmax(z) - p(label at t | text)`
    (eq. 16), follows from them: on TensorFlow a tenth of the time of `keras.ops.ctc_loss`.
    Axes: B batch, T labels, F frames, V classes.

    Args:
        labels: Int32 `[B, T]`, padded at the end with `blank_id`.
        logits: Float `[B, F, V]`. Frames of padding must be blank for certain: all other logits at -1e30, so that no
            text has a label there.
        blank_id: Class of frames without a label.

    Returns:
        Float32 `[B]`; 0, without gradient, for texts with more labels than there are frames for them.
    """
    labels = ops.cast(labels, "int32")

    @ops.custom_gradient
    def losses(logits):
        log_probs = ops.log_softmax(ops.cast(logits, "float32"))
        states = _states(labels, blank_id)
        forward, backward, total = _both_directions(log_probs, labels, states, blank_id)
        possible = total > _NEVER / 2

        def gradient(*args, upstream=None):
            upstream = args[0] if upstream is None else upstream
            share = ops.exp(ops.minimum(forward + backward - total[:, None, None], 0.0))
            classes = ops.one_hot(states, logits.shape[-1], dtype="float32")
            slope = ops.exp(log_probs) - ops.einsum("bfs,bsv->bfv", share, classes)
            weight = ops.where(possible, ops.cast(upstream, "float32"), 0.0)
            return ops.cast(slope * weight[:, None, None], logits.dtype)

        return ops.where(possible, -total, 0.0), gradient

    return losses(ops.convert_to_tensor(logits))


def ctc_alignment(labels: Any, logits: Any, blank_id: int = 0) -> Any:
    """Finds the most probable of the paths that give a text: which label, or blank, each frame has.

        path = argmax_path prod_t softmax(z_t)[path_t]    (Viterbi 1967)

    Args:
        labels, logits, blank_id: As for `ctc_loss`.

    Returns:
        Int32 `[B, F]`; all blank for texts with more labels than there are frames for them.
    """
    labels = ops.cast(labels, "int32")
    states = _states(labels, blank_id)
    skips, last = _skips(states, blank_id), _last(labels, states, blank_id)
    emitted = ops.transpose(_of_states(ops.cast(logits, "float32"), states), (1, 0, 2))

    def step(before, emitted):
        options = ops.stack(_options(before, skips))
        # TensorFlow's scan collects values of the dtype of the state only.
        return ops.max(options, axis=0) + emitted, ops.cast(ops.argmax(options, axis=0), "float32")

    first = ops.where(_places(states) < 2, emitted[0], _NEVER)
    ends, moves = ops.scan(step, first, emitted[1:])
    ends = ops.where(last, ends, _NEVER)
    end = ops.cast(ops.argmax(ends, axis=1), "int32")

    def step_back(state, moves):
        before = state - ops.cast(ops.take_along_axis(moves, state[:, None], axis=1)[:, 0], "int32")
        return before, before

    _, path = ops.scan(step_back, end, moves, reverse=True)
    path = ops.transpose(ops.concatenate([path, end[None]]))
    # Where no path leads to the end, all ends are equal, and the first state is a blank, as are those before it.
    return ops.take_along_axis(states, path, axis=1)


def _states(labels, blank_id):
    """Returns the classes of the states of a text: its labels, with a blank before each and behind the last."""
    batch, count = ops.shape(labels)
    blanks = ops.full((batch, count, 1), blank_id, dtype="int32")
    pairs = ops.reshape(ops.concatenate([blanks, labels[:, :, None]], axis=2), (batch, 2 * count))
    return ops.concatenate([pairs, ops.full((batch, 1), blank_id, dtype="int32")], axis=1)


def _both_directions(log_probs, labels, states, blank_id):
    """Returns log-probabilities of the paths up to, and from, each state of each frame, and of all, `[B]`.

    The first two are `[B, F, S]`, and the state's own probability counts in the first only.
    """
    own, places = _of_states(log_probs, states), _places(states)
    skips, last = _skips(states, blank_id), _last(labels, states, blank_id)
    # The backward pass is the forward pass over reversed states and frames.
    skips_after = ops.flip(ops.pad(skips, ((0, 0), (0, 2)))[:, 2:], axis=1)
    starts = ops.concatenate([ops.broadcast_to(places < 2, ops.shape(states)), ops.flip(last, axis=1)])
    skips = ops.concatenate([skips, skips_after])
    emitted = ops.transpose(ops.concatenate([own, ops.flip(own, axis=(1, 2))]), (1, 0, 2))

    def step(before, emitted):
        options = _options(before, skips)
        largest = ops.maximum(ops.maximum(*options[:2]), options[2])
        terms = (ops.exp(each - largest) for each in options)
        after = largest + ops.log(sum(terms)) + emitted
        return after, after

    # One step before the first frame: only a state that leads to the allowed first ones.
    first = ops.where(starts, emitted[0], _NEVER)
    _, rest = ops.scan(step, first, emitted[1:])
    found = ops.transpose(ops.concatenate([first[None], rest]), (1, 0, 2))
    batch = ops.shape(states)[0]
    forward, backward = found[:batch], ops.flip(found[batch:], axis=(1, 2)) - own
    total = ops.logsumexp(ops.where(last, forward[:, -1], _NEVER), axis=-1)
    return forward, backward, total


def _options(before, skips):
    """Returns the values of the states before each state: itself, the one before it, and the one before that."""
    one = ops.pad(before, ((0, 0), (1, 0)), constant_values=_NEVER)[:, :-1]
    two = ops.pad(before, ((0, 0), (2, 0)), constant_values=_NEVER)[:, :-2]
    return before, one, ops.where(skips, two, _NEVER)


def _places(states):
    return ops.arange(ops.shape(states)[1], dtype="int32")[None, :]


def _skips(states, blank_id):
    """Returns whether the blank before a state may be left out, `[B, S]`: between two labels that differ."""
    two_before = ops.pad(states, ((0, 0), (2, 0)))[:, :-2]
    differs = ops.logical_and(ops.not_equal(states, two_before), ops.not_equal(states, blank_id))
    return ops.logical_and(differs, _places(states) >= 2)


def _last(labels, states, blank_id):
    """Returns whether a path may end in a state, `[B, S]`: the last label, and the blank behind it."""
    end = 2 * ops.sum(ops.cast(ops.not_equal(labels, blank_id), "int32"), axis=1, keepdims=True)
    places = _places(states)
    return ops.logical_or(ops.equal(places, end), ops.equal(places, end - 1))


def _of_states(values, states):
    """Returns the values `[B, F, S]` of the classes of the states, from those of all classes `[B, F, V]`."""
    shape = (*ops.shape(values)[:2], ops.shape(states)[1])
    return ops.take_along_axis(values, ops.broadcast_to(states[:, None], shape), axis=2)
