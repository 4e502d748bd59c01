"""Reference implementations of the equations in NumPy and float64.

Axes: B batch, T query steps, S key steps, N heads, H width of a head, D width, F inner width, V vocabulary.
Weights are dictionaries of arrays with the names that the library's layers give them, `weights_of(layer)`.
"""

import math

import numpy as np


def weights_of(layer):
    """Returns float64 arrays by path below the layer: "self_attention/query_dense/kernel"."""
    root = len(layer.path.split("/")) if hasattr(layer, "path") else 1
    return {"/".join(w.path.split("/")[root:]): np.array(w.numpy(), "float64") for w in layer.weights}


def part(weights, name):
    """Returns the weights below one name."""
    return {path.removeprefix(f"{name}/"): w for path, w in weights.items() if path.startswith(f"{name}/")}


def dense(x, weights):
    return x @ weights["kernel"] + weights.get("bias", 0.0)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def relu(x):
    return np.maximum(x, 0.0)


def gelu(x):
    """Computes x times the normal distribution function (Hendrycks and Gimpel 2016)."""
    return x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2


def gelu_tanh(x):
    """Approximates `gelu` by a hyperbolic tangent (Hendrycks and Gimpel 2016, section 2)."""
    return x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2


def causal(steps, key_steps, offset=0):
    """Returns a mask [1, T, S]: query step t, step t + offset of the sequence, sees keys up to itself."""
    return np.array([[[s <= t + offset for s in range(key_steps)] for t in range(steps)]])


def attention(query, key, value, mask=None):
    """Computes eq. 1 of Vaswani et al. 2017 row by row: outputs [B, N, T, H] and weights [B, N, T, S].

    The mask is [B, T, S] or [B, N, T, S], or broadcastable to it.
    """
    (batch, heads, steps, width), key_steps = query.shape, key.shape[2]
    mask = np.ones((1, 1, 1), bool) if mask is None else mask
    mask = np.broadcast_to(mask[:, None] if mask.ndim == 3 else mask, (batch, heads, steps, key_steps))
    outputs = np.zeros((batch, heads, steps, value.shape[-1]))
    weights = np.zeros((batch, heads, steps, key_steps))
    for b, n, t in np.ndindex(batch, heads, steps):
        seen = np.flatnonzero(mask[b, n, t])
        if len(seen):
            weights[b, n, t, seen] = softmax(key[b, n, seen] @ query[b, n, t] / np.sqrt(width))
            outputs[b, n, t] = weights[b, n, t] @ value[b, n]
    return outputs, weights


def multi_head_attention(query, value, weights, num_heads, mask=None, key=None):
    """Computes section 3.2.2: output [B, T, D] and weights; a query that sees no key gives zeros."""
    key = value if key is None else key

    def heads(x, name):
        x = dense(x, part(weights, name))
        return x.reshape(*x.shape[:2], num_heads, -1).transpose(0, 2, 1, 3)

    parts = heads(query, "query_dense"), heads(key, "key_dense"), heads(value, "value_dense")
    outputs, scores = attention(*parts, mask)
    outputs = outputs.transpose(0, 2, 1, 3)
    outputs = dense(outputs.reshape(*outputs.shape[:2], -1), part(weights, "output_dense"))
    if mask is not None:
        seen = mask.any(-1) if mask.ndim == 3 else mask.any((1, 3))
        outputs = outputs * np.broadcast_to(seen, outputs.shape[:2])[..., None]
    return outputs, scores


def layer_norm(x, weights, epsilon=1e-6):
    """Computes eq. 4 of Ba et al. 2016."""
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + epsilon) * weights["gamma"] + weights["beta"]


def power_norm(x, upstream, real, weights, state, momentum, warmup, epsilon=1e-6):
    """Runs one training step of algorithm 2 of Shen et al. 2020 on vectors [M, D], one unit after the other.

    Args:
        x, upstream: Inputs [M, D], and the gradient by the outputs.
        real: Boolean [M], the vectors that count.
        weights: "gamma" and "beta" [D].
        state: "moving_square" and "nu" [D] before the step.
        momentum: The paper's alpha.
        warmup: Whether the batch's own statistics normalise.

    Returns:
        Outputs [M, D], the gradient by x, and the state behind the step.
    """
    outputs, gradient = np.zeros_like(x), np.zeros_like(x)
    after = {name: values.copy() for name, values in state.items()}
    for d in range(x.shape[1]):
        quadratic_mean = sum(x[real, d] ** 2) / sum(real)
        psi = np.sqrt((quadratic_mean if warmup else state["moving_square"][d]) + epsilon)
        normalized, slope = x[:, d] / psi, weights["gamma"][d] * upstream[:, d]
        outputs[:, d] = weights["gamma"][d] * normalized + weights["beta"][d]
        for i in range(len(x)):
            gradient[i, d] = (slope[i] - (state["nu"][d] * normalized[i] if real[i] else 0)) / psi
        gamma_t = sum(normalized[real] ** 2) / sum(real)
        lambda_t = sum(normalized[real] * slope[real]) / sum(real)
        after["moving_square"][d] = momentum * state["moving_square"][d] + (1 - momentum) * quadratic_mean
        after["nu"][d] = state["nu"][d] * (1 - (1 - momentum) * gamma_t) + (1 - momentum) * lambda_t
    return outputs, gradient, after


