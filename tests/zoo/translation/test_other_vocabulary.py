"""Translators that start from another one with another vocabulary."""

import dataclasses

import numpy as np
import pytest

from zoo.storage.arrays import named_arrays
from zoo.text.tokenizer_training import train_tokenizer
from zoo.text.word_pieces import WordPieceTokenizer
from zoo.translation import task

ONE_SMALL_STEP = {"steps": 1, "evaluate_every": 1, "peak_learning_rate": 1e-7, "warmup_steps": 1, "cooldown_steps": 0}


@pytest.mark.slow
def test_initial_weights_for_another_vocabulary(trained, corpus, tmp_path):
    """Pieces of both vocabularies keep their vectors, wherever they are; others do not get one of another piece."""
    training = dataclasses.replace(trained.recipe.training, **ONE_SMALL_STEP)
    recipe = dataclasses.replace(trained.recipe, training=training)
    words = [text.upper() for pair in corpus.train for text in pair] + [text for pair in corpus.train for text in pair]
    vocabulary = train_tokenizer(words, 380)
    options = {"initial": trained.translator, "tokenizer": vocabulary}
    lines = []
    found = task.train(recipe, corpus.train, corpus.dev, tmp_path / "run", **options, log=lines.append)
    assert found.tokenizer.digest == vocabulary.digest
    before, after = (named_arrays(translator.model) for translator in (trained.translator, found))
    old, new = before.pop("embedding/embeddings"), after.pop("embedding/embeddings")
    for name, array in before.items():
        np.testing.assert_allclose(after[name], array, atol=3e-7)
    olds = trained.translator.tokenizer.pieces
    shared = [piece for piece in vocabulary.pieces if piece in olds]
    moved = [piece for piece in shared if olds.index(piece) != vocabulary.pieces.index(piece)]
    assert len(moved) > 50 and len(vocabulary.pieces) - len(shared) > 20
    assert any(f"{len(shared)} of {len(vocabulary.pieces)} pieces" in line for line in lines)
    for row, piece in enumerate(vocabulary.pieces):
        distances = np.abs(old - new[row]).max(axis=-1)
        assert [*np.flatnonzero(distances < 3e-7)] == ([olds.index(piece)] if piece in shared else [])


def test_initial_model_with_another_kind_of_vocabulary_raises(trained, corpus, tmp_path):
    pieces = WordPieceTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a"])
    options = {"initial": trained.translator, "tokenizer": pieces}
    with pytest.raises(ValueError, match="same kind as that of the initial model, a Tokenizer. Received: a WordPiece"):
        task.train(trained.recipe, corpus.train, corpus.dev, tmp_path / "run", **options)
