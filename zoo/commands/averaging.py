"""Averages of checkpoints of several training runs."""

import dataclasses
import os
from collections.abc import Sequence

import zoo
from keras_transformer.training import average_arrays
from zoo.commands.card_values import read_card_values
from zoo.storage import checkpoints
from zoo.storage.arrays import assign_arrays, check_new_folder, named_arrays
from zoo.storage.checkpoints import WEIGHTS
from zoo.text.known_words import merge_words


def average(names: Sequence[str], output: str | os.PathLike, card: str | os.PathLike | None = None) -> dict:
    """Writes the mean of the weights of some checkpoints; returns its card, which says which they are.

    Runs that began with the same weights, such as fine-tuning with different seeds or data, lie close enough together
    for their mean to be as good as the best of them, or better (Wortsman et al. 2022). Those that began with different
    ones do not.

    Args:
        names: Names, folders or addresses of two checkpoints or more, of the same sizes and vocabulary.
        output: Folder to write.
        card: JSON file of values for the card.

    Raises:
        ValueError: If there are fewer than two, they do not fit each other, or the output exists.
    """
    if len(names) < 2:
        raise ValueError(f"An average needs at least two checkpoints. Received: {len(names)}. Pass more of them.")
    check_new_folder(output)
    values = read_card_values(card)
    first, arrays, sources, known = None, [], [], []
    for name in names:
        predictor = zoo.load(name)
        first = first or predictor
        for what, of in _IDENTITY.items():
            if of(predictor) != of(first):
                raise ValueError(
                    f"All checkpoints must have the same {what}. Received: {name}, which differs from {names[0]}. "
                    "Average checkpoints that were fine-tuned from the same one."
                )
        arrays.append(named_arrays(predictor.model))
        known.append(getattr(predictor, "known_words", ""))
        found = checkpoints.read_card(checkpoints.find(name))
        sources.append({"name": found.get("name", "unnamed"), "sha256": found["files"][WEIGHTS]})
    assign_arrays(first.model, average_arrays(arrays), "The average")
    if any(known):
        first.known_words = merge_words(*known)
    first.card |= {"average_of": sources, **values}
    return first.save(output)


def _sizes(predictor):
    """Returns what of the configuration must be the same: all but the rates of dropout, which are of a training run."""
    sizes = dataclasses.asdict(predictor.model.config)
    return {name: value for name, value in sizes.items() if not name.endswith("dropout")}


_IDENTITY = {
    "task": lambda predictor: predictor.task,
    "sizes": _sizes,
    "vocabulary": lambda predictor: predictor.tokenizer and predictor.tokenizer.digest,
    "settings": lambda predictor: {**predictor.saved_settings(), "known_words": None},  # These are merged.
}
