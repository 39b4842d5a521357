"""The ground plane: closed forms, the world's camera as truth, and estimates from labels alone."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roadworthy.datasets import load
from roadworthy.frames import Boxes, Frame, LabelMap
from roadworthy.transforms.perspective import FAR, Perspective, distance_map, real_height
from roadworthy.world import Camera, Scene, WorldObject, frame_of, track

CAMERA = Camera(320, 160)
HORIZON = 80 - CAMERA.focal * math.tan(math.radians(CAMERA.tilt))


def flat_frame(*actors: WorldObject) -> Frame:
    """A straight and level place of the world, as found by its curvature and grade."""
    road = track("meadow")
    places = np.arange(0, road.length - 60, 5.0)
    ahead = road.sample(places[:, None] + np.arange(0, 55, 5.0))
    s = float(places[np.argmin(np.abs(ahead[..., 4]).sum(axis=1) + 10 * np.ptp(ahead[..., 5], axis=1))])
    moved = tuple(WorldObject(one.id, one.element, s + one.s, one.d, one.kind) for one in actors)
    return frame_of(Scene(road, s=s, actors=moved), CAMERA)


@given(st.floats(-50, 400), st.floats(1.0, 3.0), st.floats(50, 4000), st.floats(0.5, 300), st.floats(0.2, 5))
def test_distance_and_row_are_inverse_and_sizes_follow(
    horizon: float, height: float, focal: float, distance: float, metres: float
) -> None:
    view = Perspective(horizon, height, focal)
    row = view.row(distance)
    assert view.distance(row) == pytest.approx(distance, rel=1e-6)
    # A pinhole camera: something so large at such a distance.
    assert view.pixels(metres, row) == pytest.approx(focal * metres / distance, rel=1e-6)
    assert view.metres(view.pixels(metres, row), row) == pytest.approx(metres, rel=1e-6)
    # What is as high as the camera reaches to the horizon.
    assert row - view.pixels(height, row) == pytest.approx(horizon, abs=1e-6 * max(1, abs(row)))


def test_the_sky_is_infinitely_far() -> None:
    view = Perspective(60.0, 1.5, 300.0)
    assert view.distance(60.0) == math.inf
    assert view.pixels(1.7, 50.0) == 0.0
    assert np.isinf(view.distances(100)[:60]).all()


def test_depth_gives_the_camera_of_the_world() -> None:
    view = Perspective.of(flat_frame())
    assert view.horizon == pytest.approx(HORIZON, abs=0.6)
    assert view.focal * view.camera_height == pytest.approx(CAMERA.focal * CAMERA.mount, rel=0.02)
    assert view.camera_height == pytest.approx(CAMERA.mount, rel=0.02)


@pytest.mark.parametrize("distance", [8.0, 14.0, 22.0])
def test_a_thing_of_the_world_is_as_large_as_the_perspective_says(distance: float) -> None:
    person = WorldObject(9, "pedestrian", s=CAMERA.forward + distance, d=1.75)
    frame = flat_frame(person)
    assert frame.boxes is not None
    assert frame.instances is not None
    ((_, top, _, foot),) = frame.boxes.select("pedestrian").xyxy.tolist()
    view = Perspective.of(frame.replace(boxes=None, instances=None))
    assert view.distance(foot) == pytest.approx(distance, rel=0.08)
    # People are 1.6 to 1.85 m high here.
    assert 1.5 < view.metres(foot - top, foot) < 1.95


@pytest.mark.parametrize(("name", "median", "most"), [("meadow", 1.2, 4.5), ("town", 3.0, 9.0)])
def test_labels_alone_find_the_horizon(name: str, median: float, most: float) -> None:
    errors = []
    for frame in load(f"world:{name}", count=16, seed=2):
        view = Perspective.of(frame.replace(depth=None, boxes=None, instances=None))
        errors.append(abs(view.horizon - Perspective.of(frame).horizon))
        assert 1.2 < view.camera_height < 1.75
    assert np.median(errors) < median
    assert max(errors) < most


def test_what_hangs_above_the_road_says_nothing_of_the_horizon() -> None:
    """A sign that somebody labelled as a vehicle would have the horizon just below it."""
    frame = load("world:meadow", count=1, seed=2)[0].replace(depth=None, boxes=None, instances=None)
    assert frame.labels is not None
    ids = frame.labels.ids.copy()
    ids[8:16, 200:216] = frame.labels.classes.index("vehicle")
    signed = frame.replace(labels=LabelMap(ids, frame.labels.classes))
    assert Perspective.of(signed).horizon == pytest.approx(Perspective.of(frame).horizon, abs=1.0)


def test_boxes_alone_find_the_horizon() -> None:
    """People of 1.72 m, seen by a camera 1.6 m high above a horizon in row 90, at three distances."""
    view = Perspective(90.0, 1.6, 400.0)
    corners = []
    for distance, column in ((9.0, 60), (14.0, 200), (30.0, 120)):
        foot = view.row(distance)
        high = view.pixels(1.72, foot)
        corners.append([column, foot - high, column + 0.4 * high, foot])
    frame = Frame("people", np.zeros((200, 300, 3), np.uint8), boxes=Boxes(corners, ["pedestrian"] * 3))
    found = Perspective.of(frame)
    assert found.horizon == pytest.approx(90.0, abs=3.0)
    assert found.camera_height == pytest.approx(1.6, abs=0.1)


def test_with_nothing_known_usual_values_are_taken() -> None:
    view = Perspective.of(Frame("blank", np.zeros((200, 400, 3), np.uint8)))
    assert view.horizon == pytest.approx(0.45 * 200)
    assert view.camera_height == pytest.approx(1.45)
    assert view.focal == pytest.approx(200 / math.tan(math.radians(36)))


@given(st.integers(16, 90), st.integers(16, 90), st.integers(0, 2**31))
def test_nonsense_gives_finite_numbers(width: int, height: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = LabelMap(
        rng.integers(0, 5, (height, width)).astype(np.uint8), ("void", "sky", "road", "car", "tree")
    )
    depth = rng.uniform(0, 50, (height, width)).astype(np.float32)
    depth[rng.random((height, width)) < 0.3] = np.nan
    for known in (None, depth):
        frame = Frame("nonsense", np.zeros((height, width, 3), np.uint8), labels=labels, depth=known)
        view = Perspective.of(frame)
        assert all(map(math.isfinite, (view.horizon, view.camera_height, view.focal)))
        assert 0.9 <= view.camera_height <= 3.0
        distances = distance_map(frame)
        assert distances.shape == (height, width)
        assert distances.dtype == np.float32
        assert not np.isnan(distances).any()
        assert (distances >= 0).all()


def test_known_depth_is_the_distance() -> None:
    frame = flat_frame()
    assert distance_map(frame) is frame.depth
    assert frame.depth is not None
    holes = frame.depth.copy()
    holes[100:110, 50:90] = np.nan
    filled = distance_map(frame.replace(depth=holes))
    known = ~np.isnan(holes)
    assert np.array_equal(filled[known], holes[known])
    assert filled[~known] == pytest.approx(frame.depth[~known], rel=0.15)


def test_upright_things_are_as_far_away_as_their_feet() -> None:
    """A car and a wall behind it, on a plane whose distances are known in closed form."""
    rows, _ = np.mgrid[0:200, 0:300]
    ids = np.where(rows < 80, 1, 2).astype(np.uint8)  # sky, road
    ids[60:110, :] = 3  # a wall that ends in row 110
    ids[90:150, 100:160] = 4  # a car before it
    frame = Frame(
        "wall",
        np.zeros((200, 300, 3), np.uint8),
        labels=LabelMap(ids, ("void", "sky", "road", "building", "car")),
    )
    view = Perspective.of(frame)
    distances = distance_map(frame)
    ground = view.distances(200)
    assert np.isinf(distances[:60]).all()
    assert distances[150:, 10] == pytest.approx(ground[150:], rel=1e-5)
    assert np.unique(distances[90:150, 100:160]).tolist() == [pytest.approx(ground[149], rel=1e-5)]
    # Also where the car hides the foot of the wall, the wall is where it is beside it.
    assert distances[70, 130] == pytest.approx(min(ground[109], FAR), rel=1e-5)


def test_distances_from_labels_agree_with_the_world() -> None:
    frame = flat_frame(WorldObject(9, "vehicle", s=14.0, d=1.75, kind="van"))
    assert frame.depth is not None
    found = distance_map(frame.replace(depth=None, boxes=None, instances=None))
    near = np.isfinite(frame.depth) & (frame.depth < 60) & np.isfinite(found)
    ratio = found[near] / frame.depth[near]
    assert np.median(np.abs(np.log(ratio))) < 0.08


def test_heights_that_people_know() -> None:
    assert real_height("vehicle", {"type": "bus"}) == 3.1
    assert real_height("vehicle", {"color": "red"}) == real_height("vehicle") == 1.5
    assert real_height("sky") is None


@pytest.mark.parametrize("distance", [2.0, 10.0, 80.0])
def test_rows_and_distances_are_each_others_inverse_below_the_horizon_only(distance: float) -> None:
    view = Perspective(horizon=70.0, camera_height=1.5, focal=200.0)
    row = view.row(distance)
    assert row == pytest.approx(70 + 300 / distance)
    assert view.distance(row) == pytest.approx(distance)
    # A person of 1.8 m reaches above the horizon, which is 1.5 m high wherever one looks.
    assert view.pixels(1.8, row) == pytest.approx(1.8 / 1.5 * (row - 70))
    assert view.metres(view.pixels(1.8, row), row) == pytest.approx(1.8)
    assert view.distance(70.0) == view.distance(70 - 300 / distance) == math.inf
    assert view.pixels(1.8, 60.0) == 0
