"""What all pictures share."""

import functools
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from keras import ops


def make_figure(width: float, height: float, rows: int = 1, columns: int = 1) -> tuple[Any, Any]:
    """Returns a figure of some inches and its axes, `[rows, columns]`; it is not shown, and belongs to no window.

    Raises:
        ImportError: If matplotlib is not installed.
    """
    figure = _figure_class()(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


@functools.cache
def _figure_class():
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("Pictures need matplotlib. Install it: python -m pip install matplotlib") from None

    class ShownFigure(Figure):
        """A figure that notebooks show, without `%matplotlib inline`."""

        def _repr_png_(self):
            content = io.BytesIO()
            self.savefig(content, format="png")
            return content.getvalue()

    return ShownFigure


def to_array(values: Any, name: str, ranks: Sequence[int]) -> np.ndarray:
    """Converts a tensor of any backend to an array with one of some numbers of axes.

    Raises:
        ValueError: If it has another number of axes, or no elements.
    """
    array = np.asarray(values) if isinstance(values, list | tuple | np.ndarray) else ops.convert_to_numpy(values)
    if array.ndim not in ranks or not array.size:
        expected = " or ".join(map(str, ranks))
        raise ValueError(
            f"`{name}` must have {expected} axes, and elements. Received: shape {list(array.shape)}. Select a row, or "
            "add an axis."
        )
    return array


def label_steps(axis: Any, names: Sequence[str] | None, count: int, name: str) -> None:
    """Writes the names of steps beside an axis of matplotlib, if there are any.

    Raises:
        ValueError: If there are more or fewer names than steps.
    """
    if names is None:
        return
    names = [str(each) for each in names]
    if len(names) != count:
        raise ValueError(f"`{name}` must have a name for each of {count} steps. Received: {len(names)}.")
    options = {"rotation": 90} if axis.axis_name == "x" else {}
    axis.set_ticks(range(count), names, **options)
    for label in axis.get_ticklabels():
        label.set_parse_math(False)  # Matplotlib would draw a word with two dollar signs as a formula.
