"""A model given by tables of probabilities for every prefix, and searches over it in NumPy."""

import itertools

import numpy as np
from keras import ops

from keras_transformer.decoding import PerSentence

PAD, START, END, V = 0, 1, 2, 7
WORDS = (3, 4, 5, 6)
SPECIAL = {"start_id": START, "end_id": END, "pad_id": PAD}
MAX_LENGTH = 4
PREFIXES = V ** (MAX_LENGTH - 1)


def random_tables(batch, seed=0, sharpness=2.0):
    """Returns logits `[batch, MAX_LENGTH, PREFIXES, V]`, also for pad and start, which searches must rule out."""
    shape = (batch, MAX_LENGTH, PREFIXES, V)
    return (sharpness * np.random.default_rng(seed).normal(size=shape)).astype("float32")


def table_step(tables, beams):
    """Returns a step over `tables [B, MAX_LENGTH, PREFIXES, V]`, with prefix and sentence in the state."""
    flat = ops.reshape(tables, (-1, V))

    def step(token_ids, state, index):
        prefix, history = state["prefix"], state["more"][0]
        sentences = ops.repeat(state["more"][1].tensors["number"], beams)
        prefix = ops.where(index > 0, prefix * V + token_ids, prefix)
        # A second, wider tensor that must agree with the first, as whole rows are reordered.
        history = ops.where(ops.arange(MAX_LENGTH) == index, token_ids[:, None], history)
        weights = np.array([[V ** max(i - j, 0) * (0 < j <= i) for j in range(MAX_LENGTH)] for i in range(MAX_LENGTH)])
        again = ops.sum(history * ops.take(ops.convert_to_tensor(weights, "int32"), index, axis=0), axis=1)
        logits = ops.take(flat, (sentences * MAX_LENGTH + index) * PREFIXES + prefix % PREFIXES, axis=0)
        state = {"prefix": prefix, "more": (history, state["more"][1])}
        return ops.where((again == prefix)[:, None], logits, np.nan), state

    return step


def table_state(batch, beams):
    rows = batch * beams
    numbers = PerSentence({"number": ops.arange(batch, dtype="int32")})
    return {"prefix": ops.zeros((rows,), "int32"), "more": (ops.zeros((rows, MAX_LENGTH), "int32"), numbers)}


def code(prefix):
    return sum(token * V**i for i, token in enumerate(reversed(prefix)))


def log_softmax(x):
    x = x.astype("float64") - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def penalty(length, alpha):
    return ((5 + length) / 6) ** alpha


def log_prob(log_probs, ids):
    return sum(log_probs[i, code(ids[:i]), token] for i, token in enumerate(ids))


def exhaustive(table, limit, alpha):
    """Returns every sequence of at most `limit` tokens with its score, best first."""
    log_probs = log_softmax(table)
    found = []
    for words in range(limit):
        for prefix in itertools.product(WORDS, repeat=words):
            ids = (*prefix, END)
            found.append((log_prob(log_probs, ids) / penalty(len(ids), alpha), ids))
    return sorted(found, reverse=True)


def beam(table, limit, alpha, beams):
    """Runs a beam search that never stops before the limit; returns `(score, ids)`, best first."""
    log_probs = log_softmax(table)
    alive, finished = [(0.0, ())], []
    for index in range(limit):
        extended = [(p + log_probs[index, code(ids), w], (*ids, w)) for p, ids in alive for w in WORDS]
        extended = sorted(extended, reverse=True)[:beams]
        least = extended[-1][0] if len(extended) == beams and index + 1 < limit else -np.inf
        for p, ids in alive:
            ended = p + log_probs[index, code(ids), END]
            if ended >= least:
                finished.append((ended / penalty(index + 1, alpha), (*ids, END)))
        alive = extended
    return sorted(finished, reverse=True)


def greedy(table, limit):
    log_probs, ids = log_softmax(table), ()
    while not ids or ids[-1] != END:
        row = log_probs[len(ids), code(ids)]
        best = max((*WORDS, END), key=lambda token: row[token])
        ids += (END if len(ids) + 1 == limit else best,)
    return log_prob(log_probs, ids), ids


def padded(ids, width=MAX_LENGTH):
    return [*ids, *[PAD] * (width - len(ids))]
