"""Tests of fine-tuning: frozen layers, layer decay, LoRA, token dropout."""

import numpy as np
import pytest

import zoo
from zoo.classification import task
from zoo.classification.data import open_examples
from zoo.config_values import override
from zoo.corpora.labelled_corpus import split_labels
from zoo.models.classifier import Classifier
from zoo.storage.arrays import assign_arrays, load_arrays, named_arrays
from zoo.training.fine_tuning import restrict_trainable
from zoo.training.trainer import Trainer

BLOCKS = 2


@pytest.fixture(scope="module")
def deep(recipe, files, tmp_path_factory):
    """Returns a classifier with two blocks after one update."""
    changes = ["steps=1", "warmup_steps=1", "cooldown_steps=0", "evaluate_every=1"]
    recipe = override(recipe, [f"model.num_layers={BLOCKS}", *(f"training.{change}" for change in changes)])
    return recipe, tune(recipe, files, tmp_path_factory.mktemp("deep") / "run")


def tune(recipe, files, folder, *changes, initial=None):
    readers = open_examples(files.train), open_examples(files.dev)
    recipe = override(recipe, [f"training.{change}" for change in changes])
    return task.train(recipe, *readers, folder, initial=initial, log=lambda text: None)


def moved(before, after):
    """Returns the largest change of a weight in each layer of the encoder, from the bottom, and in the head."""
    before, after = named_arrays(before.model), named_arrays(after.model)
    groups = ["text_encoder/embedding", *(f"text_encoder/encoder/block_{i}" for i in range(BLOCKS)), "head"]
    return [max(np.abs(after[n] - before[n]).max() for n in before if n.startswith(group)) for group in groups]


@pytest.mark.slow
@pytest.mark.long
def test_fine_tuning_adds_and_removes_ngrams(deep, files, tmp_path):
    """Common weights are copied; new n-grams start with zeros."""
    recipe, before = deep
    options = {"initial": before}
    for name, change in (("with", "model.ngrams=2"), ("without", "model.ngrams=0")):
        changed = override(recipe, [change, "training.peak_learning_rate=1e-9"])
        options["initial"] = tune(changed, files, tmp_path / name, **options)
        assert (options["initial"].model.ngrams is None) == (name == "without")
        assert 0 < max(moved(before, options["initial"])) < 1e-7


@pytest.mark.slow
def test_frozen_layers_do_not_change(deep, files, tmp_path):
    recipe, before = deep
    for frozen in (1, BLOCKS + 1):
        after = tune(recipe, files, tmp_path / str(frozen), f"frozen_layers={frozen}", initial=before)
        changes = moved(before, after)
        assert not any(changes[:frozen]) and all(changes[frozen:])


@pytest.mark.slow
def test_layer_decay_scales_updates(deep, files, tmp_path):
    """The first update of Adam equals the learning rate wherever the gradient is not zero."""
    recipe, before = deep
    decay, rate = 0.5, recipe.training.peak_learning_rate
    for factor in (1.0, decay):
        after = tune(recipe, files, tmp_path / str(factor), f"layer_decay={factor}", initial=before)
        expected = [rate * factor**depth for depth in range(BLOCKS + 1, -1, -1)]
        np.testing.assert_allclose(moved(before, after), expected, rtol=1e-2)


def test_lora_is_merged_into_checkpoint(deep, files, tmp_path):
    recipe, before = deep
    changes = "lora_rank=2", "steps=20", "evaluate_every=10"
    after = tune(recipe, files, tmp_path / "run", *changes, initial=before)
    own, given = named_arrays(after.model), named_arrays(before.model)
    assert own.keys() == given.keys()
    for name, array in own.items():
        change = array - given[name]
        if name.startswith("text_encoder"):
            assert change.any() == name.endswith("kernel"), name
            assert not change.any() or np.linalg.matrix_rank(change, tol=1e-5) <= 2
        else:
            assert change.any(), name
    loaded = zoo.load(tmp_path / "run" / "checkpoint")
    texts = ["te lo sol", "nok", ""]
    np.testing.assert_array_equal(loaded.probabilities(texts), after.probabilities(texts))


@pytest.mark.slow
def test_lora_run_resumes(deep, recipe, tmp_path):
    """The saved weights are those of the model, and a new trainer starts with them."""
    recipe, before = deep
    settings = override(recipe.training, ["lora_rank=2", "steps=2"])
    inputs = {"token_ids": np.array([[2, 9, 8, 3], [2, 7, 3, 0]])}
    batch = {**inputs, "labels": np.array([0, 2])}

    def trainer(folder):
        model = Classifier(before.model.config)
        model.build()
        assign_arrays(model, named_arrays(before.model), "test")
        restrict_trainable(model, settings)
        return Trainer(model, settings, folder, split=split_labels)

    first = trainer(tmp_path / "run")
    first.fit(iter([batch] * 2))
    logits = np.asarray(first.model(inputs))
    np.testing.assert_array_equal(np.asarray(trainer(tmp_path / "run").model(inputs)), logits)
    merged = Classifier(before.model.config)
    merged.build()
    assign_arrays(merged, load_arrays(tmp_path / "run" / "step-0000002.safetensors")[0], "test")
    np.testing.assert_allclose(np.asarray(merged(inputs)), logits, atol=1e-5)
    assert np.abs(logits - np.asarray(before.model(inputs))).max() > 1e-3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("frozen_layers=5", "`frozen_layers` must be at most 3, the embeddings and 2 blocks"),
        ("layer_decay=1.5", r"`layer_decay` must lie in \(0, 1\]"),
        ("lora_rank=-1", "`lora_rank` must be 0 or more"),
        ("token_dropout=1", r"`token_dropout` must lie in \[0, 1\)"),
    ],
)
def test_invalid_fine_tuning_raises(deep, files, tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        tune(deep[0], files, tmp_path / "run", change)
