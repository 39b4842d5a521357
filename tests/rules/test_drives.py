"""Rules that drive: the change comes during a drive and lasts, drivers with known faults are told apart."""

from __future__ import annotations

import math
import pickle
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from roadworthy.cases import Case, Status, Verdict
from roadworthy.cases import RecordDrive as Ask
from roadworthy.driving.drives import Drive
from roadworthy.driving.simulators import DriveLimits, drive, open_simulator
from roadworthy.driving.simulators.world import TrafficAround
from roadworthy.errors import InputError, NotApplicable, RuleError
from roadworthy.frames import Signals
from roadworthy.models import SystemUnderTest, Truth, callable_model
from roadworthy.rules import parse
from roadworthy.rules.drives import DrivePlan, RuleChange, judged_drive
from roadworthy.rules.generation import plan_for
from roadworthy.world import (
    HELD_OUT_TRACK_NAMES,
    TRACK_NAMES,
    Scene,
    Simulation,
    WorldObject,
    careful_driver,
    make_scene,
    track,
)
from roadworthy.world.shapes import mesh_of

TRACKS = (*TRACK_NAMES, *HELD_OUT_TRACK_NAMES)
CASE = Case("town-01", "R1", (Ask("a drive"),))
STEPS = "If a pedestrian steps onto the road, the ego-vehicle should stop before it."


def plan_of(text: str, seconds: float = 15.0) -> DrivePlan:
    rule = parse(text)
    return DrivePlan(rule, rule.blocks[0].expectation, seconds)


def driven(
    text: str,
    driver: str = "careful",
    *,
    system: SystemUnderTest | None = None,
    seconds: float = 12.0,
    start: float = 300.0,
    **options: object,
) -> Verdict:
    """Let a driver drive in the town, with the change of a rule and, where that is compared, without it."""
    plan, change = plan_of(text, seconds), RuleChange(parse(text), seed=1)
    limits = DriveLimits(laps=None, seconds=change.after + seconds, standing=math.inf)
    asked: dict[str, object] = {"fps": 6, "traffic": 0, "start": start, "driver": driver, **options}

    def once(change: RuleChange | None) -> Drive:
        simulator = open_simulator("world:town", **asked)
        return drive(system or Truth(), simulator, limits=limits, change=change)

    return judged_drive(plan, CASE, once(change), once(None) if plan.compares else None)


# What comes acts, and each fault is caught by the rule that depends on the ability.


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (STEPS, "pedestrian-blind"),
        ("If a pedestrian steps onto the road 30 m ahead, you must not collide with it.", "pedestrian-blind"),
        ("If a pedestrian appears on the roadside, slow down at least 20%.", "pedestrian-blind"),
        ("If it rains after 1 s, the ego-vehicle should slow down within 2 s.", "rain-hasty"),
        ("If it becomes night, the ego-vehicle should slow down.", "night-blind"),
        ("If the lane lines are removed, the ego-vehicle must stay in its lane.", "lines-only"),
        ("If a yield sign appears on the roadside, you should slow down at least 20%.", "sign-blind"),
        ("If a red light appears 30 m ahead, you should stop before it.", "light-blind"),
        ("If a parked car pulls out 20 m ahead, you should slow down within 2 s.", "traffic-blind"),
        ("If a car brakes ahead, you must not collide with it.", "traffic-blind"),
    ],
)
def test_the_careful_driver_passes_and_the_faulty_one_is_caught(text: str, fault: str) -> None:
    careful, faulty = driven(text), driven(text, fault)
    assert careful.status is Status.PASSED, careful
    assert faulty.status is Status.VIOLATED, faulty
    assert (careful.margin or 0) >= 0 >= (faulty.margin or 0)


