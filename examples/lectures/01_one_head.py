# %% [markdown]
# # 1. One head by hand
#
# A word is a vector. Attention replaces each vector by a weighted mean of all of them; what is learned is which
# weights. We compute one number of one head three ways: by loops, by NumPy, and by the layer of this package.

# %%
import keras
import numpy as np

from keras_transformer import AdditiveAttention, MultiHeadAttention
from keras_transformer.visualize import plot_attention

words = "she ate the green apple".split()
rng = np.random.default_rng(0)
x = rng.normal(size=(len(words), 8))  # Five vectors of width 8, random here, learned in a model.
print("vector of 'she':", x[0].round(2))

# %% [markdown]
# ## Queries, keys and values
#
# Each word asks a question (its *query*), offers an answer to questions (its *key*), and has something to say (its
# *value*). All three are projections of its vector: $q_i = x_i W_Q$, $k_j = x_j W_K$, $v_j = x_j W_V$.

# %%
width = 4
w_query, w_key, w_value = (rng.normal(size=(8, width)) * 0.5 for _ in range(3))
query, key, value = x @ w_query, x @ w_key, x @ w_value
print("query of 'ate':", query[1].round(2))
print("key of 'apple':", key[4].round(2))

# %% [markdown]
# ## Scores
#
# How well does the key of word $j$ fit the query of word $i$? The dot product says it in one number. It is divided by
# $\sqrt{d_k}$: the sum of $d_k$ products of numbers of variance 1 has the variance $d_k$, and without the division the
# softmax of wide vectors would put all weight on one word, where its gradient is zero.

# %%
score = sum(query[1, d] * key[4, d] for d in range(width)) / width**0.5
print(f"'ate' asks 'apple': {score:.4f}")

# %% [markdown]
# ## Softmax and weighted mean
#
# $$w_{ij} = \frac{e^{s_{ij}}}{\sum_m e^{s_{im}}} \qquad o_i = \sum_j w_{ij} v_j$$
#
# The first way, by loops: the first number of what 'ate' gets.

# %%
scores = [sum(query[1, d] * key[j, d] for d in range(width)) / width**0.5 for j in range(len(words))]
powers = [np.exp(each) for each in scores]
weights = [power / sum(powers) for power in powers]
by_loops = sum(weight * value[j, 0] for j, weight in enumerate(weights))
for word, weight in zip(words, weights):
    print(f"  'ate' attends to {word!r} by {weight:.3f}")
print(f"by loops: {by_loops:.6f}")

# %% [markdown]
# The second way: all words at once, in two matrix products, $\operatorname{softmax}(QK^T/\sqrt{d_k})\,V$ (Vaswani et
# al. 2017, equation 1).


# %%
def softmax(scores):
    powers = np.exp(scores - scores.max(-1, keepdims=True))  # The same, without overflow.
    return powers / powers.sum(-1, keepdims=True)


attention = softmax(query @ key.T / width**0.5)
output = attention @ value
print(f"by NumPy: {output[1, 0]:.6f}")

# %% [markdown]
# The third way: the layer. We give it our projections, and the identity after them.

# %%
layer = MultiHeadAttention(num_heads=1, key_dim=width, use_bias=False, output_shape=width)
inputs = x[None].astype("float32")  # A batch of one sentence.
layer.build(inputs.shape)
for dense, kernel in ((layer.query_dense, w_query), (layer.key_dense, w_key), (layer.value_dense, w_value)):
    dense.kernel.assign(kernel)
layer.output_dense.kernel.assign(np.eye(width))
found, layer_weights = layer(inputs, inputs, return_attention_scores=True)
by_layer = float(keras.ops.convert_to_numpy(found)[0, 1, 0])
print(f"by the layer: {by_layer:.6f}")
assert abs(by_loops - output[1, 0]) < 1e-9 and abs(by_loops - by_layer) < 1e-5

# %%
plot_attention(layer_weights[0], words, words)

# %% [markdown]
# ## Additive scores
#
# The first attention (Bahdanau et al. 2015) did not multiply queries and keys, but added them and asked a small
# network: $s_{ij} = u \cdot \tanh(q_i + k_j)$. It needs a tanh for every pair of words, where the dot product is one
# matrix product; that is why it went.

# %%
additive = AdditiveAttention(num_heads=1, key_dim=width, use_bias=False, output_shape=width)
additive.build(inputs.shape)
pairs = (additive.query_dense, w_query), (additive.key_dense, w_key), (additive.value_dense, w_value)
for dense, kernel in pairs:
    dense.kernel.assign(kernel)
u = keras.ops.convert_to_numpy(additive.score_vectors).ravel()
_, additive_weights = additive(inputs, inputs, return_attention_scores=True)
additive_scores = [u @ np.tanh(query[1] + key[j]) for j in range(len(words))]
print("by hand:     ", softmax(np.array(additive_scores)).round(4))
print("by the layer:", keras.ops.convert_to_numpy(additive_weights)[0, 0, 1].round(4))

# %% [markdown]
# ## All heads
#
# One head has one weighted mean: it cannot look for the subject and for the object at once. So there are several, each
# narrower, and their outputs stand side by side. They are *one* matrix product: the projections of all heads are the
# columns of one matrix.

# %%
heads = 3
w_all = rng.normal(size=(8, heads * width))
side_by_side = np.concatenate([x @ w_all[:, h * width : (h + 1) * width] for h in range(heads)], axis=1)
at_once = x @ w_all
print("same:", np.allclose(side_by_side, at_once))

many = MultiHeadAttention(num_heads=heads, key_dim=width)
_, weights_of_heads = many(inputs, inputs, return_attention_scores=True)
print("weights [sentences, heads, words, words]:", tuple(weights_of_heads.shape))
plot_attention(weights_of_heads[0], words, words)

# %% [markdown]
# Here the weights are those of random projections. What they become in a trained translator: lecture 4.
