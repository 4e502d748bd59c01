"""Tests of the labelling task: training, checkpoints, long words and sentences, errors."""

import random
import types

import numpy as np
import pytest
from report_checks import check_outcomes, check_report

import zoo
from zoo.config import Recipe, TaggerConfig, TrainingConfig
from zoo.config_values import override
from zoo.corpora.labelled_corpus import NO_LABEL
from zoo.corpora.word_rows import encode_windows, window_labels
from zoo.labelling import task
from zoo.labelling.data import SentenceReader
from zoo.labelling.predictor import WordTagger
from zoo.text.word_pieces import WordPieceTokenizer

PLACES, OTHERS = ["Lorkun", "Bal Tir", "Ost"], ["te", "lo", "pana", "kirute", "bim"]
RECIPE = Recipe(
    TaggerConfig(vocabulary_size=320, num_layers=1, hidden_dim=16, intermediate_dim=32, num_heads=2, dropout=0.0),
    TrainingConfig(
        batch_tokens=512,
        steps=120,
        warmup_steps=20,
        peak_learning_rate=0.02,
        cooldown_steps=60,
        evaluate_every=60,
        average=2,
        max_tokens=32,
        label_smoothing=0.0,
        score="span_f1",
    ),
    source="invented",
)


def sentences(count, seed):
    """Yields sentences in which places after the word "te" have labels B-PLACE, I-PLACE, and others O."""
    rng = random.Random(seed)
    for _ in range(count):
        words, labels = [], []
        for _ in range(rng.randint(1, 5)):
            parts = rng.choice(PLACES + OTHERS).split()
            inside = parts[0] not in OTHERS and words and words[-1] == "te"
            words += parts
            labels += (["B-PLACE"] + ["I-PLACE"] * (len(parts) - 1)) if inside else ["O"] * len(parts)
        yield words, labels


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("places")
    for name, count, seed in (("train", 600, 1), ("dev", 60, 2), ("test", 60, 3)):
        blocks = ("".join(f"{w}\t{label}\n" for w, label in zip(*pair)) for pair in sentences(count, seed))
        (folder / f"{name}.tsv").write_text("\n".join(blocks), "utf-8")
    return types.SimpleNamespace(**{name: folder / f"{name}.tsv" for name in ("train", "dev", "test")})


@pytest.fixture(scope="module")
def trained(files, tmp_path_factory):
    folder, lines = tmp_path_factory.mktemp("trained") / "run", []
    readers = SentenceReader(files.train), SentenceReader(files.dev)
    tagger = task.train(RECIPE, *readers, folder, {"name": "places"}, log=lines.append)
    return types.SimpleNamespace(tagger=tagger, folder=folder, log=lines)


def test_trained_tagger_labels_words(trained, files):
    evaluation = task.evaluate(trained.tagger, SentenceReader(files.test), resamples=0)
    accuracy, f1 = evaluation.scores
    found = check_outcomes(evaluation, 60)
    assert all((found.scores[i] == 100) == (found.show(i)[1:] == ("", "")) for i in range(60))
    check_report(trained.folder, trained.tagger.card)
    assert accuracy.value > 97 and f1.value > 90
    assert trained.tagger.tag([["te", "Bal", "Tir"], [], ["lo", "Ost"]]) == [
        ["O", "B-PLACE", "I-PLACE"],
        [],
        ["O", "O"],
    ]
    assert any(line.startswith("dev: span F1") for line in trained.log)


def test_checkpoint_restores_tagger(trained, files):
    loaded = zoo.load(trained.folder / "checkpoint")
    words = [list(sentence.words) for sentence in SentenceReader(files.test)]
    assert loaded.tag(words) == trained.tagger.tag(words)
    assert loaded.labels == ["B-PLACE", "I-PLACE", "O"] and loaded.card["scores"][1]["metric"] == "span F1"


def test_labels_do_not_depend_on_batch(trained, files):
    words = [list(sentence.words) for sentence in SentenceReader(files.test)][:20]
    together = trained.tagger.probabilities(words)
    for sentence, expected in zip(words, together):
        np.testing.assert_allclose(trained.tagger.probabilities([sentence])[0], expected, atol=1e-5)
        assert expected.shape == (len(sentence), 3)


def test_long_sentences_are_split_into_windows(trained):
    words = ["te", "Bal", "Tir", "lo", "xyzzyxyzzyxyzzyxyzzyxyzzyxyzzyxyzzyxyzzy"] * 9
    tokens, places, owners = encode_windows([words], trained.tagger.tokenizer, 32)
    assert len(owners) > 9 and tokens.lengths.max() <= 32 and sum(map(len, places)) == len(words)
    (labels,) = trained.tagger.tag([words])
    assert len(labels) == len(words) and labels[:3] == ["O", "B-PLACE", "I-PLACE"]


def test_label_is_predicted_at_first_subword(trained):
    tokenizer = trained.tagger.tokenizer
    words = [["te", "zzzz", "lo"], ["bim"]]
    tokens, places, _ = encode_windows(words, tokenizer, 32)
    labels = window_labels(tokens, places, [[2, 0, 1], [2]])
    ids = tokenizer.encode(["te", "zzzz", "lo"])
    assert len(ids[1]) > 1
    expected = [NO_LABEL]
    for row, label in zip(ids, (2, 0, 1)):
        expected += [label] + [NO_LABEL] * (len(row) - 1)
    assert labels.ids[: labels.offsets[1]].tolist() == [*expected, NO_LABEL]
    assert labels.ids[labels.offsets[1] :].tolist()[1] == 2


