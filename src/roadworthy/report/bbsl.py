"""Drawings of specifications over boxes: witnesses of the static checks, and tests of detectors.

Witnesses are drawn as the specification sees them, y upward, with the axes shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from roadworthy.bbsl.checking import Finding, Witness
from roadworthy.bbsl.checking.models import Value
from roadworthy.bbsl.checking.results import written
from roadworthy.bbsl.specification import Spec
from roadworthy.bbsl.values import Box, Interval
from roadworthy.errors import InputError
from roadworthy.report.plots import PALETTE, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_findings", "draw_witness", "interval_axes"]

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


def draw_witness(witness: Witness, *, axes_of: dict[str, str] | None = None, title: str = "") -> Figure:
    """Return a picture of a witness: boxes and intervals with their names, y upward.

    Args:
        witness: What to draw.
        axes_of: Along which axis the intervals of functions lie ("x" or "y"), by name; others are written
            below the picture.
        title: What it shows; the cases that hold when left out.

    Example:
        >>> from roadworthy.bbsl import parse
        >>> spec = parse("exfunction v(): bb endexfunction case far PROJ_y(v()) > [0, 100] endcase")
        >>> finding = spec.check().problems[0]
        >>> draw_witness(finding.witness, title=str(finding)).axes[0].get_ylabel()
        'y, up'
    """
    figure, axes = new_figure(size=(7.2, 3.4))
    _draw(axes[0, 0], witness, axes_of or {}, title or _holding(witness))
    return figure


def draw_findings(
    findings: Sequence[Finding], *, axes_of: dict[str, str] | None = None, columns: int = 2
) -> Figure:
    """Return the witnesses of several findings in one picture, at most twelve.

    Raises:
        InputError: None of them has a witness.
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


def _holding(witness: Witness) -> str:
    return f"holds: {', '.join(witness.labels)}" if witness.labels else "in no case"


def _draw(axes: Axes, witness: Witness, axes_of: dict[str, str], title: str) -> None:
    from matplotlib.patches import Rectangle

    frame = Rectangle((0, 0), witness.width, witness.height, fill=False, edgecolor="#999999", linewidth=1.0)
    axes.add_patch(frame)
    notes: list[str] = []
    labels = _Labels(axes)
    for number, call in enumerate(witness.calls):
        color = PALETTE[number % len(PALETTE)]
        name = (
            f"{call.function}({', '.join(map(written, call.arguments))})" if call.arguments else call.function
        )
        boxes = _boxes_of(call.value)
        if isinstance(call.value, Interval) and axes_of.get(call.function) in ("x", "y"):
            _draw_interval(axes, call.value, axes_of[call.function], name, color, labels)
        elif boxes:
            for index, box in enumerate(boxes, 1):
                _draw_box(axes, box, f"{name}[{index}]" if len(boxes) > 1 else name, color, labels)
        else:
            notes.append(f"{name} = {written(call.value)}")
    axes.set_title(title, loc="left")
    axes.set_xlabel("x" + (f"        {', '.join(notes)}" if notes else ""))
    axes.set_ylabel("y, up")
    _fit(axes, witness)


def _boxes_of(value: Value) -> tuple[Box, ...]:
    if isinstance(value, Box):
        return (value,)
    return () if isinstance(value, bool | float | Interval) else value


def _draw_box(axes: Axes, box: Box, name: str, color: str, labels: _Labels) -> None:
    from matplotlib.patches import Rectangle

    corner = (box.x.lower, box.y.lower)
    wide, tall = box.x.upper - box.x.lower, box.y.upper - box.y.lower
    axes.add_patch(Rectangle(corner, wide, tall, facecolor=color, alpha=0.16, linewidth=0))
    axes.add_patch(Rectangle(corner, wide, tall, fill=False, edgecolor=color, linewidth=1.8))
    labels.write(name, box.x.lower, box.y.upper, color)


def _draw_interval(axes: Axes, interval: Interval, axis: str, name: str, color: str, labels: _Labels) -> None:
    middle = (interval.lower + interval.upper) / 2
    if axis == "y":
        axes.axhspan(interval.lower, interval.upper, facecolor=color, alpha=0.10, linewidth=0)
        for end in interval:
            axes.axhline(end, color=color, linewidth=1.2, linestyle=(0, (4, 3)))
        labels.write(name, 0.985, middle, color, along="y")
    else:
        axes.axvspan(interval.lower, interval.upper, facecolor=color, alpha=0.10, linewidth=0)
        for end in interval:
            axes.axvline(end, color=color, linewidth=1.2, linestyle=(0, (4, 3)))
        labels.write(name, interval.lower, 0.97, color, along="x")


class _Labels:
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
        under = {"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 1.0}
        self._axes.annotate(
            text,
            (x, y),
            **{"xytext": (0, 0), **place},
            textcoords="offset points",
            color=color,
            fontsize=8.5,
            bbox=under,
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
