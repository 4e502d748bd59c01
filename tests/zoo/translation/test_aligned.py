"""Translators with aligned outputs: training, search, export and errors."""

import dataclasses
import itertools

import keras
import numpy as np
import pytest
from keras import ops
from perturbed import perturbed
from run_states import copied_at_evaluation, was_resumed

import zoo
from zoo.config import NonAutoregressiveConfig
from zoo.models.non_autoregressive import NonAutoregressive
from zoo.translation import task
from zoo.translation.length_loss import parallel_loss
from zoo.translation.non_autoregressive import NonAutoregressiveTranslator
from zoo.translation.parallel_search import parallel_search
from zoo.translation.recipes import ALIGNED

FULL = ("mano", "mano tek tek tek"), ("mano", "mano tek tek tek tek")


def aligned_recipe(trained, **changes):
    model = dataclasses.asdict(trained.recipe.model)
    return dataclasses.replace(
        trained.recipe,
        model=NonAutoregressiveConfig(**model, lengths="aligned", imputed=0.5),
        training=dataclasses.replace(trained.recipe.training, **{"label_smoothing": 0.0, "average": 1, **changes}),
    )


@pytest.fixture(scope="module")
def made(trained, corpus, tmp_path_factory):
    """A translator, trained for a moment from its autoregressive teacher; and the state at its first evaluation."""
    folder = tmp_path_factory.mktemp("aligned")
    recipe, lines = aligned_recipe(trained, steps=120, cooldown_steps=80, evaluate_every=60, score="loss"), []

    def run(path):
        given = {"initial": trained.translator, "log": lines.append}
        task.train(recipe, [*corpus.train, *FULL], corpus.dev, path, **given)

    with copied_at_evaluation(2, folder / "run", folder / "half"):
        run(folder / "run")
    return folder / "run", run, lines


@pytest.fixture(scope="module")
def translator(made):
    return zoo.load(made[0] / "checkpoint")


@pytest.fixture(scope="module")
def sources(corpus):
    return [source for source, _ in corpus.test[:6]]


def test_learns_and_is_loaded_with_its_settings(translator, corpus):
    assert (translator.beam_size, translator.iterations) == (1, 4)
    (bleu, chrf), *_ = task.evaluate(translator, corpus.test, resamples=0)
    assert chrf.value > 30


@pytest.mark.slow
def test_an_interrupted_run_resumes(made):
    folder, run, _ = made
    half = folder.with_name("half")
    run(half)
    assert was_resumed(half, folder)
    files = [path / "checkpoint" / "model.safetensors" for path in (half, folder)]
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("imputed, iterations", [(0.0, 1), (0.5, 7)])
def test_fine_tuned(trained, translator, corpus, tmp_path, imputed, iterations, monkeypatch):
    """The number of iterations is kept, unless the new model is trained for one only."""
    monkeypatch.setattr(translator, "iterations", 7)
    recipe = aligned_recipe(trained, steps=1, cooldown_steps=0, warmup_steps=1, evaluate_every=1)
    recipe = dataclasses.replace(recipe, model=dataclasses.replace(recipe.model, imputed=imputed))
    tuned = task.train(recipe, corpus.train, corpus.dev[:4], tmp_path / "run", initial=translator)
    assert tuned.iterations == iterations


@pytest.fixture(scope="module")
def unsure(translator):
    """A translator that changes its mind between iterations."""
    return perturbed(translator, 0.15, seed=1)


