# %% [markdown]
# # 5. Families
#
# An encoder, a decoder, both: what each of them sees. Then what else a sequence can be: a text that was read before
# (pretraining), sound (very long), an image (a set of patches), and an answer that is a set.

# %%
import itertools
import os
import time

import keras
import numpy as np
from keras import ops

import zoo
from keras_transformer import Decoder, Encoder, MultiHeadAttention, PatchEmbedding, PositionalEncoding
from keras_transformer.visualize import plot_masks

STEPS = int(os.environ.get("LECTURE_STEPS", 1500))
to_numpy = ops.convert_to_numpy
rng = np.random.default_rng(0)
keras.utils.set_random_seed(1)

# %% [markdown]
# ## Who sees whom
#
# We change one step of the input at a time and look which steps of the output change. An *encoder* sees everything
# (BERT: classes, labels, trees). A *decoder* sees what came before (GPT: it can write). An *encoder-decoder* has
# both: its decoder also sees the whole source (translation, speech).


# %%
def seen(function, steps):
    """Returns which inputs each output depends on, boolean `[outputs, inputs]`."""
    x = rng.normal(size=(1, steps, 16)).astype("float32")
    before, columns = to_numpy(function(x))[0], []
    for step in range(steps):
        changed = x.copy()
        changed[0, step] += 1
        columns.append(np.abs(to_numpy(function(changed))[0] - before).max(-1) > 1e-6)
    return np.stack(columns, axis=1)


sizes = {"num_layers": 2, "num_heads": 2, "intermediate_dim": 32}
encoder, decoder = Encoder(**sizes), Decoder(**sizes)
source, target = rng.normal(size=(2, 1, 6, 16)).astype("float32")
masks = {
    "encoder": seen(encoder, 6),
    "decoder, target": seen(lambda x: decoder(x, encoder(source)), 6),
    "decoder, source": seen(lambda x: decoder(target, encoder(x)), 6),
}
plot_masks(masks)

# %% [markdown]
# The three tasks, with models that come with the package:

# %%
print("encoder:", zoo.load("classification/sst2-small").classify(["A stirring, funny film."])[0])
print("decoder:", repr(zoo.load("language/shakespeare").generate(["ROMEO:"], max_tokens=40, temperature=0.5)[0]))
print("both:   ", zoo.load("translation/en-de").translate(["Where is my hat?"])[0])

# %% [markdown]
# ## Pretraining
#
# Twelve sentences are not enough to learn a language. A model that has read a lot already needs only to be told what
# we want to know: here a class is the nearest mean of its sentences' vectors. The same rule, with an encoder of
# random weights, guesses.

# %%
WEATHER = [
    "It rained all night.",
    "The sun is shining today.",
    "Heavy snow fell in the mountains.",
    "A cold wind blew from the north.",
    "Thunder and lightning woke us up.",
    "The fog cleared before noon.",
]
SPORT = [
    "She scored two goals in the final.",
    "The match ended in a draw.",
    "He runs the marathon in three hours.",
    "Their goalkeeper saved a penalty.",
    "The team lost by twenty points.",
    "She won a medal in swimming.",
]
TEST = {
    "Dark clouds are coming up.": 0,
    "It will be hot and dry tomorrow.": 0,
    "The storm tore down trees.": 0,
    "Hail damaged the roofs.": 0,
    "The striker was injured in the first half.": 1,
    "The coach trained the young players.": 1,
    "They beat the champions at tennis.": 1,
    "The referee showed a red card.": 1,
}


def accuracy(embed):
    vectors, classes = np.asarray(embed([*WEATHER, *SPORT])), np.arange(12) // 6
    means = np.stack([vectors[classes == number].mean(0) for number in range(2)])
    distances = np.linalg.norm(np.asarray(embed([*TEST]))[:, None] - means, axis=-1)
    return (distances.argmin(-1) == [*TEST.values()]).mean()


pretrained = zoo.load("encoder/minilm")
print("pretrained:    ", accuracy(pretrained.embed))
for variable in pretrained.model.trainable_variables:
    variable.assign(rng.normal(scale=0.02, size=variable.shape))
print("random weights:", accuracy(pretrained.embed))
del pretrained

# %% [markdown]
# ## Sound is long
#
# A second of speech is a hundred frames. Attention compares each two of them: twice the length is four times the
# work, and the memory of the scores. A model of sound first joins neighbouring frames, and may look at a *window*
# only.

