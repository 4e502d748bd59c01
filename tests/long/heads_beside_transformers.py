"""Classifiers and taggers of BERT, DistilBERT and RoBERTa beside transformers with torch, random weights, real sizes.

    KERAS_BACKEND=torch python tests/long/heads_beside_transformers.py

Needs transformers and torch, in an environment of their own or in this one. `--folder` compares a classifier on disk
instead, such as one of published weights.
"""

import argparse
import pathlib
import sys
import tempfile

import numpy as np
import tokenizers
import torch
import transformers

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

import zoo
from zoo.conversion.from_bert import load_bert
from zoo.conversion.to_hugging_face import write_hugging_face

TEXTS = [
    "A dog runs on the beach.",
    "",
    "Naïve Straße?",
    "Rates rose by 3.5 %. " * 80,
    "no",
    "I didn't say so!",
]
WORDS = [text.split() for text in TEXTS if 0 < len(text) < 100]
PAIRS = [*zip(TEXTS, reversed(TEXTS))]
LABELS = {0: "bad", 1: "fair", 2: "good"}
CONFIGS = {
    "Bert": transformers.BertConfig,
    "DistilBert": transformers.DistilBertConfig,
    "Roberta": transformers.RobertaConfig,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=pathlib.Path, help="folder of a classifier")
    options = parser.parse_args()
    results = [*compare_classifier(options.folder)] if options.folder else []
    with tempfile.TemporaryDirectory() as parent:
        for family in [] if options.folder else CONFIGS:
            for end, compare in (("Sequence", compare_classifier), ("Token", compare_tagger)):
                folder = make(pathlib.Path(parent) / f"{family}{end}", family, f"{family}For{end}Classification")
                results += compare(folder)
        results += [] if options.folder else compare_classifier(pathlib.Path(parent) / "BertSequence", PAIRS)
    for what, passed in results:
        print(f"{'ok  ' if passed else 'FAIL'} {what}")
    return not all(passed for _, passed in results)


def make(folder, family, architecture):
    """Writes a model with random weights, large enough that its outputs differ, and a vocabulary."""
    torch.manual_seed(1)
    settings = {"id2label": LABELS, "initializer_range": 0.05}
    if family == "Roberta":
        settings |= {"vocab_size": write_byte_pairs(folder), "max_position_embeddings": 514, "type_vocab_size": 1}
    else:
        encoder = zoo.load("encoder/minilm")
        write_hugging_face(encoder, folder)
        (folder / "model.safetensors").unlink()
        settings["vocab_size"] = encoder.tokenizer.vocabulary_size
    getattr(transformers, architecture)(CONFIGS[family](**settings)).save_pretrained(folder)
    return folder


def write_byte_pairs(folder):
    """Writes byte pairs that are learned from this file; returns their number."""
    folder.mkdir()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trained = tokenizers.ByteLevelBPETokenizer()
    lines = pathlib.Path(__file__).read_text("utf-8").splitlines()
    trained.train_from_iterator(lines, vocab_size=1000, special_tokens=special, show_progress=False)
    trained.save_model(str(folder))
    tokenizer = transformers.RobertaTokenizer.from_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return len(tokenizer)


def compare_classifier(folder, texts=TEXTS):
    """Yields what is compared, and whether it is the same."""
    pairs = texts is PAIRS
    ours = load_bert(folder, pairs=True) if pairs else zoo.load(folder)
    theirs = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    columns = map(list, zip(*texts)) if pairs else [texts]
    batch = tokenizer(*columns, return_tensors="pt", padding=True, truncation=True, max_length=ours.max_tokens)
    with torch.no_grad():
        expected = theirs(**batch).logits.softmax(-1).numpy()
    ids, found = ours.rows(texts)[0], ours.probabilities(texts)
    numbers = tokenizer.convert_tokens_to_ids([*ours.tokenizer.pieces])
    rows = [[numbers[i] for i in row] for row in np.split(ids.ids, ids.offsets[1:-1])]
    real = [row[mask > 0].tolist() for row, mask in zip(batch.input_ids.numpy(), batch.attention_mask.numpy())]
    error = np.abs(found - expected).max()
    name = type(theirs).__name__ + " of pairs" * pairs
    yield f"{name}: ids of {len(texts)} texts", rows == real
    spread = np.ptp(expected, axis=0).max()
    yield f"{name}: probabilities, which differ by {spread:.2f}, largest difference {error:.1e}", error < 1e-4 < spread


def compare_tagger(folder):
    """Yields what is compared, and whether it is the same."""
    ours, theirs = zoo.load(folder), transformers.AutoModelForTokenClassification.from_pretrained(folder).eval()
    spaces = {"add_prefix_space": True} if theirs.config.model_type == "roberta" else {}
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, use_fast=True, **spaces)
    errors = []
    for words, found in zip(WORDS, ours.probabilities(WORDS)):
        batch = tokenizer([words], is_split_into_words=True, return_tensors="pt")
        numbers = batch.word_ids()
        with torch.no_grad():
            rows = theirs(**batch).logits.softmax(-1).numpy()[0]
        errors.append(np.abs(found - rows[[numbers.index(i) for i in range(len(words))]]).max())
    name = type(theirs).__name__
    yield f"{name}: probabilities of {len(errors)} sentences, largest difference {max(errors):.1e}", max(errors) < 1e-4


if __name__ == "__main__":
    sys.exit(main())
