"""A small BERT: its configuration, arrays, and equations in NumPy."""

import math

import numpy as np
import reference as ref

erf = np.vectorize(math.erf)
V, D, F, N, POSITIONS, BLOCKS = 23, 12, 20, 3, 11, 2
CONFIG = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "vocab_size": V,
    "num_hidden_layers": BLOCKS,
    "hidden_size": D,
    "intermediate_size": F,
    "num_attention_heads": N,
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
    "layer_norm_eps": 1e-12,
    "max_position_embeddings": POSITIONS,
    "type_vocab_size": 2,
}
DENSE = {
    "attention.self.query": (D, D),
    "attention.self.key": (D, D),
    "attention.self.value": (D, D),
    "attention.output.dense": (D, D),
    "intermediate.dense": (F, D),
    "output.dense": (D, F),
}

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *map(chr, range(97, 97 + V - 5))]
DISTILBERT = {  # What it calls them.
    "attention.self.query": "attention.q_lin",
    "attention.self.key": "attention.k_lin",
    "attention.self.value": "attention.v_lin",
    "attention.output.dense": "attention.out_lin",
    "attention.output.LayerNorm": "sa_layer_norm",
    "intermediate.dense": "ffn.lin1",
    "output.dense": "ffn.lin2",
    "output.LayerNorm": "output_layer_norm",
}


def random_arrays():
    rng = np.random.default_rng(0)
    shapes = {"embeddings.word_embeddings.weight": (V, D), "embeddings.position_embeddings.weight": (POSITIONS, D)}
    shapes |= {"embeddings.token_type_embeddings.weight": (2, D), "pooler.dense.weight": (D, D)}
    norms = ["embeddings.LayerNorm"]
    for i in range(BLOCKS):
        block = f"encoder.layer.{i}."
        norms += [f"{block}attention.output.LayerNorm", f"{block}output.LayerNorm"]
        for name, shape in DENSE.items():
            shapes |= {f"{block}{name}.weight": shape, f"{block}{name}.bias": shape[:1]}
    for norm in norms:
        shapes |= {f"{norm}.weight": (D,), f"{norm}.bias": (D,)}
    return {name: rng.normal(0, 0.5, shape).astype("float32") for name, shape in shapes.items()}


def bert(arrays, ids, segments, mask, epsilon=1e-12):
    """Computes BERT (Devlin et al. 2019) in NumPy from the published arrays."""

    def norm(x, name):
        scale, shift = (arrays[f"{name}.{part}"] for part in ("weight", "bias"))
        return ref.layer_norm(x, {"gamma": scale, "beta": shift}, epsilon)

    def dense(x, name):
        return x @ arrays[f"{name}.weight"].T + arrays[f"{name}.bias"]

    def heads(x):
        return x.reshape(*x.shape[:2], N, -1).transpose(0, 2, 1, 3)

    tables = (arrays[f"embeddings.{name}_embeddings.weight"] for name in ("word", "token_type", "position"))
    words, kinds, places = tables
    x = norm(words[ids] + kinds[segments] + places[: ids.shape[1]], "embeddings.LayerNorm")
    for i in range(BLOCKS):
        block = f"encoder.layer.{i}."
        query, key, value = (heads(dense(x, f"{block}attention.self.{name}")) for name in ("query", "key", "value"))
        scores = query @ key.transpose(0, 1, 3, 2) / np.sqrt(D / N)
        weights = ref.softmax(np.where(mask[:, None, None], scores, -np.inf))
        attended = (weights @ value).transpose(0, 2, 1, 3).reshape(x.shape)
        x = norm(x + dense(attended, f"{block}attention.output.dense"), f"{block}attention.output.LayerNorm")
        inner = dense(x, f"{block}intermediate.dense")
        inner = inner * (1 + erf(inner / np.sqrt(2))) / 2
        x = norm(x + dense(inner, f"{block}output.dense"), f"{block}output.LayerNorm")
    return x
