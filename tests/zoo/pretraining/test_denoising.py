"""Tests of denoising pretraining: training, checkpoints, gaps, translators that start from it, commands."""

import dataclasses
import random
import types

import numpy as np
import pytest
from report_checks import check_outcomes, check_report
from run_states import copied_at_evaluation, was_resumed

import zoo
from zoo.classification import task as classification
from zoo.classification.data import open_examples
from zoo.classification.recipes import SMALL as CLASSIFIER
from zoo.config import ModelConfig, Recipe, TrainingConfig
from zoo.config_values import override
from zoo.pretraining import task
from zoo.pretraining.__main__ import COMMANDS, main
from zoo.pretraining.denoiser import Denoiser
from zoo.pretraining.recipes import SMALL
from zoo.storage.arrays import named_arrays
from zoo.training_config import DenoisingConfig
from zoo.translation import task as translation
from zoo.translation.__main__ import main as translation_main

pytestmark = pytest.mark.slow

RECIPE = Recipe(
    ModelConfig(
        vocabulary_size=440,
        num_encoder_layers=1,
        num_decoder_layers=1,
        hidden_dim=32,
        intermediate_dim=64,
        num_heads=2,
        dropout=0.0,
    ),
    TrainingConfig(
        batch_tokens=1024,
        steps=240,
        warmup_steps=30,
        peak_learning_rate=0.01,
        cooldown_steps=150,
        evaluate_every=120,
        average=1,
        max_tokens=32,
        label_smoothing=0.0,
        score="loss",
        denoising=DenoisingConfig("spans", rate=0.3, span_length=1.0),
    ),
    source="invented",
)
INFILLING = ["objective=infilling", "rate=0.2", "permute_sentences=true"]
ONE_STEP = ["steps=1", "cooldown_steps=0", "evaluate_every=1", "peak_learning_rate=1e-9"]
ECHOES = {"te": "lo", "pana": "kir", "ute": "bim", "nok": "drum"}


def texts(count, seed):
    """Yields texts in which each word is followed by its partner, which determines a hidden word."""
    rng = random.Random(seed)
    return [" ".join(f"{w} {ECHOES[w]}" for w in rng.choices([*ECHOES], k=rng.randint(3, 6))) for _ in range(count)]


def changed(recipe, *settings):
    return override(recipe, [f"training.{setting}" for setting in settings])


def quiet(text):
    pass


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("denoised") / "run"
    with copied_at_evaluation(2, folder, folder.with_name("half")):
        denoiser = task.train(RECIPE, texts(400, 1), texts(40, 2), folder, {"name": "echoes"}, log=quiet)
    return types.SimpleNamespace(denoiser=denoiser, folder=folder, checkpoint=str(folder / "checkpoint"))


def test_trained_model_fills_gaps(trained):
    given = ["te <mask> pana kir <mask> drum", "te lo", "<mask> lo ute bim", "", "nok drum ute <mask>"]
    wanted = ["te lo pana kir nok drum", "te lo", "te lo ute bim", "", "nok drum ute bim"]
    done = []
    assert trained.denoiser.fill(given, progress=done.append) == wanted and sum(done) == 5
    assert trained.denoiser.fill([]) == []


def test_evaluation_is_repeatable_and_below_chance(trained):
    loss, perplexity = task.evaluate(trained.denoiser, texts(60, 3)).scores
    again = task.evaluate(trained.denoiser, texts(60, 3))
    assert (loss, perplexity) == tuple(again.scores)
    found = check_outcomes(again, len(trained.denoiser.corrupted(texts(60, 3), 12345)))
    np.testing.assert_allclose(-(found.scores * found.lengths).sum() / found.lengths.sum(), loss.value, rtol=1e-5)
    given, expected, _ = found.show(0)
    assert given and expected
    check_report(trained.folder, trained.denoiser.card)
    # Half of a target are sentinels; a hidden word is one of eight.
    assert loss.value < np.log(8) / 2 and perplexity.value == pytest.approx(np.exp(loss.value))
    assert 0 < loss.interval < 0.2 and "|spans:30%|" in loss.signature


