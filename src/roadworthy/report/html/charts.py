"""Drawings as SVG inside the page: they take the page's colours, light and dark, and need no script.

Figures with axes are otherwise made by :mod:`roadworthy.report.plots`. A picture made there has one set of
colours and one size of letters; here both must follow the page, down to a phone in the dark. So nothing is
said about colours but the name of a class, for which the style sheets have them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from roadworthy.report.results import number

WIDTH, HEIGHT = 360, 208
_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 10, 24, 34

Range = tuple[float, float]
Point = tuple[float, float]


def element(tag: str, kind: str = "", *inside: str, **attributes: object) -> Markup:
    """Return an element of SVG with its class; whatever text goes into it is escaped.

    Example:
        >>> print(element("text", "name", "<lap>", x=1.04, text_anchor="end"))
        <text class="name" x="1" text-anchor="end">&lt;lap&gt;</text>
    """
    named = {"class": kind, **attributes} if kind else attributes
    written = Markup("").join(
        Markup(' {}="{}"').format(name.replace("_", "-"), _short(value)) for name, value in named.items()
    )
    return Markup("<{0}{1}>{2}</{0}>" if inside else "<{0}{1}/>").format(
        tag, written, Markup("").join(inside)
    )


def _short(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)


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
    return [round(place * step, 12) + 0.0 for place in range(first, math.floor(high / step + 1e-9) + 1)]


@dataclass(frozen=True)
class _Scale:
    """Numbers to places on paper."""

    low: float
    high: float
    first: float
    last: float

    def __call__(self, value: float) -> float:
        share = min(max((value - self.low) / (self.high - self.low or 1.0), -0.02), 1.02)
        return round(self.first + share * (self.last - self.first), 1)


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
        left, right, ground = self._x(x[0]), self._x(x[1]), self._y(y[0])
        add = self._behind.append
        for value in ticks(*y, 4):
            if not counted or value == int(value):
                place = self._y(value)
                add(_line("grid", left, place, right, place))
                add(_text(f"{100 * value:g}%" if y_percent else number(value), _LEFT - 6, place + 3.5, "end"))
        for value in ticks(*x, 5):
            add(_text(number(value), self._x(value), HEIGHT - _BOTTOM + 15, "middle"))
        add(_line("axis", left, ground, right, ground))
        add(_text(x_label, (_LEFT + WIDTH - _RIGHT) / 2, HEIGHT - 4, "middle", "label"))
        if y_label:
            add(_text(y_label, _LEFT, _TOP - 11, "start", "label"))

    def band(self, low: float, high: float, kind: str, label: str = "") -> None:
        """Shade a range of the x axis, with a word at its top."""
        left, right = self._x(max(low, self._x.low)), self._x(min(high, self._x.high))
        self._behind.insert(0, _rectangle(kind, left, _TOP, right - left, HEIGHT - _BOTTOM - _TOP))
        if label:
            self._behind.append(_text(label, right, _TOP - 11, "end", f"{kind}-word"))

    def bars(self, bars: Sequence[tuple[float, float, float]], kind: str) -> None:
        """Draw bars: from, to, height."""
        ground = self._y(self._y.low)
        for low, high, value in bars:
            if value <= 0:
                continue
            left, right, top = self._x(low), self._x(high), self._y(value)
            # What is there shall be seen, and neighbours told apart.
            wide, tall = max(right - left - 1, 1), max(ground - top, 1)
            self._parts.append(_rectangle(kind, left + 0.5, min(top, ground - 1), wide, tall))

    def line(self, points: Iterable[Point], kind: str) -> None:
        """Draw a line through points."""
        path = " ".join(f"{_short(self._x(x))},{_short(self._y(y))}" for x, y in points)
        self._parts.append(element("polyline", kind, points=path))

    def dots(self, points: Iterable[Point], kind: str) -> None:
        """Draw a dot at every point."""
        self._parts += [element("circle", kind, cx=self._x(x), cy=self._y(y), r=3) for x, y in points]

    def whisker(self, x: float, low: float, high: float, kind: str) -> None:
        """Draw an interval at a place of the x axis."""
        self._parts.append(_line(kind, self._x(x), self._y(low), self._x(x), self._y(high)))

    def upright(self, x: float, kind: str) -> None:
        """Draw a line from bottom to top."""
        self._parts.append(_line(kind, self._x(x), self._y(self._y.low), self._x(x), _TOP - 4))

    def level(self, y: float, kind: str) -> None:
        """Draw a line from left to right."""
        place = self._y(y)
        self._parts.append(_line(kind, self._x(self._x.low), place, self._x(self._x.high), place))

    def svg(self) -> Markup:
        """Return the chart."""
        parts = (element("title", "", self._title), *self._behind, *self._parts)
        return element("svg", "chart", *parts, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img")


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> Markup:
    return element("line", kind, x1=x1, y1=y1, x2=x2, y2=y2)


def _rectangle(kind: str, x: float, y: float, width: float, height: float) -> Markup:
    return element("rect", kind, x=x, y=y, width=width, height=height)


def _text(words: str, x: float, y: float, anchor: str, kind: str = "tick") -> Markup:
    return element("text", kind, words, x=x, y=y, text_anchor=anchor)
