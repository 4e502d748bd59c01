"""Faults to plant in `keras_transformer.visualize`."""

from faults import Fault

VISUALIZE = "tests/visualize/test_visualize.py"

PICTURES = [
    Fault(
        "keras_transformer/visualize/attention.py", "place.imshow(weights[head]", "place.imshow(weights[0]", VISUALIZE
    ),
    Fault("keras_transformer/visualize/beams.py", "self._next[parents, tokens]", "self._next[0, tokens]", VISUALIZE),
    Fault("keras_transformer/visualize/masks.py", "place.invert_yaxis()", "", VISUALIZE),
]
