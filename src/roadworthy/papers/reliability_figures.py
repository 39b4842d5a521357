"""Figures of Hu et al.: what people tolerate and how far to trust it, and how benchmarks cover that range."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from roadworthy.errors import InputError
from roadworthy.report.plots import PALETTE, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from roadworthy.papers.reliability import LevelStudy, SubsetStudy
    from roadworthy.reliability.human import Threshold


BLUE, ORANGE, GREEN, PURPLE = PALETTE[:4]
GREY = "#555555"
COLUMNS = 4
SYMBOL = {"correctness": "t_c", "prediction": "t_p"}
SHARE = {"correctness": "share of right answers", "prediction": "share of answers as to the original"}


def draw_thresholds(thresholds: Sequence[Threshold], titles: Sequence[str] | None = None) -> Figure:
    """Draw thresholds side by side: answers as dots by their number, spline, threshold, spread and interval.

    Args:
        thresholds: The thresholds.
        titles: What each is called; its transformation when left out.

    Raises:
        InputError: There are none.

    Example:
        >>> from roadworthy.reliability.human import SimulatedHumans, estimate_threshold
        >>> people = SimulatedHumans(threshold=0.6).answer()
        >>> figure = draw_thresholds([estimate_threshold(people, samples=100)])
        >>> len(figure.axes)
        1
    """
    figure, axes = _grid(len(thresholds))
    names = titles or [one.bins.transformation for one in thresholds]
    for axis, one, name in zip(axes.ravel(), thresholds, names, strict=False):
        _draw(axis, one, name)
    _one_legend(figure, axes.ravel()[0], len(thresholds))
    return figure


def draw_subsets(studies: Sequence[SubsetStudy]) -> Figure:
    """Draw the curves of all answers and of the first two subsets, with their 83% intervals (Figure 4).

    Thresholds of all subsets are the ticks at the bottom.

    Raises:
        InputError: There are none.
    """
    figure, axes = _grid(len(studies))
    for axis, study in zip(axes.ravel(), studies, strict=False):
        labels = ("all answers", f"{study.share:.0%}, once", f"{study.share:.0%}, again")
        curves = (study.whole, *study.pairs[0])
        for one, colour, label in zip(curves, (BLUE, ORANGE, GREEN), labels, strict=True):
            _curve(axis, one, colour, label)
            axis.axvline(one.value, color=colour, linewidth=1, linestyle="--")
        ticks = np.full(len(study.values), 0.015)
        axis.plot(
            study.values, ticks, "|", color=GREY, markersize=9, transform=axis.get_xaxis_transform(),
            label="thresholds of all subsets",
        )  # fmt: skip
        alike = f"alike in {study.alike} of {len(study.pairs)}"
        _frame(axis, study.whole, study.whole.bins.transformation, alike)
    _one_legend(figure, axes.ravel()[0], len(studies))
    return figure


def _grid(count: int) -> tuple[Figure, Any]:
    if not count:
        raise InputError("there is nothing to draw")
    columns = min(COLUMNS, count)
    rows = -(-count // columns)
    size = (6.4, 4.4) if count == 1 else (3.6 * columns, 3.1 * rows + 0.4)
    figure, axes = new_figure(rows, columns, size=size)
    for axis in axes.ravel()[count:]:
        axis.set_axis_off()
    return figure, axes


def _draw(axis: Any, one: Threshold, name: str) -> None:
    bins = one.bins
    if one.spread is not None and one.interval is not None:
        axis.axvspan(*one.spread, color=ORANGE, alpha=0.18, linewidth=0, label="spread of repetitions")
        axis.plot(
            one.interval, (0.03, 0.03), color=PURPLE, linewidth=4, solid_capstyle="butt",
            transform=axis.get_xaxis_transform(), label="where the drop begins",
        )  # fmt: skip
    axis.axhline(one.baseline, color=GREY, linewidth=1, linestyle=":", label="baseline")
    dots = np.sqrt(bins.counts) * 2.2
    axis.scatter(bins.edges, bins.shares, s=dots, color=GREY, alpha=0.55, linewidth=0, label="answers")
    _curve(axis, one, BLUE, "spline, 83%")
    axis.axvline(
        one.value, color=ORANGE, linewidth=1.6, linestyle="-" if one.found else "--", label="threshold"
    )
    published = bins.published
    if published is not None and abs(published - one.value) > 1e-9:
        axis.axvline(published, color="#000000", linewidth=1, linestyle="-.", label="published")
    _frame(axis, one, name, "" if one.found else "no drop found")


def _curve(axis: Any, one: Threshold, colour: str, label: str) -> None:
    places = np.linspace(one.bins.edges[0], one.bins.edges[-1], 400)
    axis.plot(places, one.fit.at(places)[:, 0], color=colour, linewidth=1.5, label=label)
    values, band = one.fit.values[:, 0], one.fit.band[:, 0]
    axis.fill_between(one.bins.edges, values - band, values + band, color=colour, alpha=0.2, linewidth=0)


def _frame(axis: Any, one: Threshold, name: str, remark: str) -> None:
    remarks = f" ({remark})" if remark else ""
    axis.set_title(f"{name}: ${SYMBOL[one.bins.requirement]}$ = {one.value:.2f}{remarks}")
    lowest = max(0.0, np.floor(one.bins.shares.min() * 10) / 10 - 0.1)
    axis.set(xlim=(0, 1), ylim=(lowest, 1.03), xlabel="visual change Δv", ylabel=SHARE[one.bins.requirement])


def _one_legend(figure: Any, axis: Any, count: int) -> None:
    """Put one legend below all plots."""
    handles, labels = axis.get_legend_handles_labels()
    columns = 4 if count == 1 else len(labels)
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False)


def range_figure(studies: Sequence[LevelStudy]) -> Figure:
    """Return the range of Δv of ImageNet-C's levels beside both tolerated ranges (Figure 5 of Hu et al.).

    Example:
        >>> from roadworthy.papers.reliability import LevelStudy
        >>> study = LevelStudy("fog", 0.8, 0.6, np.array([[0.2], [0.9]]), np.zeros(0), np.zeros(0))
        >>> len(range_figure([study]).axes)
        1
    """
    figure, axes = new_figure(size=(7.2, 0.55 * len(studies) + 1.2))
    axis = axes[0, 0]
    drawn: dict[str, Any] = {}
    for row, study in enumerate(reversed(studies)):
        bars = [("tolerated, prediction", study.prediction, -0.26, PALETTE[2])]
        bars.append(("tolerated, correctness", study.correctness, 0.0, PALETTE[4]))
        for label, limit, offset, colour in bars:
            if limit is not None:
                drawn[label] = axis.barh(row + offset, limit, 0.22, color=colour)
        if study.range is not None:
            low, high = study.range
            bar = axis.barh(row + 0.26, high - low, 0.22, left=low, color=PALETTE[0])
            drawn["ImageNet-C, five levels"] = bar
    axis.set(xlim=(0, 1), xlabel="visual change Δv")
    axis.set_yticks(range(len(studies)), [one.transformation for one in reversed(studies)])
    axis.grid(visible=False, axis="y")
    axis.legend(drawn.values(), drawn.keys(), fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def distribution_figure(studies: Sequence[LevelStudy]) -> Figure:
    """Return how many images have which Δv: ImageNet-C's levels, and both ways to draw (Figure 6).

    Example:
        >>> from roadworthy.papers.reliability import LevelStudy
        >>> some = np.linspace(0, 0.8, 50)
        >>> len(distribution_figure([LevelStudy("fog", 0.8, 0.6, some[None], some, some)]).axes)
        1
    """
    columns = min(4, len(studies))
    rows = -(-len(studies) // columns)
    figure, axes = new_figure(rows, columns, size=(3.1 * columns + 0.6, 2.3 * rows + 0.6))
    edges = np.linspace(0, 1, 26)
    for axis, study in zip(axes.flat, studies, strict=False):
        axis.axvspan(0, study.limit, color=GREEN, alpha=0.08, lw=0)
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
    named = (zip(*axis.get_legend_handles_labels(), strict=True) for axis in axes.flat)
    handles = {label: handle for pairs in named for handle, label in pairs}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3, fontsize=8)
    return figure
