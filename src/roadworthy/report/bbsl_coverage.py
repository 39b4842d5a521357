"""Drawings of coverage: where in the image objects stood, and how frames lead to cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from roadworthy.bbsl.coverage import SpecCoverage
from roadworthy.report.bbsl_tests import ZONE, Zones, outline, shade_zones
from roadworthy.report.plots import PALETTE, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from roadworthy.report._palette import Image

__all__ = ["draw_coverage", "draw_labelled"]


def draw_coverage(coverage: SpecCoverage, size: tuple[float, float], *, zones: Zones | None = None) -> Figure:
    """Return two plots: how many objects stood in each cell of the image, and how near they came to borders.

    Args:
        coverage: What was measured.
        size: Width and height of the images.
        zones: Intervals to draw over the image.
    """
    figure, axes = new_figure(1, 2, size=(13.0, 3.6))
    _positions(axes[0, 0], coverage, size, zones or {})
    _borders(axes[0, 1], coverage)
    return figure


def _positions(axes: Axes, coverage: SpecCoverage, size: tuple[float, float], zones: Zones) -> None:
    counts = coverage.positions
    shown = np.where(counts > 0, np.log10(np.maximum(counts, 1)) + 0.3, np.nan)
    axes.imshow(shown, extent=(0, size[0], size[1], 0), cmap="Blues", vmin=0.0, aspect="auto")
    rows, columns = coverage.grid
    for (row, column), count in np.ndenumerate(counts):
        place = ((column + 0.5) * size[0] / columns, (row + 0.5) * size[1] / rows)
        dark = count > 0 and shown[row, column] > 0.6 * np.nanmax(shown)
        axes.annotate(
            str(count), place, ha="center", va="center", fontsize=7, color="white" if dark else "#555555"
        )
    for axis, ends in zones.values():
        for end in ends:
            line = axes.axhline if axis == "y" else axes.axvline
            line(end, color=PALETTE[1], linewidth=1.2, linestyle=(0, (4, 3)))
    axes.grid(False)
    axes.set_title(f"where objects stood: {coverage.position_share:.0%} of the cells", loc="left")
    axes.set_xlabel("x, pixels")
    axes.set_ylabel("y, pixels, down")


def _borders(axes: Axes, coverage: SpecCoverage) -> None:
    atoms = [one for one in coverage.atoms if one.has_border]
    names = [f"{one.case or 'precondition'}: {one.text}" for one in atoms]
    for number, one in enumerate(atoms):
        for side, distance, color in ((1, one.nearest_true, PALETTE[2]), (-1, one.nearest_false, PALETTE[1])):
            if np.isfinite(distance):
                axes.plot([side * max(distance, 0.01)], [number], "o", color=color, markersize=6)
    axes.axvspan(-coverage.near, coverage.near, color=ZONE, alpha=0.2, linewidth=0)
    axes.axvline(0, color="#999999", linewidth=1.0)
    axes.set_yticks(range(len(names)), [_short(name) for name in names], fontsize=7)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xscale("symlog", linthresh=1.0)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("pixels from the border, nearest input: false on the left, true on the right")
    axes.set_title(f"borders approached from both sides: {coverage.border_share:.0%}", loc="left")


def _short(text: str, most: int = 52) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def draw_labelled(
    image: Image | None,
    size: tuple[float, float],
    objects: Sequence[tuple[Sequence[float], str]],
    *,
    labels: Sequence[str],
    zones: Zones | None = None,
    title: str = "",
) -> Figure:
    """Return a frame with every object in the colour of the case that it leads to.

    Args:
        image: The image; None for a blank one.
        size: Width and height, for a blank one.
        objects: Corners in pixels, and the name of the case.
        labels: All cases, which gives each its colour.
        zones: Intervals to draw.
        title: A heading.
    """
    from matplotlib.patches import Rectangle

    figure, axes = new_figure(size=(11.0, 4.0))
    place = axes[0, 0]
    wide, high = size
    if image is not None:
        high, wide = image.shape[:2]
        place.imshow(image, extent=(0, wide, high, 0), interpolation="bilinear")
    shade_zones(place, zones or {})
    for name, (axis, ends) in (zones or {}).items():
        where = (wide * 0.99, ends[0]) if axis == "y" else (ends[0], high * 0.02)
        place.annotate(
            name, where, ha="right" if axis == "y" else "left", va="top", fontsize=8, color=PALETTE[0]
        )
    colors = {label: PALETTE[(number + 1) % len(PALETTE)] for number, label in enumerate(labels)}
    for box, label in objects:
        outline(place, box, colors.get(label, "#777777"))
    place.set_xlim(0, wide)
    place.set_ylim(high, 0)
    place.set_aspect("equal")
    place.grid(False)
    place.set_title(title, loc="left")
    seen = [label for label in (*labels, "(none)") if any(label == one for _, one in objects)]
    keys = [Rectangle((0, 0), 1, 1, fill=False, edgecolor=colors.get(one, "#777777")) for one in seen]
    if keys:
        # Below the picture: names beside every box would hide the boxes behind it.
        place.legend(keys, seen, loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=len(keys))
    return figure