@pytest.mark.parametrize(
    "text",
    [
        "If a pedestrian crosses the road, the ego-vehicle must not collide.",
        "If a truck stands in the oncoming lane, the ego-vehicle must stay in its lane.",
        "If a truck stands in the lane 40 m ahead, the ego-vehicle must not collide with it.",
        "If a car brakes ahead, the ego-vehicle must not collide with it.",
        "If a car appears ahead, the ego-vehicle should keep at least 1.5 s of distance.",
        "If a red light appears on the roadside, the ego-vehicle should stop before it.",
        "If a car overtakes you, the ego-vehicle must not collide.",
        "If an oncoming car appears 60 m ahead, the ego-vehicle must stay in its lane.",
    ],
)
def test_the_careful_driver_handles_what_comes(text: str) -> None:
    found = driven(text, start=602.0)
    assert found.status is Status.PASSED, found


def test_one_who_never_slows_down_runs_into_what_stands_in_the_lane() -> None:
    steady = callable_model(lambda frames: [Signals(speed=9.0)] * len(frames), name="steady")
    found = driven(
        "If a truck stands in the lane 40 m ahead, you must not collide with it.", system=steady, start=602.0
    )
    assert (found.status, found.reason) == (Status.VIOLATED, found.reason)
    assert found.reason.startswith("collision")
    assert found.margin == pytest.approx(-(9.0**2) / 7, rel=0.1)  # the metres of braking that lacked
    assert found.measures["gap"] == 0


def test_who_drives_too_close_behind_is_told_by_how_many_seconds() -> None:
    hasty = callable_model(lambda frames: [Signals(speed=11.0)] * len(frames), name="hasty")
    found = driven("If a car brakes ahead, keep at least 2 s of distance.", system=hasty, start=602.0)
    assert found.status is Status.VIOLATED
    assert -2.0 <= (found.margin or 0) < 0
    assert found.measures["after.1"] == pytest.approx(2.0 + (found.margin or 0))


def test_a_drive_without_a_change_is_the_same_up_to_it_and_another_one_from_there_on() -> None:
    change = RuleChange(parse("If it becomes foggy after 2 s, slow down."))
    limits, options = DriveLimits(laps=None, seconds=5), {"fps": 5, "start": 300}
    with_it = drive(Truth(), open_simulator("world:town", **options), limits=limits, change=change)
    without = drive(Truth(), open_simulator("world:town", **options), limits=limits)
    flags = with_it.events["changed"]
    assert "changed" not in without.events
    assert float(with_it.time[flags][0]) == pytest.approx(2.2)
    speeds = with_it.signals["speed"], without.signals["speed"]
    assert np.array_equal(speeds[0][:11], speeds[1][:11])
    assert (speeds[0][13:] < speeds[1][13:]).all()


def test_people_walk_as_the_verb_says() -> None:
    ways = {}
    for verb in ("steps onto", "crosses", "walks along"):
        scene = make_scene("town", s=620, traffic=0).replace(speed=8.0)
        rule = parse(f"If a pedestrian {verb} the road, slow down.")
        changed, (number,) = RuleChange(rule, 3).in_world(scene)
        (walker,) = (one for one in changed.actors if one.id == number)
        ways[verb] = (round(walker.d, 1), walker.until)
        assert walker.speed == 1.4
    assert ways["steps onto"] == (3.3, 1.75)
    assert ways["crosses"][0] == -ways["crosses"][1] + math.copysign(0.5, ways["crosses"][1])
    assert ways["walks along"][1] == math.inf


def _followed(text: str, s: float, seconds: float) -> list[tuple[Scene, WorldObject]]:
    """Return what is true while the careful driver drives on, with what a rule brought."""
    simulation = Simulation("town", traffic=0, frames_per_second=10)
    seen = simulation.reset(s)
    scene, (number,) = RuleChange(parse(text), 1).in_world(seen.scene)
    seen, found = simulation.change(scene), []
    for _ in range(round(seconds * 10)):
        action = careful_driver(seen.scene)
        assert action.steering is not None
        assert action.speed is not None
        seen = simulation.step(action.steering, action.speed)
        found.append((seen.scene, next(one for one in seen.scene.actors if one.id == number)))
    return found


