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

    from roadworthy.reliability.levels import LevelStudy

__all__ = ["Held", "distribution_figure", "held_figure", "range_figure", "tolerated_sheet"]

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


def range_figure(studies: Sequence[LevelStudy]) -> Figure:
    """Return the range of Δv of ImageNet-C's levels beside both tolerated ranges (Figure 5 of Hu et al.).

    Example:
        >>> from roadworthy.reliability.levels import LevelStudy
        >>> study = LevelStudy("fog", 0.8, 0.6, np.array([[0.2], [0.9]]), np.zeros(0), np.zeros(0))
        >>> len(range_figure([study]).axes)
        1
    """
    figure, axes = new_figure(size=(7.2, 0.55 * len(studies) + 1.2))
    axis = axes[0, 0]
    for row, study in enumerate(reversed(studies)):
        bars = [("tolerated, prediction", study.prediction, -0.26, PALETTE[2])]
        bars.append(("tolerated, correctness", study.correctness, 0.0, PALETTE[4]))
        for label, limit, offset, colour in bars:
            if limit is not None:
                name = label if row == 0 else None
                axis.barh(row + offset, limit, 0.22, color=colour, label=name)
        if study.range is not None:
            low, high = study.range
            name = "ImageNet-C, five levels" if row == 0 or not _named(axis, "ImageNet-C") else None
            axis.barh(row + 0.26, high - low, 0.22, left=low, color=PALETTE[0], label=name)
    axis.set(xlim=(0, 1), xlabel="visual change Δv")
    axis.set_yticks(range(len(studies)), [one.transformation for one in reversed(studies)])
    axis.grid(visible=False, axis="y")
    axis.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def _named(axis: object, word: str) -> bool:
    _, labels = axis.get_legend_handles_labels()  # type: ignore[attr-defined]
    return any(word in label for label in labels)


def distribution_figure(studies: Sequence[LevelStudy]) -> Figure:
    """Return how many images have which Δv: ImageNet-C's levels, and both ways to draw (Figure 6).

    Example:
        >>> from roadworthy.reliability.levels import LevelStudy
        >>> some = np.linspace(0, 0.8, 50)
        >>> len(distribution_figure([LevelStudy("fog", 0.8, 0.6, some[None], some, some)]).axes)
        1
    """
    columns = min(4, len(studies))
    rows = -(-len(studies) // columns)
    figure, axes = new_figure(rows, columns, size=(3.1 * columns + 0.6, 2.3 * rows + 0.6))
    edges = np.linspace(0, 1, 26)
    for axis, study in zip(axes.flat, studies, strict=False):
        axis.axvspan(0, study.limit, color=_TOLERATED, alpha=0.08, lw=0)
        for values, colour, label in (
            (study.levels.ravel(), PALETTE[0], "ImageNet-C, five levels"),
            (study.published, PALETTE[1], "parameters drawn as published"),
            (study.even, PALETTE[2], "even over Δv (ours)"),
        ):
            if values.size:
                axis.hist(values, edges, histtype="step", color=colour, lw=1.3, label=label, density=True)
        axis.set(title=study.transformation, xlim=(0, 1), yticks=[])
    for axis in axes.flat[len(studies) :]:
        axis.set_visible(False)
    for axis in axes[-1]:
        axis.set_xlabel("visual change Δv")
    handles = {
        label: handle
        for axis in axes.flat
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3, fontsize=8)
    return figure


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
    from roadworthy.reliability import Changed, transformation_named
    from roadworthy.visual_change.tolerance import tolerance_of

    tiles = []
    for name in transformations:
        limit = tolerance_of(name).correctness
        for place in places:
            made = Changed(frame, transformation_named(name), limit, place, seed)()
            told = f"Δv {made.visual_change:.2f}/{limit:g}"
            tiles.append(Tile(draw_frame(made, (), _TILE_WIDTH / frame.width), name, told))
    return contact_sheet(tiles, len(places))
