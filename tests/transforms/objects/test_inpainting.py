"""Pixels that fit an edited label map, where closed forms say what they must be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from roadworthy.errors import NotApplicable
from roadworthy.transforms.objects.inpainting import Gap, base_of, filled
from roadworthy.transforms.objects.remove import completed
from roadworthy.transforms.perspective import Perspective

CLASSES = ("void", "road", "line", "sky", "building", "sidewalk", "vehicle", "pole", "terrain")
ROAD, LINE, SKY, BUILDING, SIDEWALK, VEHICLE, POLE, TERRAIN = range(1, 9)
VIEW = Perspective(horizon=20.0, camera_height=1.4, focal=80.0)
Image = NDArray[np.uint8]
Ids = NDArray[np.uint8]


def painted(image: Image, before: Ids, after: Ids, where: NDArray[np.bool_], seed: int = 0) -> Image:
    gap = Gap(where.astype(np.float32), after, VIEW)
    return filled(image, before, CLASSES, gap, np.random.default_rng(seed))[0]


def road_with_line(width: int = 120, height: int = 80) -> tuple[Ids, Ids, NDArray[np.bool_]]:
    """A road below a sky, with a line that narrows with distance: before, after, and where the line was."""
    rows, columns = np.mgrid[0:height, 0:width]
    before = np.where(rows < 20, SKY, ROAD).astype(np.uint8)
    line = (rows >= 22) & (abs(columns - width / 2) < 1 + (rows - 20) / 12)
    after = before.copy()
    before[line] = LINE
    return before, after, line


def test_a_plain_road_is_plain_again() -> None:
    before, after, line = road_with_line()
    image = np.full((*before.shape, 3), (90, 92, 95), np.uint8)
    image[before == SKY] = (150, 180, 220)
    image[line] = 240
    found = painted(image, before, after, line)
    assert np.abs(found[line].astype(int) - (90, 92, 95)).max() <= 1
    assert np.array_equal(found[~line], image[~line])


def test_light_that_changes_slowly_goes_on() -> None:
    before, after, line = road_with_line()
    rows, columns = np.mgrid[0 : before.shape[0], 0 : before.shape[1]]
    truth = np.stack([40 + rows, 60 + rows * 0.5 + columns * 0.3, 50 + columns * 0.5], axis=2).astype(
        np.uint8
    )
    image = truth.copy()
    image[line] = 255
    error = np.abs(painted(image, before, after, line)[line].astype(int) - truth[line])
    assert error.mean() < 3
    assert error.max() < 10


def test_texture_stays_as_strong_as_it_is_beside() -> None:
    before, after, line = road_with_line(200, 120)
    noise = np.random.default_rng(3).normal(0, 9, before.shape)
    image = np.clip(100 + noise, 0, 255)[..., None].repeat(3, axis=2).astype(np.uint8)
    image[line] = 250
    found = painted(image, before, after, line)
    beside = image[(before == ROAD)].std()
    assert 0.75 < found[line].std() / beside < 1.25
    assert found[line].mean() == pytest.approx(image[before == ROAD].mean(), abs=2)


def test_the_ground_is_copied_from_its_own_row() -> None:
    before, after, line = road_with_line()
    image = np.random.default_rng(1).integers(80, 120, (*before.shape, 3)).astype(np.uint8)
    gap = Gap(line.astype(np.float32), after, VIEW)
    _, origin = filled(image, before, CLASSES, gap, np.random.default_rng(0))
    rows = np.nonzero(line)[0]
    assert np.array_equal(origin[line] // before.shape[1], rows)
    assert (before.ravel()[origin[line]] == ROAD).all()
    assert (origin[~line] == -1).all()


def test_nothing_is_copied_from_another_class() -> None:
    # A red wall beside a grey road: no red on the road, no grey on the wall.
    before = np.full((60, 90), ROAD, np.uint8)
    before[:30] = BUILDING
    image = np.where(before[..., None] == ROAD, (90, 90, 90), (180, 40, 40)).astype(np.uint8)
    hole = np.zeros(before.shape, np.bool_)
    hole[15:45, 30:60] = True
    after = before.copy()
    before[hole] = VEHICLE
    image[hole] = (0, 0, 255)
    found = painted(image, before, after, hole)
    assert np.abs(found[hole & (after == ROAD)].astype(int) - 90).max() <= 2
    assert np.abs(found[hole & (after == BUILDING)].astype(int) - (180, 40, 40)).max() <= 2


def test_sky_gets_the_noise_of_the_sky_but_not_its_wires() -> None:
    before = np.full((60, 90), SKY, np.uint8)
    image = np.clip(np.random.default_rng(0).normal(170, 3, (60, 90, 3)), 0, 255).astype(np.uint8)
    image[::7] = 60  # wires
    hole = np.zeros(before.shape, np.bool_)
    hole[20:40, 30:60] = True
    after = before.copy()
    before[hole] = BUILDING
    found = painted(image, before, after, hole)[hole]
    assert 1.5 < found.std() < 7
    assert found.min() > 120


def test_a_class_that_is_nowhere_else_cannot_be_painted() -> None:
    before = np.full((40, 40), ROAD, np.uint8)
    after = before.copy()
    hole = np.zeros(before.shape, np.bool_)
    hole[10:20, 10:20] = True
    after[hole] = SIDEWALK
    image = np.full((40, 40, 3), 77, np.uint8)
    with pytest.raises(NotApplicable, match="nothing in the frame shows what would be seen there instead"):
        painted(image, before, after, hole)
    after[10:20, 10:16] = ROAD
    assert np.array_equal(painted(image, before, after, hole), image)
    assert np.array_equal(painted(image, before, after, np.zeros_like(hole)), image)


def test_opacity_mixes() -> None:
    before, after, line = road_with_line()
    image = np.full((*before.shape, 3), 100, np.uint8)
    image[line] = 200
    gap = Gap(line.astype(np.float32) * 0.5, after, VIEW)
    found = filled(image, before, CLASSES, gap, np.random.default_rng(0))[0]
    assert np.abs(found[line].astype(int) - 150).max() <= 1


@given(st.integers(0, 10**6))
def test_the_base_of_one_colour_is_that_colour_everywhere(seed: int) -> None:
    rng = np.random.default_rng(seed)
    height, width = rng.integers(2, 70, 2)
    source = rng.random((height, width)) < 0.2
    source[rng.integers(height), rng.integers(width)] = True
    image = np.full((height, width, 3), (30.0, 60.0, 90.0), np.float32)
    image[~source] = 255
    assert np.abs(base_of(image, source) - (30, 60, 90)).max() < 0.01


def test_behind_a_car_lie_road_and_wall_and_a_pole_stands_on_the_ground() -> None:
    ids = np.full((80, 120), BUILDING, np.uint8)
    ids[:8] = SKY
    ids[40:] = SIDEWALK
    ids[44:] = ROAD
    ids[10:42, 60] = POLE
    car = np.zeros(ids.shape, np.bool_)
    car[28:56, 45:75] = True
    ids[car] = VEHICLE
    found = completed(ids, CLASSES, car, Perspective(34.0, 1.4, 90.0))
    assert set(np.unique(found[28:36, 45:58])) == {BUILDING}
    assert set(np.unique(found[50:56, 45:75])) == {ROAD}
    assert set(np.unique(found[38:44, 46:56])) <= {BUILDING, SIDEWALK, ROAD}
    assert (found[28:38, 60] == POLE).all()
    assert found[55, 60] == ROAD
    assert np.array_equal(found[~car], ids[~car])


def test_there_is_no_sky_below_the_horizon_nor_road_above_it() -> None:
    ids = np.full((60, 60), SKY, np.uint8)
    ids[30:] = ROAD
    gone = np.zeros(ids.shape, np.bool_)
    gone[10:50, 20:40] = True
    ids[gone] = VEHICLE
    found = completed(ids, CLASSES, gone, Perspective(30.0, 1.4, 60.0))
    assert (found[:29] == SKY).all()
    assert (found[32:] == ROAD).all()


def test_paint_covers_the_ground_beside_it() -> None:
    ids = np.full((40, 60), ROAD, np.uint8)
    ids[:, 40:] = SIDEWALK
    paint = np.zeros(ids.shape, np.bool_)
    paint[:, 10:14] = paint[:, 50:54] = True
    found = completed(ids, CLASSES, paint, VIEW, "paint")
    assert np.array_equal(found, ids)
    ids[paint] = LINE
    assert (completed(ids, CLASSES, paint, VIEW, "paint")[:, 10:14] == ROAD).all()


@pytest.mark.parametrize("width", [800, 801, 1201])
def test_a_pole_in_the_last_column_goes_on_behind_a_thing(width: int) -> None:
    ids = np.full((60, width), ROAD, np.uint8)
    ids[:20] = SKY
    ids[4:24, -2:] = POLE
    ids[14:40, -30:] = VEHICLE
    found = completed(ids, CLASSES, ids == VEHICLE, VIEW)
    assert (found[14:20, -2:] == POLE).all()
    assert (found[30:40, -2:] == ROAD).all()
