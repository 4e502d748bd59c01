"""Tests of training and evaluation of language models, and of their command line."""

import dataclasses
import json

import numpy as np
import pytest
from language_recipe import RECIPE
from report_checks import check_outcomes
from run_states import copied_at_evaluation, was_resumed

from zoo.language_modelling import task
from zoo.language_modelling.__main__ import COMMANDS, main, unescape
from zoo.language_modelling.recipes import RECIPES
from zoo.text.tokenizer_training import train_tokenizer


def test_scores_agree_with_each_other(generator, documents):
    evaluation = task.evaluate(generator, documents.dev, resamples=20)
    nats, perplexity, bits = evaluation.scores
    log_probs = generator.log_probs(documents.dev)
    assert nats.value == pytest.approx(-log_probs.mean(), rel=1e-5)
    assert perplexity.value == pytest.approx(np.exp(nats.value))
    characters = sum(map(len, documents.dev))
    assert bits.value == pytest.approx(-log_probs.sum() / np.log(2) / characters, rel=1e-5)
    assert len(log_probs) == characters + len(documents.dev)  # Each end is predicted, too.
    assert 0 < nats.value < 0.5 and nats.interval > 0
    found = check_outcomes(evaluation, len(generator.windows(documents.dev)[0].lengths))
    np.testing.assert_allclose(-(found.scores * found.lengths).sum() / found.lengths.sum(), nats.value, rtol=1e-5)
    worst = found.worst(1)[0]
    given, _, least = found.show(worst)
    assert given and least.startswith("least expected: '")
    values = generator.window_log_probs(documents.dev)[worst]
    assert f" {values.min():.1f}" in least.split(",")[0]


def test_shorter_contexts_are_worse(single, documents):
    text = ["\n".join(documents.dev)]
    full, short = (task.evaluate(single, text, resamples=0, stride=stride).loss for stride in (1, 32))
    assert full < short


@pytest.mark.slow
def test_a_run_resumes_to_the_bit(documents, tmp_path):
    training = dataclasses.replace(RECIPE.training, steps=24, evaluate_every=8, cooldown_steps=0)
    recipe = dataclasses.replace(RECIPE, training=training, model=dataclasses.replace(RECIPE.model, dropout=0.1))
    arguments = recipe, documents.train, documents.dev
    with copied_at_evaluation(3, tmp_path / "whole", tmp_path / "parts"):
        whole = task.train(*arguments, tmp_path / "whole", log=lambda text: None)
    resumed = task.train(*arguments, tmp_path / "parts", log=lambda text: None)
    assert was_resumed(tmp_path / "parts", tmp_path / "whole")
    for one, other in zip(whole.model.variables, resumed.model.variables):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("pieces", ["subwords", "bytes"])
def test_other_vocabularies_and_architectures(pieces, documents, tmp_path):
    model = dataclasses.replace(RECIPE.model, architecture="gpt2", max_positions=32, vocabulary_size=280)
    training = dataclasses.replace(RECIPE.training, steps=2, evaluate_every=2, cooldown_steps=0, pieces=pieces)
    recipe = dataclasses.replace(RECIPE, model=model, training=training)
    made = task.train(recipe, documents.train, documents.dev, tmp_path / "run", log=lambda text: None)
    assert made.tokenizer.vocabulary_size == (261 if pieces == "bytes" else 280)
    assert len(made.tokenizer.encode(["  é\n"])[0]) == (5 if pieces == "bytes" else 5)
    made.generate(["tek"], max_tokens=20)
    with pytest.raises(ValueError, match="at most 32 tokens, the positions"):
        made.generate(["tek"], max_tokens=32)


def test_fine_tuning_begins_with_the_given_model(generator, documents, tmp_path):
    training = dataclasses.replace(
        RECIPE.training, steps=1, peak_learning_rate=1e-9, evaluate_every=1, cooldown_steps=0
    )
    recipe = dataclasses.replace(RECIPE, training=training)
    tuned = task.train(
        recipe, documents.train, documents.dev, tmp_path / "run", initial=generator, log=lambda text: None
    )
    assert tuned.generate(["tek"], temperature=0) == generator.generate(["tek"], temperature=0)


