"""Tests that the checkpoints in this repository have the files, answers and scores of their cards."""

import os
import pathlib
import zlib

import pytest

import zoo
from zoo.commands import checking
from zoo.config import Recipe
from zoo.config_values import from_dict, to_dict
from zoo.storage.checkpoints import WEIGHTS_FOLDER
from zoo.translation import task
from zoo.translation.data import open_pairs

ROOT = pathlib.Path(__file__).parents[2]
NAMES = [card["name"] for card in zoo.list()]
# One of each task, and of each size of a translator; tests/long/shipped_scores.py compares all, on whole dev sets.
LONG = "classification/trec", "parsing/genia-small", "detection/bccd", "language/shakespeare", "images/cifar10"
SCORED = [
    *("labelling/masc-pos-small", "translation/multi30k-en-de", "translation/en-fr"),
    *(pytest.param(name, marks=pytest.mark.long) for name in LONG),
]
# Dev sets of translations.
DEV = {
    "translation/multi30k-en-de": {
        "source": "translation/multi30k/tok/val.lc.norm.tok.en.gz",
        "target": "translation/multi30k/tok/val.lc.norm.tok.de.gz",
    },
    "translation/en-fr": {"data": "translation/tatoeba_eng_fra/dev.tsv"},
}


@pytest.fixture(scope="module", params=NAMES)
def shipped(request):
    return request.param, zoo.load(request.param)


def test_shipped_checkpoints_are_small():
    assert len(NAMES) >= 5
    packed = sum(len(zlib.compress(path.read_bytes())) for path in WEIGHTS_FOLDER.glob("*/*/*"))
    assert packed < 94e6, "the wheel, which is a zip archive, stays below 95 MB"


@pytest.mark.parametrize("name", NAMES)
def test_cards_are_complete(name):
    card = next(card for card in zoo.list() if card["name"] == name)
    trained = card["task"] != "encoder"  # That is not from here.
    for key in (
        "data",
        "licence",
        "licence_short",
        "command",
        *(["seed", "scores"] if trained else ["use", "not_for"]),
    ):
        assert card[key], f"{name}: no {key}"
    assert not trained or card["recipe"]["training"]["seed"] == card["seed"]


def test_model_has_recipe(shipped):
    name, model = shipped
    if model.task == "encoder":
        return
    recipe = from_dict(Recipe(model=model.config_class()), model.card["recipe"])
    assert to_dict(model.model.config) == to_dict(recipe.model), name
    assert model.model.count_params() == model.card["parameters"]


def test_check_passes(shipped):
    files, answers = checking.check(shipped[0])
    assert files.passed and answers.passed, (files, answers)


@pytest.mark.slow
def test_first_sentences_are_right():
    """What `make translate` shows, against references of our own."""
    references = {
        "How are you today?": ["Wie geht es dir heute?", "Wie geht es Ihnen heute?"],
        "Would you like to come with us tomorrow evening?": [
            "Möchtest du morgen Abend mit uns kommen?",
            "Möchten Sie morgen Abend mit uns kommen?",
            "Möchtest du morgen Abend mitkommen?",
        ],
        "Tom has never told anybody why he left Boston.": [
            "Tom hat noch nie jemandem gesagt, warum er Boston verlassen hat.",
            "Tom hat nie jemandem gesagt, warum er Boston verlassen hat.",
            "Tom hat nie jemandem erzählt, warum er Boston verlassen hat.",
        ],
        "The children are playing in the garden because the weather is so beautiful.": [
            "Die Kinder spielen im Garten, weil das Wetter so schön ist.",
            "Die Kinder spielen im Garten, denn das Wetter ist so schön.",
        ],
        "Could you please tell me where the nearest train station is?": [
            "Könntest du mir bitte sagen, wo der nächste Bahnhof ist?",
            "Könnten Sie mir bitte sagen, wo der nächste Bahnhof ist?",
        ],
        "If I had known that, I would have called you earlier.": [
            "Wenn ich das gewusst hätte, hätte ich dich früher angerufen.",
            "Hätte ich das gewusst, hätte ich dich früher angerufen.",
        ],
    }
    lines = (ROOT / "examples" / "sentences" / "en.txt").read_text("utf-8").splitlines()
    assert lines == [*references]
    for line, found in zip(lines, zoo.load("translation/en-de").translate(lines)):
        assert found in references[line]


@pytest.mark.slow
def test_most_words_are_aligned_right():
    """In 20 sentences aligned by hand: 94 % of 157 words; 87 % by all heads of the last layer."""
    right = []
    translator = zoo.load("translation/en-de")
    for line in (ROOT / "tests" / "fixtures" / "alignments.txt").read_text("utf-8").splitlines():
        source, target, pairs = line.split(" ||| ")
        links = [tuple(map(int, pair.split("-"))) for pair in pairs.split()]
        found = translator.align([source], [target])[0].links
        right += [any(pair in links for pair in found if pair[1] == word) for word in {word for _, word in links}]
    assert len(right) == 157 and sum(right) > 0.92 * len(right)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCORED)
def test_score_equals_card(name):
    """Compares on the dev set; for translation on 200 sentences, whose larger interval must contain the score."""
    model = zoo.load(name)
    data = os.environ.get("KERAS_TRANSFORMER_DATA")
    if not data:
        pytest.skip("KERAS_TRANSFORMER_DATA names no folder of corpora")
    if name not in DEV:
        score = [*checking.check(name, data)][-1]
        assert score.name == "score" and score.passed, score
        return
    card = model.card["scores"][0]
    assert card["metric"] == "BLEU" and card["data"].endswith((" dev", " val"))
    files = {key: pathlib.Path(data) / value for key, value in DEV[name].items()}
    pairs = [*open_pairs(**files)][:200]
    assert (model.beam_size, model.length_penalty) == (card["beam_size"], card["length_penalty"])
    found = task.evaluate(model, pairs, resamples=300).scores[0]
    assert abs(found.value - card["value"]) < 1.5 * found.interval
