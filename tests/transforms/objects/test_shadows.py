"""Where the sun stands by the shadows of a frame, and how dark the ground gets: borders and ties."""

from __future__ import annotations

import numpy as np
import pytest

from roadworthy.frames import Frame, LabelMap
from roadworthy.transforms.objects.gallery import CutOut
from roadworthy.transforms.objects.placement import CutOutPlace
from roadworthy.transforms.objects.shadows import (
    _darken,
    _ramp,
    _road_level,
    _rows_per_metre,
    _vote,
    draw_shadows,
    sun_side,
)
from roadworthy.transforms.objects.surroundings import GroundSurroundings

NAMES = ("sky", "road", "pedestrian", "building")
ROWS, COLUMNS = slice(60, 100), slice(90, 110)  # 40 rows: 2 to 18 pixels beside it, and the last 4 rows


def site(*shaded: tuple[int, int], level: int = 70, things: int = 1, **more: object) -> GroundSurroundings:
    """A road of 100 levels with people on it; shaded are columns beside each of them."""
    ids = np.ones((160, 600), np.uint8)
    ids[:40] = 0
    image = np.full((160, 600, 3), 100, np.uint8)
    for number in range(things):
        ids[60:100, 90 + 130 * number : 110 + 130 * number] = 2
    for start, stop in shaded:
        image[94:104, start:stop] = level
    frame = Frame("f", image, labels=LabelMap(ids, NAMES))
    return GroundSurroundings(frame.replace(**more))


@pytest.mark.parametrize(
    ("shaded", "level", "vote"),
    [
        (((60, 90),), 71, -1),
        (((60, 90),), 73, 0),
        (((110, 140),), 71, 1),
        (((60, 90), (110, 140)), 50, 0),
        ((), 0, 0),
    ],
)
def test_a_shadow_is_on_the_darker_side(shaded: tuple[tuple[int, int], ...], level: int, vote: int) -> None:
    assert _vote(site(*shaded, level=level), ROWS, COLUMNS) == vote


def test_what_is_not_seen_on_both_sides_tells_nothing() -> None:
    here = site((60, 90), level=30)
    assert _vote(here, ROWS, slice(17, 37)) == 0, "it would have to begin outside"
    assert _vote(here, ROWS, slice(563, 583)) == 0
    ids = here.labels.ids.copy()
    ids[96:101, 115:126] = 3  # a wall beside it: less than six tenths are road
    walled = GroundSurroundings(here.frame.replace(labels=LabelMap(ids, NAMES)))
    assert _vote(walled, ROWS, COLUMNS) == 0


@pytest.mark.parametrize(
    ("left", "right", "side"), [(2, 0, 1), (1, 0, 0), (0, 2, -1), (4, 1, 1), (3, 1, 0), (2, 2, 0), (1, 4, -1)]
)
def test_most_things_must_agree(left: int, right: int, side: int) -> None:
    shaded = [(60 + 130 * n, 90 + 130 * n) for n in range(left)]
    shaded += [(110 + 130 * n, 140 + 130 * n) for n in range(left, left + right)]
    ids = np.ones((160, 900), np.uint8)
    ids[:40] = 0
    image = np.full((160, 900, 3), 100, np.uint8)
    for number in range(left + right):
        ids[60:100, 90 + 130 * number : 110 + 130 * number] = 2
    for start, stop in shaded:
        image[94:104, start:stop] = 50
    assert sun_side(GroundSurroundings(Frame("f", image, labels=LabelMap(ids, NAMES)))) == side


def test_steps_are_smooth() -> None:
    assert _ramp(np.array([-2, -1, 0, 1, 2], np.float32)).tolist() == [0, 0, 0.5, 1, 1]
    assert _ramp(np.array([0.5], np.float32))[0] == pytest.approx(27 / 32)


def test_ground_is_foreshortened_by_the_square() -> None:
    here = site()
    horizon, scale = here.view.horizon, here.view.focal * here.view.camera_height
    assert _rows_per_metre(here, 100) == pytest.approx((100 - horizon) ** 2 / scale)
    assert _rows_per_metre(here, 0) == pytest.approx(1 / scale)


def test_only_ground_gets_darker() -> None:
    here = site()
    image, region = here.frame.image.copy(), np.zeros((160, 600), np.bool_)
    strength = np.full((10, 40), 0.25, np.float32)
    strength[0], strength[1] = 0.004, 0.005
    _darken(image, region, here, (80, 94), strength)
    assert (image[96:104, 80:90] == 75).all()
    assert (image[96:100, 90:110] == 100).all(), "the thing itself stays as it is"
    assert not region[94].any()
    assert region[95, 80:90].all()
    assert region[96:104, 110:120].all()
    assert np.count_nonzero(region) == 9 * 40 - 5 * 20


@pytest.mark.parametrize(("element", "drawn", "real"), [("pedestrian", 0.5, 0.25), ("vehicle", 0.72, 0.92)])
def test_real_shadows_are_faint_at_the_foot_of_people_and_dark_under_vehicles(
    element: str, drawn: float, real: float
) -> None:
    rgba = np.full((80, 40, 4), 255, np.uint8)
    one = CutOut("one", element, 1.7, (100.0,) * 3, pixels=rgba)
    place = CutOutPlace(one, False, (300, 70, 320, 110), (302, 318), 12.0, "right")
    for darkest, metadata in ((real, {}), (drawn, {"track": "town"})):
        here = site(things=0, metadata=metadata)
        image = here.frame.image.copy()
        draw_shadows(image, np.zeros(image.shape[:2], np.bool_), here, place, share=1.0, sun=False)
        assert image.min() == pytest.approx(100 * (1 - darkest), abs=1)


@pytest.mark.parametrize(("level", "shade"), [(60, 0.92), (30, 0.68), (10, 0.609)])
def test_in_the_dark_the_shade_under_a_real_car_is_fainter(level: int, shade: float) -> None:
    one = CutOut("one", "vehicle", 1.7, (100.0,) * 3, pixels=np.full((80, 40, 4), 255, np.uint8))
    place = CutOutPlace(one, False, (300, 70, 320, 110), (302, 318), 12.0, "right")
    here = site(things=0, image=np.full((160, 600, 3), level, np.uint8))
    image = here.frame.image.copy()
    draw_shadows(image, np.zeros(image.shape[:2], np.bool_), here, place, share=1.0, sun=False)
    assert image.min() == pytest.approx(level * (1 - shade), abs=1)


def test_how_bright_a_road_is() -> None:
    here = site((0, 600), level=40)
    assert _road_level(here) == 100
    dark = GroundSurroundings(here.frame.replace(image=np.full((160, 600, 3), 33, np.uint8)))
    assert _road_level(dark) == 33
    ids = np.zeros((160, 600), np.uint8)
    ids[100:110, :5] = 1
    assert _road_level(GroundSurroundings(here.frame.replace(labels=LabelMap(ids, NAMES)))) == 0
