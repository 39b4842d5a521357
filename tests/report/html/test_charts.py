"""Drawings inside pages: what axes say, and that words stay words."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.report.runs_for_reports import EVIL

from roadworthy.report.html.charts import Chart, element
from roadworthy.report.html.page import environment

rate_bar: Any = getattr(environment().get_template("macros.html.jinja").module, "rate_bar")  # noqa: B009


def words(chart: Chart, kind: str = "tick") -> list[str]:
    return re.findall(f'<text class="{kind}"[^>]*>([^<]*)</text>', str(chart.svg()))


def test_shares_are_told_in_percent() -> None:
    chart = Chart((0, 1), (0, 0.2), title="shares", x_label="Δv", y_percent=True)
    assert words(chart)[:5] == ["0%", "5%", "10%", "15%", "20%"]
    plain = Chart((0, 1), (0, 0.2), title="numbers", x_label="Δv")
    assert words(plain)[:5] == ["0", "0.05", "0.1", "0.15", "0.2"]


def test_what_is_counted_has_no_halves() -> None:
    chart = Chart((0, 10), (0, 2), title="failures", x_label="tries", counted=True)
    assert words(chart)[:3] == ["0", "1", "2"]


def test_bars_are_as_high_as_their_values() -> None:
    chart = Chart((0, 2), (0, 10), title="cases", x_label="margin")
    chart.bars([(0, 1, 10), (1, 2, 5), (1, 2, 0)], "bad")
    heights = [float(one) for one in re.findall(r'class="bad".*?height="([\d.]+)"', str(chart.svg()))]
    assert heights == [150, 75]


def test_the_whisker_of_a_rate_goes_from_one_bound_to_the_other() -> None:
    drawn = str(rate_bar(0.5, (0.25, 0.75), 0.1, "50%"))
    (low, high), *ends = re.findall(r'class="whisker" x1="([\d.]+)"[^>]*? x2="([\d.]+)"', drawn)
    assert (float(low), float(high)) == (30.2, 89.8)  # of 120, less half a line at either end
    assert ends == [(low, low), (high, high)]


@pytest.mark.parametrize(
    "drawn",
    [
        Chart((0, 1), (0, 1), title=EVIL, x_label=EVIL, y_label=EVIL).svg(),
        rate_bar(0.5, (0.4, 0.6), 0.1, EVIL),
        element("text", EVIL, EVIL, x=EVIL),
    ],
    ids=["chart", "bar", "element"],
)
def test_words_are_never_markup(drawn: str) -> None:
    assert "<script" not in drawn
    assert "<img" not in drawn
    assert "&lt;script&gt;" in drawn
    assert not re.search(r'="[^"]*"<|=""', drawn)