def test_losses_are_those_of_the_rows_one_by_one(trained):
    corpus = trained.denoiser.corrupted(texts(9, 4), 5)
    found, tokens = trained.denoiser.losses(corpus)
    for i, row in enumerate(zip(corpus.source.offsets, corpus.target.offsets)):
        if i < len(corpus):
            source, target = (side.ids[a : side.offsets[i + 1]] for a, side in zip(row, (corpus.source, corpus.target)))
            inputs = {"source": np.array([[*source, 3]]), "target": np.array([[2, *target]])}
            logits = np.asarray(trained.denoiser.model(inputs), "float64")[0]
            logits -= np.log(np.exp(logits).sum(-1, keepdims=True))
            labels = [*target, 3]
            assert tokens[i] == len(labels)
            assert found[i] == pytest.approx(-logits[np.arange(len(labels)), labels].sum(), rel=1e-4, abs=1e-4)


def test_checkpoint_restores_model_and_noise(trained):
    loaded = zoo.load(trained.checkpoint)
    assert type(loaded) is Denoiser and loaded.denoising == dataclasses.asdict(RECIPE.training.denoising)
    for name, array in named_arrays(trained.denoiser.model).items():
        np.testing.assert_array_equal(named_arrays(loaded.model)[name], array)
    assert len(loaded.tokenizer.sentinels) == 100 and loaded.max_tokens == 32
    assert loaded.fill(["te <mask>"]) == trained.denoiser.fill(["te <mask>"]) != ["te <mask>"]


@pytest.mark.long
def test_translators_start_from_all_weights_and_the_vocabulary(trained, tmp_path):
    pairs = [*zip(texts(30, 5), texts(30, 6))]
    recipe = dataclasses.replace(RECIPE, training=dataclasses.replace(RECIPE.training, denoising=DenoisingConfig()))
    recipe = override(changed(recipe, *ONE_STEP), ["model.hidden_dim=64", "model.num_decoder_layers=2"])
    translator = translation.train(recipe, pairs, pairs[:3], tmp_path / "a", initial=trained.denoiser, log=quiet)
    assert translator.tokenizer.digest == trained.denoiser.tokenizer.digest
    for name, array in named_arrays(trained.denoiser.model).items():
        np.testing.assert_allclose(named_arrays(translator.model)[name], array, atol=1e-6, err_msg=name)
    assert "<" not in translator.translate(["te lo"])[0], "no sentinel in a text"


@pytest.mark.long
def test_infilling_restores_and_starts_from_a_translator(tmp_path):
    """Without sentinels; the vocabulary is that of the translator."""
    pairs = [*zip(texts(300, 5), texts(300, 6))]
    plain = dataclasses.replace(RECIPE, training=dataclasses.replace(RECIPE.training, denoising=DenoisingConfig()))
    initial = translation.train(changed(plain, *ONE_STEP), pairs, pairs[:3], tmp_path / "a", log=quiet)
    recipe = changed(RECIPE, *(f"denoising.{value}" for value in INFILLING), "steps=280")
    found = task.train(recipe, texts(400, 1), texts(40, 2), tmp_path / "b", initial=initial, log=quiet)
    assert found.tokenizer.digest == initial.tokenizer.digest and not len(found.tokenizer.sentinels)
    wanted = texts(20, 7)
    gaps = [" ".join(["<mask>" if i == 3 else word for i, word in enumerate(text.split())]) for text in wanted]
    assert np.mean([a == b for a, b in zip(found.fill(gaps), wanted)]) > 0.6
    with pytest.raises(ValueError, match="needs a vocabulary with sentinels"):
        task.train(RECIPE, texts(9, 1), texts(9, 2), tmp_path / "c", initial=initial, log=quiet)


def test_interrupted_run_resumes(trained):
    """The weights are the same to the bit, as is the noise."""
    arguments = RECIPE, texts(400, 1), texts(40, 2), trained.folder.with_name("half"), {"name": "echoes"}
    resumed = task.train(*arguments, log=quiet)
    assert was_resumed(arguments[3], trained.folder)
    for name, array in named_arrays(resumed.model).items():
        np.testing.assert_array_equal(array, named_arrays(trained.denoiser.model)[name], err_msg=name)


def test_gaps_are_ids_between_pieces(trained):
    """A gap at a word takes its space along, one inside of a word does not."""
    tokenizer = trained.denoiser.tokenizer
    first, second = tokenizer.sentinels[:2]
    (te, lo, drum), (kir,) = tokenizer.encode(["te lo drum", "kir"])
    assert trained.denoiser._with_gaps("te <mask> lo<mask> drum") == [te, first, lo, second, drum]
    assert trained.denoiser._with_gaps("<mask> kir \ufdd4")[:2] == [first, kir]
    assert "\ufffd" in tokenizer.decode([trained.denoiser._with_gaps("<mask> \ufdd4")])[0]


