"""GPT-2 and RoBERTa of real size say what they say in transformers: ids, hidden states, logits, and generated texts.

It needs the environment of `beside_transformers.py`:

    KERAS_BACKEND=torch python tests/long/beside_transformers_byte_pairs.py --data dev.tsv other.txt

The weights are random; the vocabularies are learned from the lines of the corpora, of which each column is a line.
"""

import argparse
import os
import pathlib
import sys
import tempfile

os.environ.setdefault("KERAS_BACKEND", "torch")
sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))

import numpy as np
import tokenizers
import torch
import transformers
from beside_transformers import TEXTS
from keras import ops

import zoo
from keras_transformer.decoding import sample_steps

SPACES = [
    *["", " ", "\n\n \t x", "a\u00a0b\u3000c  d\r\n", "it's we'll 'tis '' 's", "\x00\x1c\x85\u200b"],
    "\U0001f468\u200d\U0001f469 e\u0301 ½ Ⅷ ٣",
]
OPTIONS = {"temperature": 0.8, "top_k": 40, "top_p": 0.95}


def main() -> int:
    """Prints what was compared; returns 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, nargs="+", help="text files, or tables of texts separated by tabs")
    parser.add_argument("--lines", type=int, default=1000, help="lines to encode; 1,000 by default")
    parser.add_argument("--texts", type=int, default=50, help="prompts to continue; 50 by default")
    parser.add_argument("--layers", type=int, default=12, help="blocks of each model; 12 by default")
    options = parser.parse_args()
    files = [pathlib.Path(path).read_text("utf-8").split("\n") for path in options.data]
    lines = [cell for rows in zip(*files) for row in rows for cell in row.split("\t") if cell]  # Of all files in turn.
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for name, make, compare in (("gpt2", make_gpt2, compare_gpt2), ("roberta", make_roberta, compare_roberta)):
            path = pathlib.Path(folder) / name
            for what, passed in compare_ids(path, make(path, lines, options.layers), lines, options):
                print(f"{'ok  ' if passed else 'FAIL'} {name}: {what}", flush=True)
                failed = failed or not passed
            for what, passed in compare(path, lines, options):
                print(f"{'ok  ' if passed else 'FAIL'} {name}: {what}", flush=True)
                failed = failed or not passed
    return int(failed)


def make_gpt2(path, lines, layers):
    """Writes a language model with the sizes of the smallest GPT-2; returns its tokenizer."""
    tokenizer = make_tokenizer(path, lines, transformers.GPT2Tokenizer, ["<|endoftext|>"])
    config = transformers.GPT2Config(vocab_size=len(tokenizer), n_layer=layers, bos_token_id=0, eos_token_id=0)
    write(transformers.GPT2LMHeadModel, config, path)
    return tokenizer


def make_roberta(path, lines, layers):
    """Writes an encoder with the sizes of roberta-base; returns its tokenizer."""
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = make_tokenizer(path, lines, transformers.RobertaTokenizer, special)
    sizes = {"max_position_embeddings": 514, "type_vocab_size": 1, "layer_norm_eps": 1e-5}
    config = transformers.RobertaConfig(vocab_size=len(tokenizer), num_hidden_layers=layers, **sizes)
    write(transformers.RobertaForMaskedLM, config, path)
    return tokenizer


def make_tokenizer(path, lines, kind, special):
    path.mkdir()
    trained = tokenizers.ByteLevelBPETokenizer()
    trained.train_from_iterator(lines, vocab_size=10_000, special_tokens=special, show_progress=False)
    trained.save_model(str(path))
    tokenizer = kind.from_pretrained(path)
    tokenizer.save_pretrained(path)
    return tokenizer


def write(kind, config, path):
    torch.manual_seed(1)
    model = kind(config).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(torch.randn_like(weight) * 0.03)
    model.save_pretrained(path)


def compare_ids(path, tokenizer, lines, options):
    """Compares ids and texts, by `tokenizer.json` and by the two files that came before it."""
    texts, plain = [*lines[: options.lines], *TEXTS, *SPACES], path.parent / f"{path.name}-files"
    plain.mkdir()
    for name in ("config.json", "model.safetensors", "vocab.json", "merges.txt"):
        (plain / name).symlink_to(path / name)
    expected = tokenizer(texts, add_special_tokens=False).input_ids
    for name, folder in (("tokenizer.json", path), ("vocab.json and merges.txt", plain)):
        ours = zoo.load(folder).tokenizer
        rows = ours.encode(texts)
        found = [tokenizer.convert_tokens_to_ids([ours.pieces[i] for i in row]) for row in rows]
        same = sum(map(list.__eq__, found, expected))
        yield f"ids of {same} of {len(texts)} texts by {name}", same == len(texts)
        yield "their texts", ours.decode(rows) == texts


def compare_gpt2(path, lines, options):
    """Yields what is compared, and whether it is the same."""
    theirs = transformers.GPT2LMHeadModel.from_pretrained(path).eval()
    tokenizer, ours = transformers.GPT2Tokenizer.from_pretrained(path), zoo.load(path)
    pieces = ours.tokenizer.pieces
    end, real = tokenizer.eos_token, [i for i in range(3, len(pieces))]
    columns = tokenizer.convert_tokens_to_ids([end, *pieces[4:]])
    pieces = [*pieces[:3], end, *pieces[4:]]
    table = {piece: i for i, piece in enumerate(pieces)}

    def own(row):
        return [table[piece] for piece in tokenizer.convert_ids_to_tokens(row)]

    texts = [end + " ".join(lines[i : i + 40]) for i in range(0, 160, 40)]
    ids = [row[:600] for row in tokenizer(texts).input_ids]
    width = min(map(len, ids))
    ids = torch.tensor([row[:width] for row in ids])
    with torch.no_grad():
        expected = theirs(ids, output_hidden_states=True)
    inputs = np.array([own(row) for row in ids])
    hidden = ours.model.blocks(ours.model.embed(inputs), use_causal_mask=True)
    error = np.abs(ops.convert_to_numpy(hidden) - expected.hidden_states[-1].numpy()).max()
    yield f"hidden states of {inputs.size} tokens, largest difference {error:.1e}", error < 1e-4
    logits = ops.convert_to_numpy(ours.model({"token_ids": inputs}))[..., real]
    error = np.abs(logits - expected.logits.numpy()[..., columns]).max()
    yield f"logits, largest difference {error:.1e}", error < 1e-4

    text = " ".join(lines[:40])
    row = torch.tensor([tokenizer(end + text + end).input_ids])
    with torch.no_grad():
        loss = float(theirs(row, labels=row).loss)
    found = -float(ours.log_probs([text]).mean())
    yield f"nats per token {found:.5f}, there {loss:.5f}", abs(found - loss) < 1e-4

    same, draws, equal = 0, np.random.default_rng(0), 0
    for prompt in lines[: options.texts]:
        row = tokenizer(end + prompt, return_tensors="pt")
        wanted = theirs.generate(**row, max_new_tokens=40, do_sample=False, pad_token_id=0)[0, row.input_ids.shape[1] :]
        (found,) = ours.generate([prompt], max_tokens=40, temperature=0)
        same += found == tokenizer.decode(wanted, skip_special_tokens=True)
        equal += drawn_alike(ours, theirs, own(row.input_ids[0]), columns, draws.random((20, 1)))
    yield f"greedy texts of 40 tokens: {same} of {options.texts} the same", same == options.texts
    yield f"sampled texts of 20 tokens: {equal} of {options.texts} the same", equal == options.texts


def drawn_alike(ours, theirs, prompt, columns, uniforms):
    """Draws tokens, and returns whether they are those that the same random numbers draw by the logits there."""
    state, last = ours.model.init_state(np.array([prompt], "int32"), len(uniforms), ours.max_tokens)
    step = ours.model.step_function(ours.max_tokens)
    with torch.no_grad():
        drawn, _ = sample_steps(step, state, last, 0, uniforms.astype("float32"), never={0, 1, 2}, **OPTIONS)
        drawn = ops.convert_to_numpy(drawn)[0]
        row = torch.tensor([[columns[i - 3] for i in (*prompt, *drawn[:-1])]])
        logits = theirs(row).logits[0, len(prompt) - 1 :]
    for change in (
        transformers.TemperatureLogitsWarper(OPTIONS["temperature"]),
        transformers.TopKLogitsWarper(OPTIONS["top_k"]),
        transformers.TopPLogitsWarper(OPTIONS["top_p"]),
    ):
        logits = change(None, logits)
    shares, order = logits.softmax(-1).sort(descending=True)
    places = (shares.cumsum(-1) <= torch.tensor(uniforms)).sum(-1, keepdim=True)
    return order.gather(1, places)[:, 0].tolist() == [columns[i - 3] for i in drawn]


def compare_roberta(path, lines, options):
    """Yields what is compared, and whether it is the same."""
    theirs = transformers.RobertaModel.from_pretrained(path, add_pooling_layer=False).eval()
    tokenizer, ours = transformers.RobertaTokenizer.from_pretrained(path), zoo.load(path)
    texts = [*lines[: options.texts], " ".join(lines[:200])]
    batch = tokenizer(texts, return_tensors="pt", padding=True, truncation=True, max_length=512)
    with torch.no_grad():
        expected = theirs(**batch).last_hidden_state.numpy()
    pieces = ours.tokenizer.pieces
    table = {piece: i for i, piece in enumerate(pieces)}
    ids = np.array([[table[piece] for piece in tokenizer.convert_ids_to_tokens(row)] for row in batch.input_ids])
    found, mask = ops.convert_to_numpy(ours.model({"token_ids": ids})), batch.attention_mask.numpy() > 0
    error = np.abs(found - expected)[mask].max()
    passed = error < 1e-4 and ids[~mask].max() == 0
    yield f"hidden states of {mask.sum()} tokens, largest difference {error:.1e}", passed
    means = np.stack([row[real].mean(0) for row, real in zip(expected, mask)])
    error = np.abs(ours.embed(texts) - means / np.linalg.norm(means, axis=1, keepdims=True)).max()
    yield f"embeddings, largest difference {error:.1e}", error < 1e-5
    yield "mask and padding", (pieces[ours.tokenizer.mask_id], pieces[0]) == ("<mask>", "<pad>")


if __name__ == "__main__":
    sys.exit(main())
