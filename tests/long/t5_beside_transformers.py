"""T5 of real size, 1.0 and 1.1, says what it says in transformers: ids, hidden states, logits and both searches.

What is written for transformers says the same there, too.

It needs an environment with torch, transformers, protobuf, keras, sentencepiece, safetensors and rich, and no
TensorFlow:

    KERAS_BACKEND=torch python tests/long/t5_beside_transformers.py --data dev.tsv

The weights are random; the vocabulary is learned from the lines of the corpus.
"""

import argparse
import os
import pathlib
import sys
import tempfile

os.environ.setdefault("KERAS_BACKEND", "torch")
sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))

import numpy as np
import sentencepiece
import torch
import transformers
from keras import ops

from zoo.conversion.from_t5 import load_t5
from zoo.conversion.to_hugging_face import write_hugging_face

TEXTS = ["Ünïcödé 漢字 emoji 😀 — “quotes” …", "  two  spaces ", "ALL CAPS", "x", "12,345.67 €", "don't", "ﬁne ½ Ⅷ"]
SENTINELS = [
    "The <extra_id_0> walks in <extra_id_1> park",
    "<extra_id_99> a",
    "a <extra_id_0>",
    "<extra_id_5><extra_id_4>",
]
PREFIX = "translate English to German: "
LONGEST, UNUSED_ROWS = 40, 28
SIZES = {
    "1.0, as t5-small": {"num_heads": 8, "d_ff": 2048, "num_layers": 6, "feed_forward_proj": "relu"},
    "1.1, as t5-v1_1-small": {"num_heads": 6, "d_ff": 1024, "num_layers": 8, "feed_forward_proj": "gated-gelu"},
}