def test_texts_that_cannot_be_filled_raise(trained):
    with pytest.raises(ValueError, match=r"fewer than max_tokens=32 tokens. Received: 41 tokens, .*Divide it"):
        trained.denoiser.fill(["te lo " * 20 + "<mask>"])
    with pytest.raises(ValueError, match="at most 100 gaps, as many as the vocabulary has sentinels"):
        trained.denoiser.fill(["<mask>" * 101])
    with pytest.raises(ValueError, match="list of strings"):
        trained.denoiser.fill("te <mask>")


@pytest.mark.parametrize(
    "settings, message",
    [
        (["denoising.objective=none"], "is pretrained by denoising. Received: denoising.objective=none. Choose"),
        (["max_tokens=1"], "`max_tokens` must be at least 2, .*Received: max_tokens=1"),
        (["score=bleu"], "one of loss"),
        (["token_dropout=0.1"], "`token_dropout` has no effect"),
    ],
)
def test_impossible_recipes_raise(settings, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        task.train(changed(RECIPE, *settings), ["te"], ["te"], tmp_path / "a")


def test_models_that_do_not_fit_raise(trained, tmp_path):
    path = tmp_path / "train.tsv"
    path.write_text("a\tte lo\nb\tpana kir\n", "utf-8")
    reader = open_examples(path)
    encoder = zoo.load("encoder/minilm")
    with pytest.raises(ValueError, match="must have an encoder alone, .*Received: Denoiser. Load another"):
        classification.train(CLASSIFIER, reader, reader, tmp_path / "a", initial=trained.denoiser)
    with pytest.raises(ValueError, match="must have an encoder alone, .*Received: Denoiser. Load another"):
        task.train(SMALL, ["te"], ["te"], tmp_path / "a", initial=trained.denoiser)
    with pytest.raises(ValueError, match="must be an encoder-decoder that .*Received: SentenceEncoder. Load another"):
        task.train(RECIPE, ["te"], ["te"], tmp_path / "a", initial=encoder)
    with pytest.raises(ValueError, match="`denoising.objective` has no effect in this task. .*Leave it at none"):
        task.train(changed(SMALL, "denoising.objective=spans"), ["te"], ["te"], tmp_path / "a")
    with pytest.raises(ValueError, match="must have the objective spans or infilling. Received: none"):
        Denoiser(trained.denoiser.model, trained.denoiser.tokenizer, {})
    with pytest.raises(ValueError, match="must be at least one text to evaluate on"):
        task.evaluate(trained.denoiser, [])


def test_commands_refuse_models_of_other_objectives(trained, capsys, tmp_path):
    checkpoint = ["--checkpoint", trained.checkpoint]
    for command in (["embed", "--text", "te"], ["export", "--output", str(tmp_path / "served")]):
        assert main([*command, *checkpoint]) == 2
        assert f"needs a model of the objective masking. Received: {trained.checkpoint}" in capsys.readouterr().err
    assert main(["fill", "--checkpoint", "encoder/minilm", "--text", "te"]) == 2
    assert "must be a model of the task pretraining. Received: encoder/minilm" in capsys.readouterr().err
    assert translation_main(["translate", *checkpoint, "--text", "te"]) == 2
    assert "must be a model of the task translation" in capsys.readouterr().err


def test_command_line(trained, tmp_path, capsys):
    checkpoint = ["--checkpoint", trained.checkpoint]
    assert main(["fill", *checkpoint, "--text", "te <mask> nok drum", "--text", "x", "--beam-size", "1"]) == 0
    assert capsys.readouterr().out == "te lo nok drum\nx\n"
    (tmp_path / "dev.txt").write_text("\n".join(texts(9, 2)) + "\n", "utf-8")
    assert main(["evaluate", *checkpoint, "--data", str(tmp_path / "dev.txt")]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["nats/token", "perplexity"]
    parse = COMMANDS.parser().parse_args
    for objective, rate in (("spans", 0.15), ("infilling", 0.3)):
        given = ["train", "--data", "a", "--dev-data", "b", "--output", "c", "--objective", objective]
        recipe = COMMANDS.recipe(parse([*given, "--set", "training.denoising.span_length=2"]))
        assert recipe.training.denoising == DenoisingConfig(objective, rate, 2.0)
    assert COMMANDS.recipe(parse(["train", "--data", "a", "--output", "c"])) == SMALL
    with pytest.raises(ValueError, match="masking, the default. Pass --objective spans or infilling"):
        COMMANDS.recipe(parse(["train", "--data", "a", "--output", "c", "--set", "training.denoising.rate=0.2"]))