def feed_forward(x, weights, activation=relu):
    """Computes eq. 2 of Vaswani et al. 2017."""
    return dense(activation(dense(x, part(weights, "inner_dense"))), part(weights, "output_dense"))


def sublayer(x, function, weights, normalize_first, epsilon=1e-6):
    """Computes LayerNorm(x + F(x)), section 3.1, or in pre-norm x + F(LayerNorm(x)), Xiong et al. 2020."""
    if normalize_first:
        return x + function(layer_norm(x, part(weights, "norm"), epsilon))
    return layer_norm(x + function(x), part(weights, "norm"), epsilon)


def encoder_block(x, weights, num_heads, mask=None, normalize_first=False, epsilon=1e-6):
    """Computes an encoder block with `mask` [B, T, T]."""

    def attend(x):
        return multi_head_attention(x, x, part(weights, "self_attention"), num_heads, mask)[0]

    x = sublayer(x, attend, part(weights, "self_attention_residual"), normalize_first, epsilon)
    transform = part(weights, "feed_forward")
    residual = part(weights, "feed_forward_residual")
    return sublayer(x, lambda x: feed_forward(x, transform), residual, normalize_first, epsilon)


def decoder_block(x, memory, weights, num_heads, mask=None, memory_mask=None, normalize_first=False):
    """Computes a decoder block with `mask` [B, T, T] of self-attention and `memory_mask` [B, T, S] or [B, 1, S]."""

    def attend_to_self(x):
        return multi_head_attention(x, x, part(weights, "self_attention"), num_heads, mask)[0]

    def attend_to_memory(x):
        return multi_head_attention(x, memory, part(weights, "cross_attention"), num_heads, memory_mask)[0]

    x = sublayer(x, attend_to_self, part(weights, "self_attention_residual"), normalize_first)
    x = sublayer(x, attend_to_memory, part(weights, "cross_attention_residual"), normalize_first)
    transform = part(weights, "feed_forward")
    residual = part(weights, "feed_forward_residual")
    return sublayer(x, lambda x: feed_forward(x, transform), residual, normalize_first)


def encoder(x, weights, num_layers, num_heads, mask=None, normalize_first=False):
    for i in range(num_layers):
        x = encoder_block(x, part(weights, f"block_{i}"), num_heads, mask, normalize_first)
    return layer_norm(x, part(weights, "norm")) if normalize_first else x


def decoder(x, memory, weights, num_layers, num_heads, mask=None, memory_mask=None, normalize_first=False):
    for i in range(num_layers):
        block = part(weights, f"block_{i}")
        x = decoder_block(x, memory, block, num_heads, mask, memory_mask, normalize_first)
    return layer_norm(x, part(weights, "norm")) if normalize_first else x


def sinusoids(positions, hidden_dim):
    """Computes section 3.5: PE(p, 2i) = sin(p / 10000^(2i/D)), PE(p, 2i+1) = cos(the same)."""
    angles = np.asarray(positions, "float64")[..., None] / 10000 ** (np.arange(0, hidden_dim, 2) / hidden_dim)
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(*angles.shape[:-1], hidden_dim)


def cross_entropy(labels, logits, label_smoothing=0.0):
    """Computes the loss of every token and its gradient in the logits (Szegedy et al. 2016, section 7)."""
    logits = np.asarray(logits, "float64")
    size = logits.shape[-1]
    wanted = (1 - label_smoothing) * np.eye(size)[labels] + label_smoothing / size
    shifted = logits - logits.max(-1, keepdims=True)
    log_probs = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return -(wanted * log_probs).sum(-1), np.exp(log_probs) - wanted


def noam(step, hidden_dim, warmup_steps):
    """Computes eq. 3 of Vaswani et al. 2017; steps count from 1."""
    return hidden_dim**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


def adam(gradient, mean, variance, step, beta_1, beta_2, epsilon):
    """Computes algorithm 1 of Kingma and Ba 2015 as rewritten at the end of section 2: change over rate, moments."""
    mean = beta_1 * mean + (1 - beta_1) * gradient
    variance = beta_2 * variance + (1 - beta_2) * gradient**2
    correction = np.sqrt(1 - beta_2**step) / (1 - beta_1**step)
    return correction * mean / (np.sqrt(variance) + epsilon), mean, variance
