"""Translators that predict all tokens at once: training, search, export, command line and errors."""

import dataclasses
import json

import keras
import numpy as np
import pytest
from keras import ops
from run_states import copied_at_evaluation, was_resumed

import zoo
from zoo.config import NonAutoregressiveConfig
from zoo.conversion.to_ctranslate2 import write_ctranslate2
from zoo.conversion.to_hugging_face import write_hugging_face
from zoo.corpora.masked_targets import MASK_ID
from zoo.models.non_autoregressive import NonAutoregressive
from zoo.storage.arrays import named_arrays
from zoo.training import fine_tuning
from zoo.translation import task
from zoo.translation.__main__ import main
from zoo.translation.ensemble import EnsembleTranslator
from zoo.translation.non_autoregressive import NonAutoregressiveTranslator


def parallel_recipe(trained, lengths="predicted", **changes):
    model = dataclasses.asdict(trained.recipe.model)
    return dataclasses.replace(
        trained.recipe,
        model=NonAutoregressiveConfig(**model, lengths=lengths, max_length=40),
        training=dataclasses.replace(trained.recipe.training, **changes),
    )


@pytest.fixture(scope="module")
def made(trained, corpus, tmp_path_factory):
    """A translator of predicted lengths, trained for a moment from its autoregressive teacher."""
    folder = tmp_path_factory.mktemp("parallel")
    recipe = parallel_recipe(trained, steps=80, cooldown_steps=60, evaluate_every=80, average=1, score="loss")
    task.train(recipe, corpus.train, corpus.dev, folder / "run", initial=trained.translator, log=lambda text: None)
    return folder / "run"


@pytest.fixture(scope="module")
def translator(made):
    return zoo.load(made / "checkpoint")


@pytest.fixture(scope="module")
def sources(corpus):
    return [source for source, _ in corpus.test[:6]]


def test_learns_and_is_loaded_with_its_settings(translator, corpus):
    assert isinstance(translator, NonAutoregressiveTranslator)
    assert (translator.beam_size, translator.iterations) == (5, 10)
    (bleu, chrf), *_ = task.evaluate(translator, corpus.test, resamples=0)
    assert chrf.value > 30


def test_search_against_single_calls_of_the_model(translator, sources):
    """Each of the likely lengths is decoded alone, step by step, by whole calls of the model."""
    iterations, model = 3, translator.model
    translator.iterations = iterations
    found = translator.n_best(sources, num_return=3, beam_size=3)
    translator.iterations = 10
    for text, candidates in zip(sources, found):
        source = np.array([[*translator.tokenizer.encode([text])[0], 3]])
        memory = model.encode(source)
        head = ops.convert_to_numpy(model.length_logits(memory, np.ones_like(source, bool)))[0, 1:]
        options = []
        for change in np.argsort(-head, kind="stable")[:3] - model.config.max_length_change:
            length = max(1, min(source.shape[1] + change, 39))
            ids, scores = np.full(length, MASK_ID), np.zeros(length)
            for t in range(iterations):
                masked = np.argsort(scores, kind="stable")[: length * (iterations - t) // iterations]
                shown = ids.copy()
                shown[masked] = MASK_ID
                logits = model({"source": source, "target": shown[None]})
                log_probs = ops.convert_to_numpy(ops.log_softmax(logits[0, 1:, : model.config.vocabulary_size]))
                log_probs[:, [0, 2, 3]] = -1e9
                ids[masked], scores[masked] = log_probs.argmax(-1)[masked], log_probs.max(-1)[masked]
            options.append((translator.tokenizer.decode([ids])[0], scores.mean()))
        options = {text: score for text, score in sorted(options, key=lambda option: option[1])}
        best = sorted(options.items(), key=lambda option: -option[1])
        assert [candidate.text for candidate in candidates] == [text for text, _ in best]
        np.testing.assert_allclose([candidate.score for candidate in candidates], [s for _, s in best], atol=1e-4)


def test_batches_change_nothing(translator, sources):
    assert translator.translate(sources) == [translator.translate([source])[0] for source in sources]


def test_sizes_and_weights_of_the_teacher_are_copied(translator, trained):
    assert translator.tokenizer.digest == trained.translator.tokenizer.digest
    assert translator.model.config.hidden_dim == trained.recipe.model.hidden_dim
    model = NonAutoregressive(translator.model.config)
    model.build()
    student = NonAutoregressiveTranslator(model, translator.tokenizer)
    fine_tuning.copy_initial_weights(trained.translator, student, log=print)
    own, given = named_arrays(model), named_arrays(trained.translator.model)
    assert own.keys() - given.keys() == {"length_head/kernel", "length_head/bias"}
    assert all((own[name] == array).all() for name, array in given.items())


@pytest.mark.slow
def test_an_interrupted_run_resumes(trained, corpus, tmp_path):
    options = {"steps": 4, "warmup_steps": 2, "cooldown_steps": 0, "evaluate_every": 2, "score": "loss"}
    recipe = parallel_recipe(trained, "fixed", **options)

    def run(name):
        given = {"tokenizer": trained.translator.tokenizer, "log": lambda text: None}
        task.train(recipe, corpus.train[:60], corpus.dev[:8], tmp_path / name, **given)
        return (tmp_path / name / "checkpoint" / "model.safetensors").read_bytes()

    with copied_at_evaluation(2, tmp_path / "whole", tmp_path / "resumed"):
        whole = run("whole")
    assert run("resumed") == whole and was_resumed(tmp_path / "resumed", tmp_path / "whole")
    fixed = zoo.load(tmp_path / "whole" / "checkpoint")
    assert fixed.beam_size == 1 and len(fixed.translate(["mano tek.", ""])) == 2
    with pytest.raises(ValueError, match="at most 1, the number of lengths"):
        fixed.n_best(["mano"], 2)


@pytest.mark.slow
@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="exports need TensorFlow")
def test_exported_and_called(translator, sources, tmp_path):
    import tensorflow as tf

    card = translator.export(tmp_path / "model", beam_size=2)
    assert card["iterations"] == 10 and card["search"] == {"beam_size": 2, "num_return": 1}
    served = tf.saved_model.load(str(tmp_path / "model")).signatures["serving_default"]
    found = served(tf.constant(["", *sources]))["translations"].numpy()
    assert [text.decode() for text in found] == translator.translate(["", *sources], beam_size=2)