def main() -> int:
    """Prints what was compared; returns 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="lines of source, tab, target")
    parser.add_argument("--lines", type=int, default=1000, help="lines to encode; 1,000 by default")
    parser.add_argument("--searches", type=int, default=50, help="lines to translate; 50 by default")
    parser.add_argument("--vocabulary", type=int, default=32_000, help="pieces at most; 32,000 by default")
    options = parser.parse_args()
    lines = pathlib.Path(options.data).read_text("utf-8").splitlines()
    texts = [side for line in lines for side in line.split("\t")[:2]]
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for name, sizes in SIZES.items():
            path = pathlib.Path(folder) / name
            theirs = make_folder(path, texts, sizes, options.vocabulary)
            for what, passed in compare(path, theirs, texts[: options.lines], options.searches):
                print(f"{'ok  ' if passed else 'FAIL'} {name}: {what}", flush=True)
                failed = failed or not passed
    return int(failed)


def make_folder(path, texts, sizes, vocabulary):
    """Writes a T5 with random weights; returns it."""
    path.mkdir()
    with open(path / "spiece.model", "wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(texts),
            model_writer=file,
            vocab_size=vocabulary,
            hard_vocab_limit=False,
            pad_id=0,
            eos_id=1,
            unk_id=2,
            bos_id=-1,
            minloglevel=2,
        )
    rows = sentencepiece.SentencePieceProcessor(model_file=str(path / "spiece.model")).vocab_size() + 100
    gated = sizes["feed_forward_proj"] == "gated-gelu"
    config = transformers.T5Config(
        vocab_size=rows + UNUSED_ROWS,
        d_model=512,
        d_kv=64,
        decoder_start_token_id=0,
        tie_word_embeddings=not gated,
        **sizes,
    )
    torch.manual_seed(1)
    model = transformers.T5ForConditionalGeneration(config).eval()
    with torch.no_grad():
        if gated:
            model.lm_head.weight = torch.nn.Parameter(torch.randn_like(model.shared.weight) * 0.1)
        for name, weight in model.named_parameters():
            if "layer_norm" in name:
                weight.add_(torch.randn_like(weight) * 0.1)
            if "relative_attention_bias" in name:
                weight.copy_(torch.randn_like(weight))
        make_ends(model, rows)
    model.save_pretrained(path)
    return model


def make_ends(model, rows):
    """Makes the end as probable as others, so that many outputs end by themselves, after some tokens.

    Padding and the rows that no piece has become improbable, as training makes them: ours have no such rows, and the
    start token has the vector of padding.
    """
    source = torch.randint(3, rows, (16, 12))
    states = model(input_ids=source, decoder_input_ids=source, output_hidden_states=True).decoder_hidden_states[-1]
    mean, best = states.mean((0, 1)), (states @ model.lm_head.weight.T).amax(-1).mean()
    direction = mean / (mean @ mean) * best
    direction, tried = direction + 0.5 * direction.norm() * torch.randn_like(direction) / len(direction) ** 0.5, {}
    model.lm_head.weight[[0, *range(rows, len(model.lm_head.weight))]] = -2 * direction
    for factor in np.linspace(0.5, 1.5, 11):
        model.lm_head.weight[1] = direction * factor
        ids = model.generate(source, max_new_tokens=LONGEST, do_sample=False)[:, 1:]
        lengths = (ids > 1).sum(1)
        tried[factor] = int(((lengths > 2) & (lengths < LONGEST - 1)).sum())
    model.lm_head.weight[1] = direction * max(tried, key=tried.get)


def compare(path, theirs, texts, searches):
    """Yields what is compared, and whether it is the same."""
    tokenizer = transformers.T5Tokenizer.from_pretrained(path)
    ours, prefixed = load_t5(path), load_t5(path, PREFIX)
    ours.max_repeats = 0
    rows = ours.tokenizer.rows
    sources = [*texts, *TEXTS, *SENTINELS]
    searches = min(searches, len(sources))
    for name, found, prefix in (("", ours, ""), (" with a prefix", prefixed, PREFIX)):
        expected = [tokenizer(prefix + text).input_ids[:-1] for text in sources]
        ids = [rows[row].tolist() for row in found.tokenizer.encode(sources)]
        yield f"ids of {len(ids)} texts{name}", ids == expected
    slow = sentencepiece.SentencePieceProcessor(model_file=str(path / "spiece.model"))
    found = [rows[row].tolist() for row in ours.tokenizer.encode([*texts, *TEXTS])]
    yield f"ids of sentencepiece itself, {len(found)} texts", found == slow.encode([*texts, *TEXTS])
    decoded = ours.tokenizer.decode(ours.tokenizer.encode(sources))
    expected = [tokenizer.decode(tokenizer(text).input_ids[:-1]).replace("<unk>", "").strip() for text in sources]
    yield "texts of ids", decoded == expected

    numbers = {row: i for i, row in reversed([*enumerate(rows.tolist())])}
    long = " ".join(texts[8:40])  # Of more steps than the last bucket begins at.
    batch = tokenizer([*texts[:7], long], return_tensors="pt", padding=True)
    words = tokenizer([long] * 8, return_tensors="pt").input_ids[:, :150]
    with torch.no_grad():
        expected = theirs(**batch, decoder_input_ids=torch.cat([torch.zeros(8, 1, dtype=int), words], 1))
    source = np.vectorize(numbers.get)(batch.input_ids.numpy())
    target = np.concatenate([np.full((8, 1), 2), np.vectorize(numbers.get)(words.numpy())], 1)
    states = np.asarray(ops.convert_to_numpy(ours.model.encode(source)))
    error = np.abs(states - expected.encoder_last_hidden_state.numpy())[source > 0].max()
    yield f"hidden states of the encoder, {source.shape[1]} steps, largest difference {error:.1e}", error < 1e-4
    logits = ops.convert_to_numpy(ours.model({"source": source, "target": target}))
    error = np.abs(logits - expected.logits.numpy()[..., rows]).max()
    size = np.abs(logits).max()
    yield f"logits, {target.shape[1]} steps, of up to {size:.1f}, largest difference {error:.1e}", error < 1e-4

    write_hugging_face(ours, path / "written")
    written = transformers.T5ForConditionalGeneration.from_pretrained(path / "written").eval()
    same = transformers.T5Tokenizer.from_pretrained(path / "written")(sources).input_ids == tokenizer(sources).input_ids
    with torch.no_grad():
        found = written(**batch, decoder_input_ids=torch.cat([torch.zeros(8, 1, dtype=int), words], 1)).logits.numpy()
    error = np.abs(found - expected.logits.numpy()[..., : rows.max() + 1]).max()
    yield f"what is written, in transformers: ids, and logits, largest difference {error:.1e}", same and error < 1e-4

    never = [[0], *([row] for row in range(rows.max() + 1, theirs.config.vocab_size))]
    for beams in (1, 4):
        search, same, compared, lengths = ours.search(beam_size=beams, length_penalty=0.0), 0, 0, []
        for text in sources[:searches]:
            row = ours.tokenizer.encode([text])[0]
            found = search(np.array([[*row, 3]], "int32"), np.array([LONGEST], "int32"))
            best = [int(i) for i in ops.convert_to_numpy(found.ids)[0, 0] if i > 3]
            wanted = theirs.generate(
                **tokenizer([text], return_tensors="pt"),
                num_beams=beams,
                max_new_tokens=LONGEST,
                do_sample=False,
                bad_words_ids=never,
                **({"length_penalty": 0.0, "early_stopping": "never"} if beams > 1 else {}),
            )[0]
            if beams > 1 and 1 not in wanted:
                continue  # Theirs stop at the longest length, ours end there, which counts in the score.
            compared += 1
            same += rows[best].tolist() == [int(i) for i in wanted[1:LONGEST] if i > 2]
            lengths.append(len(best))
        note = f"{np.mean(lengths):.1f} tokens on average, {sum(0 < n < LONGEST - 1 for n in lengths)} end after some"
        yield f"beam of {beams}: {same} of {compared} the same; {note}", same == compared > 0


if __name__ == "__main__":
    sys.exit(main())
