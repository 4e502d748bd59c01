"""Augmentation of sentence pairs, anew in every epoch, so that translators learn to read what people really type.

The operations are those of OpusTrainer (Bogoychev et al. 2023, arXiv 2311.14838) and the students of Bergamot, with
names and numbers in addition. Every random choice depends on the seed, the epoch and the position of the pair only:
training resumes exactly, and all workers see the same. That is why OpusTrainer itself is not used, which streams from
one generator of random numbers and cannot start in the middle.
"""

import itertools
import random
import re
from collections.abc import Iterable, Iterator

from zoo.corpora.clauses import Clauses
from zoo.corpora.copied_text import random_text
from zoo.corpora.dates import Dates, languages_of
from zoo.corpora.numbering import check_repeatable, numbered
from zoo.corpora.substitution import Substitution
from zoo.corpora.times import add_time
from zoo.corpora.titles import Titles
from zoo.corpora.typos import add_typos
from zoo.corpora.word_links import WORD, Lexicon, common_cuts
from zoo.text.case_markup import capitals
from zoo.text.placeholders import hide_pair
from zoo.training_config import AugmentConfig

Pair = tuple[str, str]

_POOL = 50_000  # Pairs from which the lexicon is learned and partners are drawn.
_BLOCK = 1000  # Pairs that share a generator of random numbers.
_CLAUSES = 0.5  # Share of joined pairs that become a clause of the sentence before.
_MARKS = ".!?…。！？"
_QUOTES = {"'": "’‘`´", "’": "'", '"': "“”„«»", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'"}
_QUOTE = re.compile(f"[{''.join(_QUOTES)}]")
_INNER_APOSTROPHE = re.compile(r"(?<=\w)['’](?=\w)")
_WORD_START = re.compile(r"(^|[\s\"“„«(])(\w)")


class AugmentedPairs:
    """Sentence pairs that are changed at random, differently in every epoch.

    Args:
        pairs: Can be iterated repeatedly in the same order. If it has a method `numbered`, as the readers of
            `zoo.translation.data` do, that yields (line, pair); otherwise pairs are numbered from 1.
        config: Shares of the operations.
        seed: Non-negative integer.
        placeholders: Whether placeholders replace addresses and codes that are on both sides.
    """

    def __init__(self, pairs: Iterable[Pair], config: AugmentConfig, seed: int, placeholders: bool = False):
        check_repeatable(pairs)
        self._pairs, self._config, self._seed, self._placeholders = pairs, config, seed, placeholders
        self._pool = _sample(pairs, random.Random(f"{seed}/pool"))
        self._lexicon = Lexicon.learn(self._pool) if config.copies else None
        self._substitution = Substitution.of(self._pool)
        by_language = config.joined or config.titles or config.dates or config.times
        self._languages = languages = languages_of(self._pool) if by_language else None
        self._dates = Dates(languages) if languages and config.dates else None
        self._titles = Titles.of(languages, self._pool) if languages and config.titles else None
        self._clauses = Clauses.of(languages, self._pool) if languages and config.joined else None
        self._substitutable = self._find_substitutable() if config.substitutable else None

    def epoch(self, epoch: int) -> "AugmentedEpoch":
        """Returns the pairs of an epoch."""
        return AugmentedEpoch(self, epoch)

    def numbered(self, epoch: int) -> Iterator[tuple[int, Pair]]:
        """Yields the lines and pairs of an epoch."""
        for i, (line, pair) in enumerate(numbered(self._pairs)):
            if i % _BLOCK == 0:
                rng = random.Random(f"{self._seed}/{epoch}/{i}")
            yield line, self.change(pair, rng)

    def change(self, pair: Pair, rng: random.Random) -> Pair:
        """Returns a pair changed at random."""
        config = self._config
        if self._substitutable and rng.random() < config.substitutable:
            pools, shares = zip(*self._substitutable)
            pair = rng.choice(rng.choices(pools, shares)[0])
        pair = self._substitute(pair, rng)
        if rng.random() < config.joined:
            pair = self._join(pair, rng)
        copied = rng.random() < config.copies
        pair = self._insert(pair, rng) if copied else pair
        source, target = hide_pair(*pair) if self._placeholders else pair
        if rng.random() < config.quotes:
            if rng.random() < 0.25:
                source = _INNER_APOSTROPHE.sub("", source)  # As in "dont", whose negation must not get lost.
            source = _QUOTE.sub(lambda found: rng.choice(_QUOTES[found[0]]), source)
        if rng.random() < config.typos:
            source = add_typos(source, target, max(1, round(len(source) / 40 * rng.choice((0.5, 1, 2)))), rng)
        if rng.random() < config.unmarked and source[-1:] in _MARKS and target[-1:] in _MARKS:
            source, target = source[:-1].rstrip(), target[:-1].rstrip()
        return self._change_case(source, target, copied, rng)

    def _join(self, pair, rng):
        others = [self._substitute(rng.choice(self._pool), rng) for _ in range(rng.choice((1, 1, 2)))]
        for other in others:
            if self._clauses and rng.random() < _CLAUSES:
                pair = self._clauses.join(pair, other, rng)
            else:
                pair = tuple(map(" ".join, zip(pair, other)))
        return pair

    def _find_substitutable(self):
        """Returns pairs with names, numbers, numbers in words, and dates, and the share of each in replacing others."""
        kinds = [(self._substitution.names, 2), (self._substitution.numbers, 1), (self._substitution.number_words, 2)]
        kinds += [(self._dates.change, 2)] if self._dates else []
        found = []
        for change, share in kinds:
            changed = (pair for pair in self._pairs if change(pair, random.Random(1)) != pair)
            found.append((_sample(changed, random.Random(1)), share))
        return [(pool, share) for pool, share in found if pool]

    def _substitute(self, pair, rng):
        if self._titles and rng.random() < self._config.titles:
            pair = self._titles.change(pair, self._substitution.known, rng)
        if rng.random() < self._config.names:
            pair = self._substitution.names(pair, rng)
        if self._dates and rng.random() < self._config.dates and (changed := self._dates.change(pair, rng)) != pair:
            return changed  # Whose numbers are those of a calendar.
        if rng.random() < self._config.numbers:
            pair = self._substitution.numbers(pair, rng)
        if self._languages and rng.random() < self._config.times:
            pair = add_time(pair, self._languages, rng)
        return pair

    def _change_case(self, source, target, copied, rng):
        chosen, config = rng.random(), self._config
        if chosen < config.upper:
            return rng.choice((str.upper, capitals))(source), capitals(target)
        if chosen < config.upper + config.title:
            return _title(source), _title(target)
        if chosen < config.upper + config.title + config.lower and not copied:  # Copies keep their capitals.
            source = source.lower()
            if rng.random() < 0.5 and source[-1:] in _MARKS:
                source = source[:-1].rstrip()
        return source, target

    def _insert(self, pair, rng):
        """Inserts texts to be copied at places that correspond on both sides."""
        words = [[*WORD.finditer(side)] for side in pair]
        links = self._lexicon.links(*([word[0] for word in side] for side in words))
        cuts = [tuple(map(_character, pair, words, cut)) for cut in common_cuts(links, *map(len, words))]
        cuts = [cut for cut in cuts if all(map(_is_space, pair, cut))] + [tuple(map(len, pair))]
        chosen = {rng.choice(cuts): random_text(rng) for _ in range(rng.choice((1, 1, 1, 2)))}
        for cut, text in sorted(chosen.items(), reverse=True):
            pair = [_inserted(side, place, text) for side, place in zip(pair, cut)]
        return tuple(pair)


class AugmentedEpoch:
    """Sentence pairs of one epoch, which can be iterated repeatedly."""

    def __init__(self, pairs: AugmentedPairs, epoch: int):
        self._pairs, self._epoch = pairs, epoch

    def numbered(self) -> Iterator[tuple[int, Pair]]:
        """Yields (line, pair)."""
        return self._pairs.numbered(self._epoch)

    def __iter__(self):
        return (pair for _, pair in self.numbered())


def _sample(pairs, rng):
    """Returns a random sample of up to `_POOL` pairs, in one pass (algorithm R of Vitter 1985)."""
    pairs = iter(pairs)
    pool = [*itertools.islice(pairs, _POOL)]
    for seen, pair in enumerate(pairs, start=_POOL + 1):
        place = rng.randrange(seen)
        if place < _POOL:
            pool[place] = pair
    return pool


def _title(text):
    return _WORD_START.sub(lambda found: found[1] + found[2].upper(), text)


def _character(text, words, cut):
    """Returns the place of a cut among words as a place in the text."""
    return words[cut].start() if cut < len(words) else len(text)


def _is_space(text, place):
    return place in (0, len(text)) or text[place - 1].isspace()


def _inserted(text, place, insertion):
    before, after = text[:place], text[place:]
    return " ".join(part for part in (before.rstrip(), insertion, after) if part)