@pytest.mark.parametrize(("kind", "wide"), [("car", 1.78), ("bus", 2.5)])
def test_who_pulls_out_was_parked_beside_the_lane_and_drives_on_in_it(kind: str, wide: float) -> None:
    drive = _followed(f"If a parked {kind} pulls out 25 m ahead, slow down.", 100, 9)
    (_, first), (_, last) = drive[0], drive[-1]
    assert first.d - wide / 2 == pytest.approx(3.1, abs=0.15)  # half on the kerb
    assert (last.d, last.yaw, last.until) == (1.75, 0.0, math.inf)
    assert max(abs(one.yaw) for _, one in drive) == pytest.approx(math.atan(0.3), abs=0.01)
    for (_, one), (_, later) in pairwise(drive):
        # It drives where it points to.
        aside, along = later.d - one.d, track("town").ahead(one.s, later.s)
        assert math.atan2(aside, along) == pytest.approx(later.yaw, abs=0.05)


def test_who_overtakes_comes_from_behind_on_the_other_lane_and_moves_in_with_room_left() -> None:
    drive = _followed("If a car overtakes you, you must not collide.", 20, 14)
    gaps = [(scene.track.ahead(scene.s, one.s), one.d) for scene, one in drive]
    assert gaps[0][0] < -14
    assert all(d < -1 for gap, d in gaps if abs(gap) < 5), "beside us it is on the other lane"
    assert gaps[-1][0] > 20
    assert gaps[-1][1] == 1.75
    assert min(gap for (gap, d), (_, before) in zip(gaps[1:], gaps, strict=False) if d > before + 0.01) > 11


def test_who_crosses_sets_one_foot_before_the_other_and_stands_at_the_end() -> None:
    drive = _followed("If a pedestrian crosses the road 25 m ahead, slow down.", 602, 9)
    looks = [mesh_of(one, near=True).corners[:, 1] for _, one in drive]
    wide = np.array([np.ptp(one) for one in looks])
    # Two steps are 1.4 m, which take a second.
    assert wide[:10] == pytest.approx(wide[10:20], abs=0.1)
    assert np.ptp(wide[:10]) > 0.3
    assert wide[-1] == wide[-5]
    (_, first), (_, last) = drive[0], drive[-1]
    assert last.d == last.until != first.d


def test_a_red_light_that_comes_turns_green_and_the_careful_driver_drives_on() -> None:
    drive = _followed("If a red light appears 30 m ahead, slow down.", 602, 15)
    assert all(light.d > 3.9 for _, light in drive), "no light stands on the road"
    stood = [light.kind for scene, light in drive if scene.speed < 0.1]
    assert stood.count("red") > 20
    scene, light = drive[-1]
    assert light.kind == "green"
    assert scene.track.ahead(scene.s, light.s) < 0


def test_lights_that_turn_red_are_obeyed_by_all_but_the_light_blind() -> None:
    text = "If the traffic light turns red, the ego-vehicle should slow down at least 50%."
    found = [driven(text, one, start=635.0).status for one in ("careful", "light-blind")]
    assert found == [Status.PASSED, Status.VIOLATED]


def test_who_does_not_see_the_car_that_pulls_out_runs_into_it() -> None:
    text = "If a parked car pulls out 22 m ahead, you must not collide with it."
    careful, blind = (driven(text, one, start=602.0) for one in ("careful", "traffic-blind"))
    assert (careful.status, blind.status) == (Status.PASSED, Status.VIOLATED)
    assert blind.reason.startswith("collision")


def test_where_nobody_overtook_nothing_is_judged() -> None:
    behind = made_up([9.0] * 9, change_ahead=[-20.0] * 9, others_distance=[12.0] * 9)
    with pytest.raises(NotApplicable, match="nobody overtook: the other lane was not free"):
        judged_drive(plan_of("If a car overtakes you, you must not collide."), CASE, behind)


MOVES = (
    "If a parked car pulls out, you must not collide with it.",
    "If a bus pulls out 40 m ahead, you must not collide with it.",
    "If a truck overtakes you, you must not collide.",
    "If an oncoming van appears 60 m ahead, you must not collide.",
    "If a red light appears 60 m ahead, you must not collide.",
    "If a pedestrian crosses the road, you must not collide.",
    "If a car brakes ahead, you must not collide.",
)


