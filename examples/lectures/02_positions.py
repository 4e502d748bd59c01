# %% [markdown]
# # 2. Positions
#
# Attention is a mean: it does not know the order of what it adds up. We see what a model without positions cannot tell
# apart, and three ways to tell it: sinusoids, distances, rotations.

# %%
import keras
import numpy as np

from keras_transformer import (
    Encoder,
    MultiHeadAttention,
    PositionalEncoding,
    RelativeAttention,
    RotaryAttention,
    shift_matrix,
    sinusoidal_encoding,
)
from keras_transformer.visualize import plot_positions

keras.utils.set_random_seed(1)
to_numpy = keras.ops.convert_to_numpy

# %% [markdown]
# ## What a model without positions cannot tell apart
#
# "dog bites man" and "man bites dog": the vector of "dog" becomes the same in both.

# %%
dog, bites, man = np.random.default_rng(0).normal(size=(3, 16)).astype("float32")
sentences = np.stack([[dog, bites, man], [man, bites, dog]])
encoder = Encoder(num_layers=2, num_heads=4, intermediate_dim=32)
without = to_numpy(encoder(sentences))
print("'dog' differs by", np.abs(without[0, 0] - without[1, 2]).max().round(6), "without positions")
with_positions = to_numpy(encoder(PositionalEncoding()(sentences)))
print("'dog' differs by", np.abs(with_positions[0, 0] - with_positions[1, 2]).max().round(3), "with them")

# %% [markdown]
# ## Sinusoids
#
# $$PE(p, 2i) = \sin(p / 10000^{2i/D}) \qquad PE(p, 2i+1) = \cos(p / 10000^{2i/D})$$
#
# Each pair of dimensions is the hand of a clock; the first turns fast, the last hardly at all. Like the digits of a
# number, they tell positions apart on all scales (Vaswani et al. 2017, section 3.5).

# %%
plot_positions(to_numpy(sinusoidal_encoding(np.arange(64), 64)))

# %% [markdown]
# The right picture is the cosine of the vectors of each two positions: it depends on their distance alone.
#
# ## A shift is a matrix
#
# Turning all hands on by $k$ positions is one linear map, the same for every position: $PE(p + k) = M_k\,PE(p)$. So a
# layer can learn "the word three before this one".

# %%
positions = to_numpy(sinusoidal_encoding(np.arange(40), 32))
shift = to_numpy(shift_matrix(3, 32))
moved = positions[:37] @ shift.T
print("largest error of M_3 PE(p) = PE(p + 3):", np.abs(moved - positions[3:]).max())
blocks = [shift[i : i + 2, i : i + 2] for i in range(0, 32, 2)]
print(
    "a rotation of each pair, by",
    [round(float(np.degrees(np.arctan2(b[0, 1], b[0, 0]))), 1) for b in blocks[:4]],
    "...",
)

# %% [markdown]
# ## Distances in the scores
#
# What matters is mostly how far apart two words are. *Relative attention* (Shaw et al. 2018) adds a learned vector for
# each distance; *rotary attention* (Su et al. 2021) turns queries and keys by their positions, so that their product
# has the difference of both. Neither changes when the whole sentence is moved:

# %%
x = np.random.default_rng(2).normal(size=(1, 6, 16)).astype("float32")
padding = np.zeros((1, 5, 16), "float32")
moved, mask = np.concatenate([padding, x], axis=1), np.array([[False] * 5 + [True] * 6])
for layer in (RelativeAttention(2, 8, max_distance=8), RotaryAttention(2, 8)):
    here, there = to_numpy(layer(x, x)), to_numpy(layer(moved, moved, value_mask=mask))[:, 5:]
    print(f"{type(layer).__name__}: moved by five steps, the outputs differ by {np.abs(here - there).max():.1e}")

add_positions, plain = PositionalEncoding(), MultiHeadAttention(2, 8)
here, there = add_positions(x), add_positions(moved)
apart = to_numpy(plain(here, here)) - to_numpy(plain(there, there, value_mask=mask))[:, 5:]
print(f"sinusoids that are added: {np.abs(apart).max():.1e}")

# %% [markdown]
# ## The product of a rotation
#
# Of two vectors turned by their positions, the product has the difference of the angles: a picture says it.

# %%
query, key = np.random.default_rng(3).normal(size=(2, 2))


def turned(vector, angle):
    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return rotation @ vector


for p, q in ((0, 3), (10, 13), (100, 103)):
    print(f"positions {p} and {q}: {turned(query, 0.3 * p) @ turned(key, 0.3 * q):.6f}")
