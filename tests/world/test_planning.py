"""The careful driver's path: it stops in time for what is in its lane, and drives as it says elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from roadworthy.frames.path import FRONT
from roadworthy.world import PATH_TIMES, Scene, add, careful_driver, careful_path, make_scene


@pytest.fixture(scope="module")
def empty() -> Scene:
    scene = make_scene("meadow", s=100, traffic=0)
    things = tuple(one for one in scene.scenery.things if not one.element.startswith("traffic"))
    return scene.replace(scenery=type(scene.scenery)(things))


def test_it_begins_with_what_the_driver_does(empty: Scene) -> None:
    path = careful_path(empty)
    assert path.times.tolist() == list(PATH_TIMES)
    assert path.speeds[0] == pytest.approx(careful_driver(empty).speed or 0, rel=0.05)


def test_it_follows_the_lane(empty: Scene) -> None:
    """Points of the path, put back on the track, lie in the middle of the lane."""
    path = careful_path(empty)
    road, forward = empty.track, 1.5
    x, y, _ = road.position(empty.s, empty.d).tolist()
    turn = float(road.heading(empty.s)) - empty.yaw
    for ahead, right in path.points:
        away = ahead + forward
        at = (x + away * np.cos(turn) + right * np.sin(turn), y + away * np.sin(turn) - right * np.cos(turn))
        assert road.locate(*at, near=empty.s + away)[1] == pytest.approx(1.75, abs=0.35)


@pytest.mark.parametrize("ahead", [9, 12, 20, 30])
@pytest.mark.parametrize("what", ["pedestrian", "car"])
def test_it_stops_before_what_is_in_its_lane(empty: Scene, what: str, ahead: float) -> None:
    path = careful_path(add(empty, what, ahead=ahead, place="lane"))
    front = 1.5 + FRONT + path.points[-1, 0]
    assert front < ahead
    assert path.speeds.min() >= 0


@pytest.mark.parametrize(
    ("what", "stops"), [("red light", True), ("stop sign", True), ("green light", False)]
)
def test_it_stops_for_red_and_stop_signs(empty: Scene, what: str, stops: bool) -> None:
    path = careful_path(add(empty, what, ahead=20, place="kerb"))
    assert (1.5 + FRONT + path.points[-1, 0] < 20) == stops


def test_what_stands_beside_the_road_does_not_stop_it(empty: Scene) -> None:
    path = careful_path(add(empty, "pedestrian", ahead=20))
    assert path.points[-1, 0] > 20
