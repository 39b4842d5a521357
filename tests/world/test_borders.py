"""Where things begin and end in the world: reach of causes, limits of what is given, who waits for whom."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.kept import as_kept, defaults_of

from roadworthy.errors import SceneError
from roadworthy.world import (
    Camera,
    Conditions,
    Scene,
    Scenery,
    Simulation,
    Track,
    VehicleLimits,
    VehicleState,
    WorldObject,
    add,
    advance,
    careful_driver,
    cautions,
    frame_of,
    make_scene,
    track,
)
from roadworthy.world.camera import CameraView, vector
from roadworthy.world.driver import lane_keeping
from roadworthy.world.mesh import Column, ring, shaded, stroke
from roadworthy.world.painter import Silhouette, _topological, paint_order
from roadworthy.world.raster import geometry
from roadworthy.world.render import _truncation
from roadworthy.world.roadside import _RoadsidePlanner, traffic_after, traffic_near
from roadworthy.world.scene import Marking, details_of
from roadworthy.world.track import Zone

EMPTY = Scene(track("meadow"), 100.0)
approx: Any = pytest.approx  # may stand beside what is exact in one tuple
NEVER = 1e-6


def caused(*things: WorldObject) -> list[tuple[str, float]]:
    return [(one.cause, one.factor) for one in cautions(EMPTY.replace(actors=things))]


def thing(element: str, ahead: float, d: float = 1.75, **details: Any) -> WorldObject:
    return WorldObject(1, element, 100.0 + ahead, d, **details)


@pytest.mark.parametrize(
    ("element", "kind", "cause", "reach", "close", "far"),
    [
        ("pedestrian", "", "pedestrian", 60, 0.45, 0.69),
        ("bicyclist", "", "bicyclist", 50, 0.55, 0.90),
        ("traffic sign", "stop", "stop", 50, 0.30, 0.90),
        ("traffic sign", "yield", "yield", 50, 0.60, 0.92),
        ("traffic sign", "turn", "turn", 50, 0.85, 0.95),
        ("traffic sign", "speed limit", "speed limit", 50, 0.88, 0.95),
        ("traffic light", "red", "red", 50, 0.20, 0.90),
        ("traffic light", "yellow", "yellow", 50, 0.45, 0.92),
    ],
)
def test_a_cause_counts_from_in_front_of_us_to_its_reach(
    element: str, kind: str, cause: str, reach: float, close: float, far: float
) -> None:
    assert caused(thing(element, reach, kind=kind)) == []
    assert caused(thing(element, 0.0, kind=kind)) == []
    assert caused(thing(element, -1.0, kind=kind)) == []
    for share in (0.001, 0.5, 0.999):
        ((name, factor),) = caused(thing(element, reach * share, kind=kind))
        assert (name, factor) == (cause, approx(close + (far - close) * share))


@pytest.mark.parametrize(
    ("element", "inside", "outside", "details"),
    [
        ("pedestrian", (-7.9, 7.9), (-8.0, 8.0), {}),
        ("bicyclist", (-0.9, 6.4), (-1.0, 6.5), {}),
        ("vehicle", (0.1, 3.4), (0.0, 3.5), {"yaw": 1.5}),
        ("traffic sign", (0.1, 30.0), (0.0, -0.1), {"kind": "stop"}),
        ("traffic light", (0.1, 30.0), (0.0, -0.1), {"kind": "yellow"}),
    ],
)
def test_who_stands_aside_is_no_cause(
    element: str, inside: tuple[float, ...], outside: tuple[float, ...], details: dict[str, Any]
) -> None:
    assert all(caused(thing(element, 20, d, **details)) for d in inside)
    assert not any(caused(thing(element, 20, d, **details)) for d in outside)


def test_the_nearest_vehicle_ahead_counts_and_oncoming_ones_do_not() -> None:
    one, two = thing("vehicle", 40), replace(thing("vehicle", 20), id=2)
    assert caused(one, two) == caused(two, one) == caused(two)
    assert caused(two) == [("vehicle", approx(0.05 + 0.92 * (20 - 7.4) / 60))]
    assert caused(thing("vehicle", 67.4)) == []
    assert caused(thing("vehicle", 67.3)) != []
    assert caused(thing("vehicle", 20, yaw=math.pi)) == []


def test_scenery_behind_the_start_of_the_lap_counts() -> None:
    road = track("meadow")
    sign = WorldObject(1, "traffic sign", 10.0, 4.5, kind="stop")
    scene = Scene(road, road.length - 20, scenery=Scenery((sign,)))
    ((cause),) = cautions(scene)
    assert (cause.cause, cause.factor) == ("stop", approx(0.3 + 0.6 * 30 / 50))


def test_a_posted_limit_is_in_kilometres_an_hour_and_the_lowest_counts() -> None:
    signs = [
        WorldObject(number, "traffic sign", 100.0 + ahead, 4.5, kind="speed limit", value=value)
        for number, (ahead, value) in enumerate([(20, 36), (30, 18), (50, 9)], 1)
    ]
    speeds = [careful_driver(EMPTY.replace(actors=tuple(signs[:count]))).speed for count in (1, 2, 3)]
    near, far = (0.88 + 0.07 * ahead / 50 for ahead in (20, 30))
    assert speeds == pytest.approx([10 * near, 5 * near * far, 5 * near * far])


def test_speed_leaves_room_to_brake_before_bends_and_limits() -> None:
    corners = [(0, 0), (4000, 0), (4000, 4000), (0, 4000)]
    road = Track("wide", corners, 900, (), (Zone(0, "rural", 20.0), Zone(500, "urban", 10.0)))
    scenes = [Scene(road, s) for s in (700.0, 400.0, 450.0, 490.0, 499.9)]
    # v² = 10² + 2 · 1.5 · way: the way is looked at every two metres.
    expected = [10.0, 20.0, math.sqrt(100 + 3 * 50), math.sqrt(100 + 3 * 10), math.sqrt(100 + 3 * 2)]
    assert [careful_driver(scene).speed for scene in scenes] == pytest.approx(expected)


def test_steering_is_held_at_what_the_wheels_can_do() -> None:
    road = track("meadow")
    assert lane_keeping(road, 100.0, 60.0, 0.0) == -25.0
    assert lane_keeping(road, 100.0, -60.0, 0.0) == 25.0
    straight = Track("long", [(0, 0), (9000, 0), (9000, 9000)], 60, (), (Zone(0, "rural", 20.0),))
    s = 4000.0
    # curvature = -2 e / 8² - 2 sin(yaw) / 8, and the wheels of a bicycle of 2.7 m
    for d, yaw in ((2.25, 0.0), (1.75, 0.1), (1.25, -0.1)):
        bend = -2 * (d - 1.75) / 64 - 2 * math.sin(yaw) / 8
        assert lane_keeping(straight, s, d, yaw) == pytest.approx(
            math.degrees(math.atan(2.7 * bend)), abs=1e-6
        )


def test_a_step_moves_by_the_mean_speed_and_tells_its_acceleration() -> None:
    after = advance(VehicleState(1.0, 2.0, math.pi / 2, speed=10.0), 0.0, 12.0, 0.4)
    assert (after.x, after.y) == pytest.approx((1.0, 2.0 + (10 + 11) / 2 * 0.4))
    assert (after.speed, after.acceleration) == pytest.approx((11.0, 2.5))
    slow = advance(after, 0.0, -3.0, 10.0)
    assert (slow.speed, slow.acceleration) == pytest.approx((0.0, -1.1))
    assert advance(after, 0.0, 99.0, 60.0).speed == 40.0
    assert advance(after, 0.0, 99.0, 60.0, VehicleLimits(speed=12)).speed == 12.0
    left = advance(VehicleState(0, 0, 0, speed=5.0), -90.0, 5.0, 0.1)
    assert (left.steering, left.y > 0) == (-8.0, True)


@pytest.mark.parametrize(
    ("gap", "speed", "pace"),
    [(12.9, 3.0, 3.0 * 5.9 / 6), (13.0, 3.0, 10.0), (7.5, 3.0, 3.0 / 12), (7.0, 3.0, 0.0), (3.0, 9.0, 0.0)],
)
def test_who_follows_takes_the_pace_of_who_is_ahead(gap: float, speed: float, pace: float) -> None:
    for oncoming in (False, True):
        d, yaw, sign = (-1.75, math.pi, -1) if oncoming else (1.75, 0.0, 1)
        behind = WorldObject(1, "vehicle", 500.0, d, yaw=yaw, speed=10.0)
        for element in ("vehicle", "bicyclist"):
            ahead = WorldObject(2, element, 500.0 + sign * gap, d, yaw=yaw, speed=speed)
            after = traffic_after(EMPTY.replace(actors=(behind, ahead)), 0.1)
            assert EMPTY.track.ahead(500.0, after[0].s) == pytest.approx(sign * pace * 0.1)
            assert EMPTY.track.ahead(ahead.s, after[1].s) == pytest.approx(sign * speed * 0.1)


@pytest.mark.parametrize(
    ("gap", "d", "pace"),
    [
        *((17.0, 1.75, 10.0), (16.9, 1.75, 4.0 * 7.9 / 8), (13.0, 1.75, 2.0), (9.0, 1.75, 0.0)),
        *((-5.0, 1.75, 10.0), (13.0, 3.44, 2.0), (13.0, 3.46, 10.0)),
    ],
)
def test_who_follows_us_keeps_a_distance_too(gap: float, d: float, pace: float) -> None:
    behind = WorldObject(1, "vehicle", 100.0 - gap, d, speed=10.0)
    (after,) = traffic_after(EMPTY.replace(speed=4.0, actors=(behind,)), 0.1)
    assert EMPTY.track.ahead(behind.s, after.s) == pytest.approx(pace * 0.1)


def test_people_walk_past_everybody_and_the_way_is_closed() -> None:
    length = EMPTY.track.length
    walker = WorldObject(1, "pedestrian", length - 0.1, 5.0, speed=1.5)
    wall = WorldObject(2, "vehicle", 3.0, 5.0)
    after = traffic_after(EMPTY.replace(actors=(walker, wall)), 1.0)
    assert [one.s for one in after] == pytest.approx([1.4, 3.0])


@pytest.mark.parametrize(
    "make",
    [
        lambda: Camera(16, 8192),
        lambda: Camera(8192, 16),
        lambda: Camera(field_of_view=20),
        lambda: Camera(field_of_view=120),
        lambda: Conditions("rain", 0.0),
        lambda: Conditions("rain", 1.0),
        lambda: WorldObject(65_535, "tree", 0.0, 8.0, value=0),
        lambda: WorldObject(1, "tree", 0.0, 8.0, value=999),
        lambda: traffic_near(track("town"), 0.0, np.random.default_rng(0), density=5),
        lambda: Simulation("meadow", traffic=5),
        lambda: Scene(track("town"), 0.0, seed=0),
        lambda: Track("three", [(0, 0), (200, 0), (0, 200)], 30, (), (Zone(0, "rural", NEVER),)),
    ],
)
def test_the_last_value_that_is_allowed(make: Callable[[], object]) -> None:
    make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Camera(15, 160), "16 to 8192 pixels wide and high, got 15×160"),
        (lambda: Camera(160, 15), "got 160×15"),
        (lambda: Camera(8193, 160), "got 8193×160"),
        (lambda: Camera(160, 8193), "got 160×8193"),
        (lambda: Camera(field_of_view=19.9), "from 20 to 120, got 19.9"),
        (lambda: Camera(field_of_view=120.1), "got 120.1"),
        (lambda: Conditions("rain", 1.01), "from 0 to 1, got 1.01"),
        (lambda: WorldObject(65_536, "tree", 0.0, 8.0), "from 1 to 65535, got 65536"),
        (lambda: WorldObject(1, "tree", 0.0, 8.0, value=1000), "between 0 and 999, got 1000"),
        (lambda: WorldObject(1, "tree", 0.0, 8.0, yaw=math.nan), "of a tree must be finite.*yaw=nan"),
        (lambda: WorldObject(1, "tree", 0.0, 8.0, speed=math.inf), "speed=inf"),
        (lambda: WorldObject(1, "tree", 0.0, math.nan), "d=nan"),
        (lambda: Scene(track("town"), 0.0, seed=-1), "seed must be 0 or more, got -1"),
        (lambda: Scene(track("town"), 0.0, speed=math.nan), "of the ego-vehicle must be finite"),
        (
            lambda: Scene(track("town"), 0.0, actors=(thing("tree", 1), thing("tree", 2))),
            "two objects of a scene have the same id",
        ),
        (lambda: traffic_near(track("town"), 0.0, np.random.default_rng(0), density=5.01), "got 5.01"),
        (lambda: Simulation("meadow", frames_per_second=math.inf), "above 0 and finite, got inf"),
        (lambda: Track("none", [(0, 0), (200, 0), (0, 200)], 30, (), ()), r"in order, got \[\]"),
        (lambda: Zone(0, "rural", math.nan), "above 0, got nan"),
        (lambda: advance(VehicleState(0, 0, 0), 0.0, math.inf, 0.1), "finite numbers, got 0.0 and inf"),
        (lambda: advance(VehicleState(0, 0, 0), 0.0, 1.0, math.nan), "a step must be above 0, got nan"),
        (lambda: Marking("zebra", 1.0), "unknown marking 'zebra'"),
    ],
)
def test_the_first_value_that_is_not(make: Callable[[], object], message: str) -> None:
    with pytest.raises(SceneError, match=message):
        make()


def test_a_scene_is_on_the_lap_and_colours_are_those_that_are_usual() -> None:
    road = track("meadow")
    assert Scene(road, road.length + 5).s == pytest.approx(5.0)
    assert Scene(road, -5.0).s == pytest.approx(road.length - 5)
    kinds = {kind: WorldObject(1, "vehicle", 0, 0, kind=kind).color for kind in ("car", "school bus", "van")}
    assert kinds == {"car": "silver", "school bus": "yellow", "van": "silver"}
    assert WorldObject(1, "tree", 0, 0).color == ""
    assert WorldObject(1, "vehicle", 0, 0, kind="school bus", color="red").color == "red"
    assert add(EMPTY, "car", ahead=road.length - 50).actors[0].s == pytest.approx(50.0)
    assert [one.id for one in add(add(EMPTY, "car"), "tree").actors] == [20_000, 20_001]


def test_the_signed_way_along_a_closed_road() -> None:
    road = track("meadow")
    half = road.length / 2
    assert [road.ahead(0.0, end) for end in (0.0, half, half + 1, road.length - 1)] == pytest.approx(
        [0.0, half, 1 - half, -1.0]
    )
    starts = [zone.start for zone in road.zones]
    assert [road.zone(start).start for start in starts] == starts
    assert [road.zone(start - 0.01).start for start in starts] == [starts[-1], *starts[:-1]]


@pytest.mark.parametrize(
    ("level", "name"), [(0.0, "light"), (0.49, "light"), (0.51, "normal"), (0.82, "normal"), (0.84, "heavy")]
)
def test_a_level_has_the_nearest_name(level: float, name: str) -> None:
    assert Conditions("rain", level).level_name == name


def test_what_a_frame_says_of_itself() -> None:
    scene = make_scene("meadow", 300.0, conditions=Conditions("fog", "light", "dusk", "autumn"), traffic=0)
    frame = frame_of(scene, Camera(32, 16), id="x")
    assert (frame.id, frame.size) == ("x", (32, 16))
    assert dict(frame.metadata) == {
        "weather": "foggy",
        "level": "light",
        "time": "dusk",
        "season": "autumn",
        "place": "suburban",
        "track": "meadow",
    }
    seen = Simulation("meadow", traffic=0, frames_per_second=8, camera=Camera(32, 16)).step(0.0, 5.0)
    assert seen.frame.id == "meadow-0000.125"
    assert seen.lane_offset == pytest.approx(seen.scene.d - 1.75)


@pytest.mark.parametrize(
    ("full", "share"),
    [
        ((0, 0, 64, 32), 0.0),
        ((-64, 0, 64, 32), 0.5),
        ((0, -32, 64, 32), 0.5),
        ((32, 0, 96, 32), 0.5),
        ((0, 16, 64, 48), 0.5),
        ((-64, -32, 128, 64), 1 - 1 / 9),
        ((70, 0, 90, 32), 1.0),
        ((-9, 0, -1, 32), 1.0),
        ((5, 5, 5, 5), 1.0),
    ],
)
def test_truncation_is_the_share_outside_of_the_picture(full: Any, share: float) -> None:
    assert _truncation(Silhouette((0, 0, 1, 1), full, 1), Camera(32, 16)) == pytest.approx(share)


def test_outlines_of_shapes() -> None:
    assert np.allclose(ring((1, 2), (2, 1), 4), [(3, 2), (1, 3), (-1, 2), (1, 1)])
    assert np.allclose(ring((0, 0), (1, 1), 2, turn=math.pi / 2), [(0, 1), (0, -1)])
    # 6 long and 3 thick: a third of the thickness more at both ends
    assert np.allclose(stroke((0, 0), (6, 0), 3), [(-1, 1.5), (7, 1.5), (7, -1.5), (-1, -1.5)])
    assert np.allclose(stroke((0, 0), (0, 6), 3), [(-1.5, -1), (-1.5, 7), (1.5, 7), (1.5, -1)])
    assert np.allclose(stroke((1, 1), (1, 1), 3), [(1, 1)] * 4)
    assert shaded((100, 200, 10), 1.5) == (150.0, 255.0, 15.0)


def square(x: float, y: float, half: float, long: float | None = None) -> list[list[float]]:
    deep = long or half
    return [[x - half, y - deep], [x + half, y - deep], [x + half, y + deep], [x - half, y + deep]]


@pytest.mark.parametrize(
    ("outlines", "wide", "order"),
    [
        # Nothing, one, and things that are ordered by how far their middles are.
        ([], [], []),
        ([square(0, 5, 1)], [True], [0]),
        ([square(0, 5, 0.5), square(0, 9, 0.5)], [False, False], [1, 0]),
        # A long wall whose middle is far begins beside us: what stands right of it, farther out, comes first.
        ([square(3, 25, 1, 24), square(8, 20, 1)], [True, False], [1, 0]),
        ([square(3, 25, 1, 24), square(0, 24, 1)], [True, False], [0, 1]),
        ([square(-3, 25, 1, 24), square(-8, 20, 1)], [True, False], [1, 0]),
    ],
)
def test_who_is_painted_first(outlines: list[Any], wide: list[bool], order: list[int]) -> None:
    places = np.array(outlines, np.float32).reshape(-1, 4, 2)
    found = paint_order(places.mean(axis=1), places, np.array(wide, bool))
    assert found.tolist() == order


def test_parts_are_as_far_as_their_middles_are_with_height_and_turn() -> None:
    bus = WorldObject(1, "vehicle", 130.0, 1.75, kind="school bus", yaw=math.pi / 2)
    scene = EMPTY.replace(actors=(bus,))
    camera = Camera(mount=9.0)
    view = scene.view(camera)
    shape = geometry(scene, camera, view)
    (placed,) = shape.things
    own = shape.faces.thing == 0
    table, corners = shape.table[own], shape.faces.corners[shape.faces.first[own][0] :]
    _, part = np.unique(placed.mesh.faces[:, Column.MIDDLE], axis=0, return_inverse=True)
    owner = np.repeat(part, shape.faces.count[own])
    assert len(np.unique(part)) > 1
    for number in np.unique(part):
        away = float(np.linalg.norm(corners[owner == number].mean(axis=0)))
        middles = table[part == number, Column.MIDDLE]
        assert np.linalg.norm(middles, axis=1) == pytest.approx(away, rel=1e-4)
    # Across the road: as wide as the bus is long, and its normals are turned with it.
    depth = view.rotation[2, :2] @ view.rotation[:, :2].T @ corners.T
    assert np.ptp(depth) == pytest.approx(placed.mesh.footprint[1], abs=0.6)
    before, after = placed.mesh.faces[:, Column.NORMAL], table[:, Column.NORMAL]
    assert np.allclose(np.linalg.norm(before, axis=1), np.linalg.norm(after, axis=1), atol=1e-5)
    assert np.allclose(before[:, 2], after[:, 2])
    assert not np.allclose(before[:, :2], after[:, :2], atol=0.2)


def test_a_camera_turns_the_world() -> None:
    view = CameraView.at(vector([1, 2, 3]), math.pi / 2, math.radians(10))
    assert math.degrees(view.pitch) == pytest.approx(10, abs=1e-4)
    right, down, forward = view.to_camera(vector([[2, 2, 3], [1, 2, 2], [1, 3, 3]])).tolist()
    cos, sin = math.cos(math.radians(10)), math.sin(math.radians(10))
    assert right == pytest.approx([1, 0, 0], abs=1e-6)
    assert down == pytest.approx([0, cos, -sin], abs=1e-6)
    assert forward == pytest.approx([0, sin, cos], abs=1e-6)
    lens = Camera(200, 100, field_of_view=90).projection(2)
    assert (lens.focal, lens.centre) == (approx(200), (199.5, 99.5))
    assert lens.horizon(view) == pytest.approx(99.5 + 200 * math.tan(math.radians(10)), abs=1e-3)


def test_things_that_hide_each_other_in_a_ring_are_painted_from_afar() -> None:
    by_distance = np.array([1, 2, 0, 3], np.int32)
    ring_ = np.zeros((4, 4), bool)
    ring_[0, 1] = ring_[1, 2] = ring_[2, 0] = True  # each of three before the next
    ring_[0, 3] = True
    assert _topological(ring_, by_distance).tolist() == [1, 2, 0, 3]
    chain = np.zeros((3, 3), bool)
    chain[2, 0] = chain[0, 1] = True
    assert _topological(chain, np.array([1, 2, 0], np.int32)).tolist() == [2, 0, 1]
    free = np.zeros((3, 3), bool)
    assert _topological(free, np.array([1, 2, 0], np.int32)).tolist() == [1, 2, 0]


def test_arrows_stand_before_sharp_bends_to_the_right_and_not_in_them() -> None:
    placed: list[float] = []

    class Bends:
        length = 200.0

        def __init__(self, here: float, ahead: float) -> None:
            self.here, self.later = here, ahead

        def curvature(self, s: float) -> float:
            return self.here if s < 45 else self.later

    def signs(here: float, ahead: float) -> list[float]:
        placed.clear()
        planner: Any = type("Planner", (), {})()
        planner.track = Bends(here, ahead)
        planner.place = lambda element, s, d, kind: placed.append(s)
        _RoadsidePlanner.turn_signs(planner)
        return list(placed)

    assert signs(0.0, 0.036) == [20.0]
    assert signs(0.0, 0.035) == []
    assert signs(0.019, 0.036) == [20.0]
    assert signs(0.02, 0.036) == []
    assert signs(0.0, -0.05) == []


def test_what_a_thing_does_not_have_cannot_be_shown() -> None:
    with pytest.raises(SceneError, match="the world cannot show the color 'red' of a tree"):
        details_of("tree", {"color": "red"})
    assert details_of("vehicle", {"type": "van", "color": "red"}) == {"kind": "van", "color": "red"}
    assert not WorldObject(1, "vehicle", 0, 0, kind="van", color="red").has({"color": "red", "type": "car"})
    assert WorldObject(1, "tree", 0, 0).has({})


def test_what_is_done_when_nothing_is_said_is_as_kept() -> None:
    as_kept(Path(__file__).with_name("kept") / "defaults.txt", defaults_of("world"))


def test_every_step_and_seed_has_noise_of_its_own() -> None:
    one, two = (Simulation("meadow", seed=seed, traffic=0) for seed in (2, 3))
    assert [one.reset().scene.seed, two.reset().scene.seed] == [2, 3]
    steps = [one.step(0.0, 5.0).scene.seed for _ in range(3)]
    assert steps == [2 * 1_000_003 + number for number in (1, 2, 3)]
    assert one.reset().scene.seed == 2
    assert one.step(0.0, 5.0).scene.seed == steps[0], "a drive that begins again is the same"
    assert (
        Simulation("meadow", seed=2**31, traffic=0).step(0.0, 5.0).scene.seed
        == (2**31 * 1_000_003 + 1) % 2**31
    )
    seen = one.reset(10.0)
    assert (seen.laps, seen.time, seen.events, seen.scene.s) == (0, 0.0, frozenset(), 10.0)
    assert seen.scene.speed == seen.state.speed > 0


def test_laps_are_counted_where_the_whole_length_was_driven() -> None:
    simulation = Simulation("meadow", traffic=0)
    simulation.reset()
    length = simulation.track.length
    for driven, laps in ((length - 5.0, 0), (length + 0.1, 1), (2 * length + 1.0, 2), (-length, 0)):
        simulation.reset()
        simulation._distance = driven
        assert simulation.step(0.0, 0.0).laps == laps