def test_wrong_corpora_and_vocabularies_are_refused(documents, tokenizer, tmp_path):
    with pytest.raises(ValueError, match="training texts"):
        task.train(RECIPE, documents.train, [], tmp_path / "run")
    with pytest.raises(ValueError, match="encode texts as they are"):
        task.train(RECIPE, documents.train, documents.dev, tmp_path / "run", tokenizer=tokenizer)
    with pytest.raises(ValueError, match="language model"):
        task.train(RECIPE, documents.train, documents.dev, tmp_path / "run", initial=object())
    with pytest.raises(ValueError, match="`pieces` must be one of"):
        train_tokenizer(["text"], 300, pieces="syllables")


def test_recipes_have_the_sizes_of_nanogpt():
    """4 layers of 12 D^2 weights, about 0.8 million with the vocabulary."""
    for name in ("small", "nanogpt"):
        model, training = RECIPES[name].model, RECIPES[name].training
        assert (model.num_layers, model.hidden_dim, model.num_heads, training.max_tokens) == (4, 128, 4, 64)
        assert training.steps * training.batch_tokens == 2000 * 12 * 64


def test_commands(generator, documents, tmp_path, capsys):
    (tmp_path / "dev.txt").write_text("\n".join(documents.dev))
    (tmp_path / "train.txt").write_text("\n".join(documents.train))
    (tmp_path / "prompts.txt").write_text("tek\nluri\n")
    checkpoint = ["--checkpoint", str(generator.folder)]
    data = ["--data", str(tmp_path / "dev.txt"), "--documents", "line"]
    assert main(["evaluate", *checkpoint, *data, "--ngrams", str(tmp_path / "train.txt")]) == 0
    nats, _, bits, baseline = capsys.readouterr().out.splitlines()
    assert nats.startswith("nats/token 0.") and bits.startswith("bits per character")
    assert baseline.startswith("Kneser-Ney 5-grams: nats/token 0.")
    assert (
        main(["generate", *checkpoint, "--text", "tek", "--temperature", "0", "--stop", r"pim\n", "--stop", "pim"]) == 0
    )
    assert capsys.readouterr().out == "tek luri soba \n"
    assert main(["generate", *checkpoint, str(tmp_path / "prompts.txt"), "--max-tokens", "9", "--count", "2"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["prompt"] for row in rows] == ["tek", "tek", "luri", "luri"]
    assert main(["generate", *checkpoint, "--text", "tek", "--top-p", "2"]) == 2
    assert "`top_p` must lie in (0, 1]" in capsys.readouterr().err


@pytest.mark.parametrize("given, counts", [([], (1, 1)), (["line"], (3, 2)), (["line", "file"], (3, 1))])
def test_documents_of_the_dev_set_are_like_those_of_the_training_set(given, counts, tmp_path):
    (tmp_path / "train.txt").write_text("one\ntwo\nthree\n")
    (tmp_path / "dev.txt").write_text("four\nfive\n")
    files = ["--data", str(tmp_path / "train.txt"), "--dev-data", str(tmp_path / "dev.txt"), "--output", "x"]
    units = [text for pair in zip(("--documents", "--dev-documents"), given) for text in pair]
    corpora = COMMANDS.corpora(COMMANDS.parser().parse_args(["train", *files, *units]))
    assert tuple(len([*corpus]) for corpus in corpora) == counts


def test_an_exported_model_generates_without_this_package(generator, tmp_path, capsys):
    tf = pytest.importorskip("tensorflow")
    folder = tmp_path / "served"
    options = ["--max-tokens", "40", "--temperature", "0", "--stop", " pim", "--max-bytes", "500"]
    assert main(["export", "--checkpoint", str(generator.folder), "--output", str(folder), *options]) == 0
    served = tf.saved_model.load(str(folder)).signatures["serving_default"]
    found = served(prompt=tf.constant(["tek", "luri"]), seed=tf.constant([1, 2]))["text"].numpy()
    assert [text.decode() for text in found] == [" luri soba", " soba"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="at most 500 bytes"):
        served(prompt=tf.constant(["a" * 501]), seed=tf.constant([1]))
    assert len(served(prompt=tf.constant([], tf.string), seed=tf.constant([], tf.int32))["text"]) == 0


def test_seeds_of_an_exported_model(single, tmp_path):
    """Export itself compares the texts of the SavedModel with those of the predictor."""
    tf = pytest.importorskip("tensorflow")
    card = single.export(tmp_path / "served", max_tokens=30, top_k=5, repetition_penalty=1.1, temperature=1.3)
    assert card["generation"]["top_k"] == 5
    served = tf.saved_model.load(str(tmp_path / "served")).signatures["serving_default"]
    one, other, again = (
        served(prompt=tf.constant(["tek", "pim"]), seed=tf.constant([seed, 7]))["text"].numpy() for seed in (1, 2, 1)
    )
    assert one[0] != other[0] and one[1] == other[1] and (one == again).all()


@pytest.mark.parametrize("options", [[], ["--max-tokens", "20"], ["--max-tokens", "39"]])
def test_learned_positions_leave_room_in_exported_models(options, positional, tmp_path):
    """Export itself compares texts, of test inputs that fit."""
    tf = pytest.importorskip("tensorflow")
    folder = str(tmp_path / "served")
    assert main(["export", "--checkpoint", str(positional.folder), "--output", folder, *options]) == 0
    served = tf.saved_model.load(folder).signatures["serving_default"]
    most = int(options[1]) if options else 1
    card = json.loads((tmp_path / "served" / "assets.extra" / "card.json").read_text())
    assert card["generation"]["max_tokens"] == (most if options else 39)
    longest = ("tek luri " * 5)[: 39 - most]  # After the end token.
    served(prompt=tf.constant([longest, ""]), seed=tf.constant([1, 1]))
    advice = "Shorten it, or export with fewer tokens" if options else "a text needs one. Shorten it"
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"at most {40 - most} tokens: .*{advice}"):
        served(prompt=tf.constant([longest + "k"]), seed=tf.constant([1]))


