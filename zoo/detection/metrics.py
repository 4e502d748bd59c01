"""Average precision of detected objects, as COCO defines it, and the share of images with exactly the right objects."""

import contextlib
import io
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from zoo.extras import require
from zoo.training.scores import Score, bootstrap_scores

MOST_DETECTIONS = 100  # Of an image, as for COCO.
_HALF = 0.5  # Intersection over union.
_SIGNATURE = f"%|pycocotools|iou:0.5:0.95|detections:{MOST_DETECTIONS}"


class Found(NamedTuple):
    """The objects that are found or known in an image.

    Args:
        classes: Integers `[M]`.
        boxes: Float `[M, 4]`, (left, top, right, bottom).
        scores: Float `[M]`; None for known objects.
        ignored: Boolean `[M]`, known objects that do not count; None for none.
    """

    classes: np.ndarray
    boxes: np.ndarray
    scores: np.ndarray | None = None
    ignored: np.ndarray | None = None


def detection_scores(
    gold: Sequence[Found], found: Sequence[Found], labels: Sequence[str], min_score: float, resamples: int = 0
) -> tuple[list[Score], dict[str, tuple[float, float]]]:
    """Computes AP, AP50 and the share of exact sets of images; and AP and AP50 of each class.

    Args:
        gold, found: Known and found objects of each image.
        labels: Names of the classes.
        min_score: Found objects count from this score on in exact sets.
        resamples: Number of bootstrap samples of images for 95 % intervals; 0 for none.

    Returns:
        Scores in %, and (AP, AP50) in % by class, nan for classes without objects.
    """
    evaluated = _evaluate(gold, found, len(labels))
    precision = evaluated.eval["precision"][..., 0, -1]  # [IoU thresholds, recalls, classes]
    by_class = [(_mean(precision[..., c]), _mean(precision[0, :, c])) for c in range(len(labels))]
    matches = [_Matches(evaluated, c, len(gold)) for c in range(len(labels))]
    exact = np.array([is_exact(*pair, min_score) for pair in zip(gold, found)])

    def values(rows):
        weights = np.bincount(rows, minlength=len(gold))
        curves = np.array([found.average_precisions(weights) for found in matches])  # [classes, thresholds]
        known = curves[~np.isnan(curves[:, 0])]
        means = (known.mean(), known[:, 0].mean()) if len(known) else (0.0, 0.0)
        return 100 * np.array([means[1], means[0], exact[rows].mean()])

    at_half, sets = _SIGNATURE.replace("0.5:0.95", "0.5"), f"%|iou:0.5|score:{min_score:g}"
    signatures = {"AP50": at_half, "AP": _SIGNATURE, "exact sets": sets}
    scores = bootstrap_scores(signatures, values, len(gold), resamples)
    return scores, dict(zip(labels, by_class))


def best_min_score(gold: Sequence[Found], found: Sequence[Found], num_classes: int) -> float:
    """Returns the score from which on found objects count so that F1 is highest, at an IoU of 0.5.

    It lies in the middle between the lowest score that counts and the next one below. 0.5 if nothing found is right.
    """
    evaluated = _evaluate(gold, found, num_classes)
    matches = [_Matches(evaluated, c, len(gold)) for c in range(num_classes)]
    scores = np.concatenate([each.scores for each in matches])
    right = np.concatenate([each.right_at_half for each in matches])
    order = np.argsort(-scores, kind="mergesort")
    scores, right, known = scores[order], right[order], sum(each.num_known for each in matches)
    if not right.any():
        return 0.5
    counts = 1 + np.arange(len(scores))
    f1 = 2 * np.cumsum(right) / (counts + known)
    ends = np.append(scores[1:] < scores[:-1], True)  # Of equal scores, all count or none.
    best = int(np.argmax(np.where(ends, f1, -1.0)))
    below = scores[best + 1] if best + 1 < len(scores) else 0.0
    return float((scores[best] + below) / 2)


def is_exact(gold: Found, found: Found, min_score: float) -> bool:
    """Returns whether found objects are one for each known one: the same class, and an IoU of at least 0.5."""
    return objects_f1(gold, found, min_score) == 1.0


