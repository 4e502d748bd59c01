"""Word alignment by a lexicon of translation probabilities: IBM model 1 (Brown et al. 1993). NumPy only.

It is learned from a sample of a parallel corpus within seconds, before there is a translator whose attention could
align words, and is good enough to find places that correspond in both sentences.
"""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

WORD = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")
_THRESHOLD = 0.05  # Minimum probability of a link, in either direction.


@dataclass(frozen=True)
class Lexicon:
    """Translation probabilities of words in small letters.

    Args:
        probabilities: The smaller one of p(target | source) and p(source | target), by source and then by target.
    """

    probabilities: Mapping[str, Mapping[str, float]]

    @classmethod
    def learn(cls, pairs: Iterable[tuple[str, str]], iterations: int = 5) -> "Lexicon":
        """Learns probabilities from sentence pairs by expectation maximisation in both directions."""
        sides = [[], []]
        for pair in pairs:
            for side, text in zip(sides, pair):
                side.append([word.lower() for word in WORD.findall(text)])
        numbers = [{word: i for i, word in enumerate(dict.fromkeys(itertools.chain(*side)))} for side in sides]
        cells = [[], [], [], []]  # Source word, target word, and the positions of both in the corpus.
        starts = [0, 0]
        for source, target in zip(*sides):
            lengths = len(source), len(target)
            ids = [np.array([table[word] for word in row], int) for table, row in zip(numbers, (source, target))]
            places = [start + np.arange(length) for start, length in zip(starts, lengths)]
            for k, row in enumerate((*ids, *places)):
                cells[k].append(np.tile(row, lengths[0]) if k % 2 else np.repeat(row, lengths[1]))
            starts = [*map(sum, zip(starts, lengths))]
        source, target, source_at, target_at = (np.concatenate([*part, np.zeros(0, int)]) for part in cells)
        links, cell = np.unique(source * max(1, len(numbers[1])) + target, return_inverse=True)
        first, second = np.divmod(links, max(1, len(numbers[1])))
        forward = _expectation_maximization(cell, target_at, first, iterations)
        backward = _expectation_maximization(cell, source_at, second, iterations)
        words = [[*table] for table in numbers]
        smaller = np.minimum(forward, backward)
        probabilities = {}
        for i in np.flatnonzero(smaller >= _THRESHOLD):
            probabilities.setdefault(words[0][first[i]], {})[words[1][second[i]]] = float(smaller[i])
        return cls(probabilities)

    def links(self, source: Sequence[str], target: Sequence[str]) -> list[tuple[int, int]]:
        """Returns the pairs of positions of words that are the best translations of each other."""
        small = [word.lower() for word in target]
        best = [0.0] * len(source), [0.0] * len(target)
        links = []
        for i, word in enumerate(source):
            known = self.probabilities.get(word.lower(), {})
            for j, other in enumerate(target):
                probability = 1.0 if word == other else known.get(small[j], 0.0)
                if probability:
                    links.append((i, j, probability))
                    best[0][i], best[1][j] = max(best[0][i], probability), max(best[1][j], probability)
        return [(i, j) for i, j, probability in links if best[0][i] == best[1][j] == probability]


def _expectation_maximization(cell, generated_at, given, iterations):
    """Returns p(generated | given) for each link; `cell` is the link of each cell, `generated_at` its position."""
    probability = np.ones(len(given))
    for _ in range(iterations):
        weights = probability[cell]
        weights = weights / np.bincount(generated_at, weights)[generated_at]
        counts = np.bincount(cell, weights, len(given))
        probability = counts / np.bincount(given, counts)[given] if len(given) else counts
    return probability


def common_cuts(links: Sequence[tuple[int, int]], source_length: int, target_length: int) -> list[tuple[int, int]]:
    """Returns the places (p, q) at which both sentences can be cut so that no link crosses the cut.

    Places are numbers of words before the cut; both ends are among them. In between, one of the words beside the cut
    is linked on each side.
    """
    cuts = {(0, 0), (source_length, target_length)}
    near = {place for i, j in links for place in ((i, j), (i + 1, j + 1))}
    cuts |= {(p, q) for p, q in near if all((i < p) == (j < q) for i, j in links)}
    return sorted(cuts)
