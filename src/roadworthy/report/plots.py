"""Figures with axes, in one style, and those of coverage and reliability.

Matplotlib without its global state, so that figures can be made anywhere::

    figure, axes = new_figure()
    axes[0, 0].plot([1, 2, 3], [0.2, 0.3, 0.35], color=PALETTE[0])
    save(figure, "growth.png")
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from roadworthy._files import make_writable, replacing, write_json, write_text
from roadworthy.coverage.measuring import CoverageMeasurement
from roadworthy.coverage.search.findings import CoverageGrowth
from roadworthy.errors import InputError
from roadworthy.frames import Frame, Signals
from roadworthy.report.drawing import LIGHT, Image, draw_difference, draw_frame
from roadworthy.report.sheets import Tile, contact_sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure


PALETTE = (*(LIGHT[f"series-{number}"] for number in range(1, 7)), "#000000", "#F0E442")
"""Colours that people with colour-blindness can tell apart (Okabe and Ito)."""

_STYLE = Path(__file__).with_suffix(".mplstyle")
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
    from matplotlib import style
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with style.context(_STYLE):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
        return figure, figure.subplots(rows, columns, squeeze=False)


def save(figure: Figure, path: str | PathLike[str]) -> None:
    """Write a figure as PNG or SVG; the same figure gives the same bytes.

    Raises:
        InputError: The file's ending is another, or the file cannot be written.
    """
    from matplotlib import style

    target = Path(path)
    ending = target.suffix.lower()
    if ending not in _METADATA:
        raise InputError(f"{target}: expected a file that ends in .png or .svg")
    drawn = io.BytesIO()
    with style.context(_STYLE):
        figure.savefig(drawn, format=ending[1:], metadata=_METADATA[ending])
    with replacing(target) as unfinished:
        unfinished.write_bytes(drawn.getvalue())


_DASHES = ("-", "--", ":", "-.")


def growth_figure(growth: Sequence[tuple[int, Mapping[str, float]]], *, title: str) -> Figure:
    """Draw what share each criterion had covered after how many images.

    Args:
        growth: Numbers of images, rising, with the share that each criterion had covered by then.
        title: What was measured.

    Raises:
        InputError: There is nothing to draw.

    Example:
        >>> figure = growth_figure([(10, {"neuron": 0.4}), (20, {"neuron": 0.5})], title="dave2")
        >>> [line.get_label() for line in figure.axes[0].lines]
        ['neuron, 50.0%']
    """
    if not growth:
        raise InputError("expected how coverage grew, got no point of it")
    figure, axes = new_figure()
    (axis,) = axes[0]
    counts = [count for count, _ in growth]
    for number, name in enumerate(growth[-1][1]):
        shares = [100 * values[name] for _, values in growth]
        axis.plot(
            [0, *counts],
            [0.0, *shares],
            color=PALETTE[number % len(PALETTE)],
            # More criteria than colours, and lines that lie on each other, are told apart by their dashes.
            linestyle=_DASHES[number // 2 % len(_DASHES)],
            marker="o" if len(counts) == 1 else "",
            label=f"{name}, {shares[-1]:.1f}%",
        )
    axis.set(xlabel="images", ylabel="covered, %", xlim=(0, None), ylim=(0, None), title=title)
    axis.legend()
    return figure


_FINDING_WIDTH = 400


@dataclass(frozen=True, eq=False)
class ShownFinding:
    """A finding to be drawn.

    Attributes:
        original: The original frame, with its recorded signals.
        changed: What was made of it, with the signals that the network predicted.
        title: What was found, such as the error.
        changes: What was done to the original.
    """

    original: Frame
    changed: Frame
    title: str
    changes: str


def draw_growth(searches: Mapping[str, CoverageGrowth], *, criterion: str = "neuron") -> Figure:
    """Return how coverage and the number of failures grew with the tries, a line for each search.

    Example:
        >>> figure = draw_growth({"algorithm-1": CoverageGrowth([0.2, 0.3, 0.3], [0, 0, 1])})
        >>> [axes.get_xlabel() for axes in figure.axes]
        ['tries', 'tries']
    """
    figure, axes = new_figure(1, 2, size=(8.4, 3.4))
    left, right = axes[0]
    for place, (name, growth) in enumerate(searches.items()):
        colour = PALETTE[place % len(PALETTE)]
        tries = np.arange(len(growth.coverage))
        left.plot(tries, 100 * np.asarray(growth.coverage), color=colour, label=name)
        right.plot(tries, growth.failures, color=colour, label=name)
    left.set(xlabel="tries", ylabel=f"{criterion} coverage (%)", title="Coverage, from that of the originals")
    right.set(xlabel="tries", ylabel="failures", title="Tries that violate Equation 2", ylim=(0, None))
    if len(searches) > 1:
        left.legend()
    return figure


def finding_sheet(findings: Sequence[ShownFinding], *, title: str, note: str = "") -> Image:
    """Return a row for each finding: the original as recorded, what was made of it, and the difference."""
    tiles: list[Tile] = []
    for one in findings:
        scale = min(4.0, _FINDING_WIDTH / one.original.width)
        tiles += [
            Tile(_drawn(one.original, scale), one.original.id, "recorded"),
            Tile(_drawn(one.changed, scale), one.title, "predicted"),
            Tile(draw_difference(one.original, one.changed, scale), one.changes),
        ]
    return contact_sheet(tiles, 3, title=title, note=note)


def _drawn(frame: Frame, scale: float) -> Image:
    # Only what the search judges is shown: the network did not answer for the rest.
    shown = Signals(speed=frame.signals.speed, steering=frame.signals.steering)
    return draw_frame(frame.replace(signals=shown), "signals", scale)


_BINS = 12
_SMALLEST_BIN = 3  # images; a mean of fewer says nothing
_TOLERATED = "#009E73"


@dataclass(frozen=True, eq=False)
class Held:
    """What became of a measure over the visual change, for one model under one transformation.

    Attributes:
        model: The model.
        changes: Δv of each changed image.
        values: The measure on each: performance, or similarity with the answer to the original.
        required: What the whole range is asked for: m₀ or s₀.
    """

    model: str
    changes: NDArray[np.float64]
    values: NDArray[np.float64]
    required: float


def held_figure(panels: Mapping[str, Sequence[Held]], limits: Mapping[str, float], measure: str) -> Figure:
    """Return, for each panel, the mean of a measure over Δv, with what is required and the tolerated range.

    Args:
        panels: What was measured, by the name of the panel, such as a transformation.
        limits: The edge of the tolerated range of each panel.
        measure: What is measured.

    Example:
        >>> held = Held("dave2", np.linspace(0, 1, 60), np.ones(60), 1.0)
        >>> len(held_figure({"fog": [held]}, {"fog": 0.8}, "accuracy").axes)
        1
    """
    columns = min(4, len(panels))
    rows = -(-len(panels) // columns)
    figure, axes = new_figure(rows, columns, size=(3.1 * columns + 0.6, 2.5 * rows + 0.5))
    models = list(dict.fromkeys(one.model for held in panels.values() for one in held))
    for axis, (name, held) in zip(axes.flat, panels.items(), strict=False):
        axis.axvspan(0, limits[name], color=_TOLERATED, alpha=0.08, lw=0)
        for one in held:
            colour = PALETTE[models.index(one.model) % len(PALETTE)]
            middles, means = _binned(one.changes, one.values, limits[name])
            axis.plot(middles, means, color=colour, marker="o", ms=3, lw=1.3, label=one.model)
            axis.axhline(one.required, color=colour, lw=0.9, ls="--")
        axis.set(title=name, xlim=(0, 1), ylim=(-0.03, 1.05))
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    for axis in axes[-1]:
        axis.set_xlabel("visual change Δv")
    for axis in axes[:, 0]:
        axis.set_ylabel(measure)
    axes.flat[0].legend(fontsize=7, loc="lower left")
    return figure


def _binned(
    changes: NDArray[np.float64], values: NDArray[np.float64], limit: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean Δv and the mean value of equal parts of the range that hold enough images."""
    part = np.clip((changes / limit * _BINS).astype(int), 0, _BINS - 1)
    full = [one for one in range(_BINS) if (part == one).sum() >= _SMALLEST_BIN]
    return (
        np.array([changes[part == one].mean() for one in full]),
        np.array([values[part == one].mean() for one in full]),
    )


def write_measured(folder: Path, found: CoverageMeasurement) -> None:
    """Write what was measured into a folder: growth.png, coverage.json and holes.txt.

    Raises:
        InputError: They cannot be written.
    """
    make_writable(folder)
    write_json(folder / "coverage.json", found.as_dict())
    write_text(folder / "holes.txt", "\n".join(found.holes()) + "\n")
    if found.growth:
        title = f"Coverage of {found.model}" if found.model else "Coverage of the operating domain"
        save(growth_figure(found.growth, title=title), folder / "growth.png")
