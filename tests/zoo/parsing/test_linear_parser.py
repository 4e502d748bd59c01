"""Tests of the linearised parser: training, checkpoints, trees of any sentence, errors."""

import random
import types

import pytest

pytest.importorskip("nltk", reason="nltk is not installed")
from random_trees import sentence

import zoo
from zoo.config import ModelConfig, Recipe, TrainingConfig
from zoo.config_values import override
from zoo.parsing import task
from zoo.parsing.__main__ import main
from zoo.parsing.data import TreeReader
from zoo.parsing.linear_parser import LinearParser
from zoo.parsing.trees import to_brackets

pytestmark = pytest.mark.slow

RECIPE = Recipe(
    ModelConfig(
        vocabulary_size=280,
        num_encoder_layers=1,
        num_decoder_layers=1,
        hidden_dim=32,
        intermediate_dim=64,
        num_heads=2,
        dropout=0.0,
        normalize_first=True,
    ),
    TrainingConfig(
        batch_tokens=1024,
        steps=200,
        warmup_steps=100,
        peak_learning_rate=0.005,
        cooldown_steps=100,
        evaluate_every=200,
        average=1,
        max_tokens=32,
        score="bracket_f1",
    ),
    source="invented",
)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder, lines = tmp_path_factory.mktemp("linear"), []
    for name, count, seed in (("train", 600, 1), ("dev", 30, 2)):
        rng = random.Random(seed)
        (folder / name).write_text("".join(to_brackets(sentence(rng, deepest=0)) + "\n" for _ in range(count)), "utf-8")
    readers = TreeReader(folder / "train"), TreeReader(folder / "dev")
    parser = task.train(RECIPE, *readers, folder / "run", log=lines.append)
    return types.SimpleNamespace(parser=parser, folder=folder, readers=readers, log=lines)


def test_trained_parser_parses(trained):
    scores, *_ = task.evaluate(trained.parser, trained.readers[1], resamples=0)
    assert scores[0].value > 90 and scores[-1].value > 95
    (tree,) = trained.parser.parse(["te lo kir pana ."])
    assert to_brackets(tree) == "(TOP (S (NP (DT te) (NN lo)) (VP (VB kir) (NP (NN pana))) (. .)))"


def test_checkpoint_restores_parser(trained, tmp_path):
    loaded = zoo.load(trained.folder / "run/checkpoint")
    loaded.beam_size, loaded.length_penalty = 1, 0.0
    loaded.save(tmp_path / "greedy")
    loaded = zoo.load(tmp_path / "greedy")
    assert (loaded.beam_size, loaded.length_penalty) == (1, 0.0)
    sentences = [tree.leaves() for tree in trained.readers[1]]
    assert isinstance(loaded, LinearParser)
    assert loaded.parse(sentences) == trained.parser.parse(sentences, beam_size=1)
    assert all(dict(options)["beam_size"] == 1 for _, _, *options in loaded._compiled)


@pytest.mark.parametrize("options", [{}, {"beam_size": 1}, {"beam_size": 1, "constrain": False}])
def test_any_sentence_gets_tree_over_its_words(trained, options):
    rng = random.Random(1)
    sentences = [[rng.choice(["te", "lo", "(", "zzz", "中", "kir"]) for _ in range(n)] for n in (1, 2, 9, 70)]
    found = trained.parser.parse([*sentences, ""], **options)
    assert [tree and tree.leaves() for tree in found] == [*sentences, None]


def test_invalid_arguments_raise(trained, tmp_path):
    with pytest.raises(ValueError, match="has no initial model. Received: LinearParser"):
        task.train(RECIPE, *trained.readers, tmp_path / "a", initial=trained.parser)
    with pytest.raises(ValueError, match="`lora_rank` has no effect in this task"):
        task.train(override(RECIPE, ["training.lora_rank=4"]), *trained.readers, tmp_path / "b")
    with pytest.raises(ValueError, match="Vocabulary and symbols must have the size of the model"):
        LinearParser(trained.parser.model, trained.parser.tokenizer, ["NP"], ["NN"])


def test_unconstrained_outputs_are_scored(trained, capsys):
    checkpoint = ["--checkpoint", str(trained.folder / "run/checkpoint"), "--data", str(trained.folder / "dev")]
    assert main(["evaluate", *checkpoint, "--beam-size", "1", "--unconstrained"]) == 0
    assert "bracket F1 " in capsys.readouterr().out
