"""What is estimated where labels and depth are missing, beside what the world knows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from roadworthy.datasets import load
from roadworthy.frames import Frame, LabelMap
from roadworthy.transforms.weather._estimates import vanishing_row
from roadworthy.transforms.weather._scene import WeatherScene
from roadworthy.world import TRACK_NAMES, Camera, frame_of, make_scene


@pytest.fixture(scope="module")
def frames() -> list[Frame]:
    places = [(track, s) for track in TRACK_NAMES for s in (40.0, 230.0, 420.0, 610.0)]
    return [frame_of(make_scene(track, s, seed=1), Camera(480, 240)) for track, s in places]


def overlap(one: np.ndarray, other: np.ndarray) -> float:
    return float((one & other).sum() / max((one | other).sum(), 1))


def estimates(frames: list[Frame]) -> Iterator[tuple[Frame, WeatherScene]]:
    for frame in frames:
        yield frame, WeatherScene(Frame("image", frame.image))


def test_the_sky_is_found_without_labels(frames: list[Frame]) -> None:
    found = [overlap(guess.sky > 127, frame.labels.mask("sky")) for frame, guess in estimates(frames)]  # type: ignore[union-attr]
    assert np.mean(found) > 0.85
    assert min(found) > 0.6


def test_the_sky_of_real_frames_is_found_without_labels(real_data: Path) -> None:
    data = load(f"camvid:{real_data / 'camvid'}")
    frames = [data[index] for index in range(0, len(data), 30)]
    seen = [frame for frame in frames if frame.labels is not None and frame.labels.mask("sky").mean() > 0.02]
    found = [overlap(guess.sky > 127, frame.labels.mask("sky")) for frame, guess in estimates(seen)]  # type: ignore[union-attr]
    assert np.median(found) > 0.75


def test_distances_without_depth_are_about_right(frames: list[Frame]) -> None:
    """On the road, in logarithms: a factor of 1.5 is 0.4."""
    for known in (False, True):
        errors = []
        for frame in frames:
            assert frame.labels is not None
            assert frame.depth is not None
            guess = WeatherScene(Frame("image", frame.image, frame.labels if known else None))
            road = frame.labels.mask("road") & (frame.depth < 60)
            errors.append(np.abs(np.log(guess.distance[road] / frame.depth[road])).mean())
        assert np.mean(errors) < (0.25 if known else 0.4)


def test_lines_tell_the_horizon_where_they_agree() -> None:
    rows, columns = np.mgrid[0:120, 0:240]
    below = rows - 50.0
    image = np.where(rows > 50, 90, 200).astype(np.uint8)
    for slope in (-2.2, -0.7, 0.0, 0.9, 2.4):
        image[(below > 2) & (np.abs(columns - 120 - slope * below) < 1.5 + 0.02 * below)] = 240
    found = vanishing_row(np.repeat(image[..., None], 3, axis=2))
    assert found == pytest.approx(50, abs=4)
    assert vanishing_row(np.full((120, 240, 3), 128, np.uint8)) is None


def test_known_depth_is_taken_as_it_is(frames: list[Frame]) -> None:
    frame = frames[0]
    assert frame.depth is not None
    assert np.array_equal(WeatherScene(frame).distance, np.minimum(frame.depth, 5000))


def test_depth_alone_tells_the_sky(frames: list[Frame]) -> None:
    frame = frames[0]
    assert frame.labels is not None
    alone = WeatherScene(Frame("image", frame.image, depth=frame.depth))
    assert overlap(alone.sky > 127, frame.labels.mask("sky")) > 0.95


def test_holes_between_leaves_are_sky() -> None:
    image = np.full((64, 64, 3), (120, 170, 230), np.uint8)
    image[20:40] = (30, 60, 20)
    image[25:28, 30:33] = (120, 170, 230)
    image[40:] = 90
    ids = np.zeros((64, 64), np.uint8)
    ids[20:40], ids[40:] = 1, 2
    sky = WeatherScene(Frame("tree", image, LabelMap(ids, ("sky", "tree", "road")))).sky
    assert sky[26, 31] == 255
    assert sky[34, 31] == 0


def test_classes_of_a_users_own_are_found_by_what_is_above_them() -> None:
    """Label maps may have more than 256 classes, and other ones than ours."""
    ids = np.array([[0, 300], [1, 2]], np.uint16).repeat(8, 0).repeat(8, 1)
    classes = ("sky", "road", "vehicle", *["void"] * 298)
    scene = WeatherScene(Frame("a", np.zeros((16, 16, 3), np.uint8), LabelMap(ids, classes)))
    mask = scene.mask("object")
    assert mask is not None
    assert (mask[::8, ::8] > 0).tolist() == [[False, False], [False, True]]
