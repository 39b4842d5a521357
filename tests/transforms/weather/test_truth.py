"""Beside the world's own render of the same scenes under the other conditions, which no transform sees."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from roadworthy.frames import Frame
from roadworthy.transforms import make_transform
from roadworthy.world import Camera, Scene, frame_of, make_scene, with_conditions

CAMERA = Camera(320, 160)
PLACES = [("town", 230.0), ("town", 610.0), ("meadow", 420.0), ("mountain", 610.0)]
CONDITIONS = {
    "fog": {"weather": "foggy", "level": "normal"},
    "rain": {"weather": "rainy", "level": "normal"},
    "snow": {"weather": "snowy", "level": "normal"},
    "cloudy": {"weather": "cloudy", "level": "normal"},
    "dusk": {"time": "dusk"},
    "night": {"time": "night"},
    "winter": {"season": "winter"},
}
# The world's lens is dry.
SETTINGS: dict[str, dict[str, float]] = {"rain": {"lens": 0}}
PARTS = {
    "all": (),
    "sky": ("sky",),
    "road": ("road",),
    "verge": ("terrain", "sidewalk"),
    "things": ("object", "pole"),
}


@pytest.fixture(scope="module")
def scenes() -> list[Scene]:
    return [make_scene(track, s, seed=1) for track, s in PLACES]


def difference(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Between local means: where single drops and flakes are makes no difference."""
    means = [np.asarray(cv2.blur(image.astype(np.float32), (9, 9))) for image in (one, other)]
    return np.asarray(np.abs(means[0] - means[1]).mean(axis=2))


def left(name: str, scenes: list[Scene], *, known: bool) -> dict[str, float]:
    """How much of the unchanged frames' distance to the renders the changed frames still have."""
    before, after = dict.fromkeys(PARTS, 0.0), dict.fromkeys(PARTS, 0.0)
    for scene in scenes:
        clear = frame_of(scene, CAMERA)
        assert clear.labels is not None
        truth = frame_of(with_conditions(scene, **CONDITIONS[name]), CAMERA).image
        given = (
            clear if known else Frame("image", clear.image, metadata={"weather": "sunny", "track": "town"})
        )
        changed = make_transform(name, **SETTINGS.get(name, {}))(given, 1, measure=False).image
        for part, classes in PARTS.items():
            where = clear.labels.mask(*classes) if classes else np.s_[:]
            before[part] += float(difference(clear.image, truth)[where].sum())
            after[part] += float(difference(changed, truth)[where].sum())
    return {part: after[part] / before[part] for part in PARTS}


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("fog", 0.2),
        ("rain", 0.35),
        ("snow", 0.4),
        ("cloudy", 0.5),
        ("dusk", 0.4),
        ("night", 0.3),
        ("winter", 0.55),
    ],
)
def test_it_comes_much_nearer_to_the_render_than_the_unchanged_frame(
    name: str, most: float, scenes: list[Scene]
) -> None:
    found = left(name, scenes, known=True)
    assert found["all"] < most
    if name == "snow":
        del found["road"]  # as bright as before under half of the snow, and the wind's patches lie elsewhere
    if name == "winter":
        del found["sky"]  # the sun stands lower in the render; the transform leaves the sky alone
    assert max(found.values()) < 0.8, found


@pytest.mark.parametrize("name", CONDITIONS)
def test_the_image_alone_comes_nearer_too(name: str, scenes: list[Scene]) -> None:
    assert left(name, scenes, known=False)["all"] < 0.75
