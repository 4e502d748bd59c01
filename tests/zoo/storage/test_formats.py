"""What decides an answer is hashed, an altered byte of a card is refused, and checkpoints of format 1 load."""

import hashlib
import json
import pathlib
import random
import shutil

import pytest
import safetensors.numpy

import zoo
from zoo.commands import checking
from zoo.storage.checkpoints import CARD, CONFIG, WEIGHTS, find, read_card, read_checkpoint, read_settings, write_card
from zoo.storage.formats import parse_card

FORMAT_1 = pathlib.Path(__file__).parents[2] / "fixtures" / "format_1"  # Cards and configurations of version 0.1.0.
OLD = sorted(path.parent.relative_to(FORMAT_1).as_posix() for path in FORMAT_1.glob(f"*/*/{CARD}"))

CHANGED = {  # Since version 0.1.0.
    "classification/sst2-small": {"labels": ["negative", "positive"]},
    "translation/multi30k-en-de": {
        "alignment_heads": [],
        "max_extra_tokens": 50,
        "max_repeats": 4,
        "placeholders": False,
        "split_sentences": True,
    },
}
ADDED = {"temperature": 1.0}  # Settings since then that change nothing at these values.

SIZES = {"activation": "relu", "epsilon": 1e-6, "output_bias": False, "tree_crf": False}  # The same of models.


@pytest.fixture
def copy(tmp_path):
    """A copy of a shipped checkpoint to alter."""
    return pathlib.Path(shutil.copytree(find("classification/sst2-small"), tmp_path / "copy"))


def old_checkpoint(name, folder):
    """Writes a shipped checkpoint as version 0.1.0 did, with weights in 16 bits."""
    shutil.copytree(find(name), folder)
    shutil.copytree(FORMAT_1 / name, folder, dirs_exist_ok=True)
    arrays = {key: array.astype("float16") for key, array in read_checkpoint(find(name)).arrays.items()}
    safetensors.numpy.save_file(arrays, folder / WEIGHTS)
    digest = hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest()
    change_json(folder / CARD, lambda card: card["files"].update({WEIGHTS: digest}))
    return folder


def change_json(path, change):
    values = json.loads(path.read_text("utf-8"))
    change(values)
    path.write_text(json.dumps(values, indent=1, ensure_ascii=False) + "\n", "utf-8")


@pytest.mark.parametrize(
    ("name", "read"),
    [
        (CARD, lambda path: parse_card(path.read_bytes(), path)),
        (CONFIG, lambda path: read_settings(path.parent)),
    ],
)
def test_every_byte_of_a_description_is_protected(copy, name, read):
    rng, path = random.Random(1), copy / name
    whole = path.read_bytes()
    read(path)
    altered = (
        whole[:place] + bytes([byte ^ rng.randrange(1, 256)]) + whole[place + 1 :] for place, byte in enumerate(whole)
    )
    for changed in (*altered, whole[:-1], whole + b"\n", whole.replace(b"\n", b"\r\n"), b""):
        path.write_bytes(changed)
        with pytest.raises(ValueError, match=name):
            read(path)


def test_an_altered_card_says_how_to_change_it(copy):
    change_json(copy / CARD, lambda card: card.update(name="better"))
    with pytest.raises(ValueError, match="was altered after it was written.* Received: .*use .*write_card"):
        zoo.load(copy)
    card = read_card(find("classification/sst2-small"))
    write_card(copy, {**card, "name": "better"})
    assert read_card(copy)["name"] == "better" and read_card(copy)["card_sha256"] != card["card_sha256"]


def test_a_card_of_format_2_is_not_read_as_one_of_format_1(copy):
    change_json(copy / CARD, lambda card: card.update(format=1, labels=["1", "0"]))
    with pytest.raises(ValueError, match="was altered"):
        zoo.load(copy)
    change_json(copy / CARD, lambda card: card.pop("card_sha256"))
    with pytest.raises(ValueError):  # The sizes of the model are not where format 1 has them.
        zoo.load(copy)


def test_labels_cannot_be_swapped(copy):
    """Those in the configuration are hashed, and those in a card have no effect."""
    write_card(copy, {**read_card(copy), "labels": ["positive", "negative"], "max_tokens": 1})
    assert zoo.load(copy).labels == ["negative", "positive"] and zoo.load(copy).max_tokens > 1
    change_json(copy / CONFIG, lambda config: config["settings"]["labels"].reverse())
    with pytest.raises(ValueError, match="config.json does not match its hash"):
        zoo.load(copy)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda config: config.update(task="labelling"), "must have the task of the card, 'classification'"),
        (lambda config: config["settings"].update(mood="good"), "Received: 'mood'. It may be of a newer version"),
        (lambda config: config.pop("settings"), "must have `task`, `settings` and `model`"),
        (lambda config: config.update(settings=[]), "must have `task`, `settings` and `model`"),
    ],
)
def test_other_configurations_are_refused(copy, change, message):
    change_json(copy / CONFIG, change)
    card = read_card(copy)
    card["files"][CONFIG] = hashlib.sha256((copy / CONFIG).read_bytes()).hexdigest()
    write_card(copy, card)
    with pytest.raises(ValueError, match=message):
        zoo.load(copy)


@pytest.mark.parametrize("name", OLD)
def test_checkpoints_of_format_1_are_read_as_those_of_today(tmp_path, name):
    folder = old_checkpoint(name, tmp_path / "old")
    raw = json.loads((folder / CARD).read_text("utf-8"))
    assert "format" not in raw and "card_sha256" not in raw, "the fixture is not of format 1"
    old, new = read_checkpoint(folder), read_checkpoint(find(name))
    assert old.settings == read_settings(folder) and {**SIZES, **old.config} == {**SIZES, **new.config}
    assert {**ADDED, **old.settings, **CHANGED.get(name, {})} == {**ADDED, **new.settings}
    decisive = {
        key: raw[key] for key in ("labels", "tags", "threshold", "max_tokens", "max_source_tokens") if key in raw
    }
    assert decisive and decisive.items() <= old.settings.items() and not decisive.keys() & old.card.keys()


def test_a_linearised_parser_of_format_1_is_recognised(tmp_path):
    folder = old_checkpoint("parsing/genia-small", tmp_path / "old")
    change_json(folder / CARD, lambda card: card.update(parser="linear"))
    assert read_settings(folder)["parser"] == "linear"


def test_a_checkpoint_of_format_1_answers_and_is_migrated_by_saving(tmp_path):
    folder = old_checkpoint("classification/sst2-small", tmp_path / "old")
    files, answers = checking.check(str(folder))
    assert files.passed and answers.passed, (files, answers)
    card = zoo.load(folder).save(tmp_path / "new", dtype="float16")
    old = read_card(folder)
    assert card["format"] == 2 and read_settings(tmp_path / "new") == {**read_settings(folder), **ADDED}
    assert card["files"][WEIGHTS] == old["files"][WEIGHTS]
    kept = old.keys() - {"labels", "max_tokens", "files"}
    assert {key: card[key] for key in kept} == {key: old[key] for key in kept}