def test_more_tokens_than_learned_positions_are_not_exported(positional, tmp_path):
    with pytest.raises(
        ValueError, match="at most 40 tokens, .*1 in the prompt and max_tokens=40. .*lower `max_tokens`"
    ):
        positional.export(tmp_path / "served", max_tokens=40)


def test_errors_come_before_the_prompt_and_before_the_work(positional, documents, tmp_path, monkeypatch, capsys):
    (tmp_path / "empty.txt").write_text("\n")
    (tmp_path / "dev.txt").write_text("\n".join(documents.dev))
    data, checkpoint = ["--data", str(tmp_path / "dev.txt")], ["--checkpoint", str(positional.folder)]
    assert main(["generate", *checkpoint, "--text", "tek" * 20]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and "positions of the model" in printed.err
    monkeypatch.setattr("zoo.load", lambda *arguments: pytest.fail("loaded before the check"))
    for arguments, message in (
        (["generate", "--text", "A", "--seed", "-1"], "`seed` must be"),
        (["evaluate", *data, "--ngrams", str(tmp_path / "dev.txt"), "--order", "1"], "order=1"),
        (["evaluate", *data, "--ngrams", str(tmp_path / "missing.txt")], "missing.txt, which does not exist"),
        (["evaluate", *data, "--ngrams", str(tmp_path / "empty.txt")], "Received: none in "),
    ):
        assert main([*arguments, *checkpoint]) == 2
        assert message in capsys.readouterr().err


def test_a_backslash_can_be_written_before_an_n(generator, tmp_path, capsys):
    assert unescape(r"a\nb\\nc\t\alpha\\") == "a\nb\\nc\\t\\alpha\\"
    (tmp_path / "prompts.txt").write_text("tek\\\\n\n")
    options = ["--checkpoint", str(generator.folder), "--max-tokens", "1"]
    assert main(["generate", *options, str(tmp_path / "prompts.txt")]) == 0
    assert json.loads(capsys.readouterr().out)["prompt"] == r"tek\n"
    assert main(["generate", *options, "--text", r"tek\\n"]) == 0
    assert capsys.readouterr().out.startswith(r"tek\n")


def test_other_formats_than_saved_models_are_refused_by_name(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["export", "--output", "x", "--format", "onnx"])
    error = capsys.readouterr().err.replace("'", "")
    assert "argument --format: invalid choice: onnx (choose from saved_model)" in error
