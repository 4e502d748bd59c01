"""Trees as sequences of symbols: opening brackets with labels, tags of words, closing brackets."""

from collections.abc import Iterable, Sequence

import numpy as np
from keras import ops

from zoo.config import END_ID
from zoo.parsing.trees import MAX_DEPTH, ROOT, Tree

_UNKNOWN_TAG = "XX"
_OTHER, _OPEN, _CLOSE, _TAG, _END = range(5)


class Symbols:
    """Converts trees, without their root, to numbers of symbols and back (Vinyals et al. 2015).

    `(NP (DT the) (NN dog))` is `(NP DT NN )`: each tag belongs to the next word. Closing brackets have no label, so
    that the next symbols that are possible depend only on the number of open brackets.

    Args:
        labels, tags: Labels of constituents, and tags of words.
        first: Number of the first symbol, which follows those of the vocabulary.

    Attributes:
        max_depth: Depth of constituents below the root. Those that are deeper are left out of trees.
    """

    max_depth = MAX_DEPTH - 2

    def __init__(self, labels: Sequence[str], tags: Sequence[str], first: int):
        self.labels, self.tags, self.close = list(labels), list(tags), first
        self._open = {label: number for number, label in enumerate(labels, first + 1)}
        self._tag = {tag: number for number, tag in enumerate(tags, first + 1 + len(labels))}
        self._names = [""] * (first + 1) + self.labels + self.tags
        self._kinds = [_OTHER] * first + [_CLOSE] + [_OPEN] * len(labels) + [_TAG] * len(tags)
        self._kinds[END_ID] = _END

    @property
    def size(self) -> int:
        """Number of rows of an embedding table for the vocabulary and the symbols."""
        return len(self._kinds)

    def encode(self, tree: Tree) -> list[int]:
        """Converts a cleaned tree to numbers."""
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
        """Converts numbers to a tree over the given words.

        Numbers that are not a tree are repaired: empty constituents, closing brackets too many, and tags without a word
        are left out; open brackets are closed at the end; words without a tag follow at the end, with the tag XX.
        Constituents deeper than `max_depth` are left out.
        """
        root = Tree(ROOT, [])
        stack, place, skipped = [root], 0, 0
        for number in map(int, numbers):
            kind = self._kinds[number] if number < self.size else _OTHER
            if kind == _OPEN and len(stack) > self.max_depth:
                skipped += 1
            elif kind == _OPEN:
                stack.append(Tree(self._names[number], []))
            elif kind == _TAG and place < len(words):
                stack[-1].append(Tree(self._names[number], [words[place]]))
                place += 1
            elif kind == _CLOSE and skipped:
                skipped -= 1
            elif kind == _CLOSE and len(stack) > 1:
                _close(stack)
        while len(stack) > 1:
            _close(stack)
        root.extend(Tree(_UNKNOWN_TAG, [word]) for word in words[place:])
        return root

    def pieces(self) -> tuple[list[str], list[str], list[int], list[int]]:
        """Returns how to write each number in brackets: text before and after its word, nesting (1, -1, 0), words."""
        before = {_OPEN: " ({}", _CLOSE: ")", _TAG: " ({} "}
        return (
            [before.get(kind, "").format(name) for kind, name in zip(self._kinds, self._names)],
            [")" if kind == _TAG else "" for kind in self._kinds],
            [(kind == _OPEN) - (kind == _CLOSE) for kind in self._kinds],
            [int(kind == _TAG) for kind in self._kinds],
        )

    def constraint(self):
        """Returns the `BracketConstraint` of a search over these symbols."""
        return BracketConstraint(self._kinds)


def _close(stack):
    node = stack.pop()
    if len(node):
        stack[-1].append(node)


class BracketConstraint:
    """Constrains a search to trees over a given number of words, with at most a given number of symbols.

    A tag is allowed if a word is left, a closing bracket if the innermost constituent is not empty, an opening bracket
    if a word is left and the remaining symbols suffice to finish the tree, the end if all words have tags and all
    brackets are closed. At least one symbol is always allowed. For `keras_transformer.decoding.constrained`.

    Args:
        kinds: Kind of each number of the vocabulary.
    """

    def __init__(self, kinds: Sequence[int]):
        self._kinds = np.asarray(kinds, "int32")

    def begin(self, words, limits):
        """Returns the initial state for `words` `[rows]` words and at most `limits` `[rows]` symbols, end included.

        A limit must be at least the number of words plus 1.
        """
        words, limits = ops.cast(words, "int32"), ops.cast(limits, "int32")
        return {"left": words, "room": limits, "open": ops.zeros_like(words), "fresh": ops.zeros_like(words)}

    def __call__(self, token_ids, state, index):
        """Returns the allowed tokens, boolean `[rows, V]`, and the state after the last tokens `[rows]`."""
        kind = ops.take(self._kinds, token_ids)  # That of the start token is _OTHER.
        was = {name: ops.cast(ops.equal(kind, value), "int32") for name, value in (("open", _OPEN), ("tag", _TAG))}
        left, open_ = state["left"] - was["tag"], state["open"] + was["open"] - ops.cast(kind == _CLOSE, "int32")
        room = state["room"] - ops.cast(kind != _OTHER, "int32")
        fresh = was["open"]
        allowed = ops.stack(
            [
                ops.zeros_like(left) > 0,
                ops.logical_and(left > 0, room >= left + open_ + 3),  # This bracket, tags, closing brackets, the end.
                ops.logical_and(open_ > 0, fresh == 0),
                left > 0,
                ops.logical_and(left == 0, open_ == 0),
            ],
            axis=-1,
        )
        state = {"left": left, "room": room, "open": open_, "fresh": fresh}
        return ops.take(allowed, self._kinds, axis=-1), state
