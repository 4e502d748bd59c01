"""Random constituency trees: a strategy of hypothesis, and a small grammar."""

import hypothesis.strategies as st
from nltk.tree import Tree

labels = st.text("ABCNPSV$'`.,:+/", min_size=1, max_size=4)
# NLTK does not read every backslash.
characters = st.characters(exclude_categories=["Z", "C"], exclude_characters="()\\")
words = st.text(characters, min_size=1, max_size=6)
leaves = st.builds(lambda tag, word: Tree(tag, [word]), labels, words)
nodes = st.recursive(
    leaves,
    lambda inner: st.builds(Tree, labels, st.lists(inner, min_size=1, max_size=4)),
    max_leaves=20,
)
trees = st.lists(nodes, min_size=1, max_size=3).map(lambda children: Tree("TOP", children))


def noun_phrase(rng, deepest):
    nouns = [Tree("NN", [rng.choice(["lo", "pana", "bim"])])]
    phrase = Tree("NP", ([Tree("DT", ["te"])] if rng.random() < 0.5 else []) + nouns)
    if deepest and rng.random() < 0.4:
        return Tree("NP", [phrase, Tree("PP", [Tree("IN", ["ur"]), noun_phrase(rng, deepest - 1)])])
    return phrase


def sentence(rng, deepest=2):
    verb = Tree("VB", [rng.choice(["kir", "sol"])])
    if rng.random() < 0.2:
        return Tree("TOP", [Tree("S", [Tree("VP", [verb])])])
    return Tree(
        "TOP", [Tree("S", [noun_phrase(rng, deepest), Tree("VP", [verb, noun_phrase(rng, deepest)]), Tree(".", ["."])])]
    )
