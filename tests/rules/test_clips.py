"""Clips: which frames they have, what is changed in them, and how they are judged."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, SupportsIndex

import numpy as np
import pytest

from roadworthy.cases import Answers, Case, Dataset, Original, Predict, Predicted, Requirement, Verdict
from roadworthy.datasets import ChosenFrames, WorldDataset, sample_of
from roadworthy.datasets._base import BaseDataset
from roadworthy.errors import InputError, NotApplicable
from roadworthy.frames import Frame, Signals
from roadworthy.report import rules as sheets
from roadworthy.rules import ground_motion, parse
from roadworthy.rules.clips import VISIBLE, Timeline, clip_of, judged_clip, misfit, read_course
from roadworthy.rules.clips_in_world import WorldClip
from roadworthy.rules.clips_of_frames import EgoMotion, MovingSpot, _placed
from roadworthy.rules.counterfactual import Spot
from roadworthy.rules.generation import RulePlan, Traffic, plan_for
from roadworthy.rules.ground_motion import ground_view
from roadworthy.rules.method import RulesMethod, judged
from roadworthy.runs import read_rows, run
from roadworthy.runs.executors.pickling import pack, unpack
from roadworthy.transforms import Add, make_transform
from roadworthy.transforms.objects.placement import GroundSpot
from roadworthy.world import add, careful_driver
from roadworthy.world.driver import WHEELBASE

SOON = "If a pedestrian appears on the roadside, the ego-vehicle should slow down within 1 s."
RAIN = "If it rains, the ego-vehicle should slow down within 1 s."


def plan(text: str) -> RulePlan:
    return plan_for(parse(text)).over(0.0)


class Recorded(BaseDataset):
    """Frames with these signals; plain grey, unless drawn by the world."""

    def __init__(
        self, signals: Sequence[Signals], world: WorldDataset | None = None, drives: Sequence[str] = ()
    ) -> None:
        super().__init__("drive", [f"f{number:03d}" for number in range(len(signals))])
        self._signals, self._world, self._named = signals, world, drives
        self._drawn: dict[int, Frame] = {}
        self.reads = 0

    def cluster(self, number: int) -> str:
        return self._named[number] if self._named else "drive 1"

    def signals(self, index: SupportsIndex) -> Signals:
        return self._signals[index.__index__()]

    def read(self, number: int) -> Frame:
        self.reads += 1
        known: dict[str, Any] = {"id": self.all_ids[number], "signals": self._signals[number], "metadata": {}}
        if self._world is None:
            return Frame(image=np.full((24, 32, 3), 90, np.uint8), **known)
        if number not in self._drawn:
            self._drawn[number] = self._world.later(0, number).replace(depth=None, **known)
        return self._drawn[number]


def chosen(*times: float | None, **known: Any) -> ChosenFrames:
    data = Recorded([Signals(timestamp=time, **known) for time in times])
    return ChosenFrames(data.name, data, range(len(data)))


def two_drives(together: str = "") -> ChosenFrames:
    """Return two drives whose frames take turns, 0.1 s apart."""
    signals = [Signals(timestamp=0.1 * number) for number in range(40)]
    data = Recorded(signals, drives=["one", "two"] * 20)
    return ChosenFrames(data.name, data, range(40), together=together)


def no_drives(together: str = "") -> ChosenFrames:
    """Return frames that say of no drive, with a pause after half of them."""
    signals = [Signals(timestamp=0.1 * number + 60 * (number >= 20)) for number in range(40)]
    data = Recorded(signals, drives=[f"f{number:03d}" for number in range(40)])
    return ChosenFrames(data.name, data, range(40), together=together)


def rain_cases(data: Dataset) -> list[Case]:
    cases = RulesMethod().cases(Requirement("R", RAIN, "rules"), data, np.random.default_rng(1))
    return [one for one in cases if isinstance(one, Case)]


def test_a_clip_follows_the_time_stamps_whatever_the_order_of_the_frames() -> None:
    times = [0.3, 0.0, 0.1, 0.2, 0.4, 0.5]
    timeline = Timeline(chosen(*times))
    assert not timeline.sorted
    assert Timeline(chosen(*sorted(times))).sorted
    frames = timeline.clip(1, seconds=0.5, least=0.4, step=0.1)
    assert [times[number] for number in frames] == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
    assert [times[number] for number in timeline.clip(1, seconds=0.4, least=0.4, step=0.2)] == [0.0, 0.2, 0.4]


@pytest.mark.parametrize("together", ["", "data", "folder", "frame", "5 frames", "1 s"])
def test_a_clip_stays_in_its_drive_whatever_counts_as_one_cluster(together: str) -> None:
    frames = Timeline(two_drives(together)).clip(1, seconds=1.0, least=1.0, step=0.2)
    assert frames == (1, 3, 5, 7, 9, 11)
    apart = Timeline(no_drives(together))
    assert apart.clip(10, seconds=0.5, least=0.5, step=0.1) == (10, 11, 12, 13, 14, 15)
    with pytest.raises(NotApplicable, match=r"the drive ends 0\.2 s after this frame"):
        apart.clip(17, seconds=1.0, least=1.0, step=0.1)


def test_clips_of_one_drive_are_one_cluster_unless_the_user_says_otherwise() -> None:
    clusters = [case.cluster for case in rain_cases(no_drives())]
    assert clusters == ["drive 1"] * 20 + ["drive 2"] * 20
    assert {case.cluster for case in rain_cases(two_drives())} == {"one", "two"}
    assert {case.cluster for case in rain_cases(no_drives("frame"))} == {""}, "left to the data"


def test_a_batch_of_clips_carries_no_data_set() -> None:
    signals = [Signals(timestamp=0.1 * number) for number in range(5000)]
    data = Recorded(signals)
    frames = ChosenFrames(data.name, data, range(5000))
    parcel = pack(rain_cases(frames)[:3], {id(frames): "data"})
    assert parcel.size < 20_000
    first, *_ = unpack(parcel, {"data": frames})
    assert [one().id for one in first.asks[0].frames[::2]][:3] == ["f000", "f001", "f003"]
    assert all(one.frames is frames for one in first.asks[0].frames[::2])
    world = ChosenFrames("world", WorldDataset("town", count=5000), range(5000))
    (parcel,) = (pack(case, {id(world): "data"}) for case in rain_cases(sample_of(world, 1)))
    assert parcel.size < 20_000


@pytest.mark.parametrize(
    ("times", "reason"),
    [
        ((0.0, 0.1, 3.0), r"there is no frame for 2\.9 s after the first 0\.1 s of the clip"),
        ((0.0,), "a clip of one frame shows no time"),
        ((0.0, 0.1, 0.2), r"the drive ends 0\.2 s after this frame"),
        ((0.0, 0.1, 0.9, 1.0), r"frames are up to 0\.8 s apart"),
    ],
)
def test_a_clip_that_shows_too_little_is_not_applicable(times: tuple[float, ...], reason: str) -> None:
    with pytest.raises(NotApplicable, match=reason):
        Timeline(chosen(*times)).clip(0, seconds=1.0, least=1.0, step=0.1)


@pytest.mark.parametrize("standing", [(0,), (2,), (5,), (0, 1, 2, 3, 4)])
def test_a_model_that_stands_in_some_frames_hides_no_violation_in_the_others(
    standing: tuple[int, ...],
) -> None:
    """Of a speed of 0 no percentage is known, and what the other frames say is decided without it."""
    made = plan("If it rains, the ego-vehicle should slow down by at least 20% within 0.5 s.")
    pairs = [tuple(_moments(number)) for number in range(6)]
    case = Case("clip", "R1", (Predict((lambda: pairs[0][0],)),), {"rule": made.rule.text})

    def verdict(after: float) -> Verdict:
        speeds = [(0.0, 0.0) if number in standing else (10.0, after) for number in range(6)]
        answers = [Signals(speed=one) for pair in speeds for one in pair]
        frames = tuple(frame for pair in pairs for frame in pair)
        return judged_clip(made, case, Answers((Predicted(frames, tuple(answers)),)), judged)

    found = verdict(after=10.0)
    assert (found.status, found.margin) == ("violated", -2.0)
    assert found.measures["decides"] not in standing
    assert "reaction" not in found.measures
    # What the frames that say something allow is not passed, either.
    with pytest.raises(NotApplicable, match="the prediction before is 0"):
        verdict(after=5.0)


def _moments(number: int) -> Iterator[Frame]:
    image = np.zeros((4, 6, 3), np.uint8)
    for changed in (False, True):
        signals = Signals(timestamp=0.2 * number)
        yield Frame(f"f{number}", image, signals=signals, metadata={VISIBLE: changed})


def test_data_without_time_order_or_speed_is_refused_by_name() -> None:
    timeless = "drive has no time stamps, and the rule speaks of time"
    assert misfit(plan(RAIN), chosen(0.0, None)) == timeless
    assert misfit(plan(RAIN), chosen(0.0, 0.1, 0.1)) == (
        "the frames f001 and f002 of drive have the same time stamp: which comes first?"
    )
    assert misfit(plan(RAIN), chosen(0.0, 0.1)) == ""
    assert misfit(plan(SOON), chosen(0.0, 0.1, steering=0.0)) == (
        "drive does not tell speed, without which nobody knows where a pedestrian stands from frame to "
        "frame: give them, as signals= of a film, or leave out the time"
    )
    assert misfit(plan(SOON), chosen(0.0, 0.1, steering=0.0, speed=9.0)) == ""
    with pytest.raises(InputError, match=timeless):
        rain_cases(chosen(0.0, None))


def test_clips_go_on_beyond_the_frames_that_were_chosen() -> None:
    whole = chosen(*(0.1 * number for number in range(40)))
    some = sample_of(dataclasses.replace(whole, indices=[2, 3, 20, 21]), 2)
    cases = rain_cases(some)
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
    with pytest.raises(InputError, match="leave out by, after and engines"):
        plan_for(parse(RAIN)).made_by(make_transform("fog")).over(0.0)
    with pytest.raises(InputError, match="leave out by, after and engines"):
        plan_for(parse("If it rains, slow down.")).made_by(make_transform("fog")).over(2.0)


def test_what_a_clip_cannot_show_is_refused_in_python_too() -> None:
    nearer = Requirement("R", SOON + " If he gets closer, slow down more.", "rules")
    with pytest.raises(InputError, match="leave out what is closer or farther"):
        RulesMethod().plan(nearer)


def test_frames_of_the_world_that_are_too_far_apart_say_nothing() -> None:
    data = WorldDataset("meadow", count=1, traffic=0.0, fps=1)
    with pytest.raises(NotApplicable, match=r"the frames are up to 1\.0 s apart, too far for the rule"):
        WorldClip(plan(RAIN.replace("1 s", "500 ms")), data, 0, seed=1)


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


@pytest.mark.parametrize(
    ("words", "along", "across"),
    [
        ("walks along the sidewalk", 1.4, 0.0),
        ("crosses the road", 0.0, 1.4),
        ("is running across the road", 0.0, 1.4),
        ("stands on the sidewalk", 0.0, 0.0),
        ("waits to cross the road", 0.0, 0.0),
    ],
)
def test_pedestrians_go_as_the_verb_says(words: str, along: float, across: float) -> None:
    data = WorldDataset("town", count=1, traffic=0.0, fps=10)
    clip = WorldClip(plan(f"If a pedestrian {words}, slow down within 1 s."), data, 0, seed=1)
    (first, began), (last, ended) = (
        (clip.scene(0, one)[0].actors[-1], one[1]) for one in (clip.scenes[0], clip.scenes[-1])
    )
    seconds = ended - began
    assert abs(last.s - first.s) == pytest.approx(along * seconds, abs=1e-6)
    assert last.d - first.d == pytest.approx(-np.sign(first.d) * across * seconds, abs=1e-6)


def test_each_block_shows_its_own_pedestrian_and_the_next_one_the_same() -> None:
    data = WorldDataset("town", count=1, traffic=0.0, fps=10)
    stands = "If a pedestrian stands on the road, slow down within 0.5 s. "
    frames = ChosenFrames("town", data, range(1))
    sources = clip_of(
        plan(stands + "If a pedestrian runs onto the road, slow down more."), Original(frames, 0), 1
    )
    assert [getattr(one, "block", None) for one in sources[0][:6]] == [None, 0, 1, None, 0, 1]
    crosses = "If a pedestrian crosses the road, slow down within 1 s. If it also rains, slow down more."
    clip = WorldClip(plan(crosses), data, 0, seed=1)
    dry, wet = (clip.scene(block, clip.scenes[-1])[0].actors[-1] for block in (0, 1))
    assert (dry.s, dry.d) == (wet.s, wet.d)


@pytest.mark.parametrize("side", ["right", "left"])
def test_who_crosses_comes_towards_the_road(side: str) -> None:
    data = WorldDataset("meadow", count=4, traffic=0.0, fps=10)
    text = f"If a pedestrian on the {side} side of the road is crossing, slow down within 500 ms."
    clip = WorldClip(plan(text), data, 1, seed=1)
    (first, began), (last, ended) = (
        (clip.scene(0, one)[0].actors[-1], one[1]) for one in (clip.scenes[0], clip.scenes[-1])
    )
    assert abs(first.d) - abs(last.d) == pytest.approx(1.4 * (ended - began), abs=1e-6)
    assert (first.d > 0) == (side == "right")


def moved(text: str) -> tuple[float, float, float]:
    """Return how far what a rule adds moves along the track in a clip, how far we do, and the seconds."""
    data = WorldDataset("meadow", count=4, traffic=0.0, fps=10)
    clip = WorldClip(plan(text), data, 1, seed=1)
    (scene, began), (end, ended) = clip.scenes[0], clip.scenes[-1]
    first, last = (clip.scene(0, one)[0].actors[-1] for one in (clip.scenes[0], clip.scenes[-1]))
    return scene.track.ahead(first.s, last.s), scene.track.ahead(scene.s, end.s), ended - began


def test_oncoming_vehicles_come_as_fast_as_we_drive_and_bicyclists_ride() -> None:
    gone, ours, _ = moved("If a car appears on the oncoming lane, slow down within 500 ms.")
    assert gone == pytest.approx(-ours, abs=1e-6)
    assert ours > 1
    for side, sign in (("right", 1), ("left", -1)):
        text = f"If a bicyclist appears on the {side} side of the road, slow down within 500 ms."
        gone, _, seconds = moved(text)
        assert gone == pytest.approx(sign * 4.0 * seconds, abs=1e-6)


def test_nothing_is_put_where_traffic_comes_by(monkeypatch: pytest.MonkeyPatch) -> None:
    data = WorldDataset("meadow", count=4, traffic=0.0, fps=10)
    last = WorldClip(plan(SOON), data, 1, seed=1).scenes[-1][0]
    free = Spot.is_free
    monkeypatch.setattr(Spot, "is_free", lambda spot, scene: scene.s != last.s and free(spot, scene))
    with pytest.raises(NotApplicable, match="other traffic would run into what is added"):
        WorldClip(plan(SOON), data, 1, seed=1)


def test_the_frames_before_a_frame_are_changed_too() -> None:
    data = WorldDataset("town", count=1, history=2, size="160x80", fps=10)
    (case,) = rain_cases(data)
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


def recorded_drive(track: str, *, frames: int, **options: Any) -> tuple[WorldDataset, ChosenFrames]:
    """Return the world, and some frames of a drive in it with their speed and steering."""
    world = WorldDataset(track, count=1, fps=15, traffic=0.0, **options)
    scenes = [world.scenes_later(0, number)[-1] for number in range(frames)]
    known = [dataclasses.replace(careful_driver(scene), timestamp=time) for scene, time in scenes]
    data = Recorded(known, world)
    return world, ChosenFrames(data.name, data, range(len(data)))


@pytest.fixture(scope="module")
def filmed() -> tuple[WorldDataset, ChosenFrames]:
    """Return a drive in the world, and what a camera records of it: images, labels, speed and steering."""
    return recorded_drive("meadow", frames=40, seed=3)


@pytest.mark.parametrize("steering", [6.0, -6.0, 1.0])
def test_on_a_circle_what_stands_is_seen_as_geometry_says(steering: float) -> None:
    """Its centre stays abeam; what lies on it is as many metres of arc farther away as were driven since."""
    speed, seconds = 8.0, 1.5
    data = chosen(*np.linspace(0.0, seconds, 61).tolist(), speed=speed, steering=steering)
    motion = EgoMotion.recorded(Timeline(data), (0, 60))
    radius = WHEELBASE / np.tan(np.radians(steering))
    assert motion.yaw[0] == pytest.approx(-speed * seconds / radius, rel=1e-3)
    for time in (0.0, 0.5, 1.0):
        assert motion.seen_from(time, radius, 0.0) == pytest.approx((radius, 0.0), abs=0.02)
        now, before = (arc / radius for arc in (12.0, 12.0 + speed * (seconds - time)))
        spot, seen = ((radius - radius * np.cos(arc), radius * np.sin(arc)) for arc in (now, before))
        assert motion.seen_from(time, *spot) == pytest.approx(seen, abs=0.02)


def test_in_a_curve_the_road_moves_aside_as_the_steering_says(monkeypatch: pytest.MonkeyPatch) -> None:
    world, data = recorded_drive("village", frames=24, seed=0, jitter=0.0)
    assert (Timeline(data).signals(5).steering or 0.0) < -5
    calls: list[tuple[Any, ...]] = []
    monkeypatch.setattr(ground_motion, "_scale", lambda *args: calls.append(args))
    with pytest.raises(NotApplicable, match="the road shows too little"):
        ground_view(data)
    true = world.camera.width / 2 / np.tan(np.radians(world.camera.field_of_view) / 2) * world.camera.mount
    likeness: dict[int, list[float]] = {1: [], -1: []}
    for before, after, horizon, gone, turned in calls:
        height, width = before.shape
        y, x = np.mgrid[int(0.58 * height) : int(0.93 * height), 30 : width - 30].astype(np.float32)
        part = before[int(0.58 * height) : int(0.93 * height), 30 : width - 30]
        where = (x, y + np.float32(0.5 - horizon * height))
        for sign, found in likeness.items():
            aside = sign * turned * true
            found.append(ground_motion._likeness(part, after, where, horizon * height, gone / true, aside))
    assert np.mean(likeness[1]) > np.mean(likeness[-1]) + 0.2


def test_how_the_ground_is_seen_follows_from_how_the_road_moves(
    filmed: tuple[WorldDataset, ChosenFrames],
) -> None:
    world, data = filmed
    view = ground_view(data)
    true = world.camera.width / 2 / np.tan(np.radians(world.camera.field_of_view) / 2)
    assert view.focal * view.camera_height == pytest.approx(true * world.camera.mount, rel=0.06)


def test_why_the_ground_is_not_seen_is_looked_for_once() -> None:
    data = chosen(*(0.1 * number for number in range(60)), speed=9.0, steering=0.0)
    assert isinstance(data.data, Recorded)
    reads = []
    for _ in range(2):
        with pytest.raises(NotApplicable, match="the road shows too little"):
            ground_view(data)
        reads.append(data.data.reads)
    assert reads[0] == reads[1] > 0


@pytest.mark.parametrize(
    ("side", "traffic"),
    [
        ("right side", "right"),
        ("left side", "right"),
        ("right side", "left"),
        ("left side", "left"),
        ("side", "right"),
    ],
)
def test_where_one_drives_says_which_way_bicyclists_ride(
    side: str, traffic: Traffic, filmed: tuple[WorldDataset, ChosenFrames]
) -> None:
    text = f"If a bicyclist appears on the {side} of the road, slow down within 500 ms."
    rule = plan_for(parse(text), traffic=traffic, gallery="shipped", realism="any").over(0.0)
    sides = set()
    for seed in range(6):
        spots, _ = _placed(filmed[1], tuple(range(20, 32)), rule, 0, seed)
        sides.add(on := "right" if spots[0].spot.across > 0 else "left")
        assert spots[0].pace == (4.0 if on == traffic else -4.0)
    assert sides == ({"right", "left"} if side == "side" else {side.split()[0]})


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


def test_a_pedestrian_of_a_recorded_clip_from_the_frames_to_the_strip_of_film(
    filmed: tuple[WorldDataset, ChosenFrames], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = SOON.replace("1 s", "500 ms")
    data = dataclasses.replace(filmed[1], indices=range(12))
    late = Driver(begins=1.7)
    method = RulesMethod({"R": plan_for(parse(text), realism="any")})  # the world has pavements
    run(method, Requirement("R", text, "rules"), data, late, out=tmp_path, gate=None)
    rows = [row for row in read_rows(tmp_path) if row["status"] != "not applicable"]
    assert rows
    assert {row["cluster"] for row in rows} == {"drive 1"}
    for row in rows:
        course = read_course(str(row["measure.course.1"]))
        begins = int(str(row["param.frame"])[1:]) / 15 - course[0].time
        reacts = [one.after == 8.0 for one in course if one.after is not None]
        known = [one.time + begins >= 1.7 for one in course if one.after is not None]
        assert reacts == known
        assert 6 <= float(str(row["measure.distance.1"])) < 60
    violated = [row for row in rows if row["status"] == "violated"]
    tiles: list[Any] = []
    monkeypatch.setattr(sheets, "contact_sheet", lambda shown, *_, **__: tiles.extend(shown))
    sheets.film_sheet(plan(text), violated[:1], tmp_path / "images", title="")
    assert len(tiles) == 12, "two strips of six frames"
    for first, second in zip(tiles[:6], tiles[6:], strict=True):
        assert np.abs(first.image.astype(int) - second.image).max() > 60, "the pedestrian is seen"
    said = {first.title: second.title for first, second in zip(tiles[:6], tiles[6:], strict=True)}
    assert said["0.0 s"] == "+0.0 km/h, not yet"
    short = [one for time, one in said.items() if float(time[:-2]) >= 0.5 and "-" not in one]
    assert short
    assert set(short) == {"+0.0 km/h, violates"}
