"""What the tests of augmentation share: pairs of regular sentences, with names and numbers."""

import itertools

from zoo.corpora.augmentation import AugmentedPairs
from zoo.training_config import AugmentConfig

NOUNS = {"dog": "Hund", "cat": "Katze", "house": "Haus", "tree": "Baum", "road": "Weg", "lake": "See"}
VERBS = {"sees": "sieht", "likes": "mag", "finds": "findet", "paints": "malt"}
NAMES = ["Tom", "Berta", "Kofi", "Ines"]
PAIRS = [
    (f"{name} {v} the {a} and {n} {b}s.", f"{name} {w} den {x} und {n} {y}.")
    for name, (v, w), (a, x), (b, y), n in itertools.product(
        NAMES, VERBS.items(), NOUNS.items(), NOUNS.items(), (3, 41)
    )
]


def augmented(seed=1, pairs=PAIRS, **shares):
    return AugmentedPairs(pairs, AugmentConfig(**shares), seed)


def changed(**shares):
    return [*zip(PAIRS, augmented(**shares).epoch(0), strict=True)]
