"""Tests of the pretraining task: training, checkpoints, fine-tuning by other tasks, export."""

import gzip
import random
import types

import numpy as np
import pytest
from report_checks import check_report
from run_states import copied_at_evaluation, was_resumed

import zoo
from zoo.classification import task as classification
from zoo.classification.data import open_examples
from zoo.classification.recipes import SMALL
from zoo.config import EncoderConfig, Recipe, TrainingConfig
from zoo.config_values import override
from zoo.corpora.plain_texts import open_texts
from zoo.pretraining import task
from zoo.pretraining.__main__ import main
from zoo.serving.sentence_encoder import SentenceEncoder
from zoo.storage.arrays import named_arrays
from zoo.text.word_pieces import WordPieceTokenizer

pytestmark = pytest.mark.slow

RECIPE = Recipe(
    EncoderConfig(vocabulary_size=320, num_layers=1, hidden_dim=32, intermediate_dim=64, num_heads=2, dropout=0.0),
    TrainingConfig(
        batch_tokens=1024,
        steps=300,
        warmup_steps=30,
        peak_learning_rate=0.01,
        cooldown_steps=200,
        evaluate_every=100,
        average=1,
        max_tokens=32,
        label_smoothing=0.0,
        score="accuracy",
    ),
    source="invented",
)
ECHOES = {"te": "lo", "pana": "kir", "ute": "bim", "nok": "drum"}


def texts(count, seed):
    """Yields texts in which each word is followed by its partner, which determines a masked word."""
    rng = random.Random(seed)
    return [" ".join(f"{w} {ECHOES[w]}" for w in rng.choices([*ECHOES], k=rng.randint(3, 6))) for _ in range(count)]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder, lines = tmp_path_factory.mktemp("pretrained") / "run", []
    with copied_at_evaluation(2, folder, folder.with_name("half")):
        encoder = task.train(RECIPE, texts(400, 1), texts(60, 2), folder, {"name": "echoes"}, log=lines.append)
    return types.SimpleNamespace(encoder=encoder, folder=folder, log=lines)


def test_trained_encoder_predicts_masked_tokens(trained):
    evaluation = task.evaluate(trained.encoder, texts(60, 3))
    accuracy, perplexity, constant = evaluation.scores
    assert 1 / 8 < constant.value / 100 < 30 / 100 and accuracy.value > 75
    assert perplexity.value < 4 and 0 < accuracy.interval < 10
    assert np.log(perplexity.value) == pytest.approx(evaluation.loss)
    found = evaluation.outcomes()
    gold, predicted = evaluation.gold, evaluation.predicted
    shown = [found.show(i) for i in range(len(found.scores))]
    for score, (count, piece, _) in zip(found.scores, shown):
        (number,) = [i for i, name in enumerate(trained.encoder.tokenizer.pieces) if repr(name) == piece]
        assert int(count.split()[0]) == (gold == number).sum() >= 10
        np.testing.assert_allclose(score, 100 * (predicted == number)[gold == number].mean())
    check_report(trained.folder, trained.encoder.card)


def test_checkpoint_restores_encoder(trained):
    loaded = zoo.load(trained.folder / "checkpoint")
    for name, array in named_arrays(trained.encoder.model).items():
        np.testing.assert_array_equal(named_arrays(loaded.model)[name], array)
    np.testing.assert_allclose(loaded.embed(["te lo", ""]), trained.encoder.embed(["te lo", ""]), atol=1e-6)
    assert loaded.card["task"] == "pretraining" and loaded.card["scores"][0]["metric"] == "masked accuracy"


def test_exported_encoder_embeds(trained, tmp_path):
    pytest.importorskip("tensorflow_text", reason="tensorflow-text is not installed")
    import tensorflow as tf

    checkpoint = ["--checkpoint", str(trained.folder / "checkpoint")]
    assert main(["export", *checkpoint, "--output", str(tmp_path / "served"), "--max-bytes", "50"]) == 0
    served = tf.saved_model.load(str(tmp_path / "served")).signatures["serving_default"]
    texts = ["te lo pana", "", "nok"]
    np.testing.assert_allclose(served(tf.constant(texts))["embeddings"], trained.encoder.embed(texts), atol=1e-5)
    with pytest.raises(tf.errors.InvalidArgumentError, match="at most 50 bytes"):
        served(tf.constant(["te lo " * 20]))


def test_command_embed_prints_vectors(trained, capsys):
    checkpoint = ["--checkpoint", str(trained.folder / "checkpoint")]
    assert main(["embed", *checkpoint, "--text", "te lo", "--text", ""]) == 0
    rows = [[float(number) for number in line.split("\t")] for line in capsys.readouterr().out.splitlines()]
    np.testing.assert_allclose(rows, trained.encoder.embed(["te lo", ""]), atol=1e-6)


def test_interrupted_run_resumes(trained):
    """The weights are the same, as are the masks."""
    arguments = RECIPE, texts(400, 1), texts(60, 2), trained.folder.with_name("half"), {"name": "echoes"}
    resumed = task.train(*arguments, log=lambda text: None)
    assert was_resumed(arguments[3], trained.folder)
    for name, array in named_arrays(resumed.model).items():
        np.testing.assert_array_equal(array, named_arrays(trained.encoder.model)[name], err_msg=name)


