"""Every transform draws what it drew: results that were recorded with it stay comparable."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from tests.looks import NEAR, apart, kept, look_of

from roadworthy.errors import NotApplicable
from roadworthy.frames import Frame
from roadworthy.registry import transforms
from roadworthy.transforms import kind_of, parse_transform
from roadworthy.world import Camera, Conditions, add, frame_of, make_scene

KEPT = Path(__file__).with_name("looks.json")
MORE = (
    "contrast(gain=1.6, pivot=black)", "rotation(angle=-7)", "translation(x=12, y=-9)", "rain:light",
    "snow:heavy",
    "add(element=pedestrian)", "add(element=truck)", "add(element=traffic sign)", "remove(element=car)",
    "remove(element=pedestrian)", "replace(element=building, by=tree)", "remove(element=lane line)",
)  # fmt: skip


def street() -> Frame:
    scene = make_scene("town", 120, seed=5, conditions=Conditions("sunny", time="day"))
    for what, ahead, place in (("car", 14.0, "oncoming lane"), ("pedestrian", 11.0, "sidewalk")):
        scene = add(scene, what, ahead=ahead, place=place)
    return frame_of(scene, Camera(width=240, height=120), id="street")


def look(text: str) -> str:
    kind = kind_of(text) if text in transforms.names() else None
    change = parse_transform(text) if kind is None else kind.at(0.6) if kind.has_amount() else kind()
    try:
        return look_of(change(street(), 11, measure=False).image)
    except NotApplicable as error:
        return error.reason


LOOKS = {name: partial(look, name) for name in (*transforms.names(), *MORE)}


@pytest.mark.parametrize("name", LOOKS)
def test_a_change_looks_as_it_did(name: str) -> None:
    before, now = kept(KEPT)[name], LOOKS[name]()
    assert len(before) == len(now), (before, now)
    assert before == now or apart(before, now) <= NEAR