@pytest.mark.parametrize("iterations", [1, 3])
def test_search_against_single_calls_of_the_model(unsure, sources, iterations):
    """A third of the positions is decided after another, blanks last; the same token at two in a row is one."""
    unsure.iterations, model = iterations, unsure.model
    for text, (candidate,) in zip(sources, unsure.n_best(sources, 1)):
        source = np.array([[*unsure.tokenizer.encode([text])[0], 3]])
        memory, mask = model.encode(source), source != 0
        ids = np.array(ops.convert_to_numpy(model.masked_positions(source)))
        scores, count = np.zeros(ids.shape[1]), ids.shape[1]
        for iteration in range(iterations):
            decoded = model.decode(ids, memory, mask, None, model.copies(memory))
            log_probs = ops.convert_to_numpy(ops.log_softmax(ops.cast(model.logits(decoded)[0], "float32")))
            log_probs[:, [0, 2]] = -1e9
            best, certainty, masked = log_probs.argmax(-1), log_probs.max(-1), np.flatnonzero(ids[0] == 2)
            order = sorted(masked, key=lambda place: (best[place] == 3, -certainty[place]))
            kept = order[: len(masked) - count * (iterations - iteration - 1) // iterations]
            ids[0, kept], scores[kept] = best[kept], certainty[kept]
        tokens = [token for token, _ in itertools.groupby(ids[0]) if token != 3]
        assert candidate.text == unsure.tokenizer.decode([tokens])[0]
        assert candidate.score == pytest.approx(scores.mean(), abs=1e-4)


def test_batches_and_padding_change_nothing(translator, sources):
    assert translator.translate(sources) == [translator.translate([source])[0] for source in sources]


def test_translations_end_at_the_limit(translator, sources):
    source = np.array([[*translator.tokenizer.encode(sources[:1])[0], 3]])
    found = {}
    for limit in (3, 40):
        options = {"num_lengths": 1, "num_return": 1, "iterations": 1, "extra": 0}
        ids, _, _, lengths = parallel_search(translator.model, source, np.array([limit], "int32"), **options)
        found[limit] = ops.convert_to_numpy(ids)[0, 0, : int(lengths[0, 0])].tolist()
    assert found[3] == [*found[40][:2], 3] and found[40][-1] == 3 and len(found[40]) > 3


@pytest.mark.slow
@pytest.mark.long
def test_examples_for_fit(translator, corpus):
    """`fit` on what `examples` gives lowers the loss that `loss` computes."""
    pairs = corpus.train[:64]
    model = NonAutoregressive(translator.model.config)
    model.build()
    fresh = NonAutoregressiveTranslator(model, translator.tokenizer)
    before = fresh.loss(pairs)
    model.compile(keras.optimizers.Adam(3e-3), parallel_loss(model.config))
    model.fit(fresh.examples(*map(list, zip(*pairs)), batch_size=16), epochs=3, shuffle=False, verbose=0)
    assert fresh.loss(pairs) < 0.8 * before


def test_pairs_that_do_not_fit_are_counted(made, translator, corpus):
    counts = [len(ids) for ids in translator.tokenizer.encode([text for pair in FULL for text in pair])]
    assert counts == [1, 4, 1, 5], "the first has as many as positions"
    count = len(corpus.train) + 2
    assert any(line.startswith(f"1 of {count:,} pairs has more tokens than positions") for line in made[2])


def test_what_it_cannot_do(translator, trained, tmp_path):
    with pytest.raises(ValueError, match="at most 1, the number of lengths"):
        translator.n_best(["mano"], 2)
    model = NonAutoregressive(dataclasses.replace(translator.model.config, imputed=0.0))
    assert NonAutoregressiveTranslator(model, translator.tokenizer).iterations == 1
    with pytest.raises(ValueError, match="at once only. Received: iterations=4. Leave it at 1, or train it"):
        NonAutoregressiveTranslator(model, translator.tokenizer, iterations=4)
    with pytest.raises(ValueError, match="cannot be smoothed. Received: label_smoothing=0.1. Set"):
        task.train(aligned_recipe(trained, label_smoothing=0.1), [], [], tmp_path / "run")
    assert ALIGNED.training.label_smoothing == 0 and ALIGNED.model.lengths == "aligned"


@pytest.mark.slow
@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="exports need TensorFlow")
def test_exported_and_called(translator, sources, tmp_path):
    import tensorflow as tf

    translator.export(tmp_path / "model")
    served = tf.saved_model.load(str(tmp_path / "model")).signatures["serving_default"]
    found = served(tf.constant(["", *sources]))["translations"].numpy()
    assert [text.decode() for text in found] == translator.translate(["", *sources])
