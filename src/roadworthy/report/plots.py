"""Figures with axes, in one style: matplotlib without its global state, so that figures can be made anywhere.

::

    figure, axes = new_figure()
    axes[0, 0].plot([1, 2, 3], [0.2, 0.3, 0.35], color=PALETTE[0])
    save(figure, "growth.png")
"""

from __future__ import annotations

import io
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from roadworthy._files import replacing
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
"""Colours that people with colour-blindness can tell apart (Okabe and Ito)."""

_STYLE: Any = {  # of a dict whose keys matplotlib lists one by one
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "figure.dpi": 120,
    "savefig.dpi": 120,
    "svg.hashsalt": "roadworthy",  # else the names inside an SVG differ from run to run
}
# Neither tells when or with which version a figure was made, so the same figure is the same file.
_METADATA: dict[str, dict[str, Any]] = {".png": {"Software": None}, ".svg": {"Date": None, "Creator": None}}


def new_figure(
    rows: int = 1, columns: int = 1, *, size: tuple[float, float] = (6.4, 4.0)
) -> tuple[Figure, NDArray[Any]]:
    """Return a figure and its axes as an array of rows × columns.

    Args:
        rows: How many plots stand above each other.
        columns: How many stand side by side.
        size: Width and height of the whole, in inches of 120 pixels.

    Example:
        >>> figure, axes = new_figure(1, 2)
        >>> axes.shape
        (1, 2)
    """
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with rc_context(_STYLE):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
        return figure, figure.subplots(rows, columns, squeeze=False)


def save(figure: Figure, path: str | PathLike[str]) -> None:
    """Write a figure as PNG or SVG; the same figure gives the same bytes.

    Raises:
        InputError: The file's ending is another, or the file cannot be written.
    """
    from matplotlib import rc_context

    target = Path(path)
    ending = target.suffix.lower()
    if ending not in _METADATA:
        raise InputError(f"{target}: expected a file that ends in .png or .svg")
    drawn = io.BytesIO()
    with rc_context(_STYLE):
        figure.savefig(drawn, format=ending[1:], metadata=_METADATA[ending])
    with replacing(target) as unfinished:
        unfinished.write_bytes(drawn.getvalue())
