"""A Marian translator of real size says what it says in transformers: ids, hidden states, logits and both searches.

What is written for transformers says the same there, too: that translator, and an encoder.

It needs an environment with torch, transformers, keras, sentencepiece, safetensors and rich, and no TensorFlow:

    KERAS_BACKEND=torch python tests/long/beside_transformers.py --data dev.tsv

The weights are random; the vocabularies are learned from the lines of the corpus.
"""

import argparse
import json
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

import zoo
from zoo.conversion.from_marian import load_marian
from zoo.conversion.pickles import read_pickled_arrays
from zoo.conversion.to_hugging_face import write_hugging_face

TEXTS = ["Ünïcödé 漢字 emoji 😀 — “quotes” …", "  two  spaces ", "ALL CAPS", "x", "12,345.67 €", "don't"]
LONGEST = 40


def main() -> int:
    """Prints what was compared; returns 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="lines of source, tab, target")
    parser.add_argument("--lines", type=int, default=1000, help="lines to encode; 1,000 by default")
    parser.add_argument("--searches", type=int, default=50, help="lines to translate; 50 by default")
    options = parser.parse_args()
    lines = pathlib.Path(options.data).read_text("utf-8").splitlines()
    pairs = [line.split("\t")[:2] for line in lines]
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for name, languages in (("one target language", []), ("two target languages", ["fra", "ita"])):
            path = pathlib.Path(folder) / name
            make_folder(path, pairs, languages)
            for what, passed in compare(path, pairs, languages, options):
                print(f"{'ok  ' if passed else 'FAIL'} {name}: {what}", flush=True)
                failed = failed or not passed
        for what, passed in compare_encoder(pathlib.Path(folder), pairs):
            print(f"{'ok  ' if passed else 'FAIL'} {what}", flush=True)
            failed = failed or not passed
    return int(failed)


def make_folder(path, pairs, languages):
    """Writes a translator with the sizes of OPUS-MT and random weights."""
    path.mkdir()
    pieces = ["</s>", "<unk>"]
    for side, name in enumerate(("source", "target")):
        with open(path / f"{name}.spm", "wb") as file:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=(pair[side] for pair in pairs),
                model_writer=file,
                vocab_size=4000,
                hard_vocab_limit=False,
                minloglevel=2,
            )
        model = sentencepiece.SentencePieceProcessor(model_file=str(path / f"{name}.spm"))
        pieces += [model.id_to_piece(i) for i in range(3, model.vocab_size()) if i % 50 != 7]  # Some are missing.
    pieces = [*dict.fromkeys(pieces), *(f">>{language}<<" for language in languages), "<pad>"]
    (path / "vocab.json").write_text(json.dumps({piece: i for i, piece in enumerate(pieces)}))
    (path / "tokenizer_config.json").write_text('{"source_lang": "eng", "target_lang": "deu"}')
    last = len(pieces) - 1
    config = transformers.MarianConfig(
        vocab_size=last + 1,
        d_model=512,
        encoder_layers=6,
        decoder_layers=6,
        encoder_attention_heads=8,
        decoder_attention_heads=8,
        encoder_ffn_dim=2048,
        decoder_ffn_dim=2048,
        activation_function="swish",
        scale_embedding=True,
        pad_token_id=last,
        decoder_start_token_id=last,
        eos_token_id=0,
        bad_words_ids=[[last]],
        init_std=0.05,
    )
    torch.manual_seed(1)
    model = transformers.MarianMTModel(config).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "embed_positions" not in name:
                weight.add_(torch.randn_like(weight) * 0.03)
        model.model.shared.weight[last] = 0
        model.final_logits_bias.copy_(torch.randn(1, last + 1) * 0.3)
        model.final_logits_bias[0, 0] = 5.5  # So that many translations end.
    model.save_pretrained(path)
    for name, is_zip in (("new.bin", True), ("legacy.bin", False)):
        torch.save(dict(model.state_dict()), path / name, _use_new_zipfile_serialization=is_zip)


def compare(path, pairs, languages, options):
    """Yields what is compared, and whether it is the same."""
    theirs = transformers.MarianMTModel.from_pretrained(path).eval()
    tokenizer = transformers.MarianTokenizer.from_pretrained(path)
    ours = load_marian(path, target_language=languages[0] if languages else None)
    ours.max_repeats = 0
    stored = {name: array.numpy() for name, array in theirs.state_dict().items()}
    for name in ("new.bin", "legacy.bin"):
        found = read_pickled_arrays(path / name)
        yield f"weights of {name}", all(np.array_equal(found[key], stored[key]) for key in stored)

    prefix = f">>{languages[0]}<< " if languages else ""
    sources, targets = ([*side[: options.lines], *TEXTS] for side in zip(*pairs))
    pieces = ours.tokenizer.pieces
    for name, rows, texts in (
        ("source", ours.tokenizer.encode(sources), [tokenizer(prefix + text) for text in sources]),
        ("target", ours.tokenizer.encode_targets(targets), [tokenizer(text_target=text) for text in targets]),
    ):
        found = [[pieces[i] for i in row] for row in rows]
        expected = [tokenizer.convert_ids_to_tokens(text.input_ids)[:-1] for text in texts]
        yield f"ids of {len(rows)} {name} texts", found == expected

    batch = tokenizer([prefix + text for text in sources[:8]], return_tensors="pt", padding=True)
    start = torch.full((8, 1), theirs.config.decoder_start_token_id)
    words = torch.tensor([row.input_ids[:1] * 6 for row in texts[:8]])
    with torch.no_grad():
        expected = theirs(**batch, decoder_input_ids=torch.cat([start, words], 1))
    numbers = {piece: i for i, piece in enumerate(pieces)} | {"<pad>": 0}
    source = np.vectorize(lambda i: numbers[tokenizer.convert_ids_to_tokens(int(i))])(batch.input_ids)
    target = np.vectorize(lambda i: numbers[tokenizer.convert_ids_to_tokens(int(i))])(words)
    target = np.concatenate([np.full((8, 1), 2), target], 1)
    order = np.arange(512).reshape(2, -1).T.ravel()
    states = np.asarray(ops.convert_to_numpy(ours.model.encode(source)))
    error = np.abs(states - expected.encoder_last_hidden_state.numpy()[..., order])[source > 0].max()
    yield f"hidden states of the encoder, largest difference {error:.1e}", error < 1e-4
    real = [i for i in range(len(pieces)) if i != 2]
    columns = tokenizer.convert_tokens_to_ids([pieces[i] for i in real])
    logits = ops.convert_to_numpy(ours.model({"source": source, "target": target}))[..., real]
    error = np.abs(logits - expected.logits.numpy()[..., columns]).max()
    yield f"logits, largest difference {error:.1e}", error < 1e-4

    write_hugging_face(ours, path / "written")
    written = transformers.MarianMTModel.from_pretrained(path / "written").eval()
    again = transformers.MarianTokenizer.from_pretrained(path / "written")
    with torch.no_grad():
        texts = again([prefix + text for text in sources[:8]], return_tensors="pt", padding=True)
        begin = torch.full((8, 1), written.config.decoder_start_token_id)
        found = written(**texts, decoder_input_ids=begin).logits[:, 0].numpy()
    columns_again = again.convert_tokens_to_ids([pieces[i] for i in real])
    unpadded = [i for i, piece in enumerate(real) if pieces[piece] != "<pad>"]
    error = np.abs(found[:, columns_again] - expected.logits[:, 0].numpy()[:, columns])[:, unpadded].max()
    yield f"logits of what is written, in transformers, largest difference {error:.1e}", error < 1e-4

    for beams in (1, 4):
        search, same, ended, error = ours.search(beam_size=beams, length_penalty=0.0), 0, 0, 0.0
        for text in sources[: options.searches]:
            row = ours.tokenizer.encode([text])[0]
            found = search(np.array([[*row, 3]], "int32"), np.array([LONGEST], "int32"))
            best = ours.tokenizer.decode(ops.convert_to_numpy(found.ids)[0])[0]
            wanted = theirs.generate(
                **tokenizer([prefix + text], return_tensors="pt"),
                num_beams=beams,
                max_new_tokens=LONGEST,
                do_sample=False,
                return_dict_in_generate=True,
                output_scores=True,
                **({"length_penalty": 0.0, "early_stopping": "never"} if beams > 1 else {}),
            )
            same += best == tokenizer.batch_decode(wanted.sequences, skip_special_tokens=True)[0]
            # At the longest length, transformers replaces the last token by the end, at no cost.
            if wanted.sequences.shape[1] < LONGEST and beams > 1:
                score = float(ops.convert_to_numpy(found.scores)[0, 0])
                ended, error = ended + 1, max(error, abs(score - float(wanted.sequences_scores[0])))
        note = f", scores of the {ended} that end by themselves within {error:.1e}" if beams > 1 else ""
        yield f"beam of {beams}: {same} of {options.searches} the same{note}", same == options.searches and error < 1e-3


def compare_encoder(path, pairs):
    """Compares the encoder that comes with this package with what is written, in transformers."""
    ours = zoo.load("encoder/minilm")
    write_hugging_face(ours, path / "encoder")
    theirs = transformers.BertModel.from_pretrained(path / "encoder", add_pooling_layer=False).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(path / "encoder")
    texts = [*(source for source, _ in pairs[:1000]), *TEXTS]
    same = [row[1:-1] for row in tokenizer(texts).input_ids] == ours.tokenizer.encode(texts)
    yield f"encoder: ids of {len(texts)} texts", same
    batch = tokenizer(texts[:16], return_tensors="pt", padding=True)
    with torch.no_grad():
        expected = theirs(**batch).last_hidden_state.numpy()
    found = ops.convert_to_numpy(ours.model({"token_ids": batch.input_ids.numpy()}))
    error = np.abs(found - expected)[batch.attention_mask.numpy() > 0].max()
    yield f"encoder: hidden states of what is written, in transformers, largest difference {error:.1e}", error < 1e-4


if __name__ == "__main__":
    sys.exit(main())
