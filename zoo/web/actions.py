"""What the models of each task do for the server: lists of inputs in, lists of values for JSON out."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from zoo.text.words import split_words

_DIGITS = 5


class Action(NamedTuple):
    """An action.

    Args:
        run: Function `(predictor, inputs, progress, **options) -> outputs`.
        tasks: Tasks whose models can do it.
        joins: Whether inputs of several requests may be computed together.
        reads_file: Whether the input is the content of a file.
    """

    run: Callable
    tasks: tuple[str, ...]
    joins: bool = True
    reads_file: bool = False


def _translate(predictor, texts, progress, *, num_return, **options):
    found = predictor.n_best(texts, num_return, progress=progress, **options)
    return [[{"text": each.text, "score": _rounded(each.score)} for each in row] for row in found]


def _attention(predictor, inputs, progress, *, kind, layer):
    from zoo.translation.inspection import attention_weights

    ((text, translation),) = inputs
    progress(0)
    found = attention_weights(predictor, text, translation or predictor.translate([text])[0])
    weights = getattr(found, kind)
    if not -len(weights) <= layer < len(weights):
        raise ValueError(f"`layer` must be below {len(weights)}. Received: layer={layer}. Change it.")
    names = {"cross": (found.target, found.source), "encoder": (found.source,) * 2, "decoder": (found.target,) * 2}
    queries, keys = names[kind]
    counts = {name: len(getattr(found, name)) for name in names}
    return [{"queries": queries, "keys": keys, "layers": counts, "heads": _rounded(weights[layer])}]


def _search(predictor, texts, progress, *, beam_size):
    from zoo.translation.inspection import recorded_search

    (text,) = texts
    progress(0)
    found = recorded_search(predictor, text, beam_size)
    steps = [[{**each._asdict(), "log_prob": _rounded(each.log_prob)} for each in step] for step in found.steps]
    translations = [{"text": text, "score": _rounded(score)} for text, score in found.translations]
    return [{"source": found.source, "steps": steps, "translations": translations}]


def _classify(predictor, texts, progress):
    return [_ranked(predictor.labels, row) for row in predictor.probabilities(texts, progress)]


def _tag(predictor, sentences, progress):
    words = [split_words(sentence) if isinstance(sentence, str) else sentence for sentence in sentences]
    rows = predictor.probabilities(words, progress)
    return [
        {
            "words": each,
            "labels": [predictor.labels[i] for i in row.argmax(-1)] if len(each) else [],
            "probabilities": _rounded(row.max(-1)) if len(each) else [],
        }
        for each, row in zip(words, rows)
    ]


def _parse(predictor, sentences, progress):
    from zoo.parsing.trees import to_brackets

    trees = predictor.parse(sentences, progress=progress)
    return [{"tree": tree and to_brackets(tree), "nested": tree and _nested(tree)} for tree in trees]


def _nested(tree):
    """Returns a tree as lists of a label and children, which are lists or words."""
    return tree if isinstance(tree, str) else [tree.label(), *map(_nested, tree)]


def _generate(predictor, prompts, progress, **options):
    return predictor.generate(prompts, progress=progress, **options)


def _fill(predictor, texts, progress):
    if not hasattr(predictor, "fill"):
        raise ValueError("This model fills no gaps. Choose one that was pretrained by denoising.")
    return predictor.fill(texts, progress=progress)


def _embed(predictor, texts, progress):
    progress(0)
    return _rounded(predictor.embed(texts))


def _classify_image(predictor, images, progress, *, attention):
    rows = [_ranked(predictor.labels, row) for row in predictor.probabilities(images, progress)]
    maps = predictor.attention(images) if attention else [None] * len(images)
    return [{"classes": row, "attention": None if each is None else _rounded(each)} for row, each in zip(rows, maps)]


def _detect(predictor, images, progress, *, min_score):
    from zoo.images.decoding import read_image

    arrays = [read_image(image) for image in images]
    found = predictor.detect(arrays, min_score, progress)
    return [
        {
            "width": array.shape[1],
            "height": array.shape[0],
            "objects": [
                {"label": each.label, "score": _rounded(each.score), "box": _rounded(each.box)} for each in objects
            ],
        }
        for array, objects in zip(arrays, found)
    ]


def _transcribe(predictor, recordings, progress):
    return predictor.transcribe(recordings, progress=progress)


ACTIONS = {
    "translate": Action(_translate, ("translation",)),
    "attention": Action(_attention, ("translation",), joins=False),
    "search": Action(_search, ("translation",), joins=False),
    "classify": Action(_classify, ("classification",)),
    "tag": Action(_tag, ("labelling",)),
    "parse": Action(_parse, ("parsing",)),
    "generate": Action(_generate, ("language_modelling",), joins=False),  # Chance depends on the place in the list.
    "fill": Action(_fill, ("pretraining",)),
    "embed": Action(_embed, ("encoder", "pretraining")),
    "classify-image": Action(_classify_image, ("images",), reads_file=True),
    "detect": Action(_detect, ("detection",), reads_file=True),
    "transcribe": Action(_transcribe, ("recognition",), reads_file=True),
}
"""All actions by their name in the address."""


def actions_of(task: str) -> list[str]:
    """Returns the names of what models of a task can do."""
    return [name for name, action in ACTIONS.items() if task in action.tasks]


def _ranked(labels: Sequence[str], probabilities: np.ndarray) -> list[dict]:
    order = np.argsort(-probabilities, kind="stable")
    return [{"label": labels[i], "probability": _rounded(probabilities[i])} for i in order]


def _rounded(values: Any) -> Any:
    return np.round(np.asarray(values, "float64"), _DIGITS).tolist()
