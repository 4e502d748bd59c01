"""Random constituency trees, as a strategy of hypothesis."""

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
