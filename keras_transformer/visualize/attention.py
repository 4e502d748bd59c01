"""Pictures of attention weights."""

from collections.abc import Sequence
from typing import Any

from keras_transformer.visualize.figures import label_steps, make_figure, to_array

_COLUMNS = 4


def plot_attention(weights: Any, queries: Sequence[str] | None = None, keys: Sequence[str] | None = None) -> Any:
    """Draws what each step attends to, one picture for each head.

    Args:
        weights: Attention weights of one text, `[T, S]` or for N heads `[N, T, S]`, such as a row of what layers return
            with `return_attention_scores=True`.
        queries, keys: Names of the T steps that attend, and of the S steps that are attended to, such as tokens.

    Returns:
        A `matplotlib.figure.Figure`.

    Raises:
        ValueError: If the weights have other axes, or there are not as many names as steps.
        ImportError: If matplotlib is not installed.
    """
    weights = to_array(weights, "weights", (2, 3))
    weights = weights.reshape(-1, *weights.shape[-2:])
    heads, steps, sources = weights.shape
    columns = min(_COLUMNS, heads)
    rows = -(-heads // columns)
    size = 1.2 + 0.22 * max(6, sources), 1.0 + 0.22 * max(6, steps)
    figure, axes = make_figure(columns * size[0], rows * size[1], rows, columns)
    for head, place in enumerate(axes.flat):
        if head >= heads:
            place.set_visible(False)
            continue
        picture = place.imshow(weights[head], cmap="viridis", vmin=0, vmax=1, aspect="auto")
        place.set(xlabel="attended to", ylabel="attends", title=f"head {head}" if heads > 1 else "")
        label_steps(place.xaxis, keys, sources, "keys")
        label_steps(place.yaxis, queries, steps, "queries")
    figure.colorbar(picture, ax=axes, label="weight")
    return figure