def test_other_tasks_fine_tune_encoder(trained, tmp_path):
    path = tmp_path / "train.tsv"
    path.write_text("a\tte lo\nb\tpana kir\n" * 4, "utf-8")
    changes = ["training.steps=1", "training.cooldown_steps=0", "training.evaluate_every=1"]
    recipe = override(SMALL, [*changes, "training.peak_learning_rate=1e-9"])
    reader = open_examples(path)
    tuned = classification.train(recipe, reader, reader, tmp_path / "a", initial=trained.encoder, log=lambda text: None)
    assert tuned.tokenizer.digest == trained.encoder.tokenizer.digest
    given = named_arrays(trained.encoder.model)
    shared = {name: array for name, array in named_arrays(tuned.model).items() if name.startswith("text_encoder")}
    assert shared and all(np.abs(array - given[name]).max() < 1e-6 for name, array in shared.items())


def test_pretraining_starts_from_other_encoders(trained, tmp_path):
    """A checkpoint provides all weights; an encoder with word pieces, such as BERT, provides the encoder's."""
    changes = ["training.steps=1", "training.cooldown_steps=0", "training.evaluate_every=1", "model.hidden_dim=64"]
    recipe = override(RECIPE, [*changes, "training.peak_learning_rate=1e-9"])
    again = task.train(
        recipe, texts(40, 1), texts(9, 2), tmp_path / "a", initial=trained.encoder, log=lambda text: None
    )
    for name, array in named_arrays(again.model).items():
        np.testing.assert_allclose(array, named_arrays(trained.encoder.model)[name], atol=1e-6, err_msg=name)
    tokenizer = WordPieceTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *ECHOES, *ECHOES.values()])
    from zoo.models.encoder_model import EncoderModel

    bare = EncoderModel(override(RECIPE.model, [f"vocabulary_size={tokenizer.vocabulary_size}", "max_positions=8"]))
    bare.build()
    initial = SentenceEncoder(bare, tokenizer, 8)
    further = task.train(recipe, texts(40, 1), texts(9, 2), tmp_path / "b", initial=initial, log=lambda text: None)
    assert further.max_tokens == 8 and zoo.load(tmp_path / "b" / "checkpoint").tokenizer.pieces == tokenizer.pieces
    for name, array in named_arrays(bare).items():
        np.testing.assert_allclose(named_arrays(further.model)[name], array, atol=1e-6, err_msg=name)


def test_long_texts_are_split_into_rows(trained):
    text = " ".join(texts(30, 4))
    rows = task.encode_rows([text, "te"], trained.encoder.tokenizer, 32)
    (ids,) = trained.encoder.tokenizer.encode([text])
    inner = [rows.ids[a + 1 : b - 1].tolist() for a, b in zip(rows.offsets[:-1], rows.offsets[1:])]
    assert sum(inner[:-1], []) == ids and rows.lengths.max() == 32 and set(rows.ids[rows.offsets[:-1]]) == {2}


def test_read_texts_from_lines_and_columns(tmp_path):
    lines = tmp_path / "lines.txt.gz"
    lines.write_bytes(gzip.compress(b"te\tlo\n\n \nk\xffr\npana\n"))
    reader = open_texts(lines)
    assert [*reader] == ["te\tlo", "pana"]
    assert str(reader.report) == "2 texts from 5 lines; 2 short (line 2, 3); 1 broken (line 4)"
    table = tmp_path / "table.tsv"
    table.write_text("1\tte lo\tkir\n2\tbim\n3\t\tute\n", "utf-8")
    reader = open_texts(table, columns=[1, 2])
    assert [*reader] == ["te lo", "kir", "ute"] and reader.report.short.first == [2, 3]


def test_command_line(tmp_path, capsys):
    for name, count, seed in (("train", 200, 1), ("dev", 30, 2)):
        (tmp_path / f"{name}.txt").write_text("\n".join(texts(count, seed)) + "\n", "utf-8")
    changes = [f"model.{n}" for n in ("hidden_dim=16", "num_layers=1", "intermediate_dim=16", "vocabulary_size=300")]
    changes += [f"training.{n}" for n in ("steps=4", "warmup_steps=1", "cooldown_steps=2", "evaluate_every=2")]
    options = [part for change in changes for part in ("--set", change)]
    data = ["--data", str(tmp_path / "train.txt"), "--dev-data", str(tmp_path / "dev.txt")]
    assert main(["train", *data, "--output", str(tmp_path / "run"), *options]) == 0
    evaluation = ["evaluate", "--checkpoint", str(tmp_path / "run/checkpoint"), "--data"]
    assert main([*evaluation, data[3]]) == 0
    assert capsys.readouterr().out.startswith("masked accuracy ")
    (tmp_path / "none.txt").write_text("\n")
    assert main([*evaluation, str(tmp_path / "none.txt")]) == 2
    assert "at least one text to evaluate on" in capsys.readouterr().err
    broken = ["--data", str(tmp_path / "train.txt"), "--dev-data", str(tmp_path / "none.txt")]
    assert main(["train", *broken, "--output", str(tmp_path / "b"), *options]) == 2
    assert "Most lines of the corpus 'dev' must have an example" in capsys.readouterr().err


def test_settings_of_other_tasks_raise(tmp_path):
    for change, message in (
        ("score=bleu", "one of accuracy, loss"),
        ("token_dropout=0.1", "`token_dropout` has no"),
    ):
        with pytest.raises(ValueError, match=message):
            task.train(override(RECIPE, [f"training.{change}"]), ["te"], ["te"], tmp_path / "a")
