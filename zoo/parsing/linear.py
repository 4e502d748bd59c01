"""Trees as sequences of symbols: an opening bracket with its label, a tag for each word, a closing bracket."""

from collections.abc import Iterable, Sequence

import numpy as np
from keras import ops

from zoo.config import END_ID
from zoo.parsing.trees import MAX_STOREYS, ROOT, Tree

_UNKNOWN_TAG = "XX"
_OTHER, _OPEN, _CLOSE, _TAG, _END = range(5)


class Symbols:
    """Trees to numbers and back (Vinyals et al. 2015), their root left out.

    `(NP DT NN )` is `(NP (DT the) (NN dog))`: a tag takes the next word. Closing brackets have no label, so that the
    number of open ones is all that decides what may follow.

    Args:
        labels, tags: Of constituents and words.
        first: Number of the first symbol, behind those of a vocabulary.
    """

    def __init__(self, labels: Sequence[str], tags: Sequence[str], first: int):
        self.labels, self.tags, self.first = list(labels), list(tags), first
        self.close = first
        self._open = {label: first + 1 + i for i, label in enumerate(labels)}
        self._tag = {tag: first + 1 + len(labels) + i for i, tag in enumerate(tags)}

    @property
    def size(self) -> int:
        """The number of the last symbol and 1: rows of a table for the vocabulary and the symbols."""
        return self.first + 1 + len(self.labels) + len(self.tags)

    def encode(self, tree: Tree) -> list[int]:
        """The numbers of a cleaned tree."""
        numbers = []

        def walk(node):
            if isinstance(node[0], str):
                numbers.append(self._tag[node.label()])
                return
            numbers.append(self._open[node.label()])
            for child in node:
                walk(child)
            numbers.append(self.close)

        for child in tree:
            walk(child)
        return numbers

    def decode(self, numbers: Iterable[int], words: Sequence[str]) -> Tree:
        """The tree over exactly these words that the numbers tell, or nearly.

        Of numbers that are no tree, brackets that open nothing or close nothing are left out and missing ones are
        closed at the end; tags without a word are left out; words without a tag follow at the end, as XX. Constituents
        more than MAX_STOREYS inside one another are left out, too.
        """
        root = Tree(ROOT, [])
        stack, place, skipped = [root], 0, 0
        for number in map(int, numbers):
            kind = self._kind(number)
            if kind == _OPEN and len(stack) >= MAX_STOREYS - 1:
                skipped += 1
            elif kind == _OPEN:
                stack.append(Tree(self.labels[number - self.first - 1], []))
            elif kind == _TAG and place < len(words):
                stack[-1].append(Tree(self.tags[number - self.first - 1 - len(self.labels)], [words[place]]))
                place += 1
            elif kind == _CLOSE and skipped:
                skipped -= 1
            elif kind == _CLOSE and len(stack) > 1:
                _close(stack)
        while len(stack) > 1:
            _close(stack)
        root.extend(Tree(_UNKNOWN_TAG, [word]) for word in words[place:])
        return root

    def _kind(self, number):
        if number == END_ID:
            return _END
        if not self.first <= number < self.size:
            return _OTHER
        if number == self.close:
            return _CLOSE
        return _OPEN if number <= self.first + len(self.labels) else _TAG

    def constraint(self):
        """The constraint of a search for trees; see `BracketConstraint`."""
        return BracketConstraint([self._kind(number) for number in range(self.size)])


def symbol_names(trees: Iterable[Tree]) -> tuple[list[str], list[str]]:
    """The labels of cleaned trees, their roots left out, and the tags, both sorted."""
    labels, tags = set(), set()
    for tree in trees:
        for node in (inner for child in tree for inner in child.subtrees()):
            (tags if isinstance(node[0], str) else labels).add(node.label())
    return sorted(labels), sorted(tags)


def _close(stack):
    node = stack.pop()
    if len(node):
        stack[-1].append(node)


class BracketConstraint:
    """Lets a search write nothing but trees over a given number of words, within a given number of symbols.

    A tag needs a word that has none, a closing bracket an open one with something in it, an opening bracket a word to
    come and room to be closed; the end comes when every word has its tag and every bracket is closed. There always is
    something to write. For `keras_transformer.decoding.constrained`.

    Args:
        kinds: What each number of the vocabulary is.
    """

    def __init__(self, kinds: Sequence[int]):
        self._kinds = np.asarray(kinds, "int32")

    def begin(self, words, limits):
        """The state of hypotheses of `words` `[rows]` words and at most `limits` `[rows]` symbols, the end included.

        A limit must be at least the number of words and 1.
        """
        words, limits = ops.cast(words, "int32"), ops.cast(limits, "int32")
        return {"left": words, "room": limits, "open": ops.zeros_like(words), "fresh": ops.zeros_like(words)}

    def __call__(self, token_ids, state, index):
        """What may follow, boolean `[rows, V]`, and the state with the last tokens `[rows]` counted in."""
        kind = ops.take(self._kinds, token_ids)  # The start is none of them.
        was = {name: ops.cast(ops.equal(kind, value), "int32") for name, value in (("open", _OPEN), ("tag", _TAG))}
        left, open_ = state["left"] - was["tag"], state["open"] + was["open"] - ops.cast(kind == _CLOSE, "int32")
        room = state["room"] - ops.cast(kind != _OTHER, "int32")
        fresh = was["open"]
        allowed = ops.stack(
            [
                ops.zeros_like(left) > 0,
                ops.logical_and(left > 0, room >= left + open_ + 3),  # Itself, its words, all closings, the end.
                ops.logical_and(open_ > 0, fresh == 0),
                left > 0,
                ops.logical_and(left == 0, open_ == 0),
            ],
            axis=-1,
        )
        state = {"left": left, "room": room, "open": open_, "fresh": fresh}
        return ops.take(allowed, self._kinds, axis=-1), state
