"""The checkpoints in the repository do what their cards say."""

import functools
import importlib
import os
import pathlib

import pytest

import zoo
from zoo.classification.data import open_examples
from zoo.classification.recipes import ClassifierRecipe
from zoo.config import Recipe
from zoo.config_values import from_dict, to_dict
from zoo.labelling.data import SentenceReader
from zoo.labelling.recipes import TaggerRecipe
from zoo.translation.data import open_pairs

NAMES = [card["name"] for card in zoo.list()]
RECIPES = {"translation": Recipe, "classification": ClassifierRecipe, "labelling": TaggerRecipe}
# How each dev set is opened, with the file or files that it needs.
DEV = {
    "translation/multi30k-en-de": (
        open_pairs,
        {
            "source": "translation/multi30k/tok/val.lc.norm.tok.en.gz",
            "target": "translation/multi30k/tok/val.lc.norm.tok.de.gz",
        },
    ),
    "translation/tatoeba-en-de": (open_pairs, {"data": "translation/tatoeba_eng_deu/dev.tsv"}),
    "classification/sst2": (open_examples, {"data": "classification/sst2/dev.tsv"}),
    "classification/trec": (
        functools.partial(open_examples, columns=(0, 2)),
        {"data": "classification/trec/dev.tsv"},
    ),
    "labelling/masc-pos": (SentenceReader, {"path": "labelling/masc_pos/dev.tsv"}),
}
GERMAN = {
    "translation/tatoeba-en-de": {"Tom is my friend.": "Tom ist mein Freund.", "I am tired.": "Ich bin müde."},
    "translation/multi30k-en-de": {"a dog is running .": "ein hund rennt ."},
}
CLASSES = {
    "classification/sst2": {"a warm , funny and moving film": "1", "a dull , boring mess": "0"},
    "classification/trec": {"Who wrote Hamlet ?": "HUM", "How many people live in Chile ?": "NUM"},
}
TAGS = {"labelling/masc-pos": "The_DT dogs_NNS are_VBP in_IN the_DT house_NN ._."}


@pytest.fixture(scope="module", params=NAMES)
def shipped(request):
    return request.param, zoo.load(request.param)


def test_something_is_shipped_and_small():
    assert {*DEV} == {*NAMES}
    sizes = {card["name"]: card["megabytes"] for card in zoo.list()}
    translation = sum(size for name, size in sizes.items() if name.startswith("translation/"))
    assert translation <= 30 and sum(sizes.values()) - translation <= 30


@pytest.mark.parametrize("name", NAMES)
def test_cards_are_complete(name):
    card = next(card for card in zoo.list() if card["name"] == name)
    for key in ("data", "licence", "command", "seed", "scores"):
        assert card[key], f"{name}: no {key}"
    recipe = from_dict(RECIPES[card["task"]], card["recipe"])
    assert recipe.training.seed == card["seed"]


def test_the_model_is_that_of_the_recipe(shipped):
    name, model = shipped
    recipe = from_dict(RECIPES[model.card["task"]], model.card["recipe"])
    assert to_dict(model.model.config) == to_dict(recipe.model), name
    assert model.model.count_params() == model.card["parameters"]


def test_what_is_plain_comes_out(shipped):
    name, model = shipped
    if name.startswith("translation/"):
        assert model.translate([*GERMAN[name]]) == [*GERMAN[name].values()]
    elif name.startswith("classification/"):
        assert [label for label, _ in model.classify([*CLASSES[name]])] == [*CLASSES[name].values()]
    else:
        words, labels = zip(*(word.split("_") for word in TAGS[name].split()))
        assert model.tag([list(words)]) == [list(labels)]


@pytest.mark.slow
def test_the_score_is_that_of_the_card(shipped):
    """On the dev set; of translations on 200 sentences, in whose wider interval the card's score lies."""
    name, model = shipped
    data = pathlib.Path(os.environ.get("KERAS_TRANSFORMER_DATA") or "")
    open_dev, files = DEV[name]
    if not all((data / file).exists() for file in files.values()):
        pytest.skip(f"KERAS_TRANSFORMER_DATA names no folder with the dev set of {name}")
    examples = open_dev(**{key: data / file for key, file in files.items()})
    task, card = importlib.import_module(f"zoo.{model.card['task']}.task"), model.card["scores"][0]
    if model.card["task"] == "translation":
        assert card["metric"] == "BLEU" and card["data"].endswith((" dev", " val"))
        pairs = [*examples][:200]
        (found, _), _ = task.evaluate(model, pairs, card["beam_size"], card["length_penalty"], resamples=300)
        assert abs(found.value - card["value"]) < 1.5 * found.interval
    else:
        options = {"unknown_labels": "wrong"} if model.card["task"] == "labelling" else {}
        found = task.evaluate(model, examples, resamples=0, **options)
        found = found[0][0] if model.card["task"] == "classification" else found[0]
        assert (found.metric, card["metric"]) == ("accuracy", "accuracy")
        assert found.value == pytest.approx(card["value"], abs=0.35), "float16 may move a few answers"