def test_fine_tuning_copies_encoder_of_another_task(trained, files, tmp_path):
    """One update with a tiny learning rate hardly changes the encoder."""
    changes = ["training.steps=1", "training.cooldown_steps=0", "training.evaluate_every=1"]
    recipe = override(RECIPE, [*changes, "training.peak_learning_rate=1e-9", "model.hidden_dim=64"])
    readers = SentenceReader(files.train), SentenceReader(files.dev)
    tuned = task.train(recipe, *readers, tmp_path / "a", initial=trained.tagger, log=lambda text: None)
    words = [["te", "Bal", "Tir"]]
    np.testing.assert_allclose(tuned.probabilities(words)[0], trained.tagger.probabilities(words)[0], atol=1e-3)


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        (["te lo"], r"must be lists of words. Received: sentences\[0\]='te lo'"),
        ([["te"], ["lo", ""]], r"No word may be empty. Received: sentences\[1\]\[1\]=''"),
        ([["te", None]], r"Received: sentences\[0\]\[1\]=None"),
    ],
)
def test_not_a_list_of_words_raises(trained, sentences, message):
    with pytest.raises(ValueError, match=message):
        trained.tagger.tag(sentences)


def test_invalid_arguments_raise(files, tmp_path):
    train, dev = SentenceReader(files.train), SentenceReader(files.dev)
    (tmp_path / "other.tsv").write_text("te\tX\n", "utf-8")
    other = SentenceReader(tmp_path / "other.tsv")
    with pytest.raises(ValueError, match="Line 1 has the label 'X', which is not in the training data"):
        task.train(RECIPE, train, other, tmp_path / "a", log=lambda text: None)
    with pytest.raises(ValueError, match="span_f1 needs labels O, B-type and I-type. Received: X"):
        task.train(RECIPE, other, dev, tmp_path / "b", log=lambda text: None)


@pytest.mark.slow
@pytest.mark.long
def test_characters_distinguish_case(tmp_path):
    """Only capitals determine the labels, and the vocabulary is lower-case."""
    rng, path = random.Random(1), tmp_path / "train.tsv"
    forms = {"small": str.lower, "initial": str.capitalize, "all": str.upper}
    lines = [
        (forms[label](word), label) for word, label in ((rng.choice(OTHERS), rng.choice([*forms])) for _ in range(600))
    ]
    path.write_text(
        "".join(f"{word}\t{label}\n" + "\n" * (i % 5 == 0) for i, (word, label) in enumerate(lines)), "utf-8"
    )
    tokenizer = WordPieceTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *OTHERS[:3], "kir", "##ute", "bim"])
    reader, found = SentenceReader(path), {}
    for filters in (0, 8):
        changes = ["training.score=accuracy", f"model.character_filters={filters}", "training.steps=60"]
        tagger = task.train(
            override(RECIPE, changes),
            reader,
            reader,
            tmp_path / str(filters),
            tokenizer=tokenizer,
            log=lambda text: None,
        )
        loaded = zoo.load(tmp_path / str(filters) / "checkpoint")
        found[filters] = task.evaluate(loaded, reader, resamples=0).scores[0].value
    assert found[0] < 60 and found[8] == 100
    assert tagger.tag([["KIRUTE", "te", "Bim"]]) == [["all", "small", "initial"]]


def test_unknown_labels_count_as_wrong(trained, files, tmp_path):
    """Spans of unknown types count as missed; their words are not part of the loss."""
    (tmp_path / "other.tsv").write_text("te\tO\nBal\tB-PLACE\nTir\tI-PLACE\nte\tO\nOst\tB-RIVER\n", "utf-8")
    other = SentenceReader(tmp_path / "other.tsv")
    with pytest.raises(ValueError, match="Line 5 has the label 'B-RIVER'"):
        task.evaluate(trained.tagger, other)
    other = SentenceReader(tmp_path / "other.tsv", unknown_labels="wrong")
    evaluation = task.evaluate(trained.tagger, other, resamples=0)
    accuracy, f1 = evaluation.scores
    assert accuracy.value == pytest.approx(80) and f1.value == pytest.approx(50), "Ost is taken for a place"
    (rows,) = trained.tagger.probabilities([["te", "Bal", "Tir", "te", "Ost"]])
    known = [trained.tagger.labels.index(label) for label in ("O", "B-PLACE", "I-PLACE", "O")]
    assert evaluation.loss == pytest.approx(-np.log(rows[range(4), known]).mean(), rel=1e-4)
    recipe = override(RECIPE, ["training.steps=2", "training.cooldown_steps=0", "training.evaluate_every=2"])
    lines = []
    train = SentenceReader(files.train)
    task.train(recipe, train, other, tmp_path / "run", log=lines.append)
    assert any("1 unknown labels (line 5)" in line for line in lines)


def test_mismatched_sizes_raise(trained):
    with pytest.raises(ValueError, match="same training run"):
        WordTagger(trained.tagger.model, trained.tagger.tokenizer, ["a"])
