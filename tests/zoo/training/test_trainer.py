"""Tests of the trainer: accumulation, reported figures, checkpoints, patience."""

import dataclasses
import functools
import itertools
import threading

import numpy as np
import pytest
from trainer_checks import (
    CONFIG,
    UPDATES,
    assert_close,
    assert_same,
    batch_of,
    corpus,
    history,
    make,
    make_real,
    random_pairs,
    train,
    whole_batches,
)

from keras_transformer import DecoderBlock, EncoderBlock
from zoo.corpora.batching import BatchStream
from zoo.corpora.encoded_corpus import teacher_forced
from zoo.storage.arrays import load_arrays, named_arrays
from zoo.training.trainer import Trainer, micro_batches


@pytest.mark.parametrize(("micro_batch_tokens", "parts"), [(32, 2), (16, 4)])
@pytest.mark.slow
def test_accumulated_updates_equal_whole_updates(micro_batch_tokens, parts, tmp_path):
    """With 4 micro-batches of 6 pairs, one has padding only, which must not count."""
    before = named_arrays(make_real(dropout=False))
    _, whole = train(make_real(dropout=False), whole_batches(), tmp_path / "whole")
    changes = {"micro_batch_tokens": micro_batch_tokens}
    trainer, micro = train(make_real(dropout=False), whole_batches(), tmp_path / "micro", **changes)
    assert trainer.accumulation == parts and trainer.step == 6
    assert_close(micro, whole)
    assert np.abs(whole["embedding/embeddings"] - before["embedding/embeddings"]).max() > 0.01
    losses = [[line["train_loss"] for line in history(tmp_path / name)] for name in ("whole", "micro")]
    np.testing.assert_allclose(*losses, rtol=1e-5)


def test_run_resumes_with_other_micro_batches(tmp_path):
    """As on a machine with more devices or less memory: batches and state stay the same."""
    _, expected = train(make(), whole_batches(), tmp_path / "through")
    train(make(), whole_batches(), tmp_path / "run", steps=2, micro_batch_tokens=16)
    for steps, micro_batch_tokens in ((4, 32), (6, 0)):
        config = dataclasses.replace(CONFIG, steps=steps, micro_batch_tokens=micro_batch_tokens)
        trainer = Trainer(make(seed=2), config, tmp_path / "run")
        found = trainer.fit(itertools.islice(whole_batches(), trainer.step, None))
    assert_close(found, expected)


def test_micro_batches_are_parts_of_the_batch():
    counted = []
    batches = [batch_of(random_pairs(7, seed=1)), batch_of(random_pairs(3, seed=2))]
    examples = [*micro_batches(map(teacher_forced, batches), 2, 2, counted.append)]
    assert [len(weights) for _, _, weights in examples] == [4, 4, 2, 2]
    for batch, parts, tokens in zip(batches, (examples[:2], examples[2:]), counted, strict=True):
        assert tokens == np.count_nonzero(batch["target"][:, 1:])
        fill = ((0, 1), (0, 0))
        expected = np.pad(batch["source"], fill), *(np.pad(batch["target"][:, cut], fill) for cut in np.s_[:-1, 1:])
        found = zip(*((inputs["source"], inputs["target"], labels) for inputs, labels, _ in parts))
        for side, wanted in zip(found, expected, strict=True):
            np.testing.assert_array_equal(np.concatenate(side), wanted)
        for _, _, weights in parts:
            np.testing.assert_allclose(weights, 2 / tokens)


@pytest.mark.parametrize("micro_batch_tokens", [0, 32])
def test_reported_loss_is_mean_over_updates(tmp_path, micro_batch_tokens):
    model = make()
    # The rate is so small that the model does not change.
    small = {"peak_learning_rate": 1e-9, "steps": 3, "evaluate_every": 3, "label_smoothing": 0.2}
    train(model, whole_batches(), tmp_path, micro_batch_tokens=micro_batch_tokens, **small)
    losses = []
    for batch in map(batch_of, UPDATES):
        logits = np.asarray(model({"source": batch["source"], "target": batch["target"][:, :-1]}), "float64")
        labels = batch["target"][:, 1:]
        log_probs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
        gold = np.take_along_axis(log_probs, labels[..., None], -1)[..., 0]
        losses.append((-0.8 * gold - 0.2 * log_probs.mean(-1))[labels != 0].mean())
    assert history(tmp_path)[0]["train_loss"] == pytest.approx(np.mean(losses), rel=1e-5)


@pytest.mark.slow
def test_remat_computes_blocks_again_and_trains_the_same(tmp_path, monkeypatch):
    """With dropout: the second pass draws what the first one did."""
    calls = []
    for block in (EncoderBlock, DecoderBlock):
        monkeypatch.setattr(block, "call", counted(block.call, calls))
    found = {}
    for remat in (False, True):
        calls.clear()
        _, weights = train(make_real(dropout=True), whole_batches(), tmp_path / str(remat), steps=2, remat=remat)
        found[remat] = len(calls), weights
    assert found[True][0] == 2 * found[False][0] > 0, "each block is traced for both passes"
    assert_close(found[True][1], found[False][1])


def counted(call, calls):
    @functools.wraps(call)
    def counting(*args, **kwargs):
        calls.append(1)
        return call(*args, **kwargs)

    return counting


@pytest.mark.slow
def test_dropout_is_active_in_training_only(tmp_path):
    def draws(model):
        return [int(np.asarray(v)[1]) for v in model.variables if "seed_generator_state" in v.path]

    seen = []

    def evaluate(model):
        before = draws(model)
        model({name: batch_of(UPDATES[0])[name] for name in ("source", "target")})
        assert draws(model) == before
        seen.append(before)
        return {"score": 0.0}

    train(make_real(dropout=True), whole_batches(), tmp_path, evaluate, steps=4)
    # After the embeddings (of both sides), 2 sublayers of the encoder and 3 of the decoder; inside 2 feed-forward
    # layers; on the weights of 3 attentions.
    assert len(seen[0]) == 1 + 5 + 2 + 3
    assert all(2 <= count <= 4 for count in seen[0]) and [2 * count for count in seen[0]] == seen[1]


