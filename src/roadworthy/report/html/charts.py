"""Small charts as SVG inside the page: they take the page's colours, light and dark, and need no script.

Figures with axes are otherwise made by :mod:`roadworthy.report.plots`. A picture made there has one set of
colours and one size of letters; here both must follow the page, down to a phone in the dark. So nothing is
said about colours but the name of a class, for which ``page.css`` has them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from roadworthy.report.results import number

WIDTH, HEIGHT = 360, 208
_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 10, 24, 34

Range = tuple[float, float]


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return round numbers between two others, at even distances.

    Example:
        >>> ticks(0, 1)
        [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
        >>> ticks(-411.0, 3.0)
        [-400.0, -300.0, -200.0, -100.0, 0.0]
    """
    span = high - low
    if not (span > 0 and math.isfinite(span)):
        return [low]
    raw = span / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(place * step, 12) + 0.0 for place in range(first, last + 1)]


@dataclass(frozen=True)
class _Scale:
    """Numbers to places on paper."""

    low: float
    high: float
    first: float
    last: float

    def __call__(self, value: float) -> str:
        span = self.high - self.low or 1.0
        share = min(max((value - self.low) / span, -0.02), 1.02)
        return f"{self.first + share * (self.last - self.first):.1f}".removesuffix(".0")


class Chart:
    """A chart with axes that is drawn part by part, the backmost first.

    Args:
        x: From where to where the x axis goes.
        y: From where to where the y axis goes.
        title: What the chart shows: read aloud by screen readers.
        x_label: What stands below the x axis.
        y_label: What stands above the y axis.
        y_percent: Whether the y axis is in percent.
        counted: Whether the y axis counts something, of which there is no half.

    Example:
        >>> chart = Chart((0, 1), (0, 10), title="failures by change", x_label="visual change")
        >>> chart.bars([(0, 0.5, 3), (0.5, 1, 8)], "bad")
        >>> str(chart.svg()).count('class="bad"')
        2
    """

    def __init__(
        self,
        x: Range,
        y: Range,
        *,
        title: str,
        x_label: str,
        y_label: str = "",
        y_percent: bool = False,
        counted: bool = False,
    ) -> None:
        self._x = _Scale(*x, _LEFT, WIDTH - _RIGHT)
        self._y = _Scale(*y, HEIGHT - _BOTTOM, _TOP)
        self._title = title
        self._behind: list[Markup] = []
        self._parts: list[Markup] = []
        self._axes(x_label, y_label, counted=counted, y_percent=y_percent)

    def _axes(self, x_label: str, y_label: str, *, counted: bool, y_percent: bool) -> None:
        x, y = self._x, self._y
        add = self._behind.append
        upright = ticks(y.low, y.high, 4)
        if counted:
            upright = [value for value in upright if value == int(value)]
        for value in upright:
            place = y(value)
            add(_line("grid", x(x.low), place, x(x.high), place))
            add(_text(_tick(value, percent=y_percent), _LEFT - 6, float(place) + 3.5, "end"))
        for value in ticks(x.low, x.high, 5):
            add(_text(number(value), float(x(value)), HEIGHT - _BOTTOM + 15, "middle"))
        add(_line("axis", x(x.low), y(y.low), x(x.high), y(y.low)))
        add(_text(x_label, (_LEFT + WIDTH - _RIGHT) / 2, HEIGHT - 4, "middle", "label"))
        if y_label:
            add(_text(y_label, _LEFT, _TOP - 11, "start", "label"))

    def band(self, low: float, high: float, name: str, label: str = "") -> None:
        """Shade a range of the x axis, with a word at its top."""
        left, right = self._x(max(low, self._x.low)), self._x(min(high, self._x.high))
        wide = float(right) - float(left)
        self._behind.insert(0, _rectangle(name, float(left), _TOP, wide, HEIGHT - _BOTTOM - _TOP))
        if label:
            self._behind.append(_text(label, float(right), _TOP - 11, "end", f"{name}-word"))

    def bars(self, bars: Sequence[tuple[float, float, float]], name: str) -> None:
        """Draw bars: from, to, height."""
        ground = float(self._y(self._y.low))
        for low, high, value in bars:
            if value <= 0:
                continue
            left, right, top = float(self._x(low)), float(self._x(high)), float(self._y(value))
            # What is there shall be seen, and neighbours told apart.
            self._parts.append(
                _rectangle(
                    name, left + 0.5, min(top, ground - 1), max(right - left - 1, 1), max(ground - top, 1)
                )
            )

    def line(self, points: Sequence[tuple[float, float]], name: str) -> None:
        """Draw a line through points."""
        path = " ".join(f"{self._x(x)},{self._y(y)}" for x, y in points)
        self._parts.append(Markup('<polyline class="{}" points="{}"/>').format(name, path))

    def dots(self, points: Sequence[tuple[float, float]], name: str) -> None:
        """Draw a dot at every point."""
        for x, y in points:
            self._parts.append(
                Markup('<circle class="{}" cx="{}" cy="{}" r="3"/>').format(name, self._x(x), self._y(y))
            )

    def whisker(self, x: float, low: float, high: float, name: str) -> None:
        """Draw an interval at a place of the x axis."""
        place = self._x(x)
        self._parts.append(_line(name, place, self._y(low), place, self._y(high)))

    def upright(self, x: float, name: str) -> None:
        """Draw a line from bottom to top."""
        place = self._x(x)
        self._parts.append(_line(name, place, self._y(self._y.low), place, f"{_TOP - 4}"))

    def level(self, y: float, name: str) -> None:
        """Draw a line from left to right."""
        place = self._y(y)
        self._parts.append(_line(name, self._x(self._x.low), place, self._x(self._x.high), place))

    def svg(self) -> Markup:
        """Return the chart."""
        return Markup('<svg class="chart" viewBox="0 0 {} {}" role="img"><title>{}</title>{}{}</svg>').format(
            WIDTH, HEIGHT, self._title, Markup("").join(self._behind), Markup("").join(self._parts)
        )


