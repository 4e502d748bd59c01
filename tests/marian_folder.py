"""A small Marian translator as a Hugging Face folder, and its equations in NumPy."""

import io
import json

import numpy as np
import reference as ref
import safetensors.numpy
import sentencepiece

D, F, N, BLOCKS = 8, 12, 2, 2
SOURCES = [f"The {a} {v} the {b} {n} times." for a in "dog cat lake".split() for v in "sees likes paints".split()
           for b in "road tree house".split() for n in (3, 41, 7)]  # fmt: skip
TARGETS = [f"Der {a} {v} den {b} {n} Mal." for a in "Hund Kater See".split() for v in "sieht mag malt".split()
           for b in "Weg Baum Turm".split() for n in (3, 41, 7)]  # fmt: skip
CONFIG = {
    "model_type": "marian",
    "activation_function": "swish",
    "scale_embedding": True,
    "share_encoder_decoder_embeddings": True,
    "normalize_before": False,
    "encoder_layers": BLOCKS,
    "decoder_layers": BLOCKS,
    "d_model": D,
    "encoder_ffn_dim": F,
    "decoder_ffn_dim": F,
    "encoder_attention_heads": N,
    "decoder_attention_heads": N,
    "eos_token_id": 0,
    "num_beams": 3,
}


def sentencepiece_model(texts, size=60):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=model, vocab_size=size, hard_vocab_limit=False, minloglevel=2
    )
    return model.getvalue()


SIDES = sentencepiece_model(SOURCES), sentencepiece_model(TARGETS)


def make_vocabulary(languages=()):
    """Returns rows by piece, as of OPUS-MT: both sides together, of which some are missing, and padding last."""
    pieces = ["</s>", "<unk>"]
    for model in SIDES:
        side = sentencepiece.SentencePieceProcessor(model_proto=model)
        pieces += [side.id_to_piece(i) for i in range(3, side.vocab_size()) if i % 9]
    pieces += [f">>{language}<<" for language in languages] + ["<pad>"]
    return {piece: row for row, piece in enumerate(dict.fromkeys(pieces))}


def random_arrays(rows, rng):
    shapes = {"model.shared.weight": (rows, D), "final_logits_bias": (1, rows)}
    for side, attentions in (("encoder", ["self_attn"]), ("decoder", ["self_attn", "encoder_attn"])):
        for i in range(BLOCKS):
            block = f"model.{side}.layers.{i}."
            for attention in attentions:
                for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
                    shapes[f"{block}{attention}.{name}.weight"] = D, D
                    shapes[f"{block}{attention}.{name}.bias"] = (D,)
            shapes |= {f"{block}fc1.weight": (F, D), f"{block}fc1.bias": (F,)}
            shapes |= {f"{block}fc2.weight": (D, F), f"{block}fc2.bias": (D,)}
            for norm in (*(f"{attention}_layer_norm" for attention in attentions), "final_layer_norm"):
                shapes |= {f"{block}{norm}.weight": (D,), f"{block}{norm}.bias": (D,)}
    arrays = {name: rng.normal(0, 0.5, shape).astype("float32") for name, shape in shapes.items()}
    arrays["model.shared.weight"][-1] = 0  # Padding, and the start.
    return arrays


def write_marian(folder, languages=(), arrays=None, **config):
    """Writes the folder; returns its vocabulary and arrays."""
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = make_vocabulary(languages)
    arrays = arrays or random_arrays(len(vocabulary), np.random.default_rng(1))
    last = len(vocabulary) - 1
    values = {**CONFIG, "vocab_size": last + 1, "pad_token_id": last, "decoder_start_token_id": last, **config}
    (folder / "config.json").write_text(json.dumps(values))
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    (folder / "tokenizer_config.json").write_text('{"source_lang": "eng", "target_lang": "deu"}')
    for name, model in zip(("source.spm", "target.spm"), SIDES):
        (folder / name).write_bytes(model)
    safetensors.numpy.save_file(arrays, folder / "model.safetensors")
    return vocabulary, arrays


def marian_logits(arrays, source, target):
    """Computes logits `[T, V]` of one pair of rows of ids (Junczys-Dowmunt et al. 2018; post-norm, sines first)."""
    arrays = {name: array.astype("float64") for name, array in arrays.items()}
    table = arrays["model.shared.weight"]

    def embed(ids):
        rates = 10_000.0 ** (-np.arange(D // 2) * 2 / D)
        angles = np.arange(len(ids))[:, None] * rates
        return table[ids] * np.sqrt(D) + np.concatenate([np.sin(angles), np.cos(angles)], 1)

    def dense(x, name):
        return x @ arrays[f"{name}.weight"].T + arrays[f"{name}.bias"]

    def norm(x, name):
        return ref.layer_norm(x, {"gamma": arrays[f"{name}.weight"], "beta": arrays[f"{name}.bias"]}, 1e-5)

    def heads(x):
        return x.reshape(len(x), N, -1).transpose(1, 0, 2)

    def attend(x, memory, name, causal=False):
        query, key, value = (
            heads(dense(side, f"{name}.{part}_proj")) for part, side in (("q", x), ("k", memory), ("v", memory))
        )
        scores = query @ key.transpose(0, 2, 1) / np.sqrt(D / N)
        if causal:
            scores = np.where(np.tril(np.ones(scores.shape[1:], bool)), scores, -np.inf)
        mixed = (ref.softmax(scores) @ value).transpose(1, 0, 2).reshape(len(x), D)
        return norm(x + dense(mixed, f"{name}.out_proj"), f"{name}_layer_norm")

    def feed_forward(x, block):
        inner = dense(x, f"{block}fc1")
        return norm(x + dense(inner / (1 + np.exp(-inner)), f"{block}fc2"), f"{block}final_layer_norm")

    memory, x = embed(source), embed(target)
    for i in range(BLOCKS):
        block = f"model.encoder.layers.{i}."
        memory = feed_forward(attend(memory, memory, f"{block}self_attn"), block)
    for i in range(BLOCKS):
        block = f"model.decoder.layers.{i}."
        x = attend(x, x, f"{block}self_attn", causal=True)
        x = feed_forward(attend(x, memory, f"{block}encoder_attn"), block)
    return x @ table.T + arrays["final_logits_bias"][0]
