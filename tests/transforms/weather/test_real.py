"""Weather on real frames: what it follows, what stays lit, and when nobody would believe it."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from roadworthy.errors import NotApplicable
from roadworthy.frames import Frame, LabelMap
from roadworthy.labelling import estimated_by
from roadworthy.transforms import make_transform
from roadworthy.transforms.weather._estimates import believed
from roadworthy.transforms.weather._scene import WeatherScene
from roadworthy.transforms.weather.night import lit_lights

CLASSES = ("void", "sky", "road", "tree", "vehicle", "building", "terrain")
ESTIMATED = {"labels_from": "street (estimated)", "depth_from": "street (estimated)"}


def street(**known: object) -> Frame:
    """A road to the horizon between woods, under a bright sky, with depth by the plane of the road."""
    rng = np.random.default_rng(2)
    height, width, horizon = 120, 160, 50
    ids = np.full((height, width), 3, np.uint8)
    ids[:25] = 1
    ids[horizon:] = 2
    colours = np.array([(0, 0, 0), (200, 205, 215), (100, 100, 102), (40, 60, 30), (0, 0, 0)], np.float64)
    image = colours[ids] + rng.normal(0, 6, (height, width, 3)) * (ids == 3)[..., None]
    below = np.maximum(np.arange(height) + 0.5 - horizon, 1.0)[:, None]
    depth = np.where(ids == 1, np.inf, np.where(ids == 2, 110 * 1.45 / below, 60)).astype(np.float32)
    depth = np.broadcast_to(depth, ids.shape).copy()
    image = np.clip(image, 0, 255).astype(np.uint8)
    return Frame("dash", image, LabelMap(ids, CLASSES), depth=depth, **known)  # type: ignore[arg-type]


def test_fog_takes_more_the_farther_away() -> None:
    frame = street(metadata=ESTIMATED)
    made = make_transform("fog", patches=0, overcast=0)(frame, 1, measure=False)
    grey = [cv2.cvtColor(one.image, cv2.COLOR_RGB2GRAY).astype(int) for one in (frame, made)]
    lifted = (grey[1] - grey[0])[52:118].mean(axis=1)
    assert np.all(np.diff(cv2.blur(lifted[:, None], (1, 5)).ravel()) < 0.5)
    assert lifted[0] > 60 > 20 > lifted[-1]


def test_who_knows_nothing_but_the_image_says_so() -> None:
    frame = street().replace(labels=None, depth=None)
    assert estimated_by(make_transform("rain")(frame, 1).metadata).startswith("low realism")
    assert "realism" not in make_transform("rain")(street(), 1).metadata
    drawn = frame.replace(metadata={"track": "town"})
    assert "realism" not in make_transform("rain")(drawn, 1).metadata


def with_ground(rows: slice, grey: int) -> Frame:
    frame = street()
    image = frame.image.copy()
    image[rows] = grey
    return frame.replace(image=image)


@pytest.mark.parametrize("name", ["fog", "rain", "snow", "night"])
def test_glare_and_black_ground_show_no_other_weather(name: str) -> None:
    for rows, grey, reason in ((slice(100, 120), 255, "too harsh"), (slice(60, 120), 8, "ground is black")):
        with pytest.raises(NotApplicable, match=reason):
            make_transform(name)(with_ground(rows, grey), 1)


def test_winter_is_made_by_name_alone() -> None:
    with pytest.raises(NotApplicable, match="painted on real frames"):
        make_transform("winter")(street(), 1)
    made = make_transform("winter", realism="any")(street(), 1, measure=False)
    assert made.metadata["season"] == "winter"


@pytest.mark.parametrize("colour", [(60, 240, 150), (250, 40, 40)], ids=["green", "red"])
def test_a_light_that_is_lit_stays_lit_at_night(colour: tuple[int, int, int]) -> None:
    frame = street()
    image = frame.image.copy()
    image[30:42, 70:78] = 15
    image[38:41, 72:76] = colour
    lit = make_transform("night")(frame.replace(image=image), 1, measure=False).image
    assert lit[38:41, 72:76].max(axis=2).min() > 0.6 * max(colour)
    assert lit[45:48, 72:76].max() < 60


def test_many_vivid_spots_are_leaves_and_no_lamps() -> None:
    frame = street()
    image: NDArray[np.uint8] = frame.image.copy()
    image[28:48:3, 4:156:5] = (250, 60, 20)
    assert not lit_lights(WeatherScene(frame.replace(image=image))).any()


def test_woods_that_a_network_takes_for_sky_are_woods() -> None:
    frame = street(metadata=ESTIMATED)
    ids = frame.label_map.ids.copy()
    ids[30:48, 20:60] = 1
    wrong = frame.replace(labels=LabelMap(ids, CLASSES))
    found = believed(wrong)
    assert found.label_map.mask("tree")[30:48, 20:60].mean() > 0.9
    assert found.label_map.mask("sky")[:20].all()
    own = wrong.replace(metadata={})
    assert believed(own) is own


def test_what_stands_up_gets_no_snow() -> None:
    frame = street(metadata=ESTIMATED)
    ids, depth = frame.label_map.ids.copy(), frame.label_map.ids.astype(np.float32)
    ids[50:100, :40] = 6
    depth = np.asarray(frame.depth).copy()
    hedge = frame.replace(
        labels=LabelMap(ids, CLASSES), depth=np.where(ids == 6, 4.0, depth).astype(np.float32)
    )
    meadow = frame.replace(labels=LabelMap(ids, CLASSES))
    snow = make_transform("snow", flakes=0, haze=0, overcast=0)
    bright = [snow(one, 1, measure=False).image[60:80, 5:30].mean() for one in (meadow, hedge)]
    assert bright[0] > bright[1] + 30