def rate_bar(rate: float, bound: float | None, accepted: float | None, title: str) -> Markup:
    """Return a failure rate as a bar from 0 to 100%, its bound as a whisker and a mark at what is accepted.

    Example:
        >>> str(rate_bar(0.1, 0.2, 0.05, "10%")).count("<line")
        3
    """
    wide, high, middle = 120, 14, 7
    x = _Scale(0, 1, 0.5, wide - 0.5)
    parts = [
        _rectangle("track", 0, middle - 3, wide, 6),
        _rectangle("bad", 0, middle - 3, max(float(x(rate)), 1.5) if rate > 0 else 0, 6),
    ]
    if bound is not None:
        parts += [
            _line("whisker", x(rate), str(middle), x(bound), str(middle)),
            _line("whisker", x(bound), str(middle - 3.5), x(bound), str(middle + 3.5)),
        ]
    if accepted is not None:
        parts.append(_line("accepted", x(accepted), "0", x(accepted), str(high)))
    return Markup(
        '<svg class="rate" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img"><title>{}</title>'
        "{}</svg>"
    ).format(wide, high, title, Markup("").join(parts))


def _tick(value: float, *, percent: bool) -> str:
    return f"{100 * value:g}%" if percent else number(value)


def _line(name: str, x1: str, y1: str, x2: str, y2: str) -> Markup:
    return Markup('<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(name, x1, y1, x2, y2)


def _rectangle(name: str, x: float, y: float, wide: float, high: float) -> Markup:
    places = (f"{one:.1f}".removesuffix(".0") for one in (x, y, wide, high))
    return Markup('<rect class="{}" x="{}" y="{}" width="{}" height="{}"/>').format(name, *places)


def _text(words: str, x: float, y: float, anchor: str, name: str = "tick") -> Markup:
    return Markup('<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(
        name, x, y, anchor, words
    )