def _collides(text: str, name: str, seed: int) -> bool:
    """Return whether the careful driver touches anybody, or passes a red light; without pictures."""
    simulation = Simulation(name, seed=seed, frames_per_second=10, lights=True)
    seen = simulation.reset(seed * 97.3 % track(name).length)
    for step in range(140):
        if step == 10:
            try:
                seen = simulation.change(RuleChange(parse(text), seed).in_world(seen.scene)[0])
            except NotApplicable:
                return False
        action, before = careful_driver(seen.scene), seen
        assert action.steering is not None
        assert action.speed is not None
        seen = simulation.step(action.steering, action.speed)
        passed = [
            one
            for one in before.scene.actors
            if one.kind == "red"
            and track(name).ahead(before.scene.s + 3.5, one.s) > 0
            and -9 < track(name).ahead(seen.scene.s + 3.5, one.s) <= 0
        ]
        if passed or TrafficAround(seen, before, 0.1).collision():
            return True
    return False


@pytest.mark.parametrize("text", MOVES)
@pytest.mark.parametrize(
    ("name", "seeds"),
    [("town", range(4)), *(pytest.param(one, range(4, 20), marks=pytest.mark.slow) for one in TRACKS)],
)
def test_the_careful_driver_touches_nobody_in_seeded_traffic(text: str, name: str, seeds: range) -> None:
    assert [seed for seed in seeds if _collides(text, name, seed)] == []


def test_a_change_can_be_sent_to_another_process() -> None:
    change = RuleChange(parse(STEPS), 5)
    assert pickle.loads(pickle.dumps(change)) == change
    assert change.steps[0]["op"] == "add"
    assert change.words == "add a pedestrian on the road, stepping onto the road, after 2 s"


# What is judged, on drives that are made up.


def made_up(
    speed: list[float], events: Mapping[str, Any] | None = None, ended: str = "time over", **signals: Any
) -> Drive:
    """Return a drive of half seconds, changed from the third row on."""
    rows = len(speed)
    distance = np.concatenate([[0.0], np.cumsum(speed[:-1]) * 0.5])
    flags = {"changed": np.arange(rows) >= 2, **(events or {})}
    return Drive(
        "made up",
        np.arange(rows) / 2,
        {"speed": np.array(speed), "distance": distance, **{k: np.array(v) for k, v in signals.items()}},
        flags,
        ended=ended,
    )


def test_speeds_are_compared_at_the_same_place() -> None:
    before = made_up([10.0] * 9 + [5.0] * 20)
    changed = made_up([10.0] * 2 + [9.0] * 22)
    found = judged_drive(plan_of("If it rains, slow down."), CASE, changed, before)
    assert (found.status, found.margin) == (Status.PASSED, 1.0)
    # Where it would have gone on at 5 m/s, it is faster than it was without the change.
    strict = judged_drive(plan_of("If it rains, slow down at any time."), CASE, changed, before)
    assert strict.status is Status.VIOLATED
    assert strict.margin == pytest.approx(-4.0)


def test_who_slows_down_too_late_is_told_after_how_long() -> None:
    before = made_up([10.0] * 20)
    late = made_up([10.0] * 8 + [6.0] * 12)
    passed = judged_drive(plan_of("If it rains, slow down within 4 s."), CASE, late, before)
    assert (passed.status, passed.measures["reaction"]) == (Status.PASSED, 3.0)
    failed = judged_drive(plan_of("If it rains, slow down within 2 s."), CASE, late, before)
    assert failed.status is Status.VIOLATED
    assert failed.measures["reaction"] == 3.0


def test_who_crashes_before_he_could_react_has_not_reacted() -> None:
    crash = made_up([9.0] * 4, {"crash": [0, 0, 0, 1], "collision": [0, 0, 0, 1]}, "crash")
    found = judged_drive(plan_of("If it rains, slow down within 3 s."), CASE, crash, made_up([9.0] * 30))
    assert found.status is Status.VIOLATED
    assert found.reason == "collision 0.5 s after the change"


