"""Tests of the parsing task: training, checkpoints, scores of spans, trees of any sentence, errors."""

import random
import re
import types

import numpy as np
import pytest

pytest.importorskip("nltk", reason="nltk is not installed")
from nltk.tree import Tree
from random_trees import sentence
from report_checks import check_outcomes, check_report
from run_states import copied_at_evaluation, was_resumed

import zoo
from zoo.config import Recipe, SpanParserConfig, TrainingConfig
from zoo.config_values import override
from zoo.corpora.batching import BatchStream
from zoo.corpora.labelled_corpus import NO_LABEL
from zoo.corpora.word_rows import encode_windows, window_boundaries, window_characters
from zoo.parsing import task
from zoo.parsing.__main__ import main
from zoo.parsing.data import ChartCorpus, TreeReader, chart_cells, label_names
from zoo.parsing.predictor import TreeParser
from zoo.parsing.trees import to_brackets, to_spans

RECIPE = Recipe(
    SpanParserConfig(
        vocabulary_size=280,
        num_layers=1,
        hidden_dim=32,
        intermediate_dim=32,
        num_heads=2,
        dropout=0.0,
        span_dim=32,
        character_filters=8,
        normalize_first=True,
    ),
    TrainingConfig(
        batch_tokens=512,
        steps=200,
        warmup_steps=20,
        peak_learning_rate=0.01,
        cooldown_steps=160,
        evaluate_every=100,
        average=1,
        max_tokens=32,
        label_smoothing=0.0,
        score="bracket_f1",
    ),
    source="invented",
)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trees")
    for name, count, seed in (("train", 400, 1), ("dev", 40, 2), ("test", 40, 3)):
        rng = random.Random(seed)
        (folder / name).write_text("".join(to_brackets(sentence(rng)) + "\n" for _ in range(count)), "utf-8")
    return types.SimpleNamespace(**{name: folder / name for name in ("train", "dev", "test")})


@pytest.fixture(scope="module")
def trained(files, tmp_path_factory):
    folder, lines = tmp_path_factory.mktemp("trained") / "run", []
    parser = task.train(RECIPE, TreeReader(files.train), TreeReader(files.dev), folder, log=lines.append)
    return types.SimpleNamespace(parser=parser, folder=folder, log=lines)


def test_trained_parser_parses(trained, files):
    evaluation = task.evaluate(trained.parser, TreeReader(files.test), resamples=0)
    scores, *_ = evaluation
    assert scores[0].value > 95 and scores[-1].value > 99
    check_outcomes(evaluation, 40, "exact match")
    check_report(trained.folder, trained.parser.card)
    assert re.fullmatch("train: 400 trees of [0-9,]+ words", trained.log[0])
    (tree,) = trained.parser.parse(["te lo kir pana ."])
    assert to_brackets(tree) == "(TOP (S (NP (DT te) (NN lo)) (VP (VB kir) (NP (NN pana))) (. .)))"
    assert to_brackets(trained.parser.parse([["sol"]])[0]) == "(TOP (S (VP (VB sol))))"


def test_checkpoint_restores_parser(trained, files):
    loaded = zoo.load(trained.folder / "checkpoint")
    sentences = [tree.leaves() for tree in TreeReader(files.test)]
    assert loaded.parse(sentences) == trained.parser.parse(sentences)
    assert loaded.tags == [".", "DT", "IN", "NN", "VB"] and loaded.labels[0] == ""
    assert "S VP" in loaded.labels and loaded.card["scores"][0]["metric"] == "bracket F1"


def test_trees_do_not_depend_on_batch(trained, files):
    sentences = [tree.leaves() for tree in TreeReader(files.test)]
    alone = [trained.parser.parse([words])[0] for words in sentences]
    assert trained.parser.parse(sentences) == alone
    parser = trained.parser
    small = TreeParser(parser.model, parser.tokenizer, parser.labels, parser.tags, max_tokens=32, batch_tokens=40)
    assert small.parse(sentences) == alone


@pytest.mark.parametrize("length", [1, 2, 31, 300])
def test_any_sentence_gets_tree_over_its_words(trained, length):
    words = [random.Random(i).choice(["te", "lo", "(", ")", "zzz", "中", "a b"]) for i in range(length)]
    (tree,) = trained.parser.parse([words])
    assert tree.label() == "TOP" and tree.leaves() == words


