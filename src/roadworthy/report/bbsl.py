"""Drawings of specifications: witnesses of static checks, tests of detectors, and what test data covers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from roadworthy.bbsl.checking import CheckFinding, CheckResult, Witness
from roadworthy.bbsl.checking.models import FunctionValue, Value
from roadworthy.bbsl.checking.results import written
from roadworthy.bbsl.comparing import Cell
from roadworthy.bbsl.coverage import SpecCoverage
from roadworthy.bbsl.specification import Spec
from roadworthy.bbsl.testing import TestRow
from roadworthy.bbsl.values import Box, Interval
from roadworthy.errors import InputError
from roadworthy.report.plots import PALETTE, new_figure
from roadworthy.report.results import clipped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from roadworthy.report.drawing import Image


_MOST_PANELS = 12


def interval_axes(spec: Spec) -> dict[str, str]:
    """Return along which axis the interval of each external function lies, as the drawings take it.

    Example:
        >>> from roadworthy.bbsl import parse
        >>> head = "exfunction v(): bb near(): interval endexfunction"
        >>> interval_axes(parse(f"{head} case stop PROJ_y(v()) ~ near() endcase"))["near"]
        'y'
    """
    return {name: axis for (kind, name, *_), axis in spec.prepared.axes.items() if kind == "function"}


def draw_findings(
    findings: Sequence[CheckFinding], *, axes_of: dict[str, str] | None = None, columns: int = 2
) -> Figure:
    """Return the witnesses of findings in one picture, at most twelve: boxes and intervals, y upward.

    Args:
        findings: What static checks found.
        axes_of: Along which axis the intervals of functions lie ("x" or "y"), by name; others are written
            below the picture.
        columns: How many stand beside each other.

    Raises:
        InputError: None of them has a witness.

    Example:
        >>> from roadworthy.bbsl import parse
        >>> spec = parse("exfunction v(): bb endexfunction case far PROJ_y(v()) > [0, 100] endcase")
        >>> draw_findings(spec.check().problems).axes[0].get_ylabel()
        'y, up'
    """
    shown = [one for one in findings if one.witness is not None][:_MOST_PANELS]
    if not shown:
        raise InputError("there is nothing to draw: none of the findings has a witness")
    columns = min(columns, len(shown))
    rows = -(-len(shown) // columns)
    figure, axes = new_figure(rows, columns, size=(6.2 * columns, 3.1 * rows))
    for place, finding in zip(axes.flat, shown, strict=False):
        assert finding.witness is not None
        _draw(place, finding.witness, axes_of or {}, str(finding))
    for place in list(axes.flat)[len(shown) :]:
        place.set_axis_off()
    return figure


def _draw(axes: Axes, witness: Witness, axes_of: dict[str, str], title: str) -> None:
    outline(axes, (0, 0, witness.width, witness.height), "#999999", 1.0)
    notes: list[str] = []
    labels = _NameWriter(axes)
    for number, call in enumerate(witness.calls):
        color = PALETTE[number % len(PALETTE)]
        name = named(call)
        boxes = _boxes_of(call.value)
        if isinstance(call.value, Interval) and axes_of.get(call.function) in ("x", "y"):
            _draw_interval(axes, call.value, axes_of[call.function], name, color, labels)
        elif boxes:
            for index, box in enumerate(boxes, 1):
                _draw_box(axes, box, f"{name}[{index}]" if len(boxes) > 1 else name, color, labels)
        else:
            notes.append(f"{name} = {written(call.value)}")
    axes.set_title(title, loc="left")
    axes.set(xlabel="x" + (f"        {', '.join(notes)}" if notes else ""), ylabel="y, up")
    _fit(axes, witness)


def named(call: FunctionValue) -> str:
    """Return a call of a function as drawings name its value."""
    return f"{call.function}({', '.join(map(written, call.arguments))})" if call.arguments else call.function


def _boxes_of(value: Value) -> tuple[Box, ...]:
    if isinstance(value, Box):
        return (value,)
    return () if isinstance(value, bool | float | Interval) else value


def _draw_box(axes: Axes, box: Box, name: str, color: str, labels: _NameWriter) -> None:
    from matplotlib.patches import Rectangle

    corner = (box.x.lower, box.y.lower)
    wide, tall = box.x.upper - box.x.lower, box.y.upper - box.y.lower
    axes.add_patch(Rectangle(corner, wide, tall, facecolor=color, alpha=0.16, linewidth=0))
    outline(axes, (*corner, box.x.upper, box.y.upper), color)
    labels.write(name, box.x.lower, box.y.upper, color)


def _draw_interval(
    axes: Axes, interval: Interval, axis: str, name: str, color: str, labels: _NameWriter
) -> None:
    upright = axis == "y"
    span, line = (axes.axhspan, axes.axhline) if upright else (axes.axvspan, axes.axvline)
    span(interval.lower, interval.upper, facecolor=color, alpha=0.10, linewidth=0)
    for end in interval:
        line(end, color=color, linewidth=1.2, linestyle=(0, (4, 3)))
    place = (0.985, (interval.lower + interval.upper) / 2) if upright else (interval.lower, 0.97)
    labels.write(name, *place, color, along=axis)


class _NameWriter:
    """Writes names where no other name stands."""

    def __init__(self, axes: Axes) -> None:
        self._axes = axes
        self._taken: list[tuple[float, float]] = []

    def write(self, text: str, x: float, y: float, color: str, along: str = "") -> None:
        """Write a name; with ``along`` an axis, the other place is a share of the picture."""
        place: dict[str, Any] = {"xycoords": "data", "ha": "left", "va": "top", "xytext": (3, -3)}
        if along == "y":
            place = {"xycoords": self._axes.get_yaxis_transform(), "ha": "right", "va": "center"}
        elif along == "x":
            place = {"xycoords": self._axes.get_xaxis_transform(), "ha": "left", "va": "top"}
            place["xytext"] = (3, 0)
        else:
            # Boxes may share a corner: their names go below each other.
            down = sum(abs(x - other[0]) < 200 and abs(y - other[1]) < 20 for other in self._taken)
            self._taken.append((x, y))
            place["xytext"] = (3, -3 - 12 * down)
        self._axes.annotate(
            text,
            (x, y),
            **{"xytext": (0, 0), **place},
            textcoords="offset points",
            color=color,
            fontsize=8.5,
            bbox={"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 1.0},
        )


def _fit(axes: Axes, witness: Witness) -> None:
    """Show the image and everything that lies outside it."""
    across, up = [0.0, witness.width], [0.0, witness.height]
    for call in witness.calls:
        for box in _boxes_of(call.value):
            across += box.x
            up += box.y
    room = 0.03 * (max(across) - min(across)), 0.06 * (max(up) - min(up))
    axes.set_xlim(min(across) - room[0], max(across) + room[0])
    axes.set_ylim(min(up) - room[1], max(up) + room[1])


TRUTH, DETECTION, ZONE = PALETTE[2], PALETTE[1], PALETTE[5]
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
        place.set_title(f"expected {cell.expectation} · {verdicts} · {len(cell)}", loc="left", fontsize=8.5)
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
    wide, high = _show_image(axes, None, size)
    axes.set_facecolor("0.95")
    axes.set(xticks=[], yticks=[])
    axes.text(wide / 2, high / 2, "no test case", ha="center", va="center", color="0.45", fontsize=9)


def _show_image(axes: Axes, image: Image | None, size: tuple[float, float]) -> tuple[float, float]:
    """Show an image, or a blank one of a size, in its own pixels, y down; return width and height."""
    wide, high = size
    if image is not None:
        high, wide = image.shape[:2]
        axes.imshow(image, extent=(0, wide, high, 0), interpolation="bilinear")
    axes.set(xlim=(0, wide), ylim=(high, 0), aspect="equal")
    axes.grid(False)
    return wide, high


def _sign(verdict: bool) -> str:
    return "T" if verdict else "F"


def draw_row(axes: Axes, row: TestRow, image: Image | None, size: tuple[float, float], zones: Zones) -> None:
    """Draw a test case: the object orange, its detection green and broken, zones blue."""
    left, top, right, bottom = _around(row, *_show_image(axes, image, size))
    axes.set(xlim=(left, right), ylim=(bottom, top))
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
    axes.set(xlabel="x, pixels", ylabel="y, pixels, down")


def _borders(axes: Axes, coverage: SpecCoverage) -> None:
    atoms = [one for one in coverage.atoms if one.has_border]
    names = [f"{one.case or 'precondition'}: {one.text}" for one in atoms]
    for number, one in enumerate(atoms):
        for side, distance, color in ((1, one.nearest_true, PALETTE[2]), (-1, one.nearest_false, PALETTE[1])):
            if np.isfinite(distance):
                axes.plot([side * max(distance, 0.01)], [number], "o", color=color, markersize=6)
    axes.axvspan(-coverage.near, coverage.near, color=ZONE, alpha=0.2, linewidth=0)
    axes.axvline(0, color="#999999", linewidth=1.0)
    axes.set_yticks(range(len(names)), [clipped(name, 52) for name in names], fontsize=7)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xscale("symlog", linthresh=1.0)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("pixels from the border, nearest input: false on the left, true on the right")
    axes.set_title(f"borders approached from both sides: {coverage.border_share:.0%}", loc="left")


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
    wide, high = _show_image(place, image, size)
    shade_zones(place, zones or {})
    for name, (axis, ends) in (zones or {}).items():
        where = (wide * 0.99, ends[0]) if axis == "y" else (ends[0], high * 0.02)
        place.annotate(
            name, where, ha="right" if axis == "y" else "left", va="top", fontsize=8, color=PALETTE[0]
        )
    colors = {label: PALETTE[(number + 1) % len(PALETTE)] for number, label in enumerate(labels)}
    for box, label in objects:
        outline(place, box, colors.get(label, "#777777"))
    place.set_title(title, loc="left")
    seen = [label for label in (*labels, "(none)") if any(label == one for _, one in objects)]
    keys = [Rectangle((0, 0), 1, 1, fill=False, edgecolor=colors.get(one, "#777777")) for one in seen]
    if keys:
        # Below the picture: names beside every box would hide the boxes behind it.
        place.legend(keys, seen, loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=len(keys))
    return figure


def draw_check(spec: Spec, result: CheckResult) -> Figure | None:
    """Draw what speaks against a specification, or an example of every case; None where there is neither."""
    against = [one for one in result.problems if one.witness is not None]
    shown = against or [one for one in result.findings if one.witness is not None]
    return draw_findings(shown, axes_of=interval_axes(spec)) if shown else None
