# %% [markdown]
# # 3. Masks and training
#
# Which steps see which, what goes wrong without masks, and a translator of numbers that learns while you read: "7 0 4
# 2" becomes "seven thousand forty two".

# %%
import os

import keras
import numpy as np
from keras import ops

from keras_transformer import Decoder, Encoder, PositionalEncoding, TokenEmbedding, verify
from keras_transformer.decoding import greedy_search
from keras_transformer.training import InverseSquareRoot, TokenCrossEntropy
from keras_transformer.visualize import plot_masks, plot_schedule, plot_training

STEPS = int(os.environ.get("LECTURE_STEPS", 1200))  # Updates of the longer training below.
keras.utils.set_random_seed(1)

# %% [markdown]
# ## Two masks
#
# Texts of a batch have different lengths, and are filled up with padding: no step may attend to it. And a decoder,
# which predicts each token from those before it, may not look ahead.

# %%
plot_masks({"padding: two of six": np.arange(6) < 4, "no look ahead": np.tril(np.ones((6, 6), bool))})

# %% [markdown]
# ## Without the padding mask
#
# The mask is made by the embedding and reaches the encoder by itself. Without it, the same text gets another answer
# in another batch. `verify` looks for such faults in any Keras model of sequences.


# %%
def classifier(mask_zero):
    ids = keras.Input((None,), dtype="int32")
    x = PositionalEncoding()(TokenEmbedding(50, 16, mask_zero=mask_zero)(ids))
    x = Encoder(num_layers=1, num_heads=2, intermediate_dim=32)(x)
    return keras.Model(ids, keras.layers.GlobalAveragePooling1D()(x))


texts = np.random.default_rng(0).integers(1, 50, (4, 12))
texts[0, 6:] = texts[1, 9:] = 0
print("with the mask, failed:", verify(classifier(True), texts, show=False).failed)
print("without it, failed:", verify(classifier(False), texts, show=False).failed)

# %% [markdown]
# ## The data
#
# Digits in, words out. The vocabulary has padding 0, the end 1, the start 2, ten digits, and the words. Of the
# 100,000 numbers, 500 are never seen in training.

# %%
ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
PAD, END, START = 0, 1, 2
NAMES = ["", "</s>", "<s>", *"0123456789", *ONES, *TENS, "hundred", "thousand"]
NUMBER_OF = {name: number for number, name in enumerate(NAMES)}
LONGEST = 12


