"""Figures of reliability: how answers hold over the visual change, and how well benchmarks cover it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from roadworthy.frames import Frame
from roadworthy.report._canvas import Image
from roadworthy.report.drawing import draw_frame
from roadworthy.report.plots import PALETTE, new_figure
from roadworthy.report.sheets import Tile, contact_sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_BINS = 12
_SMALLEST_BIN = 3  # images; a mean of fewer says nothing
_TOLERATED = "#009E73"
_TILE_WIDTH = 256


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


def tolerated_sheet(
    frame: Frame,
    transformations: Sequence[str],
    *,
    places: Sequence[float] = (0.25, 0.5, 0.75, 1.0),
    seed: int = 0,
) -> Image:
    """Return a frame under transformations, a row for each, at places of the range that people tolerate.

    Args:
        frame: The frame.
        transformations: Names of transformations whose tolerated range is published.
        places: Where in the range from 0 to t_c, or to the most that the transformation can do to the frame.
        seed: Of what is random about the changes.

    Example:
        >>> noise = np.random.default_rng(5).integers(60, 180, (64, 96, 3), dtype=np.uint8)
        >>> tolerated_sheet(Frame("noise", noise), ["contrast"], places=[0.5, 1.0]).ndim
        3
    """
    from roadworthy.reliability import SampledFrame, transformation_named
    from roadworthy.visual_change.tolerance import tolerance_of

    tiles = []
    for name in transformations:
        limit = tolerance_of(name).correctness
        for place in places:
            made = SampledFrame(frame, transformation_named(name), limit, place, seed)()
            told = f"Δv {made.visual_change:.2f}/{limit:g}"
            tiles.append(Tile(draw_frame(made, (), _TILE_WIDTH / frame.width), name, told))
    return contact_sheet(tiles, len(places))
