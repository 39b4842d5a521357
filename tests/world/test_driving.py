"""Tracks, vehicle dynamics, the careful driver and closed-loop driving."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadworthy.errors import SceneError
from roadworthy.world import (
    TIMES,
    TRACK_NAMES,
    Conditions,
    Observation,
    Simulation,
    VehicleLimits,
    VehicleState,
    add,
    advance,
    careful_driver,
    cautions,
    make_scene,
    track,
    with_conditions,
)
from roadworthy.world.driver import WHEELBASE


@pytest.mark.parametrize("name", TRACK_NAMES)
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
    steepest = [float(np.abs(r.grade(np.arange(0, r.length, 1.0))).max()) for r in roads]
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
    with pytest.raises(SceneError, match="finite"):
        advance(state, float("nan"), 1, 0.1)


def _laps(name: str, laps: int, *, traffic: float, seed: int = 1) -> list[Observation]:
    simulation = Simulation(name, seed=seed, traffic=traffic)
    seen = simulation.reset()
    record = []
    while seen.laps < laps:
        action = careful_driver(seen.scene)
        assert action.steering is not None
        assert action.speed is not None
        seen = simulation.step(action.steering, action.speed)
        record.append(seen)
        assert seen.time < 600 * laps
    return record


@pytest.mark.parametrize("name", TRACK_NAMES)
@pytest.mark.parametrize("traffic", [0.0, 1.0])
def test_the_careful_driver_keeps_every_track_for_ten_laps(name: str, traffic: float) -> None:
    record = _laps(name, 10, traffic=traffic)
    assert not set().union(*(seen.events for seen in record))
    assert max(abs(seen.lane_offset) for seen in record) < 0.3


def test_the_same_seed_drives_the_same_drive() -> None:
    one, two = (_laps("meadow", 1, traffic=1.0, seed=4)[-1] for _ in range(2))
    assert one.state == two.state
    assert one.scene.actors == two.scene.actors
    assert np.array_equal(one.frame.image, two.frame.image)


def test_a_driver_who_never_steers_crosses_a_line_and_leaves_the_road() -> None:
    simulation = Simulation("town", traffic=0)
    happened = []
    for _ in range(600):
        happened += sorted(simulation.step(0.0, 8.0).events)
        if "off road" in happened:
            break
    assert happened[0] in ("edge line crossed", "centre line crossed")
    assert "off road" in happened


def test_driving_into_the_vehicle_ahead_is_a_crash() -> None:
    simulation = Simulation("meadow", traffic=1.0, seed=2)
    seen = simulation.reset()
    for _ in range(1500):
        steering = careful_driver(seen.scene).steering or 0.0
        seen = simulation.step(steering, 30.0)
        if "crash" in seen.events:
            break
    assert "crash" in seen.events


@pytest.mark.parametrize("cause", ["pedestrian", "bicyclist", "stop sign", "speed limit sign", "turn sign"])
def test_one_cause_more_is_slower_and_closer_is_slower_still(cause: str) -> None:
    place = "road edge" if cause == "bicyclist" else "kerb"
    for s in np.arange(0.0, 1000.0, 111.0):
        scene = make_scene("town", float(s), seed=int(s))
        speeds = [careful_driver(scene).speed]
        speeds += [careful_driver(add(scene, cause, ahead=gap, place=place)).speed for gap in (45, 25, 10)]
        assert speeds == sorted(speeds, reverse=True)
        assert len(set(speeds)) == 4


def test_a_pedestrian_near_the_road_takes_at_least_thirty_percent_off() -> None:
    for s in np.arange(0.0, 1000.0, 50.0):
        scene = make_scene("meadow", float(s), seed=int(s))
        before = careful_driver(scene).speed
        after = careful_driver(add(scene, "pedestrian", ahead=30)).speed
        assert before is not None
        assert after is not None
        assert after <= 0.7 * before


def test_weather_and_darkness_slow_the_driver_and_do_not_move_the_wheel() -> None:
    scene = make_scene("mountain", 200.0, seed=1)
    clear = careful_driver(scene)
    assert clear.speed is not None
    for weather in ("rain", "snow", "fog"):
        speeds = [
            careful_driver(with_conditions(scene, weather=weather, level=level)).speed
            for level in ("light", "normal", "heavy")
        ]
        assert [clear.speed, *speeds] == sorted([clear.speed, *speeds], reverse=True)  # type: ignore[type-var]
    by_time = [careful_driver(with_conditions(scene, time=time)) for time in TIMES]
    assert by_time[0].speed > by_time[1].speed > by_time[2].speed  # type: ignore[operator]
    assert len({signals.steering for signals in by_time}) == 1


def test_the_wheel_turns_the_way_the_road_bends() -> None:
    for name in TRACK_NAMES:
        road = track(name)
        for s in np.arange(0, road.length, 20.0):
            bend = float(road.curvature(s + 1.0))
            if abs(bend) > 0.005:
                steering = careful_driver(make_scene(name, float(s))).steering
                assert steering is not None
                assert steering * bend > 0


def test_the_driver_steers_back_to_the_middle_of_the_lane() -> None:
    right_of_it = careful_driver(make_scene("meadow", 100.0, d=2.5)).steering
    left_of_it = careful_driver(make_scene("meadow", 100.0, d=1.0)).steering
    assert right_of_it is not None
    assert left_of_it is not None
    assert right_of_it < left_of_it


def test_cautions_say_why() -> None:
    scene = make_scene("meadow", 100.0, traffic=0, conditions=Conditions("rain", time="night"))
    causes = {caution.cause for caution in cautions(add(scene, "pedestrian", ahead=20))}
    assert {"night", "rainy", "pedestrian"} <= causes