def spell(n):
    if n < 20:
        return [ONES[n]]
    if n < 100:
        return [TENS[n // 10 - 2], *(spell(n % 10) if n % 10 else [])]
    size, name = (1000, "thousand") if n >= 1000 else (100, "hundred")
    return [*spell(n // size), name, *(spell(n % size) if n % size else [])]


def rows(texts, width):
    found = np.zeros((len(texts), width), "int32")
    for row, text in zip(found, texts):
        row[: len(text)] = [NUMBER_OF[name] for name in text]
    return found


numbers = np.random.default_rng(1).permutation(100_000)
sources = rows([str(n) for n in numbers], 5)
targets = rows([["<s>", *spell(n), "</s>"] for n in numbers], LONGEST + 1)
print(numbers[0], "->", " ".join(spell(numbers[0])))
test = slice(0, 500)


# %% [markdown]
# ## The model
#
# Encoder and decoder, as in the paper but small. What the decoder reads is the target, moved by one step: at each
# step it predicts the token that follows. This is *teacher forcing*: in training, it always reads the right words.


# %%
def make_model(looks_ahead=False):
    source, target = keras.Input((None,), dtype="int32"), keras.Input((None,), dtype="int32")
    embedding, positions = TokenEmbedding(len(NAMES), 64), PositionalEncoding()
    sizes = {"num_layers": 2, "num_heads": 4, "intermediate_dim": 128}
    memory = Encoder(**sizes)(positions(embedding(source)))
    x = Decoder(**sizes)(positions(embedding(target)), memory, use_causal_mask=not looks_ahead)
    return keras.Model([source, target], keras.layers.Dense(len(NAMES))(x))


model = make_model()
print(f"{model.count_params():,} parameters")

# %% [markdown]
# ## Schedule and loss
#
# The learning rate rises linearly and falls with the square root of the step (section 5.3 of the paper). *Label
# smoothing* (section 5.4) wants 0.9 for the right token and a little for all others, so that a model is never told to
# be certain. The least loss is then not 0, but the entropy of that wish.

# %%
SMOOTHING, WARMUP = 0.1, 200
schedule = InverseSquareRoot(2e-3, WARMUP)
plot_schedule({"2e-3 after 200 steps": schedule}, steps=2000)

# %%
wanted = np.full(len(NAMES), SMOOTHING / len(NAMES))
wanted[0] += 1 - SMOOTHING
least = -(wanted * np.log(wanted)).sum()
print(f"least loss with smoothing: {least:.4f}")

# %% [markdown]
# ## Two ways to measure
#
# With teacher forcing, the model reads the right words, and we count the tokens that it predicts. Running free, it
# reads what it has written itself, by greedy search, and we count the numbers that are right from the first to the
# last word.


# %%
def forced(model):
    """Returns the share of right tokens, given the right ones before."""
    labels = targets[test, 1:]
    predicted = model.predict([sources[test], targets[test, :-1]], verbose=0).argmax(-1)
    return (predicted == labels)[labels != PAD].mean()


def free(model):
    """Returns the words that the model writes on its own."""

    def step(token_ids, state, index):
        here = ops.equal(ops.arange(LONGEST), index)
        ids = ops.where(here, token_ids[:, None], state["ids"])
        logits = ops.take(model([state["source"], ids], training=False), index, axis=1)
        return logits, {"source": state["source"], "ids": ids}

    count = len(sources[test])
    state = {"source": ops.convert_to_tensor(sources[test]), "ids": ops.zeros((count, LONGEST), "int32")}
    limits = ops.full((count,), LONGEST, dtype="int32")
    found = greedy_search(step, state, max_lengths=limits, start_id=START, end_id=END)
    return [" ".join(NAMES[i] for i in row if i not in (PAD, END)) for row in ops.convert_to_numpy(found.ids)[:, 0]]


TRUTH = [" ".join(spell(n)) for n in numbers[test]]


def exact(model):
    return np.mean([one == other for one, other in zip(free(model), TRUTH)])


# %%
def train_model(model, steps):
    """Trains, and prints both measures after some of the rounds; returns the losses."""
    loss, rounds = TokenCrossEntropy(label_smoothing=SMOOTHING), min(12, 1 + steps // 50)
    each = max(1, steps // rounds)
    model.compile(keras.optimizers.Adam(InverseSquareRoot(2e-3, WARMUP), beta_2=0.98), loss)
    print("steps   right tokens, forced   right numbers, free")

    def measure(number, logs):
        if number in (0, 1, 2, 5, rounds - 1):
            print(f"{(number + 1) * each:5} {100 * forced(model):15.1f} % {100 * exact(model):18.1f} %")

    chosen = np.random.default_rng(2).integers(500, len(numbers), 64 * each * rounds)
    inputs, labels = [sources[chosen], targets[chosen, :-1]], targets[chosen, 1:]
    dev = [sources[test], targets[test, :-1]], targets[test, 1:]
    after = [keras.callbacks.LambdaCallback(on_epoch_end=measure)]
    options = {"epochs": rounds, "steps_per_epoch": each, "validation_data": dev, "callbacks": after, "verbose": 0}
    return model.fit(inputs, labels, batch_size=64, **options).history


losses = train_model(model, STEPS)
plot_training(losses)

# %% [markdown]
# Early on, most tokens are right while few whole numbers are: one wrong word is enough, and what follows it was never
# seen in training. Of $n$ words, each right with probability $p$, all are right with about $p^n$.

# %%
for n, words, truth in [*zip(numbers[test], free(model), TRUTH)][:5]:
    print(f"{n:6} {words}{'' if words == truth else '   WRONG: ' + truth}")
print(f"loss on dev {losses['val_loss'][-1]:.4f}; the least is {least:.4f}")

# %% [markdown]
# ## Without the look-ahead mask
#
# A decoder that sees the token it has to predict only copies it. Its loss is excellent, and it can write nothing:
# running free, there is nothing to copy. Nothing in the loss says so, but `verify` does.

# %%
cheat = make_model(looks_ahead=True)
inputs = [sources[:8], targets[:8, :-1]]
print("failed:", verify(cheat, inputs, causal="1", show=False).failed)
train_model(cheat, STEPS // 2)
print("it writes:", free(cheat)[:2])