@pytest.mark.parametrize(
    ("speed", "ahead", "margin"),
    [
        ([7, 7, 7, 4, 2, 0, 0], [30, 26, 12, 9, 5, 3, 3], 3.0),  # it stands 3 m before it
        ([7, 7, 7, 4, 4, 4, 4], [30, 26, 12, 9, 5, 3, 1], -(4.0**2) / 7),  # it only drives slowly
        ([7, 7, 7, 7, 7, 0, 0], [30, 26, 9, 6, 2, -1, -1], -7.0),  # it stands behind it
    ],
)
def test_to_stop_before_it_is_to_stand_with_room_left(
    speed: list[float], ahead: list[float], margin: float
) -> None:
    changed = made_up(speed, change_ahead=ahead, change_distance=[max(0, one) for one in ahead])
    found = judged_drive(plan_of(STEPS), CASE, changed)
    assert found.margin == pytest.approx(margin)


def test_a_touch_of_others_counts_only_where_others_are_meant() -> None:
    changed = made_up([5.0] * 8, others_distance=[9, 9, 4, 0, 0, 9, 9, 9], change_distance=[30] * 8)
    crossing = "If a pedestrian crosses the road, the ego-vehicle must not collide"
    assert judged_drive(plan_of(f"{crossing}."), CASE, changed).margin == pytest.approx(-25 / 7)
    assert judged_drive(plan_of(f"{crossing} with it."), CASE, changed).margin == 30.0


def test_a_drive_that_ends_before_the_change_is_not_applicable() -> None:
    short = made_up([9.0, 9.0], ended="crash")
    with pytest.raises(
        NotApplicable, match=r"ended after 0\.5 s \(crash\), before the change: let the change"
    ):
        judged_drive(plan_of(STEPS), CASE, short)


def test_nobody_is_asked_to_stop_where_nobody_can_unless_he_drives_too_fast() -> None:
    fast: dict[str, Any] = {
        "change_ahead": [30, 22, 8, 0.5, -7, -14, -21],
        "change_distance": [30, 22, 8, 0.5, 0, 0, 0],
    }
    with pytest.raises(NotApplicable, match=r"at 54 km/h nobody stops within 8 m: say 30 m ahead"):
        judged_drive(plan_of(STEPS), CASE, made_up([15.0] * 7, **fast, target_speed=[15.0] * 7))
    found = judged_drive(plan_of(STEPS), CASE, made_up([15.0] * 7, **fast, target_speed=[6.0] * 7))
    assert found.status is Status.VIOLATED


def test_a_vehicle_ahead_that_stands_is_one_to_keep_away_from() -> None:
    changed = made_up(
        [9, 9, 9, 9, 6, 3, 0, 0], headway=[40, 36, 32, 27, 9, 6, 4, 4], lead_speed=[9.0] + [0.0] * 7
    )
    found = judged_drive(plan_of("If the car ahead brakes, keep at least 2 s of distance."), CASE, changed)
    assert found.status is Status.VIOLATED
    assert found.margin == pytest.approx(9 / 6 - 2)


def test_where_nobody_is_ahead_no_distance_is_kept() -> None:
    alone = made_up([9.0] * 9, headway=[math.nan] * 9, lead_speed=[math.nan] * 9)
    with pytest.raises(NotApplicable, match="no vehicle is ahead after the change"):
        judged_drive(plan_of("If it rains, keep at least 2 s of distance."), CASE, alone)


# What cannot be.


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "If a truck stands in the lane 3 m ahead, slow down.",
            "would stand inside the ego-vehicle: say 5 m",
        ),
        ("If a car appears behind you, slow down.", "the world puts nothing 'behind ego-vehicle'"),
    ],
)
def test_what_the_world_cannot_change_is_refused_before_the_first_step(text: str, said: str) -> None:
    asked = 0

    def answer(frames: Any) -> list[Signals]:
        nonlocal asked
        asked += 1
        return [Signals(speed=5.0)] * len(frames)

    simulator = open_simulator("world:town", traffic=0, start=620)
    with pytest.raises(InputError, match=said):
        drive(callable_model(answer, name="m"), simulator, change=RuleChange(parse(text)))
    assert asked == 0


