"""Classifiers and taggers of BERT and DistilBERT beside transformers with torch, random weights at the real sizes.

    KERAS_BACKEND=torch python tests/long/heads_beside_transformers.py

Needs transformers and torch, in an environment of their own or in this one. `--folder` compares a classifier on disk
instead, such as one of published weights.
"""

import argparse
import pathlib
import sys
import tempfile

import numpy as np
import torch
import transformers

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

import zoo
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
LABELS = {0: "bad", 1: "fair", 2: "good"}
CONFIGS = {
    "Bert": transformers.BertConfig,
    "DistilBert": transformers.DistilBertConfig,
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
    for what, passed in results:
        print(f"{'ok  ' if passed else 'FAIL'} {what}")
    return not all(passed for _, passed in results)


def make(folder, family, architecture):
    """Writes a model with random weights, large enough that its outputs differ, and the vocabulary of MiniLM."""
    torch.manual_seed(1)
    encoder = zoo.load("encoder/minilm")
    write_hugging_face(encoder, folder)
    (folder / "model.safetensors").unlink()
    config = CONFIGS[family](vocab_size=encoder.tokenizer.vocabulary_size, id2label=LABELS, initializer_range=0.05)
    getattr(transformers, architecture)(config).save_pretrained(folder)
    return folder


def compare_classifier(folder):
    """Yields what is compared, and whether it is the same."""
    ours, theirs = zoo.load(folder), transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    batch = tokenizer(TEXTS, return_tensors="pt", padding=True, truncation=True, max_length=ours.max_tokens)
    with torch.no_grad():
        expected = theirs(**batch).logits.softmax(-1).numpy()
    ids, found = ours.rows(TEXTS)[0], ours.probabilities(TEXTS)
    real = [row[mask > 0].tolist() for row, mask in zip(batch.input_ids.numpy(), batch.attention_mask.numpy())]
    error = np.abs(found - expected).max()
    name = type(theirs).__name__
    yield f"{name}: ids of {len(TEXTS)} texts", [row.tolist() for row in np.split(ids.ids, ids.offsets[1:-1])] == real
    spread = np.ptp(expected, axis=0).max()
    yield f"{name}: probabilities, which differ by {spread:.2f}, largest difference {error:.1e}", error < 1e-4 < spread


def compare_tagger(folder):
    """Yields what is compared, and whether it is the same."""
    ours, theirs = zoo.load(folder), transformers.AutoModelForTokenClassification.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, use_fast=True)
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
