# %% [markdown]
# # 4. Decoding
#
# A model gives the probability of the next token. To get a text from it, somebody has to choose: greedily, with
# beams, or by chance. We look at the choices of a real translator, at what a search misses, at models that never
# stop, and at heads that find who did what to whom.

# %%
import itertools
import os

import numpy as np
from keras import ops

import zoo
from keras_transformer.decoding import beam_search, greedy_search, mask_predict
from keras_transformer.visualize import BeamRecorder, plot_attention, plot_beam
from zoo.translation.inspection import attention_weights, recorded_search

TRIALS = int(os.environ.get("LECTURE_TRIALS", 300))
translator = zoo.load("translation/en-de")
SENTENCE = "Where is my old hat?"

# %% [markdown]
# ## Greedy search and beams
#
# Greedy search takes the most probable token at each step. Beam search keeps several beginnings and extends them all.
# The score is the log-probability, divided by a *length penalty* $((5 + n) / 6)^\alpha$, without which short texts
# would win: each further token can only make a text less probable.

# %%
for beams in (1, 4):
    (found,) = translator.n_best([SENTENCE], beams, beam_size=beams)
    print(f"{beams} beam{'s' * (beams > 1)}: " + "; ".join(f"{each.text} ({each.score:.3f})" for each in found))

# %% [markdown]
# ## The search step by step
#
# At each step the most probable extensions are compared. Those that go on become the next beams; one that ends is
# kept apart as a finished translation; the rest is pruned.

# %%
found = recorded_search(translator, SENTENCE, beam_size=3)
for number, step in enumerate(found.steps[:7]):
    shown = (f"{each.token.strip() or '␣'} {each.log_prob:.2f} {each.fate}" for each in step[:5])
    print(f"step {number + 1}: " + " | ".join(shown))

# %% [markdown]
# ## Chance
#
# Sampling draws each token by its probability. A *temperature* below 1 prefers the probable ones; `top_p` leaves out
# the tail, which is where most nonsense comes from.

# %%
for options in ({}, {"temperature": 0.5}, {"top_p": 0.8}):
    texts = translator.sample([SENTENCE] * 4, seed=3, **options)
    print(options or "all tokens", texts)


# %% [markdown]
# ## What a search misses
#
# Is the best text found? For a small model we can try all of them. Its vocabulary has four tokens and the end, and
# its probabilities are random, given the last two tokens; texts have up to five tokens. Beam search is compared with
# the best of all texts.

# %%
PAD, END, START, WORDS, LIMIT = 0, 1, 2, (3, 4, 5, 6), 5


def random_model(rng):
    """Returns the log-probabilities of the next token, given the last two: `[7, 7, 7]`."""
    logits = rng.normal(scale=2.0, size=(7, 7, 7))
    logits[..., [PAD, START]] = -30
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def best_of_all(table):
    """Returns the log-probability of the most probable text, by trying all of them."""
    best = -np.inf
    for length in range(LIMIT):
        for text in itertools.product(WORDS, repeat=length):
            ids = [START, START, *text, END]
            best = max(best, sum(table[a, b, c] for a, b, c in zip(ids, ids[1:], ids[2:])))
    return best


def search(table, beams):
    table = ops.convert_to_tensor(table, "float32")

    def step(token_ids, state, index):
        pairs = state * 7 + token_ids
        return ops.take(ops.reshape(table, (49, 7)), pairs, axis=0), token_ids

    state = ops.full((beams,), START, dtype="int32")
    options = {"max_lengths": ops.convert_to_tensor([LIMIT]), "start_id": START, "end_id": END}
    if beams == 1:
        return float(greedy_search(step, state, **options).log_probs[0, 0])
    return float(beam_search(step, state, beam_size=beams, length_penalty=0.0, **options).log_probs[0, 0])


