"""The checkpoints in the repository do what their cards say."""

import os
import pathlib

import pytest

import zoo
from zoo.config import ModelConfig, Recipe
from zoo.config_values import from_dict, to_dict
from zoo.translation import task
from zoo.translation.data import open_pairs

NAMES = [card["name"] for card in zoo.list()]
DEV = {
    "translation/multi30k-en-de": {
        "source": "multi30k/tok/val.lc.norm.tok.en.gz",
        "target": "multi30k/tok/val.lc.norm.tok.de.gz",
    },
    "translation/tatoeba-en-de": {"data": "tatoeba_eng_deu/dev.tsv"},
}


@pytest.fixture(scope="module", params=NAMES)
def shipped(request):
    return request.param, zoo.load(request.param)


def test_something_is_shipped_and_small():
    assert {*DEV} <= {*NAMES}
    assert sum(card["megabytes"] for card in zoo.list()) <= 30


@pytest.mark.parametrize("name", NAMES)
def test_cards_are_complete(name):
    translator_card = next(card for card in zoo.list() if card["name"] == name)
    for key in ("data", "licence", "command", "seed", "scores"):
        assert translator_card[key], f"{name}: no {key}"
    recipe = from_dict(Recipe, translator_card["recipe"])
    assert recipe.training.seed == translator_card["seed"]


def test_the_model_is_that_of_the_recipe(shipped):
    name, translator = shipped
    recipe = from_dict(ModelConfig, translator.card["recipe"]["model"])
    found = to_dict(translator.model.config)
    assert found == to_dict(recipe), name
    assert translator.model.count_params() == translator.card["parameters"]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("translation/tatoeba-en-de", "Tom is my friend.", "Tom ist mein Freund."),
        ("translation/tatoeba-en-de", "I am tired.", "Ich bin müde."),
        ("translation/multi30k-en-de", "a dog is running .", "ein hund rennt ."),
    ],
)
def test_german_comes_out(name, text, expected):
    assert zoo.load(name).translate([text]) == [expected]


def test_the_score_is_that_of_the_card(shipped):
    """On 200 dev sentences; the interval of the card's score lies in theirs, which is wider."""
    name, translator = shipped
    folder = pathlib.Path(os.environ.get("KERAS_TRANSFORMER_DATA") or "") / "translation"
    if name not in DEV or not all((folder / path).exists() for path in DEV[name].values()):
        pytest.skip(f"KERAS_TRANSFORMER_DATA names no folder with the dev set of {name}")
    pairs = [*open_pairs(**{key: folder / path for key, path in DEV[name].items()})][:200]
    card = translator.card["scores"][0]
    assert card["metric"] == "BLEU" and card["data"].endswith((" dev", " val"))
    (found, _), _ = task.evaluate(translator, pairs, card["beam_size"], card["length_penalty"], resamples=300)
    assert abs(found.value - card["value"]) < 1.5 * found.interval
