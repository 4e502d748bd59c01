"""Drawings of matrices."""

import io
import os
import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from zoo.extras import require
from zoo.storage.arrays import write_atomically


def draw_heatmap(
    values: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    path: str | os.PathLike,
    counts: np.ndarray | None = None,
    xlabel: str = "",
    ylabel: str = "",
) -> None:
    """Draws a matrix of values from 0 to 1 with the names of its rows and columns.

    Args:
        values: Float `[R, C]`.
        rows, columns: R and C names.
        path: File to write; its suffix determines the format (png, svg, pdf).
        counts: Numbers `[R, C]` to write into the cells.
        xlabel, ylabel: Labels of the axes of columns and rows.

    Raises:
        ImportError: If matplotlib is not installed.
        ValueError: If the suffix is unknown.
    """
    figure = heatmap_figure(values, rows, columns, counts, xlabel, ylabel)
    content = io.BytesIO()
    figure.savefig(content, format=pathlib.Path(path).suffix[1:] or "png", dpi=150)
    write_atomically(path, content.getvalue())


def heatmap_figure(
    values: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    counts: np.ndarray | None = None,
    xlabel: str = "",
    ylabel: str = "",
) -> Any:
    """Returns the `matplotlib.figure.Figure` of `draw_heatmap`; arguments and errors are the same."""
    require("Drawing", "matplotlib")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2 + 0.4 * len(columns), 1.5 + 0.3 * len(rows)), layout="constrained")
    axes = figure.subplots()
    axes.imshow(values, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for (row, column), count in np.ndenumerate([] if counts is None else counts):
        color = "white" if values[row, column] > 0.5 else "black"
        axes.text(column, row, str(count), ha="center", va="center", color=color)
    axes.set_xticks(range(len(columns)), columns, rotation=60, ha="left", rotation_mode="anchor")
    axes.set_yticks(range(len(rows)), rows)
    axes.set(xlabel=xlabel, ylabel=ylabel)
    axes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False)
    for label in (*axes.get_xticklabels(), *axes.get_yticklabels()):
        label.set_parse_math(False)  # Matplotlib would draw a word with two dollar signs as a formula.
    return figure