def test_last_evaluation_interval_may_be_shorter(tmp_path):
    for name, steps, updates in (("short", 1, [1]), ("odd", 5, [2, 4, 5])):
        trainer, _ = train(make(), whole_batches(), tmp_path / name, steps=steps)
        assert int(trainer.model.optimizer.iterations) == trainer.step == steps
        assert [line["step"] for line in history(tmp_path / name)] == updates


def scripted(scores):
    scores = iter(scores)
    return lambda model: {"score": next(scores), "dev_loss": 1.5}


def checkpoints(folder):
    return sorted(path.name for path in folder.glob("step-*"))


def test_best_checkpoint_and_average(tmp_path):
    kept = []

    def evaluate(model):
        kept.append(named_arrays(model))
        return {"score": [1.0, 5.0, 5.0, 2.0][len(kept) - 1]}

    trainer, mean = train(make(), whole_batches(), tmp_path, evaluate, steps=8, average=3)
    assert_same(trainer.best(), kept[1])
    assert load_arrays(tmp_path / "best.safetensors")[1] == {"step": 4, "score": 5.0}
    for name, array in mean.items():
        np.testing.assert_allclose(array, np.mean([arrays[name] for arrays in kept[-3:]], 0), rtol=1e-6, atol=1e-7)
    assert np.abs(kept[0]["output/bias"] - kept[3]["output/bias"]).max() > 1e-3
    assert checkpoints(tmp_path) == [f"step-{step:07d}.safetensors" for step in (4, 6, 8)]


def test_average_of_one_is_last_checkpoint(tmp_path):
    trainer, last = train(make(), whole_batches(), tmp_path, average=1)
    assert_same(last, named_arrays(trainer.model))
    assert checkpoints(tmp_path) == ["step-0000006.safetensors"]


def test_nan_score_is_replaced_as_best(tmp_path):
    trainer, _ = train(make(), whole_batches(), tmp_path, scripted([float("nan"), 1.0, float("nan")]))
    assert trainer.facts["best_step"] == 4


@pytest.mark.parametrize(
    ("patience", "steps"),
    [(1, 6), (2, 8), (3, 14), (0, 14)],
)
def test_patience_counts_evaluations_without_improvement(tmp_path, patience, steps):
    scores = [1, 2, 2, 1, 3, 2, 1]
    trainer, _ = train(make(), whole_batches(), tmp_path, scripted(scores), steps=14, patience=patience)
    assert trainer.step == steps
    # A resumed run stops at once.
    again = Trainer(make(), trainer.config, tmp_path, scripted([9] * 9))
    again.fit(iter([]))
    assert again.step == steps


def test_patience_is_ignored_without_score(tmp_path):
    trainer, _ = train(make(), whole_batches(), tmp_path, patience=1)
    assert trainer.step == 6


def test_log_has_line_for_each_evaluation(tmp_path, capsys):
    train(make(), whole_batches(), tmp_path, scripted([1.0, 2.0, 3.0]))
    lines = history(tmp_path)
    assert [(line["step"], line["score"], line["dev_loss"]) for line in lines] == [
        (2, 1, 1.5),
        (4, 2, 1.5),
        (6, 3, 1.5),
    ]
    assert all(line["tokens_per_second"] > 0 and line["train_loss"] > 0 for line in lines)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert [line.split("  ")[0] for line in shown.err.splitlines() if line.startswith("step")] == [
        "step 2",
        "step 4",
        "step 6",
    ]


def test_stagnant_score_is_logged(tmp_path, capsys):
    losses = iter([4.0, 3.0, 2.0, 1.0])
    train(make(), whole_batches(), tmp_path, lambda model: {"score": 0.5, "dev_loss": next(losses)}, steps=8)
    lines = capsys.readouterr().err.splitlines()
    assert [line.startswith("warning: in the last 3 evaluations dev_loss fell") for line in lines].count(True) == 1


def test_invalid_corpus_raises(tmp_path):
    trainer = Trainer(make(), CONFIG, tmp_path)
    with pytest.raises(ValueError, match="`batch_tokens` must hold the longest row"):
        trainer.fit(BatchStream(corpus(), 4, seed=0))


def test_no_thread_outlives_training(tmp_path):
    before = {thread.ident for thread in threading.enumerate()}
    train(make(), whole_batches(), tmp_path)
    assert not [thread for thread in threading.enumerate() if thread.ident not in before and "Writer" in repr(thread)]
    assert [*(tmp_path / "tensorboard").glob("events*")]


@pytest.mark.parametrize("micro_batch_tokens", [0, 32])
def test_r_drop_without_dropout_changes_nothing(micro_batch_tokens, tmp_path):
    _, expected = train(make(), whole_batches(), tmp_path / "plain", steps=4)
    changes = {"steps": 4, "micro_batch_tokens": micro_batch_tokens}
    _, found = train(make(), whole_batches(), tmp_path / "twice", r_drop=5.0, **changes)
    assert_close(found, expected)


def test_r_drop_adds_the_divergence(tmp_path):
    for alpha in (0.5, 50.0):
        train(make(dropout=0.3), whole_batches(), tmp_path / str(alpha), steps=2, r_drop=alpha)
    low, high = (history(tmp_path / str(alpha))[0]["train_loss"] for alpha in (0.5, 50.0))
    assert high > low + 0.05
