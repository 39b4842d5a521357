"""What the wall counts, filters and sorts by, in a real browser: the module that holds all cases of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

MAKE = Path(__file__).with_name("wall_table.js").read_text("utf-8").partition("\n")[2]


@pytest.fixture(scope="module")
def told(chromium: Any, server: Any) -> Any:
    # Its policy allows no `eval`, so what is asked is asked past it.
    context = chromium.new_context(base_url=server.address, bypass_csp=True)
    page: Page = context.new_page()
    page.goto("/runs")
    yield lambda act: page.evaluate(MAKE, act)
    context.close()


SHOWN = {
    "(table.choose('status', ['violated']), shown())": "1 2 3 4 5",
    "(table.choose('system', ['epoch']), shown())": "3 4",
    "(table.choose('tag', ['dark']), shown())": "2 4",
    "(table.choose('mark', ['fault']), shown())": "2",
    "(table.choose('mark', ['none']), shown())": "1 3 4 5 6",
    "(table.choose('change', ['add pedestrian']), shown())": "1 3 6",
    "(table.choose('place', ['wood']), table.choose('status', ['violated']), shown())": "4 5",
    "(table.choose('system', ['epoch']), table.choose('system', []), shown())": "1 2 3 4 5 6",
    # 0.1, 0.2 and 0.3 have fewer digits in the columns than what is typed, and are at the ends all the same.
    "(table.range(measure('visual_change'), 0.2, 0.3), shown())": "1 4 6",
    # A margin in m/s is none in degrees, and an infinite one is none at all.
    "(table.range(measure('margin:m/s'), null, -1), shown())": "1 3",
    "(table.range(measure('margin:°'), -8.5, null), shown())": "4",
    "(table.search('night DAVE2'), shown())": "2",
    "(table.search('people margin<-2'), shown())": "1 5",
    "(table.search('margin>=-1 wood'), shown())": "6",
    "(table.search('dv<0.25 distance>15'), shown())": "3 6",
    "(table.search('margin<−2 dark'), shown())": "2 4",
    "(table.search('fault'), shown())": "2",
    "(table.search('<script>'), shown())": "1 2 3 4 5 6",
    "table.search('nothing<3 margin<x').join()": "nothing<3,margin<x",
}


@pytest.mark.parametrize(("act", "expected"), SHOWN.items())
def test_cases_are_chosen(told: Any, act: str, expected: str) -> None:
    assert told(act) == expected


ORDERS = {
    # One of each requirement in turn; what can hardly be believed comes after the rest, and says why.
    "order('each')": "1 4 3 6 | Little of the picture is left: 2 | Infinite margin: 5",
    "order('margin')": "5 1 3 6 2 4",
    "order('best')": "6 3 1 5 4 2",
    "order('unseen')": "3 5 4 6 1 2",
    "order('near')": "1 3 6 2 4 5",
    "order('case')": "1 2 3 4 5 6",
    "order('margin', 'place')": "wood: 5 6 4 | town: 1 3 2",
    "order('each', 'system')": "dave2: 1 2 5 6 | epoch: 3 4",
    "[...table.orders().keys()].join(' ')": "each believable margin best unseen seen near far case",
}


@pytest.mark.parametrize(("act", "expected"), ORDERS.items())
def test_cases_are_sorted_and_never_two_units_in_one_order(told: Any, act: str, expected: str) -> None:
    assert told(act) == expected


def test_counts_are_of_what_the_other_filters_let_through(told: Any) -> None:
    counts = "Object.fromEntries(table.counts('{}'))"
    assert told(counts.format("requirement")) == {"R1": 4, "R2": 2}
    assert told(counts.format("tag")) == {"urban": 6, "dark": 2}
    assert told(counts.format("mark")) == {"none": 5, "fault": 1}
    only = "(table.choose('system', ['epoch']), {})"
    assert told(only.format(counts.format("requirement"))) == {"R1": 1, "R2": 1}
    # Its own filter takes nothing away from a list.
    assert told(only.format(counts.format("system"))) == {"dave2": 4, "epoch": 2}
    bars = told("(table.choose('system', ['epoch']), table.histogram(measure('visual_change')).bins)")
    assert sum(bars) == 2
    bars = told(
        "(table.range(measure('visual_change'), 0.9, 1), table.histogram(measure('visual_change')).bins)"
    )
    assert (sum(bars), bars[0], bars[-1]) == (6, 2, 1)
    # An infinite margin is in no histogram, and is no end of one.
    assert sum(told("table.histogram(measure('margin:m/s')).bins")) == 3
    assert told("[measure('margin:m/s').least, measure('margin:m/s').most]") == [-3, 2]


def test_names_are_shortened_to_what_they_have_in_common(told: Any) -> None:
    changes = ["add(element=pedestrian), closer", "fog(amount=0.67)", "shear(x=-0.9) + scale(by=2)", "night"]
    assert told(f"{changes}.map(shortChange)") == ["add pedestrian", "fog", "shear + scale", "night"]
    places = ["town-000017", "drive_7/000123.png", "1479424215", "a road"]
    assert told(f"{places}.map(placeOf)") == ["town", "drive_7", "1479424215", "a road"]
