"""A small artificial corpus of moods, and a classifier trained on it for all tests."""

import random
import types

import pytest

MOODS = {"glad": ["sol", "mira"], "sad": ["nok", "drum"], "cold": ["fris"]}
NEUTRAL = ["te", "lo", "pana", "kir", "ute", "bim"]


def examples(count, seed):
    """Yields sentences of neutral words and one word that determines the mood."""
    rng = random.Random(seed)
    for _ in range(count):
        mood = rng.choice([*MOODS])
        words = [*rng.choices(NEUTRAL, k=rng.randint(0, 8)), rng.choice(MOODS[mood])]
        rng.shuffle(words)
        yield mood, " ".join(words)


def write(path, pairs):
    path.write_text("".join(f"{mood}\t{text}\n" for mood, text in pairs), "utf-8")
    return path


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """Returns tab-separated files with train, dev and test examples."""
    folder = tmp_path_factory.mktemp("moods")
    pairs = [*dict.fromkeys(examples(900, seed=1))]
    parts = {"test": pairs[:60], "dev": pairs[60:120], "train": pairs[120:]}
    return types.SimpleNamespace(**{name: write(folder / f"{name}.tsv", part) for name, part in parts.items()})


@pytest.fixture(scope="session")
def recipe():
    from zoo.config import ClassifierConfig, Recipe, TrainingConfig

    return Recipe(
        ClassifierConfig(
            vocabulary_size=320, num_layers=1, hidden_dim=16, intermediate_dim=32, num_heads=2, dropout=0.0
        ),
        TrainingConfig(
            batch_tokens=512,
            steps=60,
            warmup_steps=20,
            peak_learning_rate=0.02,
            cooldown_steps=30,
            evaluate_every=30,
            average=2,
            max_tokens=32,
            label_smoothing=0.0,
            score="accuracy",
        ),
        source="invented",
    )


@pytest.fixture(scope="session")
def trained(files, recipe, tmp_path_factory):
    """Returns a classifier that `task.train` trained, and its folder."""
    from zoo.classification import task
    from zoo.classification.data import open_examples

    folder, lines = tmp_path_factory.mktemp("trained") / "run", []
    readers = open_examples(files.train), open_examples(files.dev)
    classifier = task.train(recipe, *readers, folder, {"name": "moods"}, log=lines.append)
    return types.SimpleNamespace(classifier=classifier, folder=folder, log=lines)
