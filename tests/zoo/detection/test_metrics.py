"""Average precision from its definition; bootstrap values against pycocotools; exact sets."""

import contextlib
import io

import numpy as np
import pytest

from zoo.detection.metrics import Found, _evaluate, best_min_score, detection_scores, is_exact


def found(*objects, ignored=None):
    """Makes a `Found` from (class, left, score) of boxes of 10 x 10 pixels; without scores for known objects."""
    boxes = np.array([[left, 0, left + 10, 10] for _, left, *_ in objects], float).reshape(-1, 4)
    scores = np.array([each[2] for each in objects]) if objects and len(objects[0]) > 2 else None
    return Found(np.array([each[0] for each in objects], int), boxes, scores, ignored)


def nothing():
    return Found(np.zeros(0, int), np.zeros((0, 4)), np.zeros(0))


def test_average_precision_of_one_class():
    """Right, wrong, right of two known objects: precision 1 up to a recall of 1/2 (51 of 101 points), then 2/3."""
    gold = [found((0, 0), (0, 100))]
    predicted = [found((0, 0, 0.9), (0, 50, 0.8), (0, 100, 0.7))]
    scores, by_class = detection_scores(gold, predicted, ["cell"], 0.5)
    expected = 100 * (51 + 50 * 2 / 3) / 101
    assert [score.metric for score in scores] == ["AP50", "AP", "exact sets"]
    assert scores[0].value == pytest.approx(expected) and by_class["cell"] == pytest.approx((expected, expected))
    assert scores[2].value == 0


def test_thresholds_of_overlap():
    """A box that is moved by 2 of 10 pixels overlaps by 8/12: it is right at the thresholds 0.5, 0.55, 0.6, 0.65."""
    scores, _ = detection_scores([found((0, 0))], [found((0, 2, 0.9))], ["cell"], 0.5)
    assert [score.value for score in scores] == pytest.approx([100, 40, 100])


def random_images(rng, count=30):
    gold, predicted = [], []
    for _ in range(count):
        known = rng.integers(0, 6)
        left = rng.uniform(0, 80, (known, 2))
        boxes = np.concatenate([left, left + rng.uniform(5, 20, (known, 2))], 1)
        gold.append(Found(rng.integers(0, 3, known), boxes, None, rng.random(known) < 0.1))
        kept = rng.random(known) < 0.8
        moved = boxes[kept] + rng.normal(size=(kept.sum(), 4))
        extra = rng.uniform(0, 50, (rng.integers(0, 4), 2))
        moved = np.concatenate([moved, np.concatenate([extra, extra + 10], 1)])
        classes = np.concatenate([gold[-1].classes[kept], rng.integers(0, 3, len(extra))])
        predicted.append(Found(classes, moved, rng.random(len(moved))))
    return gold, predicted


def test_scores_are_those_of_pycocotools():
    """Also of samples of images in which some occur twice, which the intervals come from."""
    rng = np.random.default_rng(0)
    gold, predicted = random_images(rng)
    for rows in (np.arange(30), rng.integers(0, 30, 30)):
        sample = [gold[row] for row in rows], [predicted[row] for row in rows]
        evaluated = _evaluate(*sample, 3)
        precision = evaluated.eval["precision"][..., 0, -1]
        at_half, average = (100 * each[each > -1].mean() for each in (precision[0], precision))
        scores, by_class = detection_scores(*sample, ["a", "b", "c"], 0.5)
        assert [score.value for score in scores[:2]] == pytest.approx([at_half, average])
        assert np.mean([pair[1] for pair in by_class.values()]) == pytest.approx(at_half)


def test_a_bootstrap_sample_is_a_corpus():
    rng = np.random.default_rng(1)
    gold, predicted = random_images(rng, 12)
    scores, _ = detection_scores(gold, predicted, ["a", "b", "c"], 0.5, resamples=20)
    generator, values = np.random.default_rng(12345), []
    for _ in range(20):
        rows = generator.integers(0, 12, 12)
        again, _ = detection_scores([gold[r] for r in rows], [predicted[r] for r in rows], ["a", "b", "c"], 0.5)
        values.append([score.value for score in again])
    low, high = np.quantile(values, [0.025, 0.975], axis=0)
    assert [score.interval for score in scores] == pytest.approx((high - low) / 2, abs=1e-6)


def test_images_without_objects():
    scores, by_class = detection_scores([nothing()._replace(scores=None)], [nothing()], ["cell"], 0.5)
    assert [score.value for score in scores] == [0, 0, 100] and np.isnan(by_class["cell"]).all()
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        detection_scores([found((0, 0))], [nothing()], ["cell"], 0.5)
    assert not printed.getvalue()


def test_the_least_score_gives_the_best_f1():
    """Of all thresholds, those below, between and above the scores."""
    rng = np.random.default_rng(4)
    gold, predicted = random_images(rng, 15)
    chosen = best_min_score(gold, predicted, 3)

    def f1(least):
        kept = []
        for each in predicted:
            rows = each.scores >= least
            kept.append(Found(each.classes[rows], each.boxes[rows], each.scores[rows]))
        right = wrong = known = 0
        evaluated = _evaluate(gold, kept, 3)
        for image in evaluated.evalImgs:
            if image is not None and image["aRng"] == evaluated.params.areaRng[0]:
                counts = ~image["dtIgnore"][0].astype(bool)
                right += (image["dtMatches"][0] > 0)[counts].sum()
                wrong += (image["dtMatches"][0] == 0)[counts].sum()
                known += (np.asarray(image["gtIgnore"]) == 0).sum()
        return 2 * right / (right + wrong + known)

    values = np.sort(np.concatenate([each.scores for each in predicted]))
    tried = [0.0, *((values[1:] + values[:-1]) / 2), 1.0]
    assert f1(chosen) == pytest.approx(max(map(f1, tried)))
    assert f1(0.0) < f1(chosen) > f1(0.95)
    assert best_min_score([found((0, 0))], [nothing()], 1) == 0.5


@pytest.mark.parametrize(
    "predicted, exact",
    [
        (found((0, 0, 0.9), (1, 50, 0.8)), True),
        (found((1, 50, 0.8), (0, 2, 0.6), (0, 90, 0.4)), True),
        (found((0, 0, 0.9), (0, 50, 0.8)), False),
        (found((0, 0, 0.9)), False),
        (found((0, 0, 0.9), (0, 1, 0.8)), False),
        (found((0, 0, 0.9), (1, 50, 0.8), (0, 90, 0.7)), False),
        (found((0, 0, 0.9), (1, 57, 0.8)), False),
    ],
)
def test_exact_sets(predicted, exact):
    gold = found((0, 0), (1, 50), (0, 20), ignored=np.array([False, False, True]))
    assert is_exact(gold, predicted, 0.5) is exact
    assert is_exact(nothing()._replace(scores=None), nothing(), 0.5)
