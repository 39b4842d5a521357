"""The world looks as it looked when the networks that come with the package were trained on it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.looks import NEAR, apart, kept, look_of

from roadworthy.world import Camera, Conditions, Scene, add, frame_of, make_scene

KEPT = Path(__file__).with_name("looks.json")
CAMERA = Camera(width=240, height=120)


def crowded(scene: Scene, *things: str) -> Scene:
    places = ("sidewalk", "lane", "oncoming lane", "kerb", "verge", "road edge")
    for number, thing in enumerate(things):
        side = "left" if number % 3 == 2 and places[number % 6] != "lane" else "right"
        scene = add(scene, thing, ahead=9.0 + 4 * number, place=places[number % 6], side=side)
    return scene


def look(scene: Callable[[], Scene]) -> dict[str, Any]:
    frame = frame_of(scene(), CAMERA)
    assert frame.labels is not None
    assert frame.depth is not None
    assert frame.boxes is not None
    boxes = zip(frame.boxes.classes, np.round(frame.boxes.xyxy, 1).tolist(), strict=True)
    signals = {name: round(value, 3) for name, value in frame.signals.as_dict().items()}
    return {
        "image": look_of(frame.image),
        "pixels": {name: int(count) for name, count in sorted(frame.labels.present().items())},
        "depth": round(float(np.log(frame.depth[np.isfinite(frame.depth)]).mean()), 4),
        "boxes": sorted([name, *box] for name, box in boxes),
        "signals": signals,
    }


def at(track: str, s: float, weather: str, time: str, season: str, *things: str, **others: Any) -> Any:
    return partial(
        look,
        lambda: crowded(
            make_scene(
                track, s, seed=int(s), conditions=Conditions(weather, time=time, season=season), **others
            ),
            *things,
        ),
    )


LOOKS = {
    "a summer's day in town": at("town", 40, "sunny", "day", "summer"),
    "dusk in town": at("town", 180, "cloudy", "dusk", "autumn", "pedestrian", "school bus", "red light"),
    "rain at night": at("town", 320, "rainy", "night", "spring", "truck", "bicyclist", "yield sign"),
    "snow in the mountains": at("mountain", 90, "snowy", "day", "winter", "bicyclist", "car", "truck"),
    "fog in the meadows": at("meadow", 150, "foggy", "day", "spring", "pedestrian", "speed limit sign"),
    "a winter's night": at("mountain", 260, "sunny", "night", "winter", "car", "car", "school bus"),
    "rain in autumn": at("meadow", 330, "rainy", "day", "autumn", "pedestrian", "van", "green light"),
    "dusk": at("mountain", 400, "sunny", "dusk", "summer", "stop sign", "tree", "building"),
    "off the middle of the lane": at("town", 500, "cloudy", "day", "winter", d=2.4, yaw=0.12, scenery=2),
    "much traffic": at("meadow", 20, "snowy", "dusk", "winter", traffic=4.0),
}  # fmt: skip


@pytest.mark.parametrize("name", LOOKS)
def test_a_scene_looks_as_it_did(name: str) -> None:
    before, now = kept(KEPT)[name], LOOKS[name]()
    assert apart(before["image"], now["image"]) <= NEAR
    assert before["signals"] == pytest.approx(now["signals"], abs=0.005)
    assert before["depth"] == pytest.approx(now["depth"], abs=0.001)
    assert before["pixels"] == pytest.approx(now["pixels"], abs=3)
    assert [one[0] for one in before["boxes"]] == [one[0] for one in now["boxes"]]
    for one, other in zip(before["boxes"], now["boxes"], strict=True):
        assert one[1:] == pytest.approx(other[1:], abs=0.25)
