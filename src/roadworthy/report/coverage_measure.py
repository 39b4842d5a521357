"""How coverage grows with the number of images, drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from roadworthy.errors import InputError
from roadworthy.report.plots import PALETTE, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["growth_figure"]

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
