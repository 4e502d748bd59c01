"""A small T5 as a Hugging Face folder, and its equations in NumPy."""

import io
import json
import math

import marian_folder as marian
import numpy as np
import reference as ref
import safetensors.numpy
import sentencepiece

D, H, F, N, BLOCKS = 8, 4, 12, 3, {"encoder": 2, "decoder": 1}
SENTINELS, UNUSED_ROWS = 5, 3
CONFIG = {
    "model_type": "t5",
    "d_model": D,
    "d_kv": H,
    "d_ff": F,
    "num_heads": N,
    "num_layers": BLOCKS["encoder"],
    "num_decoder_layers": BLOCKS["decoder"],
    "pad_token_id": 0,
    "eos_token_id": 1,
    "decoder_start_token_id": 0,
    "num_beams": 3,
}
FIRST, GATED = {"feed_forward_proj": "relu"}, {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}


def sentencepiece_model(**special):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([*marian.SOURCES, *marian.TARGETS]),
        model_writer=model,
        vocab_size=90,
        hard_vocab_limit=False,
        minloglevel=2,
        **{"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1, **special},
    )
    return model.getvalue()


MODEL = sentencepiece_model()
PROCESSOR = sentencepiece.SentencePieceProcessor(model_proto=MODEL)
ROWS = PROCESSOR.vocab_size() + SENTINELS + UNUSED_ROWS


def random_arrays(gated=False, seed=1):
    shapes = {"shared.weight": (ROWS, D), **({"lm_head.weight": (ROWS, D)} if gated else {})}
    inner = ("wi_0", "wi_1") if gated else ("wi",)
    for side, attentions in (("encoder", ["SelfAttention"]), ("decoder", ["SelfAttention", "EncDecAttention"])):
        shapes[f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"] = 32, N
        shapes[f"{side}.final_layer_norm.weight"] = (D,)
        for i in range(BLOCKS[side]):
            for j, attention in enumerate(attentions):
                layer = f"{side}.block.{i}.layer.{j}"
                shapes |= {f"{layer}.{attention}.{name}.weight": (N * H, D) for name in "qkv"}
                shapes |= {f"{layer}.{attention}.o.weight": (D, N * H), f"{layer}.layer_norm.weight": (D,)}
            layer = f"{side}.block.{i}.layer.{len(attentions)}"
            shapes |= {f"{layer}.DenseReluDense.{name}.weight": (F, D) for name in inner}
            shapes |= {f"{layer}.DenseReluDense.wo.weight": (D, F), f"{layer}.layer_norm.weight": (D,)}
    rng = np.random.default_rng(seed)
    return {name: rng.normal(0, 0.5, shape).astype("float32") for name, shape in shapes.items()}


def write_t5(folder, gated=False, arrays=None, **config):
    """Writes the folder; returns its arrays."""
    folder.mkdir(parents=True, exist_ok=True)
    arrays = random_arrays(gated) if arrays is None else arrays
    values = {**CONFIG, **(GATED if gated else FIRST), "vocab_size": ROWS, **config}
    (folder / "config.json").write_text(json.dumps(values))
    (folder / "tokenizer_config.json").write_text(json.dumps({"extra_ids": SENTINELS}))
    (folder / "spiece.model").write_bytes(MODEL)
    safetensors.numpy.save_file(arrays, folder / "model.safetensors")
    return arrays


def bucket(distance, both):
    """Returns the bucket of a key `distance` steps after its query (Raffel et al. 2020, section 2.1)."""
    side, first = (16, 16 * (distance > 0)) if both else (32, 0)
    distance, exact = abs(distance) if both else max(0, -distance), side // 2
    if distance < exact:
        return first + distance
    return first + min(side - 1, exact + int(math.log(distance / exact) / math.log(128 / exact) * (side - exact)))


def t5_logits(arrays, source, target):
    """Computes logits `[T, V]` of one pair of rows of published ids, and the encoder's outputs `[S, D]`."""
    arrays = {name: array.astype("float64") for name, array in arrays.items()}
    gated = "lm_head.weight" in arrays

    def dense(x, name):
        return x @ arrays[f"{name}.weight"].T

    def norm(x, name):
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * arrays[f"{name}.weight"]

    def attend(x, memory, layer, name, side=None):
        query, key, value = (
            dense(states, f"{layer}.{name}.{part}").reshape(len(states), N, H).transpose(1, 0, 2)
            for part, states in (("q", x), ("k", memory), ("v", memory))
        )
        scores = query @ key.transpose(0, 2, 1)
        if side is not None:
            table = arrays[f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"]
            buckets = [[bucket(s - t, side == "encoder") for s in range(len(memory))] for t in range(len(x))]
            scores += table[buckets].transpose(2, 0, 1)
        if side == "decoder":
            scores = np.where(np.tril(np.ones(scores.shape[1:], bool)), scores, -np.inf)
        return dense((ref.softmax(scores) @ value).transpose(1, 0, 2).reshape(len(x), N * H), f"{layer}.{name}.o")

    def feed_forward(x, layer):
        if not gated:
            return dense(np.maximum(dense(x, f"{layer}.wi"), 0), f"{layer}.wo")
        inner = dense(x, f"{layer}.wi_0")
        inner = inner / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (inner + 0.044715 * inner**3)))
        return dense(inner * dense(x, f"{layer}.wi_1"), f"{layer}.wo")

    memory, x = arrays["shared.weight"][source], arrays["shared.weight"][target]
    for i in range(BLOCKS["encoder"]):
        layer = f"encoder.block.{i}.layer"
        inputs = norm(memory, f"{layer}.0.layer_norm")
        memory = memory + attend(inputs, inputs, f"{layer}.0", "SelfAttention", "encoder")
        memory = memory + feed_forward(norm(memory, f"{layer}.1.layer_norm"), f"{layer}.1.DenseReluDense")
    memory = norm(memory, "encoder.final_layer_norm")
    for i in range(BLOCKS["decoder"]):
        layer = f"decoder.block.{i}.layer"
        inputs = norm(x, f"{layer}.0.layer_norm")
        x = x + attend(inputs, inputs, f"{layer}.0", "SelfAttention", "decoder")
        x = x + attend(norm(x, f"{layer}.1.layer_norm"), memory, f"{layer}.1", "EncDecAttention")
        x = x + feed_forward(norm(x, f"{layer}.2.layer_norm"), f"{layer}.2.DenseReluDense")
    x = norm(x, "decoder.final_layer_norm")
    return (x @ arrays["lm_head.weight"].T if gated else x @ arrays["shared.weight"].T / np.sqrt(D)), memory
