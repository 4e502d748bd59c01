"""Constituency trees: reading, cleaning, writing, and conversion to labelled spans and back. No Keras."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from zoo.extras import require

require("Parsing", "nltk")
from nltk.tree import Tree  # noqa: E402

ROOT = "TOP"
_ROOTS = {"", "TOP", "ROOT", "S1", "VROOT"}
_TRACE = "-NONE-"
_TOKEN = re.compile(r"[()]|[^\s()]+")
_ESCAPES = {"(": "-LRB-", ")": "-RRB-"}
MAX_DEPTH = 200  # Far deeper than real trees. Python and NLTK walk trees by recursion, whose depth is limited.
_SEPARATOR = " "  # Between the labels of a chain; labels have no spaces.


class Spans(NamedTuple):
    """A tree, without its root, as words, tags and labels of spans.

    Args:
        words, tags: Words, and the tag of each word.
        labels: The label of each constituent by (first, last + 1). Constituents over the same words form a chain, whose
            labels are joined by spaces from top to bottom, as in `S VP`.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    labels: dict[tuple[int, int], str]


def read_brackets(lines: Iterable[str], name: str = "The text") -> Iterator[tuple[int, Tree]]:
    """Yields (number of the first line, tree) of each tree in brackets, on one line or on several.

    Raises:
        ValueError: If brackets are not a tree; the message contains `name` and the line.
    """
    stack, begun = [], 0
    for number, line in enumerate(lines, start=1):
        for token in _TOKEN.findall(line):
            if token == "(":
                begun = begun if stack else number
                stack.append(Tree("", []))
                if len(stack) > MAX_DEPTH:
                    raise _error(name, number, f"more than {MAX_DEPTH} nested constituents")
            elif not stack:
                what = "a closing bracket too many" if token == ")" else f"{token!r} outside of all brackets"
                raise _error(name, number, what)
            elif token != ")":
                if stack[-1].label() or len(stack[-1]):
                    stack[-1].append(token)
                else:
                    stack[-1].set_label(token)
            else:
                node = stack.pop()
                _check_node(node, name, number)
                if stack:
                    stack[-1].append(node)
                else:
                    yield begun, node
    if stack:
        raise _error(name, begun, "a bracket that never closes")


def _check_node(node, name, line):
    words = [child for child in node if isinstance(child, str)]
    if not len(node):
        raise _error(name, line, f"an empty constituent, ({node.label()})")
    if words and (len(node) > 1 or not node.label()):
        raise _error(name, line, f"a word without a tag: {words[0]!r}")


def _error(name, line, what):
    return ValueError(f"{name}, line {line}, has {what}. Trees look like (TOP (S (NP (PRP We)) (VP (VBD ran)))).")


def clean_tree(tree: Tree) -> Tree | None:
    """Cleans a tree for training and scoring: removes traces, functional tags and indices; the root becomes TOP.

    Labels end before their first `-`, `=` or `|`, except `-LRB-` and the like. Empty elements are removed, and
    constituents that become empty thereby. Returns None if nothing is left.
    """
    kept = _without_traces(tree)
    if kept is None:
        return None
    if isinstance(kept[0], Tree) and kept.label() in _ROOTS:
        return Tree(ROOT, [*kept])
    return Tree(ROOT, [kept])


def _without_traces(tree):
    label = tree.label()
    if label == _TRACE:
        return None
    if not label.startswith("-"):
        label = re.split(r"[-=|]", label, maxsplit=1)[0] or label
    if isinstance(tree[0], str):
        return Tree(label, [tree[0]])
    children = [child for child in map(_without_traces, tree) if child is not None]
    return Tree(label, children) if children else None


def to_brackets(tree: Tree) -> str:
    """Writes a tree on one line, with brackets in its words as -LRB- and -RRB-."""
    if isinstance(tree[0], str):
        return f"({tree.label()} {escape_brackets(tree[0])})"
    return f"({tree.label()} {' '.join(map(to_brackets, tree))})"


def escape_brackets(word: str) -> str:
    """Replaces brackets in a word by -LRB- and -RRB-."""
    return re.sub(r"[()]", lambda found: _ESCAPES[found[0]], word)


def to_spans(tree: Tree) -> Spans:
    """Converts a cleaned tree to labelled spans; the inverse of `to_tree`."""
    words, tags, labels = [], [], {}

    def walk(node, chain):
        if isinstance(node[0], str):
            words.append(node[0])
            tags.append(node.label())
            if chain:
                labels[len(words) - 1, len(words)] = chain
            return
        if chain is not None:  # It is None for the root, whose label is always the same.
            chain = f"{chain}{_SEPARATOR}{node.label()}" if chain else node.label()
        if len(node) == 1:
            return walk(node[0], chain or "")
        first = len(words)
        for child in node:
            walk(child, "")
        if chain:
            labels[first, len(words)] = chain

    walk(tree, None)
    return Spans(tuple(words), tuple(tags), labels)


def to_tree(words: Sequence[str], tags: Sequence[str], labels: Mapping[tuple[int, int], str]) -> Tree:
    """Converts labelled spans, as in `Spans`, to a tree with its root.

    Constituents that are nested more than MAX_DEPTH deep are left out.

    Raises:
        ValueError: If there are no words, the number of tags differs from that of words, or spans cross.
    """
    if not words or len(words) != len(tags):
        raise ValueError(
            f"There must be words, and a tag for each. Received: {len(words)} words and {len(tags)} tags. Pass both."
        )
    spans = sorted(labels, key=lambda span: (span[0], -span[1]))
    root = Tree(ROOT, [])
    place, open_nodes, covered = 0, [(root, len(words))], 0
    while covered < len(words):
        while open_nodes[-1][1] <= covered:
            open_nodes.pop()
        if place < len(spans) and spans[place][0] == covered:
            span = spans[place]
            place += 1
            if not span[0] < span[1] <= open_nodes[-1][1]:
                raise ValueError(f"Spans must lie within the words and not cross. Received: {span}. Remove it.")
            for label in labels[span].split(_SEPARATOR)[: MAX_DEPTH - 1 - len(open_nodes)]:
                node = Tree(label, [])
                open_nodes[-1][0].append(node)
                open_nodes.append((node, span[1]))
        else:
            open_nodes[-1][0].append(Tree(tags[covered], [words[covered]]))
            covered += 1
    if place < len(spans):
        raise ValueError(f"Spans must lie within {len(words)} words. Received: {spans[place]}. Remove it.")
    return root
