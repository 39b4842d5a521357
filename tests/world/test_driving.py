"""Tracks, vehicle dynamics, the careful driver and closed-loop driving."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadworthy.errors import SceneError
from roadworthy.world import (
    HELD_OUT_TRACK_NAMES,
    LEVELS,
    TIMES,
    TRACK_NAMES,
    Conditions,
    Observation,
    Scene,
    Simulation,
    Track,
    VehicleLimits,
    VehicleState,
    add,
    advance,
    careful_driver,
    cautions,
    make_scene,
    render,
    track,
    with_conditions,
)
from roadworthy.world.driver import WHEELBASE
from roadworthy.world.roadside import traffic_after
from roadworthy.world.shapes import mesh_of
from roadworthy.world.track import LANE_CENTRE, Zone


@pytest.mark.parametrize("name", [*TRACK_NAMES, *HELD_OUT_TRACK_NAMES])
def test_tracks_are_closed_smooth_and_measured_in_true_metres(name: str) -> None:
    road = track(name)
    s = np.linspace(0, road.length, 2001)
    points = road.position(s)
    assert np.allclose(points[0], points[-1])
    length = np.linalg.norm(np.diff(points[:, :2], axis=0), axis=1).sum()
    assert length == pytest.approx(road.length, rel=1e-3)
    turn = np.trapezoid(road.curvature(s), s)
    assert abs(turn) == pytest.approx(2 * math.pi, rel=1e-2)
    assert np.abs(np.diff(road.curvature(s))).max() < 0.02


def test_tracks_get_harder() -> None:
    roads = [track(name) for name in TRACK_NAMES]
    sharpest = [float(np.abs(r.curvature(np.arange(0, r.length, 1.0))).max()) for r in roads]
    steepest = [float(np.abs(r.sample(np.arange(0, r.length, 1.0))[..., 5]).max()) for r in roads]
    assert sharpest == sorted(sharpest)
    assert steepest == sorted(steepest)
    assert sharpest[0] < 1 / 50
    assert sharpest[-1] > 1 / 16


@given(name=st.sampled_from(TRACK_NAMES), share=st.floats(0, 0.999), d=st.floats(-3.5, 3.5))
def test_a_place_is_found_again_from_its_world_coordinates(name: str, share: float, d: float) -> None:
    road = track(name)
    x, y, _ = road.position(share * road.length, d).tolist()
    s, offset = road.locate(x, y)
    assert abs(road.ahead(share * road.length, s)) < 0.05
    assert offset == pytest.approx(d, abs=0.05)


def test_constant_steering_drives_the_circle_of_the_kinematic_bicycle() -> None:
    steering = 10.0
    radius = WHEELBASE / math.tan(math.radians(steering))
    state = VehicleState(0.0, 0.0, 0.0, speed=5.0, steering=steering)
    turned = 0.0
    while turned < 2 * math.pi:
        following = advance(state, steering, 5.0, 0.05)
        turned += abs(following.heading - state.heading)
        state = following
        # Steering to the right from heading east: the centre lies to the south.
        assert math.hypot(state.x, state.y + radius) == pytest.approx(radius, rel=1e-6)


def test_actuators_have_limits() -> None:
    limits = VehicleLimits(steering=25, steering_rate=40, acceleration=2, braking=6)
    state = VehicleState(0, 0, 0, speed=10)
    assert advance(state, 90, 100, 0.1, limits).steering == pytest.approx(4.0)
    assert advance(state, 0, 100, 0.1, limits).speed == pytest.approx(10.2)
    assert advance(state, 0, 0, 0.1, limits).speed == pytest.approx(9.4)
    for _ in range(50):
        state = advance(state, 90, 0, 0.1, limits)
    assert state.steering == 25
    assert state.speed == 0


@pytest.mark.parametrize(
    ("drive", "message"),
    [
        (lambda: advance(VehicleState(0, 0, 0), float("nan"), 1, 0.1), "finite numbers, got nan and 1"),
        (lambda: advance(VehicleState(0, 0, 0), 0, 1, 0.0), "seconds of a step must be above 0, got 0"),
        (lambda: Simulation("meadow", frames_per_second=0), "must be above 0 and finite, got 0"),
        (lambda: Simulation("meadow", traffic=-1), "traffic must be from 0 to 5, got -1"),
        (lambda: Simulation("medow"), "did you mean 'meadow'"),
    ],
)
def test_what_cannot_be_driven_is_refused(drive: Callable[[], object], message: str) -> None:
    with pytest.raises(SceneError, match=message):
        drive()


def _driven(scene: Scene) -> tuple[float, float]:
    """Speed and steering of the careful driver."""
    signals = careful_driver(scene)
    assert signals.speed is not None
    assert signals.steering is not None
    return signals.speed, signals.steering


def _speed(scene: Scene) -> float:
    return _driven(scene)[0]


def _driven_for(
    name: str, *, traffic: float, laps: float = 1.0, steps: float = math.inf, seed: int = 1
) -> list[Observation]:
    simulation = Simulation(name, seed=seed, traffic=traffic)
    seen = simulation.reset()
    record: list[Observation] = []
    while seen.laps < laps and len(record) < steps:
        speed, steering = _driven(seen.scene)
        seen = simulation.step(steering, speed)
        record.append(seen)
        assert seen.time < 600 * laps
    return record


TRACKS = [*TRACK_NAMES, *HELD_OUT_TRACK_NAMES]


@pytest.mark.parametrize(
    ("name", "traffic", "laps"),
    [
        *((name, 0.0, 1) for name in TRACKS),
        ("town", 1.0, 1),
        *(
            pytest.param(name, traffic, 10, marks=pytest.mark.slow)
            for name in TRACKS
            for traffic in (0.0, 1.0)
        ),
    ],
)
def test_the_careful_driver_keeps_every_track(name: str, traffic: float, laps: int) -> None:
    record = _driven_for(name, traffic=traffic, laps=laps)
    assert not set().union(*(seen.events for seen in record))
    assert max(abs(seen.lane_offset) for seen in record) < 0.3
    # The way is that of the speeds, and laps are counted by it.
    way = sum(seen.state.speed for seen in record) / 15
    assert way == pytest.approx(laps * track(name).length, rel=0.02)
    assert all(seen.state.speed <= seen.scene.track.zone(seen.scene.s).limit + 0.5 for seen in record)


def test_the_same_seed_drives_the_same_drive_and_another_one_another() -> None:
    one, two, other = (_driven_for("meadow", traffic=1.0, steps=60, seed=seed)[-1] for seed in (4, 4, 5))
    assert one.state == two.state
    assert one.scene.actors == two.scene.actors != other.scene.actors
    assert np.array_equal(one.frame.image, two.frame.image)
    assert not np.array_equal(one.frame.image, other.frame.image)


@pytest.mark.parametrize("side", [1, -1])
def test_a_vehicle_that_is_1_8_m_wide_crosses_the_lines_of_a_3_5_m_lane(side: int) -> None:
    simulation = Simulation("meadow", traffic=0, frames_per_second=60)
    places: dict[str, list[float]] = {}
    crossed = set[str]()
    while "off road" not in crossed:
        seen = simulation.step(4.0 * side, 3.0)
        assert seen.time < 10
        crossed |= seen.events
        for event in seen.events:
            places.setdefault(event, []).append(seen.scene.d)
    # The first place at which each was told, to less than the way of one step: 3 m/s in 1/60 s.
    line, border = ("edge line crossed", 3.5 - 0.9) if side > 0 else ("centre line crossed", 0.9)
    first = {event: found[0] for event, found in places.items()}
    assert first == {line: pytest.approx(border, abs=0.05), "off road": pytest.approx(side * 3.9, abs=0.05)}


def test_driving_into_the_vehicle_ahead_is_a_crash() -> None:
    simulation = Simulation("meadow", traffic=1.0, seed=5, frames_per_second=60)
    seen = simulation.reset()
    gaps = []
    while "crash" not in seen.events:
        assert seen.time < 30
        seen = simulation.step(_driven(seen.scene)[1], 30.0)
        scene = seen.scene
        in_lane = [
            (scene.track.ahead(scene.s, one.s), one) for one in scene.actors if abs(one.d - scene.d) < 1
        ]
        gap, vehicle = min(in_lane, key=lambda pair: abs(pair[0]))
        # From its rear axle to its nose it is 4.3 m less the 0.8 m behind the axle.
        gaps.append(gap - (4.3 - 0.8) - mesh_of(vehicle, near=True).footprint[0] / 2)
    assert gaps[-2] > 0 > gaps[-1]


@pytest.mark.parametrize(
    ("ahead", "aside", "crash"),
    [(0.05, 0.0, False), (-0.05, 0.0, True), (-2.0, 0.05, False), (-2.0, -0.05, True), (-2.0, -0.5, True)],
)
def test_a_crash_is_where_two_boxes_meet(ahead: float, aside: float, crash: bool) -> None:
    simulation = Simulation("meadow", traffic=0)
    scene = make_scene("meadow", 100.0, traffic=0)
    length, width = mesh_of(add(scene, "car", ahead=20).actors[0], near=True).footprint
    beside = 0.0 if aside == 0 else width / 2 + 0.9 + aside
    for side in (1, -1):
        parked = add(scene, "car", ahead=3.5 + length / 2 + ahead, place=scene.d + side * beside)
        assert ("crash" in simulation._events(parked)) is crash
    behind = add(scene, "car", ahead=20)
    (car,) = behind.actors
    moved = replace(car, s=scene.s - 0.8 - length / 2 - ahead, d=scene.d + beside)
    assert ("crash" in simulation._events(scene.replace(actors=(moved,)))) is crash


def test_braking_takes_the_distance_of_its_closed_form() -> None:
    state = VehicleState(0, 0, 0, speed=12)
    while state.speed > 0:
        state = advance(state, 0, 0, 0.1, VehicleLimits(braking=6))
    assert state.x == pytest.approx(12**2 / (2 * 6))


@pytest.mark.parametrize("cause", ["pedestrian", "bicyclist", "stop sign", "speed limit sign", "turn sign"])
def test_one_cause_more_is_slower_and_closer_is_slower_still(cause: str) -> None:
    place = "road edge" if cause == "bicyclist" else "kerb"
    for s in np.arange(0.0, 1000.0, 111.0):
        scene = make_scene("town", float(s), seed=int(s))
        speeds = [_speed(scene)]
        speeds += [_speed(add(scene, cause, ahead=gap, place=place)) for gap in (45, 25, 10)]
        assert speeds == sorted(speeds, reverse=True)
        assert len(set(speeds)) == 4


def test_a_pedestrian_near_the_road_takes_at_least_thirty_percent_off() -> None:
    for s in np.arange(0.0, 1000.0, 50.0):
        scene = make_scene("meadow", float(s), seed=int(s))
        assert _speed(add(scene, "pedestrian", ahead=30)) <= 0.7 * _speed(scene)


def test_weather_and_darkness_slow_the_driver_and_do_not_move_the_wheel() -> None:
    scene = make_scene("mountain", 200.0, seed=1)
    for weather in ("rain", "snow", "fog"):
        skies = [with_conditions(scene, weather=weather, level=level) for level in LEVELS]
        speeds = [_speed(one) for one in (scene, *skies)]
        assert speeds == sorted(speeds, reverse=True)
        assert len(set(speeds)) == 4
    by_time = [_driven(with_conditions(scene, time=time)) for time in TIMES]
    assert by_time[0][0] > by_time[1][0] > by_time[2][0]
    assert len({steering for _, steering in by_time}) == 1


def test_the_wheel_turns_the_way_the_road_bends() -> None:
    for name in TRACK_NAMES:
        road = track(name)
        for s in np.arange(0, road.length, 20.0):
            bend = float(road.curvature(s + 1.0))
            if abs(bend) > 0.005:
                assert _driven(make_scene(name, float(s)))[1] * bend > 0


def test_the_driver_steers_back_to_the_middle_of_the_lane() -> None:
    left_of_it, on_it, right_of_it = (
        _driven(make_scene("meadow", 100.0, d=d))[1] for d in (1.0, LANE_CENTRE, 2.5)
    )
    assert right_of_it < on_it < left_of_it
    heading_right = _driven(make_scene("meadow", 100.0, yaw=0.1))[1]
    assert heading_right < on_it


def test_cautions_say_why_and_make_the_speed() -> None:
    scene = make_scene("meadow", 100.0, traffic=0)
    assert cautions(scene) == []
    for weather in ("rain", "snow", "fog"):
        assert cautions(with_conditions(scene, weather=weather, level=0.0)) == [], "nothing of it is nothing"
    winter = with_conditions(scene, season="winter")
    assert _speed(winter) < _speed(scene), "also a cleared road can be slippery"
    careful = add(with_conditions(scene, weather="rain", time="night"), "pedestrian", ahead=20)
    found = cautions(careful)
    assert [caution.cause for caution in found] == ["night", "rainy", "pedestrian"]
    factor = math.prod(caution.factor for caution in found)
    assert _speed(careful) == pytest.approx(_speed(scene) * factor)


@pytest.mark.parametrize(
    ("what", "place"),
    [
        ("pedestrian", 12.0),
        ("car", "oncoming lane"),
        ("stop sign", -4.5),
        ("green light", "kerb"),
        ("tree", "verge"),
        ("building", "verge"),
    ],
)
def test_what_does_not_concern_us_does_not_slow_us(what: str, place: str | float) -> None:
    scene = make_scene("meadow", 100.0, traffic=0)
    assert _speed(add(scene, what, ahead=20, place=place)) == _speed(scene)


def test_people_and_traffic_move_on_and_things_stand_still() -> None:
    simulation = Simulation("town", seed=3, conditions=Conditions("rain"))
    first = simulation.reset()
    seen = first
    for _ in range(15):
        speed, steering = _driven(seen.scene)
        seen = simulation.step(steering, speed)
    assert seen.time == pytest.approx(1.0)
    assert seen.scene.scenery is first.scene.scenery
    assert seen.scene.conditions == first.scene.conditions
    for before, after in zip(first.scene.actors, seen.scene.actors, strict=True):
        moved = seen.scene.track.ahead(before.s, after.s) * math.cos(before.yaw)
        if before.element == "pedestrian":
            assert moved == pytest.approx(before.speed)
        else:
            assert -1e-6 <= moved <= before.speed + 1e-6


@pytest.mark.parametrize(
    ("place", "yaw", "moved"),
    [
        ("lane", 0.0, 0.0),  # stands behind the one that stands
        ("oncoming lane", 0.0, 5.0),  # that one is in nobody's way
        ("sidewalk", 0.0, 5.0),
        ("lane", math.pi, -5.0),  # and behind us nothing stands in the way either
    ],
)
def test_a_vehicle_waits_for_what_is_ahead_in_its_own_lane(place: str, yaw: float, moved: float) -> None:
    scene = make_scene("meadow", 100.0, traffic=0)
    scene = add(scene, "car", ahead=60, place="lane", yaw=yaw)
    scene = add(scene, "car", ahead=68, place=place)
    driving, standing = scene.actors
    scene = scene.replace(actors=(replace(driving, speed=10.0), replace(standing, speed=0.0)))
    after = traffic_after(scene, 0.5)
    assert scene.track.ahead(driving.s, after[0].s) == pytest.approx(moved)
    assert after[1].s == standing.s


def test_we_stop_a_car_and_three_metres_behind_what_stands() -> None:
    scene = make_scene("meadow", 100.0, traffic=0)
    factors = [
        next(one.factor for one in cautions(add(scene, "car", ahead=ahead, place="lane")))
        for ahead in (4.4 + 3.0, 6.0, 4.4 + 3.0 + 30.0)
    ]
    assert factors == pytest.approx([0.05, 0.05, (0.05 + 0.97) / 2])


def test_the_driver_reads_the_number_on_a_sign() -> None:
    scene = make_scene("meadow", 560.0, traffic=0)
    speeds = [
        careful_driver(add(scene, "speed limit sign", value=value, ahead=30, place="kerb")).speed or 0.0
        for value in (30, 50, 120)
    ]
    assert speeds[0] < 30 / 3.6
    assert speeds == sorted(speeds)
    assert speeds[2] < (careful_driver(scene).speed or 0.0)


def test_the_careful_driver_gets_along() -> None:
    speeds = [
        careful_driver(make_scene(name, float(s), seed=int(s))).speed or 0.0
        for name in TRACK_NAMES
        for s in np.arange(0.0, 1000.0, 7.0)
    ]
    assert 6.0 < float(np.median(speeds)) < 14.0
    assert float(np.mean(np.array(speeds) < 1.5)) < 0.1


def test_a_built_in_track_travels_by_name() -> None:
    scene = make_scene("mountain", 100.0, seed=2)
    copy = pickle.loads(pickle.dumps(scene))
    assert copy.track is scene.track
    assert np.array_equal(render(copy).image, render(scene).image)
    own = Track("own", [(0, 0), (200, 0), (200, 200), (0, 200)], 30, (), (Zone(0, "rural", 20.0),))
    assert pickle.loads(pickle.dumps(own)).length == own.length
