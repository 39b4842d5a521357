"""Drivers with one fault each: they lack one ability, and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roadworthy.world import (
    HELD_OUT_TRACK_NAMES,
    TRACK_NAMES,
    Conditions,
    Scene,
    add,
    careful_driver,
    make_scene,
    remove,
    track,
    with_conditions,
)
from roadworthy.world.simulation import FAULTS, Driver
from roadworthy.world.track import LANE_CENTRE

SAME_STEERING = 1.39  # degrees; what the RMT paper takes for the same angle

HARMLESS: dict[str, Callable[[Scene], Scene]] = {
    "pedestrian-blind": lambda scene: remove(scene, "pedestrian"),
    "sign-blind": lambda scene: remove(scene, "traffic sign"),
    "night-blind": lambda scene: with_conditions(scene, time="dusk"),
    "lines-only": lambda scene: scene,
    "rain-hasty": lambda scene: with_conditions(scene, weather="snowy"),
}
"""What takes the need for the lost ability out of a scene."""

scenes = st.builds(
    lambda name, share, d, yaw, seed, sky: make_scene(
        name,
        share * track(name).length,
        seed=seed,
        d=LANE_CENTRE + d,
        yaw=yaw,
        traffic=3,
        conditions=Conditions(*sky),
    ),
    st.sampled_from((*TRACK_NAMES, *HELD_OUT_TRACK_NAMES)),
    st.floats(0, 1),
    st.floats(-0.6, 0.6),
    st.floats(-0.06, 0.06),
    st.integers(0, 10_000),
    st.tuples(
        st.sampled_from(("sunny", "cloudy", "rainy", "snowy", "foggy")),
        st.floats(0.1, 1),
        st.sampled_from(("day", "dusk", "night")),
    ),
)


def _speed(driver: Driver, scene: Scene) -> float:
    speed = driver(scene).speed
    assert speed is not None
    return speed


def _steering(driver: Driver, scene: Scene) -> float:
    steering = driver(scene).steering
    assert steering is not None
    return steering


def test_there_is_a_harmless_scene_for_every_fault() -> None:
    assert HARMLESS.keys() == FAULTS.keys()
    assert [fault.name for fault in FAULTS.values()] == list(FAULTS)


@pytest.mark.parametrize("name", FAULTS)
@settings(max_examples=40, deadline=None)
@given(scene=scenes)
def test_where_the_ability_is_not_needed_nothing_is_wrong(name: str, scene: Scene) -> None:
    harmless = HARMLESS[name](scene)
    assert FAULTS[name].driver(harmless) == careful_driver(harmless)


@pytest.mark.parametrize("name", FAULTS)
@settings(max_examples=40, deadline=None)
@given(scene=scenes, lines=st.booleans())
def test_a_fault_is_one_of_speed_or_of_steering(name: str, scene: Scene, lines: bool) -> None:
    scene = scene if lines else remove(scene, "line")
    faulty, careful = FAULTS[name].driver(scene), careful_driver(scene)
    if name == "lines-only":
        assert faulty.speed == careful.speed
    else:
        assert faulty.steering == careful.steering
        assert _speed(FAULTS[name].driver, scene) >= _speed(careful_driver, scene)


@settings(max_examples=40, deadline=None)
@given(scene=scenes, ahead=st.floats(1, 59))
def test_what_a_driver_does_not_see_makes_no_difference(scene: Scene, ahead: float) -> None:
    for name, what, near in (
        ("pedestrian-blind", "pedestrian", ahead),
        ("sign-blind", "stop sign", min(ahead, 49)),
    ):
        changed = add(scene, what, ahead=near, place="kerb")
        assert FAULTS[name].driver(changed) == FAULTS[name].driver(scene)
        assert _speed(careful_driver, changed) < _speed(careful_driver, scene)


@settings(max_examples=40, deadline=None)
@given(scene=scenes)
def test_night_is_as_fast_as_day(scene: Scene) -> None:
    by_day, at_night = (with_conditions(scene, time=time) for time in ("day", "night"))
    driver = FAULTS["night-blind"].driver
    assert driver(at_night) == driver(by_day)
    assert _speed(careful_driver, at_night) < _speed(careful_driver, by_day)


@settings(max_examples=60, deadline=None)
@given(scene=scenes)
def test_without_lines_the_steering_is_plainly_another_on_straights_and_bends(scene: Scene) -> None:
    driver, bare = FAULTS["lines-only"].driver, remove(scene, "line")
    assert _steering(driver, bare) < _steering(driver, scene) - 4 * SAME_STEERING


def test_without_lines_it_keeps_to_the_middle_of_the_road() -> None:
    for s in (0.0, 150.0, 400.0):
        bare = remove(make_scene("meadow", s, d=0.0), "line")
        in_lane = make_scene("meadow", s)
        assert _steering(FAULTS["lines-only"].driver, bare) == _steering(careful_driver, in_lane)


@settings(max_examples=40, deadline=None)
@given(scene=scenes)
def test_more_rain_is_more_haste(scene: Scene) -> None:
    skies = [with_conditions(scene, weather="rainy", level=level) for level in (0.0, 0.1, 0.5, 1.0)]
    hasty = [_speed(FAULTS["rain-hasty"].driver, one) for one in skies]
    assert hasty == sorted(set(hasty))
    assert hasty[0] == _speed(careful_driver, with_conditions(scene, weather="sunny"))
    careful = [_speed(careful_driver, one) for one in skies]
    assert careful == sorted(set(careful), reverse=True)
