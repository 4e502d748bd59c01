"""Language models that predict together average their probabilities."""

import copy
import dataclasses
import types

import numpy as np
import pytest
from keras import ops

from zoo.language_modelling.__main__ import main
from zoo.language_modelling.ensemble import EnsembleGenerator
from zoo.language_modelling.predictor import TextGenerator
from zoo.models.language_model import LanguageModel

TEXTS = ["luri soba pim tek luri.", "tek soba", "pim pim pim luri"]


def noisy(generator, seed, config=None, **changed):
    """Returns a generator whose weights are random if it has another config, else a little changed."""
    model = LanguageModel(config or generator.model.config)
    model.build()
    rng = np.random.default_rng(seed)
    values = [0] * len(model.weights) if config else map(ops.convert_to_numpy, generator.model.weights)
    for weight, value in zip(model.weights, values, strict=True):
        weight.assign(value + 0.1 * rng.normal(size=weight.shape))
    settings = {name: getattr(generator, name) for name in generator.settings}
    return TextGenerator(model, generator.tokenizer, **{**settings, **changed})


@pytest.fixture(scope="module")
def members(generator):
    """Returns three models of one vocabulary, the last of which has learned positions and another depth."""
    config = dataclasses.replace(
        generator.model.config, architecture="gpt2", max_positions=70, num_layers=3, intermediate_dim=24
    )
    return [generator, noisy(generator, 1), noisy(generator, 2, config)]


def probabilities(generator, ids):
    return np.exp(np.asarray(ops.log_softmax(generator.model({"token_ids": ids})), "float64"))


def test_probabilities_are_averaged(members):
    found = EnsembleGenerator(members).log_probs(TEXTS)
    expected = np.log(np.mean([np.exp(member.log_probs(TEXTS).astype("float64")) for member in members], axis=0))
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert np.ptp([member.log_probs(TEXTS).sum() for member in members]) > 1


def test_greedy_text_equals_full_passes(members):
    ensemble = EnsembleGenerator(members)
    ids = [3, *ensemble.tokenizer.encode(["so"])[0]]
    start = len(ids)
    while len(ids) < start + 12 and ids[-1] != 3:
        mean = np.mean([probabilities(member, np.array([ids], "int32"))[0, -1] for member in members], axis=0)
        mean[[0, 1, 2, *ensemble.unseen]] = 0
        ids.append(int(mean.argmax()))
    (text,) = ensemble.generate(["so"], max_tokens=12, temperature=0)
    assert "so" + text == ensemble.tokenizer.decode([[token for token in ids if token != 3]])[0]


def test_streams_and_samples_as_one_model(generator):
    twice = EnsembleGenerator([generator, generator])
    options = {"max_tokens": 40, "seed": 2, "temperature": 1.5, "top_p": 0.9}
    assert twice.generate(TEXTS, **options) == generator.generate(TEXTS, **options)
    assert "".join(twice.stream("tek", **options)) == generator.generate(["tek"], **options)[0]


@pytest.mark.slow
@pytest.mark.long
def test_the_saved_model_writes_what_the_ensemble_writes(members, tmp_path):
    EnsembleGenerator(members).export(tmp_path / "served", max_tokens=12)  # It is compared before it is left there.
    assert (tmp_path / "served" / "saved_model.pb").exists()


def test_settings_are_those_that_suit_all(members):
    one, two = (noisy(members[0], 1, max_tokens=size, unseen=unseen) for size, unseen in ((9, [7, 8, 9]), (5, [9, 7])))
    ensemble = EnsembleGenerator([one, two])
    assert ensemble.max_tokens == 5 and ensemble.unseen == [7, 9]
    longer = noisy(members[0], 1, dataclasses.replace(members[2].model.config, max_positions=90))
    assert EnsembleGenerator([longer, *members]).model.max_positions == 70
    with pytest.raises(ValueError, match="at most 70 tokens"):
        EnsembleGenerator(members).generate(["tek"], max_tokens=80)


def test_what_an_ensemble_cannot_do(generator, tmp_path):
    with pytest.raises(ValueError, match="An ensemble is several checkpoints"):
        EnsembleGenerator([generator]).save(tmp_path / "x")
    with pytest.raises(ValueError, match="must all know where documents end"):
        EnsembleGenerator([generator, noisy(generator, 1, documents=False)])
    with pytest.raises(ValueError, match="at least one model. Received: none"):
        EnsembleGenerator([])
    other = copy.copy(generator)
    other.tokenizer = types.SimpleNamespace(digest="0" * 64)
    with pytest.raises(ValueError, match="need the same vocabulary"):
        EnsembleGenerator([generator, other])


@pytest.mark.slow
def test_command_line_takes_several_checkpoints(members, documents, tmp_path, capsys):
    folders = [str(tmp_path / name) for name in "ab"]
    for member, folder in zip(members[1:], folders):
        member.save(folder)
    (tmp_path / "dev.txt").write_text("\n".join(documents.dev))
    data = ["--data", str(tmp_path / "dev.txt"), "--documents", "line"]
    assert main(["evaluate", "--checkpoint", *folders, *data]) in (0, None)
    loss = float(capsys.readouterr().out.split("nats/token")[1].split()[0].strip(",:="))
    assert loss == pytest.approx(-EnsembleGenerator(members[1:]).log_probs(documents.dev).mean(), abs=1e-3)
    (tmp_path / "prompts.txt").write_text("tek\n")
    options = "--temperature", "0", "--max-tokens", "9"
    assert main(["generate", "--checkpoint", *folders, str(tmp_path / "prompts.txt"), *options]) in (0, None)
    (text,) = EnsembleGenerator(members[1:]).generate(["tek"], temperature=0, max_tokens=9)
    assert text in capsys.readouterr().out
