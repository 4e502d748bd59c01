"""Constituency trees: read, cleaned and written; as labelled spans and back. No Keras."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

try:
    from nltk.tree import Tree
except ImportError as error:
    raise ImportError("Trees are those of NLTK: pip install 'keras-transformer-zoo[parsing]'.") from error

ROOT = "TOP"
_ROOTS = {"", "TOP", "ROOT", "S1", "VROOT"}
_TRACE = "-NONE-"
_TOKEN = re.compile(r"[()]|[^\s()]+")
_ESCAPES = {"(": "-LRB-", ")": "-RRB-"}
MAX_STOREYS = 200  # Far more than a sentence has; Python and NLTK walk trees by recursion.
_BETWEEN = " "  # Of the labels of a chain, none of which has one.


class Spans(NamedTuple):
    """A tree without its root as words, their tags, and labels of spans.

    Args:
        words, tags: Of the leaves.
        labels: For each constituent's (first, last + 1) its label. Of a chain of constituents over the same words, the
            labels from the upper one to the lower one with a space between, as in `S VP`.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    labels: dict[tuple[int, int], str]


def read_brackets(lines: Iterable[str], name: str = "The text") -> Iterator[tuple[int, Tree]]:
    """(number of its first line from 1, tree) of each tree in brackets, one a line or spread over several.

    Raises:
        ValueError: Where brackets do not make a tree; the message tells `name` and the line.
    """
    stack, begun, after_open = [], 0, False
    for number, line in enumerate(lines, start=1):
        for token in _TOKEN.findall(line):
            if token == "(":
                begun = begun if stack else number
                stack.append(Tree("", []))
                if len(stack) > MAX_STOREYS:
                    raise _bad(name, number, f"more than {MAX_STOREYS} constituents inside one another")
                after_open = True
                continue
            if not stack:
                what = "a closing bracket too many" if token == ")" else f"{token!r} outside of all brackets"
                raise _bad(name, number, what)
            top = stack[-1]
            if token != ")":
                if after_open:
                    top.set_label(token)
                else:
                    top.append(token)
                after_open = False
                continue
            after_open = False
            stack.pop()
            _check_node(top, name, number)
            if stack:
                stack[-1].append(top)
            else:
                yield begun, top
    if stack:
        raise _bad(name, begun, "a bracket that never closes")


def _check_node(node, name, line):
    words = [child for child in node if isinstance(child, str)]
    if not len(node):
        raise _bad(name, line, f"an empty constituent, ({node.label()})")
    if words and (len(node) > 1 or not node.label()):
        raise _bad(name, line, f"a word that has no tag for itself: {words[0]!r}")


def _bad(name, line, what):
    return ValueError(f"{name}, line {line}, has {what}. Trees look like (TOP (S (NP (PRP We)) (VP (VBD ran)))).")


def cleaned(tree: Tree) -> Tree | None:
    """The tree as parsers are trained and scored on it: without traces, functional tags and indices, under one root.

    Labels are cut at their first `-`, `=` or `|` (but `-LRB-` and the like); empty elements go, and what they leave
    empty. The root is TOP. None if nothing is left.
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


def bracketed(tree: Tree) -> str:
    """A tree on one line; brackets in its words are written -LRB- and -RRB-."""
    if isinstance(tree[0], str):
        return f"({tree.label()} {escaped(tree[0])})"
    return f"({tree.label()} {' '.join(map(bracketed, tree))})"


def escaped(word: str) -> str:
    """The word as trees have it: -LRB- and -RRB- for brackets."""
    return re.sub(r"[()]", lambda found: _ESCAPES[found[0]], word)


def to_spans(tree: Tree) -> Spans:
    """A cleaned tree as labelled spans; `to_tree` undoes."""
    words, tags, labels = [], [], {}

    def walk(node, chain):
        if isinstance(node[0], str):
            words.append(node[0])
            tags.append(node.label())
            if chain:
                labels[len(words) - 1, len(words)] = chain
            return
        if chain is not None:  # Not the root, whose label every tree has.
            chain = f"{chain}{_BETWEEN}{node.label()}" if chain else node.label()
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
    """The tree, under its root, of labelled spans as in `Spans`.

    Of more than MAX_STOREYS constituents inside one another, the inner ones are left out.

    Raises:
        ValueError: If there is no word, as many tags as words are not given, or spans cross.
    """
    if not words or len(words) != len(tags):
        raise ValueError(f"A tree needs words, and a tag for each. Received: {len(words)} words and {len(tags)} tags.")
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
                raise ValueError(f"Spans must lie within the words and must not cross. Received: {span}.")
            for label in labels[span].split(_BETWEEN)[: MAX_STOREYS - 1 - len(open_nodes)]:
                node = Tree(label, [])
                open_nodes[-1][0].append(node)
                open_nodes.append((node, span[1]))
        else:
            open_nodes[-1][0].append(Tree(tags[covered], [words[covered]]))
            covered += 1
    if place < len(spans):
        raise ValueError(f"Spans must lie within the words. Received: {spans[place]} of {len(words)} words.")
    return root
