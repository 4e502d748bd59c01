"""Translators put placeholders in place of addresses and codes, and back; fine-tuned ones keep doing so."""

import copy

import pytest

from zoo.config_values import override
from zoo.text.placeholders import placeholder
from zoo.translation import searches, task


class EchoTokenizer:
    """Encodes a text as its characters, and decodes ids as a given text."""

    def __init__(self, tokenizer, answer):
        self._tokenizer, self._answer, self.read = tokenizer, answer, []

    def encode(self, texts):
        self.read.extend(texts)
        return self._tokenizer.encode(texts)

    def decode(self, rows):
        return [self._answer] * len(rows)

    def __getattr__(self, name):
        return getattr(self._tokenizer, name)


@pytest.mark.parametrize("placeholders", [True, False])
def test_placeholders_stand_for_codes(trained, placeholders, monkeypatch):
    translator = copy.copy(trained.translator)
    monkeypatch.setattr(translator, "placeholders", placeholders)
    tokenizer = EchoTokenizer(translator.tokenizer, f"{placeholder(1)} or {placeholder(0)}?{placeholder(2)}")
    monkeypatch.setattr(translator, "tokenizer", tokenizer)
    [found] = translator.translate(["mano AX-4471 tek a@b.org"], beam_size=1)
    if placeholders:
        assert tokenizer.read[-1] == f"mano {placeholder(0)} tek {placeholder(1)}" and found == "a@b.org or AX-4471?"
    else:
        assert tokenizer.read[-1] == "mano AX-4471 tek a@b.org" and placeholder(2) in found


@pytest.mark.slow
@pytest.mark.long
def test_fine_tuned_translators_keep_placeholders(trained, corpus, tmp_path):
    initial = copy.copy(trained.translator)
    initial.placeholders = True
    recipe = override(trained.recipe, ["training.steps=1", "training.cooldown_steps=0", "training.evaluate_every=1"])
    for name, given, expected in (("a", initial, True), ("b", trained.translator, False)):
        found = task.train(
            recipe, corpus.train[:50], corpus.dev[:3], tmp_path / name, initial=given, log=lambda x: None
        )
        assert found.placeholders is expected


def test_loss_is_that_of_placeholders(trained):
    translator = copy.copy(trained.translator)
    translator.placeholders = True
    first = placeholder(0)
    expected = trained.translator.loss([(f"mano {first} tek", f"zatis {first}")])
    assert translator.loss([("mano AX-4471 tek", "zatis AX-4471")]) == pytest.approx(expected)


def test_hypotheses_that_keep_digits_come_first(trained, monkeypatch):
    """The best four of a search, in the order of their scores, are ordered by what they lose of a text."""
    chosen = []

    def most_kept(found, source, kinds, num_return):
        chosen.append(found.ids.shape[1])
        return searches.Hypotheses(*(values[:, ::-1][:, :num_return] for values in found))

    translator = copy.copy(trained.translator)
    monkeypatch.setattr(translator, "_compiled", {})
    best = translator.n_best(["mano 7 tek"], 4)[0]
    assert not chosen
    monkeypatch.setattr(translator, "placeholders", True)
    monkeypatch.setattr(searches, "most_kept", most_kept)
    monkeypatch.setattr(translator, "_compiled", {})
    assert translator.translate(["mano 7 tek"], beam_size=4) == [best[-1].text]
    assert chosen == [4], "all hypotheses are compared, one is returned"


@pytest.mark.parametrize("placeholders", [True, False])
def test_bytes_that_are_no_character_are_left_out(trained, placeholders, monkeypatch):
    translator = copy.copy(trained.translator)
    monkeypatch.setattr(translator, "placeholders", placeholders)
    monkeypatch.setattr(translator, "tokenizer", EchoTokenizer(translator.tokenizer, "\ufffdza\ufffdtis"))
    assert translator.translate(["mano tek", "7 \ufffd8"], beam_size=1) == ["zatis", "7 8"]
