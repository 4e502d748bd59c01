"""Pictures of masks."""

from collections.abc import Mapping
from typing import Any

from keras_transformer.visualize.figures import make_figure, to_array


def plot_masks(masks: Any) -> Any:
    """Draws which steps see which: dark cells are seen.

    Args:
        masks: A boolean mask `[T, S]`, or `[S]` for padding; or several by their names, in a dictionary.

    Returns:
        A `matplotlib.figure.Figure`.

    Raises:
        ValueError: If a mask has other axes, or there is none.
        ImportError: If matplotlib is not installed.
    """
    given = masks if isinstance(masks, Mapping) else {"": masks}
    if not given:
        raise ValueError("`masks` must have at least one mask. Received: an empty dictionary.")
    figure, axes = make_figure(3.4 * len(given), 3.4, 1, len(given))
    for place, (name, mask) in zip(axes.flat, given.items()):
        mask = to_array(mask, "masks", (1, 2))
        cells = mask.reshape(-1, mask.shape[-1]).astype(bool)
        place.pcolormesh(cells, cmap="Blues", vmin=0, vmax=1.3, edgecolors="lightgrey", linewidth=0.5)
        place.invert_yaxis()
        place.set_aspect("equal")
        place.set(title=name, xlabel="step that is seen", ylabel="step that sees" if mask.ndim == 2 else "")
        place.set_xticks([number + 0.5 for number in range(cells.shape[1])], range(cells.shape[1]))
        place.set_yticks([number + 0.5 for number in range(len(cells))] if mask.ndim == 2 else [], None)
        if mask.ndim == 2:
            place.set_yticklabels(range(len(cells)))
    return figure
