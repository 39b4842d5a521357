"""Drawings of tests by specifications: an example for every cell of Table 4, in image pixels, y down."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from roadworthy.bbsl.testing import Cell, TestRow
from roadworthy.errors import InputError
from roadworthy.report.plots import PALETTE, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from roadworthy.report._palette import Image

__all__ = ["ZONE", "Zones", "draw_cells", "draw_row", "outline", "shade_zones"]

TRUTH, DETECTION, ZONE = PALETTE[1], PALETTE[2], PALETTE[5]
_BROKEN: Any = (0, (4, 2))

Zones = Mapping[str, tuple[str, Sequence[float]]]
"""Intervals to draw: by the name of their function the axis ("x" or "y") and both ends, in image pixels."""


def draw_cells(
    cells: Sequence[Cell],
    image_of: Callable[[str], Image | None],
    size: tuple[float, float],
    *,
    zones: Zones | None = None,
    title: str = "",
) -> Figure:
    """Return one example for every cell that has one, four beside each other: a row for each expectation.

    Args:
        cells: The cells, as `Comparison.cells` has them for one threshold.
        image_of: Gives the image of a frame by its id; None where there is none.
        size: Width and height of the frames without images.
        zones: Intervals to draw, such as the stopping distance.
        title: A heading.

    Raises:
        InputError: All cells are empty.
    """
    if not any(len(cell) for cell in cells):
        raise InputError("there is nothing to draw: no test case has a verdict")
    rows = -(-len(cells) // 4)
    wide = min(20.0, max(12.0, 4 * (1.55 * size[0] / size[1] + 0.5)))
    figure, axes = new_figure(rows, 4, size=(wide, 2.4 * rows + (0.6 if title else 0.3)))
    if title:
        figure.suptitle(title, x=0.01, ha="left")
    _tell_colors(figure, zones or {})
    for place, cell in zip(axes.flat, cells, strict=False):
        verdicts = f"IoU {_sign(cell.iou)} · specification {_sign(cell.specification)}"
        name = f"expected {cell.expectation} · {verdicts} · {len(cell)}"
        place.set_title(name, loc="left", fontsize=8.5)
        examples = cell.examples(1)
        if not examples:
            _draw_none(place, size)
            continue
        draw_row(place, examples[0], image_of(examples[0].frame), size, zones or {})
    for place in list(axes.flat)[len(cells) :]:
        place.set_axis_off()
    return figure


def _tell_colors(figure: Figure, zones: Zones) -> None:
    """Say below all cells what the colours stand for."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    told: list[Any] = [
        Line2D([], [], color=TRUTH, linewidth=2.4, label="object"),
        Line2D([], [], color=DETECTION, linewidth=1.4, linestyle=_BROKEN, label="its detection"),
    ]
    told += [Patch(facecolor=ZONE, alpha=0.18, label=name) for name in zones]
    figure.legend(
        handles=told, loc="outside lower left", ncols=len(told), fontsize=8, frameon=False, handlelength=3
    )


def _draw_none(axes: Axes, size: tuple[float, float]) -> None:
    """Draw an empty cell, as large as the others."""
    wide, high = size
    axes.set_xlim(0, wide)
    axes.set_ylim(high, 0)
    axes.set_aspect("equal")
    axes.grid(False)
    axes.set_facecolor("0.95")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.text(wide / 2, high / 2, "no test case", ha="center", va="center", color="0.45", fontsize=9)


def _sign(verdict: bool) -> str:
    return "T" if verdict else "F"


def draw_row(axes: Axes, row: TestRow, image: Image | None, size: tuple[float, float], zones: Zones) -> None:
    """Draw a test case: the object orange, its detection green and broken, zones blue."""
    wide, high = size
    if image is not None:
        high, wide = image.shape[:2]
        axes.imshow(image, extent=(0, wide, high, 0), interpolation="bilinear")
    left, top, right, bottom = _around(row, wide, high)
    axes.set_xlim(left, right)
    axes.set_ylim(bottom, top)
    axes.set_aspect("equal")
    axes.grid(False)
    axes.tick_params(labelsize=7)
    shade_zones(axes, zones)
    # The detection is thin and broken, so that the object shows where both have one edge.
    boxes = ((row.truth, TRUTH, 2.4, "-"), (row.detection, DETECTION, 1.4, _BROKEN))
    for box, color, width, dashes in boxes:
        if box is not None:
            outline(axes, box, color, width, dashes)
    facts = [f"{row.frame}", f"IoU {row.iou:.2f}" if row.iou is not None else "", _margin(row)]
    axes.set_xlabel(" · ".join(fact for fact in facts if fact), fontsize=8)


def _around(row: TestRow, wide: float, high: float) -> tuple[float, float, float, float]:
    """Return the part of the image round the object and its detection, in the shape of the image."""
    boxes = [box for box in (row.truth, row.detection) if box is not None]
    if not boxes:
        return 0.0, 0.0, wide, high
    left, top = min(box[0] for box in boxes), min(box[1] for box in boxes)
    right, bottom = max(box[2] for box in boxes), max(box[3] for box in boxes)
    share = min(1.0, max(0.4, 2.5 * (right - left) / wide, 2.5 * (bottom - top) / high))
    x = min(max((left + right) / 2 - share * wide / 2, 0.0), wide * (1 - share))
    y = min(max((top + bottom) / 2 - share * high / 2, 0.0), high * (1 - share))
    return x, y, x + share * wide, y + share * high


def shade_zones(axes: Axes, zones: Zones) -> None:
    """Shade the intervals across the whole image."""
    for axis, (low, high) in zones.values():
        span = axes.axhspan if axis == "y" else axes.axvspan
        span(low, high, facecolor=ZONE, alpha=0.18, linewidth=0)


def outline(axes: Axes, box: Sequence[float], color: str, width: float = 1.8, dashes: Any = "-") -> None:
    """Draw the edges of a box, x1, y1, x2, y2."""
    from matplotlib.patches import Rectangle

    corner, sides = (box[0], box[1]), (box[2] - box[0], box[3] - box[1])
    axes.add_patch(Rectangle(corner, *sides, fill=False, edgecolor=color, linewidth=width, linestyle=dashes))


def _margin(row: TestRow) -> str:
    if row.detection is None:
        return "not detected"
    return f"margin {row.margin:+.2f} px" if np.isfinite(row.margin) else ""