def test_examples_for_fit(translator, corpus):
    sources, targets = map(list, zip(*corpus.dev[:9]))
    (inputs, labels), *others = translator.examples(sources, targets, batch_size=4, shuffle=False)
    assert len(others) == 2 and labels.shape[1] == inputs["target"].shape[1] + 1
    assert np.isin(MASK_ID, inputs["target"])


def test_command_line(made, capsys, tmp_path, corpus):
    path = str(made / "checkpoint")
    assert main(["translate", "--checkpoint", path, "--iterations", "1", "--text", "mano tek."]) == 0
    assert capsys.readouterr().out.strip()
    assert main(["translate", "--checkpoint", path, "--iterations", "0", "--text", "mano"]) == 2
    assert "`iterations` must be an integer of at least 1" in capsys.readouterr().err
    assert main(["translate", "--checkpoint", path, "--length-penalty", "1", "--text", "mano"]) == 2
    assert "mean log-probability" in capsys.readouterr().err
    assert main(["translate", "--checkpoint", path, "--alignments", "--text", "mano"]) == 2
    assert "does not align words" in capsys.readouterr().err


def test_others_have_no_iterations(trained, capsys):
    path = str(trained.folder / "checkpoint")
    assert main(["translate", "--checkpoint", path, "--iterations", "4", "--text", "mano"]) == 2
    assert "Only a non-autoregressive translator" in capsys.readouterr().err


def test_what_it_cannot_do(translator, trained, tmp_path):
    with pytest.raises(ValueError, match="cannot sample"):
        translator.sample(["mano"])
    with pytest.raises(ValueError, match="token by token"):
        EnsembleTranslator([translator, translator])
    with pytest.raises(ValueError, match="token by token"):
        write_ctranslate2(translator, tmp_path / "ct2")
    with pytest.raises(ValueError, match="non-autoregressive"):
        write_hugging_face(translator, tmp_path / "hf")
    with pytest.raises(ValueError, match="must be True or False"):
        NonAutoregressiveTranslator(translator.model, translator.tokenizer, jit_compile="auto")
    with pytest.raises(ValueError, match="architecture='t5'. Leave it at"):
        NonAutoregressiveConfig(architecture="t5", normalize_first=True)
    with pytest.raises(ValueError, match="`r_drop` has no effect"):
        task.train(parallel_recipe(trained, r_drop=1.0), [], [], tmp_path / "run")


def test_card_says_how_its_scores_were_searched(made, corpus, tmp_path, capsys):
    from zoo.commands.packing import pack

    (tmp_path / "dev.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in corpus.dev[:5]), "utf-8")
    card = pack(str(made / "checkpoint"), tmp_path / "packed", evaluate=["--data", str(tmp_path / "dev.tsv")])
    assert {"beam_size": 5, "iterations": 10}.items() <= card["scores"][0].items()
    assert json.loads((tmp_path / "packed" / "config.json").read_text("utf-8"))["settings"]["iterations"] == 10
