"""Frames that are not as usual: things at the border, a grey camera, a fisheye lens, 4K, one frame alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.transforms.objects.conftest import CLASSES, Street

from roadworthy.datasets import ChosenFrames
from roadworthy.errors import NotApplicable
from roadworthy.frames import Frame, LabelMap
from roadworthy.labelling import as_needed
from roadworthy.transforms import make_transform
from roadworthy.transforms.objects.harvesting import own_things

WithThing = Callable[[Frame, str, tuple[int, int, int, int]], Frame]
ADD = make_transform("add", element="pedestrian", realism="any")
REMOVE = make_transform("remove", element="vehicle", realism="any")


@pytest.mark.parametrize("box", [(0, 90, 40, 130), (280, 90, 320, 130), (130, 120, 190, 160)])
def test_a_thing_that_touches_the_border_goes_whole(
    street: Street, with_thing: WithThing, box: tuple[int, int, int, int]
) -> None:
    left, top, right, bottom = box
    frame = with_thing(street(), "vehicle", box)
    made = REMOVE(frame, 1, measure=False)
    assert not made.label_map.mask("vehicle").any()
    red, _, blue = made.image[top:bottom, left:right].reshape(-1, 3).mean(axis=0)
    assert blue < 1.3 * red, "the thing was blue, the ground is grey and green"
    kept = ~REMOVE.region(frame, 1)  # type: ignore[attr-defined]
    assert np.array_equal(made.image[kept], frame.image[kept])


@pytest.mark.parametrize("change", [ADD, REMOVE])
def test_a_grey_camera_stays_grey(street: Street, with_thing: WithThing, change: object) -> None:
    frame = with_thing(street(), "vehicle", (150, 84, 180, 102))
    grey = np.repeat(frame.image.mean(axis=2, keepdims=True).astype(np.uint8), 3, axis=2)
    made = change(frame.replace(image=grey), 3, measure=False).image  # type: ignore[operator]
    assert (made != grey).any()
    assert np.ptp(made.astype(int), axis=2).max() == 0


def fisheye(frame: Frame) -> tuple[Frame, np.ndarray]:
    """Return a frame as a fisheye lens shows it: nothing outside a circle, and where that is."""
    rows, columns = np.mgrid[: frame.height, : frame.width]
    outside = np.hypot(columns - frame.width / 2, (rows - frame.height / 2) * 1.6) > 0.47 * frame.width
    ids, image = frame.label_map.ids.copy(), frame.image.copy()
    ids[outside], image[outside] = CLASSES.index("void"), 0
    return frame.replace(image=image, labels=LabelMap(ids, CLASSES)), outside


def test_nobody_stands_where_a_fisheye_shows_nothing(street: Street) -> None:
    frame, outside = fisheye(street())
    placed = 0
    for seed in range(12):
        try:
            made = ADD(frame, seed, measure=False)
        except NotApplicable:
            continue
        placed += 1
        assert not (made.label_map.mask("pedestrian") & outside).any()
        assert np.array_equal(made.image[outside], frame.image[outside])
    assert placed >= 6


def test_people_and_holes_of_a_4k_frame_are_as_large_as_those_of_a_small_one(
    street: Street, with_thing: WithThing
) -> None:
    small, large = street(), street(3840, 1920, horizon=816.0)
    heights = [
        np.count_nonzero(made.label_map.mask("pedestrian").any(axis=1)) / made.height
        for made in (ADD.replace(distance=9.0)(one, 3, measure=False) for one in (small, large))
    ]
    assert heights[1] == pytest.approx(heights[0], rel=0.2)
    made = REMOVE(with_thing(large, "vehicle", (1800, 1008, 2160, 1224)), 1, measure=False).image
    hole = made[1008:1224, 1800:2160].astype(int)
    assert hole[..., 2].mean() < 1.2 * hole[..., 0].mean()


def test_a_data_set_of_one_frame_gets_people_that_ship(street: Street) -> None:
    class OneFrame:
        name, ids = "one", ("street",)

        def __len__(self) -> int:
            return 1

        def __getitem__(self, number: int) -> Frame:
            return street()

    data = ChosenFrames("one", OneFrame(), (0,), estimator=as_needed)  # type: ignore[arg-type]
    (frame,) = data
    things = own_things(frame.siblings)
    assert (len(things.gallery), things.horizon(frame)) == (0, None)
    added = ADD(frame, 3, measure=False).metadata["added"]
    assert str(added[0]["cut_out"]).startswith("solid-pedestrian")  # type: ignore[index]
