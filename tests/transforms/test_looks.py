"""Every transform draws what it drew: results that were recorded with it stay comparable."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path

import pytest
from tests.looks import NEAR, apart, kept, look_of

from roadworthy.errors import InputError, NotApplicable
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

WEATHER = (
    "fog(amount=0.3)", "fog(visibility=20, patches=0.8, overcast=0.3)", "fog:imagenet-c-4", "rain:heavy",
    "rain(angle=-30, length=0.1, streaks=2, wetness=0.4, lens=2, haze=0.5, overcast=0.2)", "snow:light",
    "snow(angle=-20, flakes=2, cover=0.5, haze=0.3, overcast=0.4)", "snow:imagenet-c-3", "night:light",
    "night(headlights=0.4, lights=2, noise=0.3, traffic=left)", "dusk:heavy", "cloudy:light",
    "cloudy(contrast=1)", "winter:heavy", "winter(realism=any, cover=0.5, bare=0.4, cold=0.3)",
    "sun-glare(amount=1, x=0.2, y=-0.1, size=0.05, ghosts=2)", "shadow(caster=trees, side=left)",
    "shadow(caster=buildings, side=right, darkness=0.5)", "shadow(caster=poles, amount=1)",
    "spatter(material=mud, coverage=0.4, size=0.03, opacity=0.9)", "frost(scale=0.4, frost=0.8)",
)  # fmt: skip
THINGS = (
    "add(gallery=shipped, element=vehicle, relation=in front of, reference=ego-vehicle)",
    "add(gallery=shipped, element=bicyclist, side=left)", "add(gallery=shipped, distance=9, side=right)",
    "add(gallery=shipped, element=traffic light)", "add(gallery=shipped, element=stop sign, side=left)",
    "add(gallery=shipped, relation=beside, reference=vehicle)",
    "add(gallery=shipped, relation=behind, reference=vehicle)",
    "add(gallery=shipped, reference=road)", "add(gallery=shipped, element=school bus, reference=left lane)",
    "add(gallery=shipped, element=tree)", "add(gallery=shipped, element=pole, distance=9)",
    "remove(element=vehicle, realism=any)", "remove(element=tree, realism=any)",
    "remove(element=building, realism=any)", "remove:lines",
    "replace(element=tree, by=building, realism=any)", "replace(element=building, by=tree, realism=any)",
    "replace(element=vehicle, by=truck, realism=any)", "replace:vehicles-by-black-ones",
    "replace(element=line, by=dash line, realism=any)", "replace(element=line, by=yellow line, realism=any)",
    "replace(element=pedestrian, by=bicyclist, realism=any)",
)  # fmt: skip
KNOWN = {
    "all": (),
    "labels": ("depth", "boxes", "instances"),
    "nothing": ("depth", "boxes", "instances", "labels"),
}
"""What a frame that no world drew may have, and what it lacks."""


@cache
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


@cache
def real(known: str) -> Frame:
    """A frame of another size and another place that nothing tells to be of the world."""
    scene = make_scene("town", 300, seed=8, conditions=Conditions("sunny", time="day"))
    for what, ahead, place in (("red car", 21.0, "lane"), ("pedestrian", 8.0, "sidewalk")):
        scene = add(scene, what, ahead=ahead, place=place)
    frame = frame_of(scene, Camera(width=360, height=220), id="real")
    told = {name: value for name, value in frame.metadata.items() if name != "track"}
    return frame.replace(metadata=told, **dict.fromkeys(KNOWN[known]))


def look_at_real(text: str, known: str) -> str:
    try:
        return look_of(parse_transform(text)(real(known), 7, measure=False).image)
    except (InputError, NotApplicable) as error:
        return str(getattr(error, "reason", error))


LOOKS = {
    **{name: partial(look, name) for name in (*transforms.names(), *MORE)},
    **{
        f"{text} with {known}": partial(look_at_real, text, known)
        for known in KNOWN
        for text in (*WEATHER, *(THINGS if known != "nothing" else ()))
    },
}


@pytest.mark.parametrize("name", LOOKS)
def test_a_change_looks_as_it_did(name: str) -> None:
    before, now = kept(KEPT)[name], LOOKS[name]()
    assert len(before) == len(now), (before, now)
    assert before == now or apart(before, now) <= NEAR
