"""A pair of artificial languages, and a translator trained on it for all tests."""

import contextlib
import json
import os
import random
import types

import pytest
from filelock import FileLock

WORDS = dict(
    zip(
        ["mano", "tek", "luri", "soba", "pim", "dala", "koru", "fes", "niva", "gat"],
        ["Brund", "ølk", "Wesp", "zati", "Kromm", "hul", "Tirr", "aub", "Dosk", "jeff"],
    )
)


def sentence_pairs(count, seed, longest=6):
    """Yields source sentences and their translations word by word, with a punctuation mark at the end."""
    rng = random.Random(seed)
    for _ in range(count):
        words = rng.choices([*WORDS], k=rng.randint(1, longest))
        mark = rng.choice(".!")
        yield " ".join(words) + mark, " ".join(WORDS[word] for word in words) + mark


@pytest.fixture(scope="session")
def corpus():
    """Returns train, dev and test pairs; the sentences of the last two are not in the first."""
    pairs = [*dict.fromkeys(sentence_pairs(1500, seed=1))]
    return types.SimpleNamespace(test=pairs[:40], dev=pairs[40:70], train=pairs[70:])


@pytest.fixture(scope="session")
def tokenizer(corpus):
    """Returns the vocabulary of the artificial languages: their words and single bytes."""
    from zoo.text.tokenizer_training import train_tokenizer

    return train_tokenizer((text for pair in corpus.train for text in pair), 400)


@pytest.fixture(scope="session")
def trained(corpus, tokenizer, tmp_path_factory):
    """Returns a translator that `task.train` trained on the artificial languages, and its folder.

    The processes of pytest-xdist share the run: the first one trains, and translates the first 10 test sentences; the
    others load what it wrote.
    """
    import zoo
    from zoo.config import ModelConfig, Recipe, TrainingConfig
    from zoo.translation import task

    recipe = Recipe(
        ModelConfig(
            vocabulary_size=400,
            num_encoder_layers=1,
            num_decoder_layers=1,
            hidden_dim=32,
            intermediate_dim=64,
            num_heads=2,
            dropout=0.0,
        ),
        TrainingConfig(
            batch_tokens=1024,
            steps=200,
            warmup_steps=40,
            peak_learning_rate=0.01,
            cooldown_steps=100,
            evaluate_every=100,
            average=2,
        ),
        source="invented",
    )
    several = "PYTEST_XDIST_WORKER" in os.environ
    shared = tmp_path_factory.getbasetemp().parent / "trained" if several else tmp_path_factory.mktemp("trained")
    folder, facts = shared / "run", shared / "facts.json"
    with FileLock(f"{shared}.lock"):
        if facts.exists():
            translator = zoo.load(folder / "checkpoint")
        else:
            lines, card = [], {"name": "invented"}
            translator = task.train(recipe, corpus.train, corpus.dev, folder, card, tokenizer, log=lines.append)
            translations = translator.translate([source for source, _ in corpus.test[:10]], beam_size=1)
            facts.write_text(json.dumps({"log": lines, "translations": translations}), "utf-8")
    facts = json.loads(facts.read_text("utf-8"))
    return types.SimpleNamespace(translator=translator, folder=folder, recipe=recipe, **facts)


@pytest.fixture
def interrupt_evaluation(monkeypatch):
    """`interrupt_evaluation(n, task)` is a context in which a training run is interrupted at its n-th evaluation.

    What it then finds on resuming is the state of the evaluation before.
    """
    from zoo.training import tasks

    @contextlib.contextmanager
    def interrupted(number, task):
        owner, calls = getattr(task, "Translation", tasks.Task), []
        evaluate = owner.dev_figures

        def evaluate_or_stop(*arguments):
            calls.append(arguments)
            if len(calls) == number:
                raise KeyboardInterrupt
            return evaluate(*arguments)

        with monkeypatch.context() as patch:
            patch.setattr(owner, "dev_figures", evaluate_or_stop)
            with pytest.raises(KeyboardInterrupt):
                yield

    return interrupted