rng = np.random.default_rng(0)
models = [random_model(rng) for _ in range(TRIALS)]
optima = np.array([best_of_all(table) for table in models])
for beams in (1, 2, 4, 16, 256):
    scores = np.array([search(table, beams) for table in models[: TRIALS if beams < 100 else TRIALS // 10]])
    missed = (scores < optima[: len(scores)] - 1e-4).mean()
    assert (scores <= optima[: len(scores)] + 1e-4).all()
    print(f"{beams:3} beams: the best text was missed in {100 * missed:4.1f} % of {len(scores)} models")

# %% [markdown]
# As many beams as there are beginnings miss nothing: then beam search tries everything.
#
# ## A tree of beams
#
# The same search, drawn: each column is a step, each row a beam, and what dies out is pale.


# %%
def drawn(table, beams=4):
    def step(token_ids, state, index):
        return ops.convert_to_tensor(
            table.reshape(49, 7)[np.asarray(state) * 7 + np.asarray(token_ids)], "float32"
        ), token_ids

    recorder = BeamRecorder(step, ops.full((beams,), START, dtype="int32"), beams)
    options = {"max_lengths": ops.convert_to_tensor([LIMIT]), "start_id": START, "end_id": END}
    beam_search(recorder.step, recorder.state, beam_size=beams, length_penalty=0.0, **options)
    return plot_beam(recorder, ["", "</s>", "<s>", "a", "b", "c", "d"])


drawn(models[0])

# %% [markdown]
# ## A model that never stops
#
# The end is a token like any other. A model that never predicts it goes on until somebody else decides: here the
# greatest length. And one that goes round in circles is noticed by its repeats.


# %%
def never_stops(token_ids, state, index):
    following = ops.where(ops.equal(token_ids, 3), 4, 3)
    return 10.0 * ops.one_hot(following, 7), state


for repeats in (None, [2]):
    limits = {"max_lengths": ops.convert_to_tensor([20]), "max_repeats": repeats and ops.convert_to_tensor(repeats)}
    found = greedy_search(never_stops, (), start_id=START, end_id=END, **limits)
    ids = ops.convert_to_numpy(found.ids)[0, 0][: int(found.lengths[0, 0])]
    print(
        "at most two repeats:" if repeats else "no limit but the length:",
        *("</s>" if i == END else "abcd"[i - 3] for i in ids),
    )

# %% [markdown]
# ## All tokens at once
#
# A model may also predict all tokens at the same time, which takes one step instead of one for each token. But then
# no token knows what the others are. Say that "thank you" has two translations, equally good: "vielen Dank" and
# "danke schön". Each word alone is one of two, and together they may be "vielen schön". *Mask-predict* hides the
# words it is least sure of, and predicts them again, given the others (Ghazvininejad et al. 2019).

# %%
PHRASES = {("vielen", "Dank"): 0.48, ("danke", "schön"): 0.42, ("vielen", "schön"): 0.0, ("danke", "Dank"): 0.1}
VOCABULARY = ["", "<mask>", "vielen", "Dank", "danke", "schön"]


def phrase_model(ids, places):
    """Returns the logits `[M, 6]` of the tokens at some places, given those that are not masked."""
    (seen,), places = ops.convert_to_numpy(ids), ops.convert_to_numpy(places)
    probabilities = np.full((len(places), len(VOCABULARY)), 1e-9, "float32")
    for row, place in enumerate(places):
        for words, probability in PHRASES.items():
            other = VOCABULARY.index(words[1 - place])
            if seen[1 - place] in (VOCABULARY.index("<mask>"), other):
                probabilities[row, VOCABULARY.index(words[place])] += probability
    return ops.convert_to_tensor(np.log(probabilities))


for iterations in (1, 2):
    ids, _ = mask_predict(phrase_model, lengths=ops.convert_to_tensor([2]), iterations=iterations, mask_id=1)
    words = tuple(VOCABULARY[i] for i in ops.convert_to_numpy(ids)[0])
    print(f"{iterations} iteration{'s' * (iterations > 1)}: {' '.join(words)}, probability {PHRASES[words]}")

# %% [markdown]
# ## Heads that find who did what to whom
#
# Does a head of the encoder connect a verb with its subject, or with its object? We take short sentences, and score
# each head of each layer by the weight from the verb to the noun, averaged over half of the sentences. The best head
# is then measured on the other half. With even attention the weight would be one over the number of tokens.

# %%
SUBJECTS, VERBS, OBJECTS = (
    "Tom Mary".split(),
    "bought sold found saw wants".split(),
    "house car book horse dog boat".split(),
)
sentences = [f"{subject} {verb} the {item}." for subject, verb, item in itertools.product(SUBJECTS, VERBS, OBJECTS)]
sentences = [sentences[i] for i in np.random.default_rng(4).permutation(len(sentences))]


def weights_of(sentence):
    """Returns the weights `[layers, heads, 6, 6]` of a sentence of five tokens and its end; None for others."""
    found = attention_weights(translator, sentence, "x")
    words = [token.strip() for token in found.source]
    return found.encoder if words == [*sentence[:-1].split(), ".", "</s>"] else None


kept = [weights for weights in map(weights_of, sentences[: max(10, TRIALS // 5)]) if weights is not None]
weights = np.stack(kept)
half = len(weights) // 2
print(f"{len(weights)} sentences; even attention would be {1 / weights.shape[-1]:.2f}")
for name, (query, key) in {
    "did what -> who": (1, 0),
    "did what -> to whom": (1, 3),
    "to whom -> did what": (3, 1),
}.items():
    scores = weights[:half, :, :, query, key].mean(0)
    layer, head = np.unravel_index(scores.argmax(), scores.shape)
    held_out = weights[half:, layer, head, query, key].mean()
    print(f"{name:20} layer {layer + 1}, head {head + 1}: {scores.max():.2f}, on the other half {held_out:.2f}")

# %%
scores = weights[:half, :, :, 1, 3].mean(0)
layer = np.unravel_index(scores.argmax(), scores.shape)[0]
tokens = ["Tom", "bought", "the", "house", ".", "</s>"]
plot_attention(weights_of("Tom bought the house.")[layer], tokens, tokens)