# %%
print("steps   seconds of sound   scores of 4 heads    everything   a window of 128")
for steps in (1000, 2000, 4000, 8000):
    x = rng.normal(size=(1, steps, 128)).astype("float32")
    seconds = []
    for window in (None, 128):
        sound = keras.Input((None, 128))
        model = keras.Model(sound, MultiHeadAttention(4, 32, sliding_window=window)(sound, sound))
        model.predict_on_batch(x)  # The first call compiles.
        began = time.perf_counter()
        model.predict_on_batch(x)
        seconds.append(time.perf_counter() - began)
    print(f"{steps:5} {steps / 100:14.0f} {4 * steps**2 * 4 / 1e6:17.0f} MB {seconds[0]:13.3f} s {seconds[1]:13.3f} s")

# %% [markdown]
# ## An image is a set of patches
#
# Cut an image into patches, and each is a vector. Attention does not know where they were: with their order changed,
# the mean of the outputs is the same. Positions are what makes a set of patches an image.

# %%
image = rng.normal(size=(1, 32, 32, 3)).astype("float32")
patches = to_numpy(PatchEmbedding(32, 8)(image)).reshape(1, 16, 32)
shuffled = patches[:, rng.permutation(16)]
positions, encoder = PositionalEncoding(), Encoder(num_layers=2, num_heads=4, intermediate_dim=64)
for name, prepare in (("without positions", lambda x: x), ("with positions", positions)):
    whole, mixed = (to_numpy(encoder(prepare(x))).mean(1) for x in (patches, shuffled))
    print(f"{name:18} the shuffled image differs by {np.abs(whole - mixed).max():.6f}")

# %% [markdown]
# ## The answer is a set
#
# Of 24 cells, three are marked; where? The answer has no order, yet a model has three outputs in some order. If the
# loss wants a certain order that nobody can know, the best answer is the mean. The loss of a *set* compares with the
# order that fits best (Carion et al. 2020, "DETR"; for many objects the Hungarian algorithm finds it). The decoder
# has three learned queries and no causal mask: it answers all at once.

# %%
CELLS, MARKED = 24, 3
ORDERS = np.array([*itertools.permutations(range(MARKED))])


def examples(count, seed):
    order = np.random.default_rng(seed)
    places = np.stack([order.permutation(CELLS)[:MARKED] for _ in range(count)])
    cells = np.zeros((count, CELLS, 1), "float32")
    np.put_along_axis(cells[..., 0], places, 1, axis=1)
    return cells, (places / CELLS).astype("float32")


def ordered_loss(y_true, y_pred):
    return ops.mean(ops.abs(y_true - y_pred), axis=-1)


def set_loss(y_true, y_pred):
    every = ops.take(y_true, ORDERS, axis=1)  # [B, 6, 3]
    return ops.min(ops.mean(ops.abs(every - y_pred[:, None]), axis=-1), axis=-1)


class Queries(keras.layers.Layer):
    """Learned vectors, the same for all examples."""

    def build(self, shape):
        self.vectors = self.add_weight(name="vectors", shape=(1, MARKED, shape[-1]), initializer="random_normal")

    def call(self, x):
        return ops.broadcast_to(self.vectors, (ops.shape(x)[0], MARKED, x.shape[-1]))


def set_model():
    cells = keras.Input((CELLS, 1))
    memory = PositionalEncoding()(keras.layers.Dense(32)(cells))
    memory = Encoder(num_layers=1, num_heads=4, intermediate_dim=64)(memory)
    x = Queries()(memory)
    x = Decoder(num_layers=2, num_heads=4, intermediate_dim=64)(x, memory, use_causal_mask=False)
    return keras.Model(cells, keras.layers.Flatten()(keras.layers.Dense(1, "sigmoid")(x)))


cells, places = examples(64 * STEPS, 1)
test_cells, test_places = examples(500, 2)
truth = np.sort(np.round(test_places * CELLS), axis=1)
for loss in (ordered_loss, set_loss):
    model = set_model()
    model.compile(keras.optimizers.Adam(1e-3), loss)
    model.fit(cells, places, batch_size=64, verbose=0)
    found = np.sort(np.round(model.predict(test_cells, verbose=0) * CELLS), axis=1)
    exact = (found == truth).all(1).mean()
    print(f"{loss.__name__:13} sets exactly right: {100 * exact:5.1f} %   {found[0]} instead of {truth[0]}")