def test_sentence_without_words_does_not_affect_others(trained):
    found = trained.parser.parse(["", "te lo", [], " \t "])
    assert [tree and tree.leaves() for tree in found] == [None, ["te", "lo"], None, None]


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        ([["te", ""]], r"No word may be empty. Received: sentences\[0\]\[1\]=''"),
        ([["te", None]], "must be a list of"),
        ("te lo", "must be a list. Received: 'te lo'"),
        (["te", None], r"Received: sentences\[1\]=None"),
    ],
)
def test_not_a_sentence_raises(trained, sentences, message):
    with pytest.raises(ValueError, match=message):
        trained.parser.parse(sentences)


def test_charts_contain_labels_and_tags(trained):
    trees = [to_spans(Tree.fromstring(text)) for text in ("(TOP (NP (DT te) (NN lo)))", "(TOP (S (VP (VB sol))))")]
    labels, tags = label_names(trees)
    assert labels == ["", "NP", "S VP"] and tags == ["DT", "NN", "VB"]
    tokens, places, _ = encode_windows([spans.words for spans in trees], trained.parser.tokenizer, 32)
    corpus = ChartCorpus(tokens, chart_cells(trees, labels, tags), {"boundary_ids": window_boundaries(tokens, places)})
    batch = corpus.gather(np.array([1, 0]), [8], 1)
    none = NO_LABEL
    assert batch["labels"].tolist() == [
        [2, none, none, 2, none, none],
        [0, 1, none, 0, 1, 0],
        [none] * 6,
    ], "tags of three places, then the spans (0, 1), (0, 2), (1, 2)"
    assert batch["boundary_ids"].shape == (3, 3) and batch["token_ids"].shape == (3, 8)
    (first,) = (batch for batch, _ in zip(BatchStream(corpus, 64, seed=1), range(1)))
    assert first["labels"].shape == (2, 6)


