"""Small language models that are trained for all tests of this folder."""

import dataclasses
import random
import types

import pytest
from language_recipe import RECIPE

WORDS = "tek", "luri", "soba", "pim"


def document(rng):
    """Returns a text in which a word follows the same word always, and which ends after "pim."."""
    first = rng.randrange(4)
    return " ".join([*(WORDS[first:] + WORDS[:4] * rng.randint(0, 2))]).removesuffix(" pim") + " pim."


@pytest.fixture(scope="session")
def documents():
    """Returns documents for training and for dev."""
    rng = random.Random(1)
    return types.SimpleNamespace(train=[document(rng) for _ in range(300)], dev=[document(rng) for _ in range(20)])


@pytest.fixture(scope="session")
def generator(documents, tmp_path_factory):
    """Returns a model that was trained on several documents."""
    from zoo.language_modelling import task

    folder = tmp_path_factory.mktemp("language") / "run"
    made = task.train(RECIPE, documents.train, documents.dev, folder, {"name": "words"}, log=lambda text: None)
    made.folder = folder / "checkpoint"
    return made


@pytest.fixture(scope="session")
def single(documents, tmp_path_factory):
    """Returns a model that was trained on one document."""
    from zoo.language_modelling import task

    folder = tmp_path_factory.mktemp("single") / "run"
    texts = ["\n".join(part) + "\n" for part in (documents.train, documents.dev)]
    return task.train(RECIPE, texts[:1], texts[1:], folder, log=lambda text: None)


@pytest.fixture(scope="session")
def positional(generator, tmp_path_factory):
    """Returns a model of random weights that has 40 learned positions, as recipe `nanogpt` has 64."""
    import keras

    from zoo.language_modelling.predictor import TextGenerator
    from zoo.models.language_model import LanguageModel

    keras.utils.set_random_seed(1)
    model = LanguageModel(dataclasses.replace(generator.model.config, architecture="gpt2", max_positions=40))
    model.build()
    settings = {name: getattr(generator, name) for name in generator.settings}
    made = TextGenerator(model, generator.tokenizer, {"name": "positional"}, **settings)
    made.folder = tmp_path_factory.mktemp("positional") / "checkpoint"
    made.save(made.folder)
    return made
