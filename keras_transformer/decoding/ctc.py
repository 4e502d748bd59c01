"""Search with two judges: a decoder, and connectionist temporal classification (CTC) of the frames of its source."""

from typing import Any

from keras import ops

from keras_transformer.decoding.hypotheses import IMPOSSIBLE, LEAST_LOG_PROB, PerSentence, Step
from keras_transformer.ops.gather import gather
from keras_transformer.ops.sizes import row_starts

_SMALLEST = 1e-37  # Above the numbers that processors may take for 0.


def with_ctc(
    step: Step,
    state: Any,
    log_probs: Any,
    weight: float,
    *,
    num_beams: int,
    start_id: int,
    end_id: int,
    blank_id: int = 0,
) -> tuple[Step, Any]:
    """Returns a step function and its initial state whose tokens are judged by a decoder and by CTC.

        score(y) = (1 - w) log p_decoder(y | x) + w log p_ctc(y | x)

    (Watanabe et al. 2017, "Hybrid CTC/attention architecture", eq. 30.) The part of CTC in one token is the difference
    of the log-probabilities that an output begins with the tokens up to it, and up to the one before (eq. 38 to 41);
    for the end token, that it has no further ones. Since CTC goes through the frames in order, outputs neither loop nor
    leave out parts of inputs that are longer than those of the training.
    Every search of `keras_transformer.decoding` takes the results instead of the originals. Scores are not
    renormalised: what is missing goes to the blank, which is the padding of the search.
    Axes: B sentences, K beams, F frames, V vocabulary.

    Args:
        step, state: As for the search; see `decoding/hypotheses.py`.
        log_probs: Float32 `[B, F, V]` of CTC, normalized over V. Frames of padding must be blank for certain.
        weight: w, from 0, the decoder alone, to 1, CTC alone.
        num_beams: K.
        start_id, end_id: Those of the search. CTC gives no frames to them.
        blank_id: Class of frames without a token of their own.

    Raises:
        ValueError: If `weight` is not from 0 to 1.
    """
    if not 0 <= weight <= 1:
        raise ValueError(f"`weight` must lie in [0, 1]. Received: weight={weight}. 0.3 is usual.")
    log_probs = ops.transpose(ops.maximum(ops.cast(log_probs, "float32"), LEAST_LOG_PROB), (0, 2, 1))
    batch, _, frames = ops.shape(log_probs)
    blanks = ops.repeat(ops.cumsum(log_probs[:, blank_id], axis=-1), num_beams, axis=0)
    before = ops.zeros((batch * num_beams,), "int32") + blank_id
    prefix = ops.zeros_like(blanks) + IMPOSSIBLE, blanks, before

    def both(token_ids, states, index):
        own, prefix, kept = states
        logits, own = step(token_ids, own, index)
        (log_probs,) = kept.tensors
        token_ids = ops.cast(token_ids, "int32")
        longer = _extend(prefix, token_ids, log_probs, index, num_beams, blank_id)
        prefix = tuple(ops.where(index > 0, new, old) for new, old in zip(longer, prefix))
        of_ctc = _next_tokens(prefix, log_probs, index, num_beams, (blank_id, start_id, end_id))
        of_decoder = ops.maximum(ops.log_softmax(ops.cast(logits, "float32")), LEAST_LOG_PROB)
        joint = (1 - weight) * of_decoder + weight * of_ctc
        return _with_rest(joint, blank_id), (own, prefix, kept)

    return both, (state, prefix, PerSentence((log_probs,)))


def _extend(prefix, token_ids, log_probs, index, num_beams, blank_id):
    """Returns the state of prefixes with one more token y.

    It consists of log-probabilities `[rows, F]` that the frames up to t give the prefix, and that frame t is its last
    token (n) or a blank (b); and of the last token.

        n_t(gy) = p_t(y) (n_{t-1}(gy) + phi_{t-1}),  b_t(gy) = p_t(blank) (b_{t-1}(gy) + n_{t-1}(gy))

    where phi is n(g) + b(g), or b(g) if y is also the last token of g.
    """
    phi = _before(prefix, token_ids, index - 1)
    of_token = _of_tokens(log_probs, token_ids, num_beams)
    of_blank = ops.repeat(log_probs[:, blank_id], num_beams, axis=0)
    ends = _recurrence(of_token, of_token + phi)
    pauses = _recurrence(of_blank, of_blank + _shifted(ends, 1, IMPOSSIBLE))
    return ends, pauses, token_ids


