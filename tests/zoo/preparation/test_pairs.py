"""A translator trains on a prepared corpus as on its text."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("apache_beam")

from zoo.config import ModelConfig, Recipe, TrainingConfig
from zoo.corpora.prepared_corpus import PreparedCorpus
from zoo.preparation.inputs import open_inputs
from zoo.preparation.pipeline import prepare
from zoo.storage.arrays import named_arrays
from zoo.text.tokenizer_training import train_tokenizer
from zoo.translation import task

PAIRS = [(f"number {i} of {i * i}", f"Nummer {i} von {i * i}") for i in range(60)]
TOKENIZER = train_tokenizer([text for pair in PAIRS for text in pair], 300)
RECIPE = Recipe(
    model=ModelConfig(300, num_encoder_layers=1, num_decoder_layers=1, hidden_dim=16, intermediate_dim=32, num_heads=2),
    training=TrainingConfig(batch_tokens=256, steps=2, warmup_steps=1, evaluate_every=2, score="loss"),
    source="invented",
)


@pytest.mark.slow
@pytest.mark.long
def test_prepared_corpus_trains_like_text(tmp_path):
    def train(corpus, name, recipe=RECIPE, **options):
        return task.train(recipe, corpus, PAIRS[:8], tmp_path / name, log=lambda text: None, **options)

    (tmp_path / "pairs.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS))
    prepare(open_inputs(str(tmp_path / "pairs.tsv"), columns=(0, 1)), TOKENIZER, tmp_path / "prepared", num_shards=3)
    prepared = PreparedCorpus.open(tmp_path / "prepared")
    rows = prepared.token_rows(np.arange(len(prepared)))
    pairs = [tuple(TOKENIZER.decode([side.row(i).tolist() for side in rows])) for i in range(len(prepared))]
    assert sorted(pairs) == sorted(PAIRS) and pairs != PAIRS
    one, other = train(pairs, "text", tokenizer=TOKENIZER), train(prepared, "run")
    for name, array in named_arrays(one.model).items():
        np.testing.assert_array_equal(named_arrays(other.model)[name], array)
    with pytest.raises(ValueError, match="subword_dropout"):
        train(prepared, "sampled", replace(RECIPE, training=replace(RECIPE.training, subword_dropout=0.1)))
    another = train_tokenizer([text for pair in PAIRS for text in pair], 310)
    with pytest.raises(ValueError, match="with its own vocabulary"):
        train(prepared, "another", tokenizer=another)
    assert not (tmp_path / "sampled").exists() and not (tmp_path / "another").exists()