def objects_f1(gold: Found, found: Found, min_score: float) -> float:
    """Returns 2 TP / (known + found) of an image, 1 if there are none; each object is right at most once."""
    chosen = np.flatnonzero(found.scores >= min_score)
    known = np.arange(len(gold.classes)) if gold.ignored is None else np.flatnonzero(~gold.ignored)
    if not len(chosen) + len(known):
        return 1.0
    from scipy.optimize import linear_sum_assignment

    overlaps = _overlaps(gold.boxes[known], found.boxes[chosen]) >= _HALF
    good = overlaps & (gold.classes[known][:, None] == found.classes[chosen])
    rows, columns = linear_sum_assignment(good, maximize=True)
    return 2 * int(good[rows, columns].sum()) / (len(chosen) + len(known))


class _Matches:
    """The detections of a class, in the order of their scores, and which are right at each threshold."""

    def __init__(self, evaluated, category, count):
        images = [found for found in evaluated.evalImgs[category * count * 4 :][:count]]
        found = [each for each in images if each is not None]
        scores = np.concatenate([each["dtScores"][:MOST_DETECTIONS] for each in found] or [[]])
        order = np.argsort(-scores, kind="mergesort")

        def joined(name):
            return np.concatenate([each[name][:, :MOST_DETECTIONS] for each in found], axis=1)[:, order]

        thresholds = len(evaluated.params.iouThrs)
        self._right = joined("dtMatches") > 0 if found else np.zeros((thresholds, 0), bool)
        self._counts = ~joined("dtIgnore").astype(bool) if found else np.zeros((thresholds, 0), bool)
        self.scores, self.right_at_half = scores[order][self._counts[0]], self._right[0][self._counts[0]]
        image = [np.full(min(MOST_DETECTIONS, len(each["dtScores"])), each["image_id"]) for each in found]
        self._image = np.concatenate(image or [[]]).astype(int)[order]
        self._known = np.zeros(count)
        for each in found:
            self._known[each["image_id"]] = np.count_nonzero(np.asarray(each["gtIgnore"]) == 0)
        self.num_known = int(self._known.sum())
        self._recalls = evaluated.params.recThrs

    def average_precisions(self, weights):
        """Returns the AP at each threshold if each image counts as often as its weight says."""
        known = self._known @ weights
        if not known:
            return np.full(len(self._right), np.nan)
        times = weights[self._image] * self._counts
        right = np.cumsum(times * self._right, axis=1)
        precision = right / np.maximum(np.cumsum(times, axis=1), 1e-9)
        precision = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
        found = []
        for row, reached in zip(precision, right / known):
            places = np.searchsorted(reached, self._recalls, side="left")
            found.append(np.append(row, 0.0)[np.minimum(places, len(row))].mean())
        return np.array(found)


def _evaluate(gold, found, num_classes):
    """Returns the `COCOeval` of all images."""
    require("Average precision", "pycocotools")
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    images = [{"id": number} for number in range(len(gold))]
    categories = [{"id": number, "name": str(number)} for number in range(num_classes)]
    known, detected = COCO(), COCO()
    known.dataset = {"images": images, "categories": categories, "annotations": _annotations(gold)}
    detected.dataset = {"images": images, "categories": categories, "annotations": _annotations(found)}
    with contextlib.redirect_stdout(io.StringIO()):  # pycocotools reports each step.
        known.createIndex()
        detected.createIndex()
        evaluated = COCOeval(known, detected, "bbox")
        evaluated.params.maxDets = [MOST_DETECTIONS]
        evaluated.evaluate()
        evaluated.accumulate()
    return evaluated


def _annotations(images):
    found = []
    for number, each in enumerate(images):
        for i, (category, (left, top, right, bottom)) in enumerate(zip(each.classes.tolist(), each.boxes.tolist())):
            width, height = right - left, bottom - top
            item = {"image_id": number, "category_id": category, "bbox": [left, top, width, height]}
            item |= {"id": len(found) + 1, "area": width * height, "iscrowd": 0}  # An id of 0 means "no match".
            if each.scores is not None:
                item["score"] = float(each.scores[i])
            if each.ignored is not None:
                item["iscrowd"] = int(each.ignored[i])
            found.append(item)
    return found


def _mean(precision):
    known = precision[precision >= 0]
    return 100 * float(known.mean()) if known.size else float("nan")


def _overlaps(first, second):
    """Computes the intersection over union of each pair of boxes, `[M, N]`."""
    least = np.maximum(first[:, None, :2], second[None, :, :2])
    most = np.minimum(first[:, None, 2:], second[None, :, 2:])
    inside = np.prod(np.maximum(0, most - least), axis=-1)
    areas = [np.prod(boxes[:, 2:] - boxes[:, :2], axis=1) for boxes in (first, second)]
    return inside / np.maximum(areas[0][:, None] + areas[1] - inside, 1e-9)