def _before(prefix, token_ids, length):
    """Returns log-probabilities `[rows, F]` that the frames before t give a prefix of `length` after which y may be."""
    ends, pauses, last = prefix
    phi = ops.where(ops.equal(token_ids, last)[:, None], pauses, ops.logaddexp(ends, pauses))
    first = ops.equal(ops.arange(ops.shape(phi)[1]), 0)
    return ops.where(first, ops.where(length > 0, IMPOSSIBLE, 0.0), _shifted(phi, 1, IMPOSSIBLE))


def _next_tokens(prefix, log_probs, index, num_beams, special):
    """Returns log-probabilities `[rows, V]` of the next token, given the prefix."""
    (blank_id, start_id, end_id), (ends, pauses, last) = special, prefix
    nothing = ops.zeros_like(last) - 1  # No token, so not the last one.
    phi, same = _before(prefix, nothing, index), _before(prefix, last, index)
    tokens = ops.arange(ops.shape(log_probs)[1], dtype="int32")
    found = _sum_of_products(phi, log_probs, num_beams)
    repeated = ops.logsumexp(same + _of_tokens(log_probs, last, num_beams), axis=-1)
    found = ops.where(ops.equal(tokens, last[:, None]), repeated[:, None], found)
    found = ops.where(ops.equal(tokens, end_id), ops.logaddexp(ends, pauses)[:, -1:], found)
    for never in {blank_id, start_id} - {end_id}:
        found = ops.where(ops.equal(tokens, never), IMPOSSIBLE, found)
    return ops.maximum(ops.log_softmax(found), LEAST_LOG_PROB)


def _sum_of_products(phi, log_probs, num_beams):
    """Computes `log sum_t exp(phi_t + log p_t(v))`, `[rows, V]`, by a matrix product.

    What is less than e^-85 of the largest phi of a row counts as that.
    """
    largest = ops.maximum(ops.max(phi, axis=-1, keepdims=True), IMPOSSIBLE / 2)
    shares = ops.reshape(ops.exp(phi - largest), (-1, num_beams, ops.shape(phi)[1]))
    sums = ops.einsum("bkf,bvf->bkv", shares, ops.exp(log_probs))
    return ops.log(ops.maximum(ops.reshape(sums, (-1, ops.shape(sums)[2])), _SMALLEST)) + largest


def _recurrence(factors, terms):
    """Solves `x_t = log(exp(factors_t + x_{t-1}) + exp(terms_t))` for `[rows, F]`, with nothing before the first.

    Distances of 1, 2, 4 ... frames are composed, without the differences of large sums that a cumulative sum needs.
    """

    def body(distance, factors, terms):
        longer = factors + _shifted(terms, distance, IMPOSSIBLE)
        return 2 * distance, factors + _shifted(factors, distance, 0.0), ops.logaddexp(longer, terms)

    frames = ops.shape(terms)[1]
    start = ops.convert_to_tensor(1, "int32")
    return ops.while_loop(lambda distance, *_: distance < frames, body, (start, factors, terms))[2]


def _shifted(x, distance, first):
    """Moves the frames of x `[rows, F]` by a distance to the right, and fills in `first`."""
    places = ops.arange(ops.shape(x)[1], dtype="int32") - distance
    return ops.where(places < 0, first, ops.take(x, ops.maximum(places, 0), axis=1))


def _of_tokens(log_probs, token_ids, num_beams):
    """Returns log-probabilities `[rows, F]` of one token for each row."""
    batch, size, frames = ops.shape(log_probs)
    rows = ops.reshape(token_ids, (-1, num_beams)) + ops.expand_dims(row_starts(batch, size), 1)
    return gather(ops.reshape(log_probs, (-1, frames)), ops.reshape(rows, (-1,)))


def _with_rest(joint, blank_id):
    """Gives the blank what the other tokens leave of 1, so that no search renormalises them."""
    blank = ops.equal(ops.arange(ops.shape(joint)[1]), blank_id)
    total = ops.sum(ops.where(blank, 0.0, ops.exp(joint)), axis=-1, keepdims=True)
    return ops.where(blank, ops.log(ops.maximum(1 - total, _SMALLEST)), joint)
