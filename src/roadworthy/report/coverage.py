"""Drawings of coverage: how it grows, and what searches found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from roadworthy._files import make_writable, write_json, write_text
from roadworthy.coverage.measuring import Measured
from roadworthy.coverage.search.findings import Growth
from roadworthy.errors import InputError
from roadworthy.frames import Frame, Signals
from roadworthy.report._canvas import Image
from roadworthy.report.drawing import draw_difference, draw_frame
from roadworthy.report.plots import PALETTE, new_figure, save
from roadworthy.report.sheets import Tile, contact_sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
    axis.set_xlabel("images")
    axis.set_ylabel("covered, %")
    axis.set_xlim(left=0)
    axis.set_ylim(bottom=0)
    axis.set_title(title)
    axis.legend()
    return figure


_TILE_WIDTH = 400


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


def draw_growth(searches: Mapping[str, Growth], *, criterion: str = "neuron") -> Figure:
    """Return how coverage and the number of failures grew with the tries, a line for each search.

    Example:
        >>> figure = draw_growth({"algorithm-1": Growth([0.2, 0.3, 0.3], [0, 0, 1])})
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
        scale = min(4.0, _TILE_WIDTH / one.original.width)
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


def write_measured(folder: Path, found: Measured) -> None:
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
