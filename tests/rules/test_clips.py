"""Clips: which frames they have, what is changed in them, and how they are judged."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, SupportsIndex

import numpy as np
import pytest

from roadworthy.cases import Case, Predict, Requirement
from roadworthy.datasets import ChosenFrames, WorldDataset, sample_of
from roadworthy.datasets._base import BaseDataset
from roadworthy.errors import InputError, NotApplicable
from roadworthy.frames import Frame, Signals
from roadworthy.rules import parse
from roadworthy.rules.clips import Timeline, clip_cases, misfit, read_course
from roadworthy.rules.clips_in_world import WorldClip
from roadworthy.rules.clips_of_frames import EgoMotion, MovingSpot
from roadworthy.rules.generation import RulePlan, plan_for
from roadworthy.rules.ground_motion import ground_view
from roadworthy.rules.method import RulesMethod
from roadworthy.runs import read_rows, run
from roadworthy.transforms import Add, make_transform
from roadworthy.transforms.objects.placement import GroundSpot
from roadworthy.world import add, careful_driver

SOON = "If a pedestrian appears on the roadside, the ego-vehicle should slow down within 1 s."
RAIN = "If it rains, the ego-vehicle should slow down within 1 s."


def plan(text: str) -> RulePlan:
    return plan_for(parse(text)).over(0.0)


class Recorded(BaseDataset):
    """Frames with these signals; plain grey, unless drawn by the world."""

    def __init__(self, signals: Sequence[Signals], world: WorldDataset | None = None) -> None:
        super().__init__("drive", [f"f{number:03d}" for number in range(len(signals))])
        self._signals, self._world = signals, world
        self._drawn: dict[int, Frame] = {}

    def cluster(self, number: int) -> str:
        return "drive 1"

    def signals(self, index: SupportsIndex) -> Signals:
        return self._signals[index.__index__()]

    def read(self, number: int) -> Frame:
        known: dict[str, Any] = {"id": self.all_ids[number], "signals": self._signals[number], "metadata": {}}
        if self._world is None:
            return Frame(image=np.full((24, 32, 3), 90, np.uint8), **known)
        if number not in self._drawn:
            self._drawn[number] = self._world.later(0, number).replace(depth=None, **known)
        return self._drawn[number]


def chosen(*times: float | None, **known: Any) -> ChosenFrames:
    data = Recorded([Signals(timestamp=time, **known) for time in times])
    return ChosenFrames(data.name, data, range(len(data)))


def test_a_clip_follows_the_time_stamps_whatever_the_order_of_the_frames() -> None:
    times = [0.3, 0.0, 0.1, 0.2, 0.4, 0.5]
    timeline = Timeline(chosen(*times))
    assert not timeline.sorted
    assert Timeline(chosen(*sorted(times))).sorted
    frames = timeline.clip(1, seconds=0.5, least=0.4, step=0.1)
    assert [times[number] for number in frames] == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
    assert [times[number] for number in timeline.clip(1, seconds=0.4, least=0.4, step=0.2)] == [0.0, 0.2, 0.4]


@pytest.mark.parametrize(
    ("times", "reason"),
    [
        ((0.0,), "a clip of one frame shows no time"),
        ((0.0, 0.1, 0.2), r"the drive ends 0\.2 s after this frame"),
        ((0.0, 0.1, 0.9, 1.0), r"frames are up to 0\.8 s apart"),
    ],
)
def test_a_clip_that_shows_too_little_is_not_applicable(times: tuple[float, ...], reason: str) -> None:
    with pytest.raises(NotApplicable, match=reason):
        Timeline(chosen(*times)).clip(0, seconds=1.0, least=1.0, step=0.1)


def test_data_without_time_order_or_speed_is_refused_by_name() -> None:
    timeless = "drive has no time stamps, and the rule speaks of time"
    assert misfit(plan(RAIN), chosen(0.0, None)) == timeless
    assert misfit(plan(RAIN), chosen(0.0, 0.1, 0.1)) == (
        "the frames f001 and f002 of drive have the same time stamp: which comes first?"
    )
    assert misfit(plan(RAIN), chosen(0.0, 0.1)) == ""
    assert misfit(plan(SOON), chosen(0.0, 0.1, steering=0.0)) == (
        "drive does not tell speed, without which nobody knows where a pedestrian stands from frame to frame"
    )
    assert misfit(plan(SOON), chosen(0.0, 0.1, steering=0.0, speed=9.0)) == ""
    with pytest.raises(InputError, match=timeless):
        next(clip_cases(plan(RAIN), "R", chosen(0.0, None), 1))


def test_clips_go_on_beyond_the_frames_that_were_chosen() -> None:
    whole = chosen(*(0.1 * number for number in range(40)))
    some = sample_of(dataclasses.replace(whole, indices=[2, 3, 20, 21]), 2)
    cases = list(clip_cases(plan(RAIN), "R", some, 1))
    assert [case.id for case in cases] == ["f002", "f020"]
    (ask,) = cases[1].asks
    assert isinstance(ask, Predict)
    assert [source().id for source in ask.frames[::2] if callable(source)][-1] == "f035"


@pytest.mark.parametrize(
    ("text", "seconds", "message"),
    [
        (RAIN, 0.5, "a clip must take 1 s at least for 'within 1 s', got 0.5"),
        (SOON + " If he gets closer, slow down more.", 0.0, "leave out what is closer or farther"),
    ],
)
def test_what_a_clip_cannot_show_is_refused(text: str, seconds: float, message: str) -> None:
    with pytest.raises(InputError, match=message):
        plan_for(parse(text)).over(seconds)
    with pytest.raises(InputError, match="leave out by, after and engines"):
        plan_for(parse(RAIN)).after(make_transform("fog")).over(0.0)


def test_a_rule_without_a_time_is_tried_on_clips_where_that_is_asked_for() -> None:
    one = plan_for(parse("If it rains, slow down.")).over(3.0)
    assert (str(one.timing), one.clip_length) == ("while it is visible", 3.0)
    assert plan_for(parse("If it rains, slow down.")).over(0.0).timing is None


def test_things_of_the_world_keep_their_place_or_their_pace() -> None:
    data = WorldDataset("meadow", count=4, traffic=0.0, fps=10)
    walker = WorldClip(plan(SOON), data, 1, seed=1)
    added = [walker.scene(0, timed)[0].actors[-1] for timed in walker.scenes]
    assert len({(round(one.s, 6), one.d, one.look) for one in added}) == 1
    assert walker.scenes[-1][0].s != walker.scenes[0][0].s
    leader = WorldClip(plan("If a car is in front of you, slow down within 1 s."), data, 1, seed=1)
    gaps = [
        scene.track.ahead(scene.s, leader.scene(0, (scene, t))[0].actors[-1].s) for scene, t in leader.scenes
    ]
    assert np.ptp(gaps) < 1e-6 < min(gaps)


def test_the_frames_before_a_frame_are_changed_too() -> None:
    data = WorldDataset("town", count=1, history=2, size="160x80", fps=10)
    (case,) = clip_cases(plan(RAIN), "R", data, 1)
    assert isinstance(case, Case)
    (ask,) = case.asks
    assert isinstance(ask, Predict)
    before, after = (source if isinstance(source, Frame) else source() for source in ask.frames[-2:])
    times = [one.signals.timestamp for one in (*after.previous, after)]
    assert np.diff(np.array(times, float)).tolist() == pytest.approx([0.1, 0.1])
    pairs = list(zip(before.previous, after.previous, strict=True))
    assert all(np.abs(one.image.astype(int) - two.image).mean() > 5 for one, two in pairs)
    streaks = [one.image.astype(int) - two.image for one, two in pairs]
    assert not np.array_equal(streaks[0], streaks[1]), "other drops fall in the next frame"


class Driver:
    """Slows down for what is changed, between two times of a clip."""

    name = "driver"

    def __init__(self, begins: float, ends: float = 9.0) -> None:
        self.begins, self.ends = begins, ends

    def predict(self, frames: Sequence[Frame], /) -> list[Signals]:
        reacts = [self.begins <= (one.signals.timestamp or 0.0) <= self.ends for one in frames]
        slow = (one and "~" in frame.id for one, frame in zip(reacts, frames, strict=True))
        return [Signals(speed=8.0 if one else 10.0, steering=0.0) for one in slow]


@pytest.mark.parametrize(
    ("driver", "status", "margin", "reaction"),
    [
        (Driver(0.0), "passed", 2.0, 0.0),
        (Driver(0.75), "passed", 2.0, 0.8),
        (Driver(1.25), "violated", 0.0, 1.4),
        (Driver(0.0, ends=1.1), "violated", 0.0, None),
    ],
)
def test_late_and_forgetful_drivers_violate_a_time(
    driver: Driver, status: str, margin: float, reaction: float | None, tmp_path: Path
) -> None:
    data = WorldDataset("town", count=1, size="96x48", fps=10)
    run(RulesMethod(), Requirement("R", RAIN, "rules"), data, driver, out=tmp_path)
    (row,) = read_rows(tmp_path)
    assert (row["status"], row["margin"]) == (status, margin)
    assert row.get("measure.reaction") == (None if reaction is None else pytest.approx(reaction))
    course = read_course(str(row["measure.course.1"]))
    assert [one.time for one in course] == pytest.approx([0.2 * n for n in range(len(course))])
    decides = course[int(str(row["measure.decides"]))]
    assert ((decides.before or 0.0) > (decides.after or 0.0)) == (status == "passed")


@pytest.fixture(scope="module")
def filmed() -> tuple[WorldDataset, ChosenFrames]:
    """Return a drive in the world, and what a camera records of it: images, labels, speed and steering."""
    world = WorldDataset("meadow", count=1, fps=15, seed=3, traffic=0.0)
    scenes = [world.scenes_later(0, number)[-1] for number in range(40)]
    known = [dataclasses.replace(careful_driver(scene), timestamp=time) for scene, time in scenes]
    data = Recorded(known, world)
    return world, ChosenFrames(data.name, data, range(len(data)))


def test_how_the_ground_is_seen_follows_from_how_the_road_moves(
    filmed: tuple[WorldDataset, ChosenFrames],
) -> None:
    world, data = filmed
    view = ground_view(data)
    true = world.camera.width / 2 / np.tan(np.radians(world.camera.field_of_view) / 2)
    assert view.focal * view.camera_height == pytest.approx(true * world.camera.mount, rel=0.06)


def test_what_is_put_into_the_last_frame_is_where_the_world_draws_it_in_the_others(
    filmed: tuple[WorldDataset, ChosenFrames],
) -> None:
    """The world draws a pedestrian exactly; from its last box alone, we say where the others are."""
    world, data = filmed
    last, earlier = 30, (15, 20, 25)

    def drawn(number: int) -> tuple[float, ...]:
        scene, _ = world.scenes_later(0, number)[-1]
        walker = add(world.scenes_later(0, last)[-1][0], "pedestrian", ahead=12.0).actors[-1]
        boxes = world.frame_of([(scene.replace(actors=(walker,)), 0.0)], "a").boxes
        assert boxes is not None
        return tuple(boxes.xyxy[list(boxes.classes).index("pedestrian")].tolist())

    timeline = Timeline(data)
    motion = EgoMotion.recorded(timeline, (0, last))
    step = make_transform("add", element="pedestrian")
    assert isinstance(step, Add)
    frame = data[last]
    place = step.placed(frame, np.random.default_rng(1))
    left, top, right, bottom = (round(one) for one in drawn(last))
    here = dataclasses.replace(place, window=(left, top, right, bottom), foot=(left, right))
    thing = MovingSpot(step, GroundSpot.of(frame, here, ground_view(data)), 0.0)
    for number in earlier:
        found = thing.spot.at(*thing.at(timeline.times[number], motion))
        true = drawn(number)
        assert found.window[3] == pytest.approx(true[3], abs=2.5), number
        assert sum(found.foot) / 2 == pytest.approx((true[0] + true[2]) / 2, abs=5), number
