"""Tasks on plain texts train on a prepared corpus as on its texts."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("apache_beam")

from language_recipe import RECIPE

from zoo.corpora.denoising import encode_texts
from zoo.corpora.plain_texts import text_pattern
from zoo.corpora.prepared_corpus import PreparedCorpus
from zoo.language_modelling import task as language_modelling
from zoo.preparation.inputs import open_inputs
from zoo.preparation.pipeline import prepare
from zoo.preparation.rules import Rules
from zoo.pretraining.__main__ import main as pretraining
from zoo.pretraining.predictor import encode_rows
from zoo.storage.arrays import named_arrays
from zoo.text.tokenizer_training import train_tokenizer

TEXTS = [f"{'one two three four five six'[: i % 20 + 3]} {i}" for i in range(80)]
TOKENIZER = train_tokenizer(TEXTS, 300, whole_texts=True)


@pytest.fixture
def prepared(tmp_path):
    (tmp_path / "a.txt").write_text("\n".join([*TEXTS, "", " ", TEXTS[0]]))
    patterns, corpus = text_pattern(str(tmp_path / "a.txt"))
    rules = Rules(("duplicate",))
    prepare(open_inputs(*patterns, **corpus), TOKENIZER, tmp_path / "b", names=("text",), rules=rules, num_shards=2)
    return PreparedCorpus.open(tmp_path / "b")


def texts_of(corpus):
    (rows,) = corpus.token_rows(np.arange(len(corpus)))
    return [TOKENIZER.decode([rows.row(number).tolist()])[0] for number in range(len(corpus))]


def test_rows_are_those_of_the_texts(prepared):
    texts = texts_of(prepared)
    assert sorted(texts) == sorted(TEXTS) and texts != TEXTS
    for one, other in zip(encode_rows(prepared, TOKENIZER, 8), encode_rows(texts, TOKENIZER, 8)):
        np.testing.assert_array_equal(one, other)
    one, other = (encode_texts(corpus, TOKENIZER, 8, sentences=False) for corpus in (prepared, texts))
    for rows, others in ((one.tokens, other.tokens), (one.begins, other.begins)):
        np.testing.assert_array_equal(rows.ids, others.ids)
        np.testing.assert_array_equal(rows.offsets, others.offsets)
    with pytest.raises(ValueError, match="`permute_sentences` needs texts"):
        encode_texts(prepared, TOKENIZER, 8, sentences=True)


@pytest.mark.slow
def test_a_language_model_trains_as_on_the_texts(prepared, tmp_path):
    training = {"steps": 2, "warmup_steps": 1, "cooldown_steps": 0, "evaluate_every": 2}
    recipe = replace(RECIPE, training=replace(RECIPE.training, **training))
    found = []
    for name, corpus in (("prepared", prepared), ("texts", texts_of(prepared))):
        options = {"tokenizer": TOKENIZER, "log": lambda text: None}
        generator = language_modelling.train(recipe, corpus, TEXTS[:3], tmp_path / name, **options)
        found.append(named_arrays(generator.model))
    for name, array in found[0].items():
        np.testing.assert_array_equal(array, found[1][name])


def test_a_language_model_needs_a_vocabulary_of_whole_texts(tmp_path, capsys):
    from zoo.language_modelling.__main__ import main

    train_tokenizer(TEXTS, 300).save(tmp_path / "v.model")
    (tmp_path / "a.txt").write_text("\n".join(TEXTS))
    given = ["--data", str(tmp_path / "a.txt"), "--vocabulary", str(tmp_path / "v.model")]
    assert main(["prepare", *given, "--output", str(tmp_path / "b")]) == 2
    assert "must encode texts as they are" in capsys.readouterr().err and not (tmp_path / "b").exists()


def test_columns_are_chosen_one_at_a_time():
    assert text_pattern("a.txt") == (["a.txt"], {})
    assert text_pattern("a.tsv", columns=[2]) == (["a.tsv"], {"columns": [2], "features": None, "split": "train"})
    with pytest.raises(ValueError, match="One column or feature"):
        text_pattern("a.tsv", columns=[0, 1])


def test_the_corpus_of_another_task_is_refused(prepared, tmp_path, capsys):
    from zoo.translation.__main__ import main

    (tmp_path / "dev.tsv").write_text("a\tb\n")
    arguments = ["train", "--data", str(tmp_path / "b"), "--dev-data", str(tmp_path / "dev.tsv")]
    assert main([*arguments, "--output", str(tmp_path / "c")]) == 2
    assert "must have source and target. Received: text" in capsys.readouterr().err
    TOKENIZER.save(tmp_path / "v.model")
    given = ["--data", str(tmp_path / "a.txt"), "--vocabulary", str(tmp_path / "v.model"), "--processes", "1"]
    assert pretraining(["prepare", *given, "--rules", "--output", str(tmp_path / "d")]) == 0
    found = capsys.readouterr().err  # Four of the 20 beginnings differ from others in a space only.
    assert "16 texts from 83 lines; 1 duplicate (line 83); 64 near duplicate" in found
