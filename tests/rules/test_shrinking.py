from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from roadworthy.cases import Requirement, Status
from roadworthy.datasets import load
from roadworthy.frames import Frame, Signals
from roadworthy.rules.expectation import Expectation, Quantity
from roadworthy.rules.generation import RulePlan, plan_for
from roadworthy.rules.reading import Block, Rule, SceneChange
from roadworthy.rules.shrinking import Shrinking, Violation, least_amount
from roadworthy.runs import read_rows, run

RAIN = SceneChange("replace", "weather", {"level": "heavy"}, replacement="rainy")
PEDESTRIAN = SceneChange("add", "pedestrian", position="on", reference="sidewalk")
SAME = Expectation("steering", "same")
REQUIREMENT = Requirement("R", "a rule", "rules")
IDS = ("meadow-000000", "town-000001", "mountain-000002")


class ByPixels:
    """Steers by how bright the image is: proportional to the amount of a change that fades."""

    name = "by pixels"

    def __init__(self) -> None:
        self.batches: list[int] = []

    def predict(self, frames: Sequence[Frame], /) -> list[Signals]:
        self.batches.append(len(frames))
        return [Signals(steering=float(np.mean(frame.image)), speed=10.0) for frame in frames]


class ByHeight:
    """Steers by how tall the tallest pedestrian is seen, in percent of the image."""

    name = "by height"

    def predict(self, frames: Sequence[Frame], /) -> list[Signals]:
        return [Signals(steering=self._height(frame), speed=10.0) for frame in frames]

    @staticmethod
    def _height(frame: Frame) -> float:
        added: Any = frame.metadata.get("added", ())
        return 100 * max(((one["box"][3] - one["box"][1]) / frame.height for one in added), default=0.0)


def plan_of(change: SceneChange, expectation: Expectation) -> RulePlan:
    return plan_for(Rule("a rule", (Block((change,), expectation),)))


def shrunk(plan: RulePlan, system: Any, ids: Sequence[str] = IDS, **options: Any) -> Shrinking:
    search = Shrinking(plan, [Violation(id, 7) for id in ids])
    run(search, REQUIREMENT, load("world", count=3), system, **options)
    return search


def test_a_fading_change_is_shrunk_to_the_border() -> None:
    plan = plan_of(SceneChange("remove", "line"), Expectation("steering", "same", None, Quantity(0.3)))
    search = shrunk(plan, ByPixels())
    assert set(search.smallest) <= set(IDS)
    assert search.smallest
    for id, one in search.smallest.items():
        frame = one.frames[0]
        whole = np.mean(plan.frames(frame, 7)[1].image) - np.mean(frame.image)
        # Images are mixed, so brightness runs evenly from none to all of the change.
        assert one.amount == pytest.approx(0.3 / abs(float(whole)), abs=1 / 64 + 0.02), id
        assert one.margin < 0
        before, after = one.predictions["steering"]
        assert one.margin == pytest.approx(0.3 - abs(after - before))
        assert one.frames[1].image.mean() == pytest.approx(after)
        assert one.violation == Violation(id, 7)


def test_a_thing_goes_farther_away_until_it_violates_no_more() -> None:
    plan = plan_of(PEDESTRIAN, Expectation("steering", "same", None, Quantity(14.0)))
    search = shrunk(plan, ByHeight())
    assert search.smallest
    for one in search.smallest.values():
        _, tall = one.predictions["steering"]
        whole = ByHeight._height(plan.frames(one.frames[0], 7)[1])
        assert 14.0 < tall <= whole
        assert tall == pytest.approx(one.amount * whole, rel=0.1)
        if one.amount < 1:
            assert "times as far away" in one.changes[0]


def test_weather_gets_lighter_and_nothing_is_asked_for_below_what_counts_as_weather() -> None:
    slower = plan_of(RAIN, Expectation("speed", "decrease"))
    assert least_amount(slower) == 0.25
    search = shrunk(slower, ByPixels())  # never changes its speed, so any rain violates
    assert {one.amount for one in search.smallest.values()} == {0.25}
    assert {one.changes for one in search.smallest.values()} == {("rain(amount=0.25)",)}

    same = plan_of(RAIN, SAME)
    assert least_amount(same) == 0.0
    assert least_amount(plan_of(RAIN, Expectation("speed", "decrease", negated=True))) == 0.0
    half = Expectation("speed", "decrease", "at most", Quantity(0.5, relative=True), measure="value")
    assert least_amount(plan_of(RAIN, half)) == 0.25
    for one in shrunk(same, ByPixels()).smallest.values():
        assert 0 < one.amount < 0.25


def test_the_violations_are_tried_together_round_by_round(tmp_path: Path) -> None:
    system = ByPixels()
    plan = plan_of(RAIN, SAME)
    search = shrunk(plan, system, out=tmp_path, batch_size=64)
    # One round with all of the change and six halvings, each with an original and a follow-up per frame.
    assert system.batches == [6] * 7
    rows = list(read_rows(tmp_path))
    for id, one in search.smallest.items():
        mine = [row for row in rows if row["param.frame"] == id]
        violated = [float(str(row["param.amount"])) for row in mine if row["status"] == "violated"]
        passed = [float(str(row["param.amount"])) for row in mine if row["status"] == "passed"]
        assert one.amount == min(violated)
        assert one.amount - max(passed, default=0.0) <= 1 / 64 + 1e-9


def test_what_violates_with_all_of_the_change_only_stays_as_it_is() -> None:
    class Jumps(ByPixels):
        def predict(self, frames: Sequence[Frame], /) -> list[Signals]:
            heavy = [frame.metadata.get("weather") == "rainy" and "amount=1)" in frame.id for frame in frames]
            return [Signals(steering=9.0 if one else 0.0) for one in heavy]

    assert {one.amount for one in shrunk(plan_of(RAIN, SAME), Jumps()).smallest.values()} == {1.0}


def test_what_does_not_violate_is_not_shrunk() -> None:
    plan = plan_of(RAIN, Expectation("speed", "same"))
    search = Shrinking(plan, [Violation(IDS[0], 7)])
    result = run(search, REQUIREMENT, load("world", count=3), ByPixels())
    assert search.smallest == {}
    assert result.counts[Status.PASSED] == 1


def test_the_amount_is_halved_as_often_as_is_said() -> None:
    plan = plan_of(SceneChange("remove", "line"), Expectation("steering", "same", None, Quantity(0.3)))
    search = Shrinking(plan, [Violation(id, 7) for id in IDS], rounds=1)
    run(search, REQUIREMENT, load("world", count=3), ByPixels())
    assert {one.amount for one in search.smallest.values()} <= {0.5, 1.0}
    assert search.smallest
