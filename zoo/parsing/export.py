"""Comparison of an exported parser with the original."""

from collections.abc import Callable

from zoo.parsing.trees import to_brackets
from zoo.serving.encoder_predictor import PROBES
from zoo.serving.predictor import Predictor, raise_mismatch


def check_exported_parser(parser: Predictor, signature: Callable) -> None:
    """Calls the function of a SavedModel with test inputs; calls `raise_mismatch` if its trees differ."""
    sentences = [text.split() for text in PROBES]
    width = max(map(len, sentences))
    found = signature(words=[[*words, *[""] * (width - len(words))] for words in sentences])
    for words, tree, served in zip(sentences, parser.parse(sentences), found["trees"].numpy()):
        expected = to_brackets(tree) if tree else ""
        if served.decode() != expected:
            raise_mismatch("parser", words, expected, served.decode())
