"""The built-in world as a simulator: exact events, signals of traffic, sectors that compare."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from roadworthy.driving.metrics import CATALOGUE, availability
from roadworthy.driving.simulators import Controls, DriveLimits, WorldSimulator, drive
from roadworthy.driving.simulators.world import world_sectors
from roadworthy.errors import InputError, SceneError
from roadworthy.frames import Signals
from roadworthy.models import Truth, callable_model
from roadworthy.world import HELD_OUT_TRACK_NAMES, TRACK_NAMES, WorldObject, track
from roadworthy.world.shapes import mesh_of
from roadworthy.world.simulation import EGO_HALF_WIDTH
from roadworthy.world.track import LANE_WIDTH, ROAD_HALF_WIDTH


def test_the_careful_driver_drives_cleanly_through_the_town() -> None:
    driven = drive(Truth(), WorldSimulator("town"), limits=DriveLimits(seconds=6.0))
    assert driven.ended == "time over"
    for event in ("crash", "collision", "line crossing"):
        assert not driven.events[event].any()
    assert np.abs(driven.signals["lane_offset"]).max() < 0.3
    assert driven.signals["lateral_clearance"].min() > 0.5
    np.testing.assert_allclose(
        np.diff(driven.signals["distance"]), np.hypot(*np.diff([driven.signals[k] for k in "xy"])), atol=0.01
    )


def test_nearly_every_metric_can_be_computed() -> None:
    # In traffic 5 somebody is always ahead.
    driven = drive(Truth(), WorldSimulator("town", traffic=5.0), limits=DriveLimits(seconds=4.0))
    missing = {name for name, what in availability(driven).items() if what is not None}
    # There are no signs that ask for a lane change, and lanes do not say how long one takes.
    assert missing == {"RA(LC)", "RT(LC)", "TimeC(LC)"}
    assert len(CATALOGUE) == 127


def test_lines_are_crossed_when_the_first_wheel_touches_them() -> None:
    simulator = WorldSimulator("meadow", traffic=0)
    simulator.reset()
    for _ in range(200):
        situation = simulator.step(Controls(steering=-3.0, speed=8.0))
        assert situation.events["line crossing"] == (situation.signals["lateral_clearance"] <= 0)
        if situation.events["line crossing"]:
            break
    # Turned to the left, the front wheel is there before the rear one.
    rear = situation.signals["lane_offset"] + LANE_WIDTH / 2 - EGO_HALF_WIDTH
    assert 0 < rear < 0.5
    assert not situation.events["crash"]


def test_the_edge_line_is_crossed_to_the_right() -> None:
    simulator = WorldSimulator("meadow", traffic=0)
    simulator.reset()
    for _ in range(200):
        situation = simulator.step(Controls(steering=3.0, speed=8.0))
        if situation.events["line crossing"]:
            break
    assert situation.signals["lane_offset"] > 0
    assert -0.3 < situation.signals["lateral_clearance"] <= 0
    # The rear axle is as far to the right of the centre line as its offset from the middle of the lane says.
    aside = []
    while not situation.events["crash"]:
        aside.append(situation.signals["lane_offset"] + LANE_WIDTH / 2)
        situation = simulator.step(Controls(steering=3.0, speed=8.0))
    assert (
        max(aside)
        <= ROAD_HALF_WIDTH
        < situation.signals["lane_offset"] + LANE_WIDTH / 2
        < ROAD_HALF_WIDTH + 1
    )


def test_leaving_the_road_is_a_crash_and_no_collision() -> None:
    straight = callable_model(lambda frames: [Signals(steering=5.0, speed=12.0) for _ in frames], name="out")
    driven = drive(straight, WorldSimulator("mountain", traffic=0))
    assert driven.ended == "crash"
    assert driven.events["line crossing"].sum() > 1
    assert not driven.events["collision"].any()
    crossed, crashed = (int(np.flatnonzero(driven.events[e])[0]) for e in ("line crossing", "crash"))
    assert crossed < crashed == len(driven) - 1


def _beside(simulator: WorldSimulator, *actors: WorldObject) -> None:
    """Put actors into the present scene."""
    now = simulator._now
    assert now is not None
    simulator._now = simulator._simulation._now = dataclasses.replace(
        now, scene=now.scene.replace(actors=actors)
    )


def test_headway_is_measured_from_bumper_to_bumper_and_the_lead_speed_is_the_real_one() -> None:
    simulator = WorldSimulator("meadow", traffic=0)
    simulator.reset()
    _beside(simulator, WorldObject(60_000, "vehicle", 40.0, 1.75, kind="car", speed=6.0))
    situation = simulator.step(Controls(0.0, 6.0))
    lead = WorldObject(60_000, "vehicle", 40.0, 1.75, kind="car")
    length = mesh_of(lead, near=True).footprint[0]
    driven = situation.signals["distance"]
    assert situation.signals["headway"] == pytest.approx(40 + 6 / 15 - driven - 3.5 - length / 2, abs=0.02)
    assert situation.signals["lead_speed"] == pytest.approx(6.0)
    assert math.isnan(situation.signals["vehicle_distance"])
    assert math.isnan(situation.signals["pedestrian_distance"])


def test_the_nearest_vehicle_that_drives_our_way_is_the_lead() -> None:
    simulator = WorldSimulator("meadow", traffic=0)
    assert simulator.reset().signals["lane"] == 2  # from left to right; on the left they come towards us
    near, far = (WorldObject(60_000 + s, "vehicle", s, 1.75, kind="car", speed=6.0) for s in (40, 60))
    oncoming = WorldObject(60_099, "vehicle", 20.0, 1.75, yaw=math.pi, kind="car", speed=1.0)
    headways = []
    for actors in ((near, far), (far, near), (near,), (oncoming, near)):
        simulator.reset()
        _beside(simulator, *actors)
        headways.append(simulator.step(Controls(0.0, 6.0)).signals["headway"])
    assert headways == pytest.approx([headways[2]] * 4)
    simulator.reset()
    _beside(simulator, oncoming)
    assert math.isnan(simulator.step(Controls(0.0, 6.0)).signals["headway"])


@pytest.mark.parametrize(
    ("ahead", "element", "hazard"),
    [
        (25.0, "vehicle", True),
        (66.0, "vehicle", False),
        (55.0, "pedestrian", True),
        (70.0, "pedestrian", False),
    ],
)
def test_a_hazard_is_what_the_careful_driver_slows_down_for(ahead: float, element: str, hazard: bool) -> None:
    simulator = WorldSimulator("meadow", traffic=0)
    simulator.reset()
    _beside(simulator, WorldObject(60_000, element, ahead, 1.75, speed=0.0))
    assert simulator.step(Controls(0.0, 8.0)).events["hazard"] == hazard


def test_a_sign_is_obeyed_at_the_speed_that_it_leaves() -> None:
    simulator = WorldSimulator("town", traffic=0)
    seen = set()
    situation = simulator.reset()
    for _ in range(200):
        # Every other second as the careful driver does, the others much faster.
        fast = situation.time % 2 > 1
        speed = situation.signals["target_speed"] * (1.6 if fast else 0.9)
        situation = simulator.step(Controls(situation.signals["target_steering"], speed))
        slow = situation.signals["speed"] <= 1.05 * situation.signals["target_speed"]
        assert situation.events["sign obeyed"] == (situation.events["traffic sign"] and slow)
        seen.add((situation.events["traffic sign"], situation.events["sign obeyed"]))
    assert seen == {(True, True), (True, False), (False, False)}


def test_touching_somebody_is_a_collision_and_passing_by_is_none() -> None:
    simulator = WorldSimulator("meadow", traffic=0)
    simulator.reset()
    _beside(simulator, WorldObject(60_000, "vehicle", 20.0, -1.75, yaw=math.pi, kind="car", speed=8.0))
    nearest = math.inf
    for _ in range(30):
        situation = simulator.step(Controls(situation_steering(simulator), 8.0))
        assert not situation.events["collision"]
        nearest = min(nearest, situation.signals["vehicle_distance"])
    assert nearest == pytest.approx(3.5 - 1.8, abs=0.25)
    simulator.reset()
    _beside(simulator, WorldObject(60_000, "pedestrian", 12.0, 1.75))
    for _ in range(40):
        situation = simulator.step(Controls(0.0, 10.0))
        if situation.events["collision"]:
            break
    assert situation.events["crash"]
    assert situation.signals["pedestrian_distance"] == 0.0


def situation_steering(simulator: WorldSimulator) -> float:
    assert simulator._now is not None
    steering = simulator._now.frame.signals.steering
    assert steering is not None
    return steering


@pytest.mark.parametrize("name", [*TRACK_NAMES, *HELD_OUT_TRACK_NAMES])
def test_sectors_are_of_equal_length_near_a_hundred_metres(name: str) -> None:
    names = world_sectors(track(name))
    assert len(set(names)) == len(names)
    assert 90 < track(name).length / len(names) < 110


def test_drives_of_different_models_have_the_same_sectors() -> None:
    slow = callable_model(lambda frames: [Signals(speed=7.0) for _ in frames], name="slow")
    simulator = WorldSimulator("meadow", traffic=0, fps=3.0)
    drives = [drive(system, simulator, limits=DriveLimits(metres=250.0)) for system in (Truth(), slow)]
    assert drives[0].sector_names == drives[1].sector_names == ("meadow-01", "meadow-02", "meadow-03")
    for one in drives:
        first = one.signals["distance"][np.flatnonzero(one.sectors == 1)[0]]
        assert first == pytest.approx(track("meadow").length / len(world_sectors(track("meadow"))), abs=6.0)


def test_a_second_lap_has_sectors_of_its_own() -> None:
    simulator = WorldSimulator("meadow", traffic=0)
    simulator.reset()
    simulator.along = simulator._furthest = track("meadow").length + 130.0
    assert simulator._sector() == "meadow-02 lap 2"


@pytest.mark.parametrize("start", [50.0, -60.0, 1123.0 + 50.0])
def test_a_piece_in_which_the_drive_starts_and_ends_has_two_names(start: float) -> None:
    simulator = WorldSimulator("meadow", traffic=0, start=start)
    first = simulator.reset().sector
    seen = []
    for furthest in np.arange(0.0, track("meadow").length, 10.0):
        simulator.along = simulator._furthest = float(furthest)
        seen.append(simulator._sector())
    visits = [name for name, before in zip(seen, [None, *seen[:-1]], strict=True) if name != before]
    assert visits[0] == first
    assert visits[-1] == f"{first} lap 2"
    assert len(set(visits)) == len(visits)


def test_the_same_seed_drives_the_same_drive() -> None:
    drives = [
        drive(
            Truth(),
            WorldSimulator("town", seed=3, weather="rain", time="night"),
            limits=DriveLimits(seconds=1.0),
        )
        for _ in range(2)
    ]
    for name in drives[0].signals:
        np.testing.assert_array_equal(drives[0].signals[name], drives[1].signals[name])


def test_what_the_world_refuses() -> None:
    with pytest.raises(SceneError, match="unknown track 'twon': did you mean 'town'"):
        WorldSimulator("twon")
    with pytest.raises(InputError, match="start must be finite"):
        WorldSimulator("town", start=math.nan)
    with pytest.raises(SceneError, match="seed must be 0 or more, got -3"):
        WorldSimulator("town", seed=-3).reset()
    with pytest.raises(InputError, match="must be reset"):
        WorldSimulator("town").step(Controls(0.0))