def test_span_logits_equal_numpy(trained):
    """Computes the logits of a span from the output of the encoder by NumPy."""
    model = trained.parser.model
    sentences = [["te", "lo", "kir", "zzz"]]
    tokens, places, _ = encode_windows(sentences, trained.parser.tokenizer, 32)
    rows = {"token_ids": tokens, "boundary_ids": window_boundaries(tokens, places)}
    rows["character_ids"] = window_characters(tokens, places, sentences)
    inputs = {name: side.padded(np.array([0]), int(side.lengths.max())) for name, side in rows.items()}
    y, _ = model.text_encoder(inputs, model.characters(inputs["character_ids"]))
    y, places = np.asarray(y)[0], inputs["boundary_ids"][0]
    v = np.concatenate([y[places - 1, :16], y[places, 16:]], -1) @ np.asarray(model.boundary_projection.kernel)
    logits = np.asarray(model(inputs))[0]
    for first in range(5):
        for last in range(first + 1, 5):
            hidden = v[last] - v[first]
            hidden = (hidden - hidden.mean()) / np.sqrt(hidden.var() + 1e-6)
            gamma, beta = (np.asarray(weight) for weight in (model.span_norm.gamma, model.span_norm.beta))
            hidden = np.maximum(hidden * gamma + beta, 0)
            expected = hidden @ np.asarray(model.head.kernel) + np.asarray(model.head.bias)
            np.testing.assert_allclose(logits[5 + last * (last - 1) // 2 + first, :6], expected, atol=1e-4)
    tags = y[places] @ np.asarray(model.tag_head.kernel) + np.asarray(model.tag_head.bias)
    np.testing.assert_allclose(logits[:4, :5], tags[:4], atol=1e-4)


def test_span_scores_equal_probability_minus_threshold(trained):
    """Computes scores from logits by NumPy; spans with score 0 have no label. A high threshold removes constituents."""
    parser = trained.parser
    sentences = [["te", "lo", "kir", "pana", "."]]
    tokens, places, _ = encode_windows(sentences, parser.tokenizer, 32)
    rows = {"token_ids": tokens, "boundary_ids": window_boundaries(tokens, places)}
    rows["character_ids"] = window_characters(tokens, places, sentences)
    inputs = {name: side.padded(np.array([0]), int(side.lengths.max())) for name, side in rows.items()}
    scores, labels, _ = (np.asarray(x)[0] for x in parser.best_labels(*(inputs[name] for name in parser.inputs)))
    logits = np.asarray(parser.model.logits(inputs)[0], "float64")[0]
    p = np.exp(logits - logits.max(-1, keepdims=True))
    p = (p / p.sum(-1, keepdims=True))[:, 1:]
    np.testing.assert_allclose(scores, np.maximum(p.max(-1) - 0.3, 0), atol=1e-5)
    np.testing.assert_array_equal(labels, np.where(p.max(-1) > 0.3, p.argmax(-1) + 1, 0))
    parser = TreeParser(parser.model, parser.tokenizer, parser.labels, parser.tags, max_tokens=32)
    counts = []
    for parser.threshold in (0.3, 1.0):  # It may change between calls.
        counts.append(len([*parser.parse(sentences)[0].subtrees()]))
    assert counts == [10, 1 + 5], "the root and five tags"
    with pytest.raises(ValueError, match="from 0 to 1. Received: threshold=1.5"):
        parser.threshold = 1.5


@pytest.mark.slow
def test_interrupted_run_resumes(files, tmp_path):
    recipe = override(RECIPE, ["training.steps=8", "training.cooldown_steps=0", "training.evaluate_every=4"])
    readers = TreeReader(files.train), TreeReader(files.dev)
    with copied_at_evaluation(2, tmp_path / "whole", tmp_path / "cut"):
        whole = task.train(recipe, *readers, tmp_path / "whole", log=lambda text: None)
    resumed = task.train(recipe, *readers, tmp_path / "cut", log=lambda text: None)
    assert was_resumed(tmp_path / "cut", tmp_path / "whole")
    for a, b in zip(whole.model.get_weights(), resumed.model.get_weights()):
        np.testing.assert_array_equal(a, b)


def test_invalid_arguments_raise(trained, files, tmp_path):
    train, dev = TreeReader(files.train), TreeReader(files.dev)
    (tmp_path / "empty").write_text("(TOP (-NONE- *))\n", "utf-8")
    with pytest.raises(ValueError, match="must be 0, as it would"):
        task.train(override(RECIPE, ["training.label_smoothing=0.1"]), train, dev, tmp_path / "a")
    with pytest.raises(ValueError, match="There must be training trees"):
        task.train(RECIPE, train, TreeReader(tmp_path / "empty"), tmp_path / "b", log=lambda text: None)
    with pytest.raises(ValueError, match="There must be training trees"):
        task.train(RECIPE, TreeReader(tmp_path / "empty"), dev, tmp_path / "c", log=lambda text: None)
    with pytest.raises(ValueError, match="tags of the model. Received: 1 names"):
        TreeParser(trained.parser.model, trained.parser.tokenizer, trained.parser.labels, ["NN"])
    (tmp_path / "latin").write_bytes(b"(TOP (NN a))\n(TOP (NN \xe9))\n")
    with pytest.raises(ValueError, match="line 2, is not UTF-8"):
        [*TreeReader(tmp_path / "latin")]


def test_command_line(trained, files, capsys):
    checkpoint = ["--checkpoint", str(trained.folder / "checkpoint")]
    assert main(["evaluate", *checkpoint, "--data", str(files.test), "--without-outermost"]) == 0
    printed = capsys.readouterr().out
    assert "bracket F1 " in printed and "without the outermost constituent" in printed and "NP" in printed
    texts = ["--text", "te lo\tsol", "--text", "", "--text", "(kir)"]
    assert main(["parse", *checkpoint, *texts]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and lines[1] == "" and "-LRB-" in lines[2] and "sol" in lines[0]
    assert main(["parse", *checkpoint, "--tokenised", "--text", "te lo sol .", "--draw"]) == 0
    assert "|" in capsys.readouterr().out
    (files.dev.parent / "bad").write_text("(TOP (NN a))\n(TOP (NN b)\n", "utf-8")
    assert main(["evaluate", *checkpoint, "--data", str(files.dev.parent / "bad")]) == 2
    assert "line 2, has a bracket that never closes" in capsys.readouterr().err
    assert main(["evaluate", *checkpoint, "--data", str(files.dev), "--beam-size", "4"]) == 2
    assert "Omit --beam-size" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.long
def test_parser_normalised_over_trees_learns_and_is_restored(files, tmp_path):
    recipe = override(RECIPE, ["model.tree_crf=true", "training.steps=120", "training.cooldown_steps=100"])
    parser = task.train(recipe, TreeReader(files.train), TreeReader(files.dev), tmp_path / "run", log=lambda line: None)
    scores, *_ = task.evaluate(parser, TreeReader(files.test), resamples=0)
    assert scores[0].value > 95
    sentences = [tree.leaves() for tree in TreeReader(files.test)]
    assert zoo.load(tmp_path / "run" / "checkpoint").parse(sentences) == parser.parse(sentences)
    alone = [parser.parse([words])[0] for words in sentences[:5]]
    assert parser.parse(sentences[:5]) == alone


def test_r_drop_over_trees_is_refused(files, tmp_path):
    recipe = override(RECIPE, ["model.tree_crf=true", "training.r_drop=1"])
    with pytest.raises(ValueError, match="`r_drop` compares the softmax of each span"):
        task.train(recipe, TreeReader(files.train), TreeReader(files.dev), tmp_path / "run")