class Fixed:
    """A simulator in which nothing can change."""

    name, notes = "fixed", ()

    def __init__(self, inner: Any) -> None:
        self.reset, self.step, self.close = inner.reset, inner.step, inner.close


def test_a_simulator_that_offers_no_changes_is_refused_by_its_name() -> None:
    simulator: Any = Fixed(open_simulator("world:town"))
    with pytest.raises(
        InputError, match="nothing can be changed during a drive in fixed: it offers no change"
    ):
        drive(Truth(), simulator, change=RuleChange(parse(STEPS)))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "If it rains after 3 s, slow down.",
            "'after 3 s' is said of a drive, and images show none: add --drive",
        ),
        (
            "If it rains, you must not collide.",
            "the distance from others should be at least 0 m in a drive, and",
        ),
        ("If it rains, you must stay in your lane.", "add --drive world:town, or drive: in a suite"),
        ("If a car appears, keep at least 2 s of distance.", "add --drive"),
    ],
)
def test_images_refuse_what_only_a_drive_shows(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        plan_for(parse(text))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "If a pedestrian appears on the roadside, slow down. If he gets closer, slow down more.",
            "one if-then",
        ),
        (
            "If a car appears, the detector must detect the added car.",
            "not by the overlap of what a model sees",
        ),
        ("If it rains, slow down within 20 s.", "a drive must go on for 20 s at least .* say --seconds 21"),
    ],
)
def test_a_drive_refuses_what_it_does_not_show(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        plan_of(text)


# What is read.


@pytest.mark.parametrize(
    "text",
    [
        "If it becomes foggy after 3 s, slow down.",
        "If after 3 s it becomes foggy, slow down.",
        "After 3 s, if it becomes foggy, slow down.",
        "Slow down if it becomes foggy after three seconds.",
        "If it becomes foggy after 3 s, slow down within 2 s.",
    ],
)
def test_when_something_changes_is_read(text: str) -> None:
    rule = parse(text)
    assert rule.blocks[0].after == 3.0
    assert [one.gives for one in rule.words if one.gives.startswith("after")] == ["after 3 s"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("If it rains, slow down after 3 s.", "after 3 s"),
        ("If it rains, after 3 s the car should slow down.", "after 3 s"),
        ("If it rains after 3 s after 4 s, slow down.", "after 4 s"),
        ("If it rains after 90 s, slow down.", "after 90 s"),
    ],
)
def test_a_change_comes_after_one_time_and_an_outcome_after_none(text: str, words: str) -> None:
    with pytest.raises(RuleError) as error:
        parse(text)
    assert text[slice(*error.value.span)] == words


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("you must not collide", "the distance from others should be at least 0 m"),
        ("you must never crash into anything", "the distance from others should be at least 0 m"),
        ("you must not hit him", "the distance from the added pedestrian should be at least 0 m"),
        ("avoid a collision", "the distance from others should be at least 0 m"),
        ("stay in your lane", "the distance from the lines of the lane should be at least 0 m"),
        (
            "the ego-vehicle must not leave its lane",
            "the distance from the lines of the lane should be at least 0 m",
        ),
        ("keep a distance of at least 2 s", "the time behind the vehicle ahead should be at least 2 s"),
        ("keep 1.5 seconds of headway", "the time behind the vehicle ahead should be at least 1.5 s"),
    ],
)
def test_outcomes_of_a_drive_are_read(words: str, expected: str) -> None:
    rule = parse(f"If a pedestrian crosses the road, {words}.")
    assert str(rule.blocks[0].expectation) == expected


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("keep a distance of 10 m", "'10 m' is no quantity of time behind the vehicle ahead"),
        ("you must not collide with the trucks", "is known only of what is added"),
    ],
)
def test_outcomes_that_no_drive_tells_are_refused(words: str, reason: str) -> None:
    with pytest.raises(RuleError) as error:
        parse(f"If a pedestrian crosses the road, {words}.")
    assert reason in str(error.value)
