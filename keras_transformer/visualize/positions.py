"""Pictures of positions."""

from typing import Any

import keras
import numpy as np

from keras_transformer.visualize.figures import make_figure, to_array


def plot_positions(positions: Any, steps: int = 64, hidden_dim: int = 64) -> Any:
    """Draws the vectors of positions, and how alike any two of them are.

    Args:
        positions: Vectors `[T, D]`, such as `keras_transformer.sinusoidal_encoding` returns; or a layer that adds
            positions to its inputs, such as `PositionalEncoding`, which is then given zeros.
        steps, hidden_dim: Sizes T and D for a layer; a layer that is built has its own D.

    Returns:
        A `matplotlib.figure.Figure`: the vectors, one a row; and the cosine of each two.

    Raises:
        ValueError: If there is another number of axes.
        ImportError: If matplotlib is not installed.
    """
    if isinstance(positions, keras.layers.Layer):
        weights = [weight for weight in positions.weights if len(weight.shape) == 2]
        if weights:
            steps, hidden_dim = min(steps, weights[0].shape[0]), weights[0].shape[1]
        positions = positions(np.zeros((1, steps, hidden_dim), "float32"))[0]
    vectors = to_array(positions, "positions", (2,)).astype("float32")
    figure, axes = make_figure(11, 4.2, 1, 2)
    left, right = axes.flat
    most = np.abs(vectors).max() or 1.0
    shown = left.imshow(vectors, cmap="RdBu", vmin=-most, vmax=most, aspect="auto")
    left.set(xlabel="dimension", ylabel="position", title="vectors")
    figure.colorbar(shown, ax=left)
    lengths = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    cosines = right.imshow((vectors / lengths) @ (vectors / lengths).T, cmap="viridis", aspect="equal")
    right.set(xlabel="position", ylabel="position", title="cosine of two vectors")
    figure.colorbar(cosines, ax=right)
    return figure
