"""Box plots of ratings, drawn as SVG that takes the colours of the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from roadworthy.rules.study import SCALE, Scores

_WIDTH, _LEFT, _RIGHT, _ROW, _TOP = 360, 12, 12, 44, 20


@dataclass(frozen=True)
class Ratings:
    """Ratings of one kind.

    Attributes:
        label: What they are of.
        scores: Their figures.
        name: The class that has its colour.
    """

    label: str
    scores: Scores
    name: str = "plain"


def box_plot(boxes: Sequence[Ratings], title: str) -> Markup:
    """Return boxes below each other, on a scale from 1 to 7.

    A box reaches from the first to the third quartile, the line in it is the median, the triangle the mean,
    as in Figures 10 and 11 of the RMT paper.

    Example:
        >>> str(box_plot([Ratings("R1", Scores.of([1, 2, 7]))], "How real")).count("<rect")
        1
    """
    high = _TOP + _ROW * len(boxes) + 4
    parts = []
    for score in range(SCALE[0], SCALE[1] + 1):
        x = _place(score)
        parts += [
            Markup('<line class="grid" x1="{0}" y1="{1}" x2="{0}" y2="{2}"/>').format(x, _TOP - 4, high),
            Markup('<text class="tick" x="{}" y="11" text-anchor="middle">{}</text>').format(x, score),
        ]
    for row, box in enumerate(boxes):
        parts.append(_drawn(box, _TOP + row * _ROW))
    return Markup('<svg class="chart" viewBox="0 0 {} {}" role="img"><title>{}</title>{}</svg>').format(
        _WIDTH, high, title, Markup("").join(parts)
    )


def _place(score: float) -> str:
    share = (score - SCALE[0]) / (SCALE[1] - SCALE[0])
    return f"{_LEFT + share * (_WIDTH - _LEFT - _RIGHT):.1f}"


def _drawn(box: Ratings, top: int) -> Markup:
    one = box.scores
    first, median, third = one.quartiles
    middle, upper, lower = top + 29, top + 21, top + 37
    told = f"{box.label}: median {median:g}, quartiles {first:g} and {third:g}, mean {one.mean:.2f}"
    wide = max(float(_place(third)) - float(_place(first)), 1.0)
    mean = float(_place(one.mean))
    return Markup(
        '<g class="box {name}"><title>{told}</title>'
        '<text class="label" x="{left}" y="{words}">{label}</text>'
        '<line class="whisker" x1="{least}" y1="{middle}" x2="{most}" y2="{middle}"/>'
        '<rect x="{start}" y="{upper}" width="{wide}" height="16" rx="2"/>'
        '<line class="median" x1="{median}" y1="{upper}" x2="{median}" y2="{lower}"/>'
        '<path class="mean" d="M{mean:.1f} {peak}l5 9h-10z"/></g>'
    ).format(
        name=box.name,
        told=told,
        left=_LEFT,
        words=top + 14,
        label=f"{box.label} (n = {one.count}, mean {one.mean:.2f})",
        least=_place(one.whiskers[0]),
        most=_place(one.whiskers[1]),
        middle=middle,
        start=_place(first),
        upper=upper,
        lower=lower,
        wide=f"{wide:.1f}",
        median=_place(median),
        mean=mean,
        peak=middle - 5,
    )
