from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from roadworthy.frames import Frame, LabelMap

CLASSES = ("void", "sky", "road", "sidewalk", "terrain", "building", "vehicle", "pedestrian", "pole", "line")
Street = Callable[..., Frame]


def make_street(
    width: int = 320,
    height: int = 160,
    *,
    horizon: float = 68.0,
    half_road: float = 4.0,
    sidewalk: float = 2.0,
    camera_height: float = 1.45,
    brightness: int = 100,
) -> Frame:
    """A straight road with sidewalks and terrain beside it, seen from its middle by a camera without tilt.

    Everything about it is known in closed form: a point x metres to the right in the row y is seen in the
    column width / 2 + x · (y - horizon) / camera_height.
    """
    rows, columns = np.mgrid[0:height, 0:width] + 0.5
    below = rows - horizon
    across = np.abs((columns - width / 2) * camera_height / np.maximum(below, 1e-3))
    ids = np.where(
        below <= 0, 1, np.where(across < half_road, 2, np.where(across < half_road + sidewalk, 3, 4))
    )
    colors = np.array([(0, 0, 0), (170, 190, 220), (1, 1, 1), (1.2, 1.2, 1.15), (0.7, 1.0, 0.5)])
    image = colors[ids] * np.where(ids[..., None] >= 2, brightness, 1)
    image += ((rows * 7 + columns * 13) % 5)[..., None]
    return Frame(
        "street", image.clip(0, 255).astype(np.uint8), labels=LabelMap(ids.astype(np.uint8), CLASSES)
    )


@pytest.fixture(scope="session")
def street() -> Street:
    """Makes streets that are known in closed form."""
    return make_street


def _with_thing(frame: Frame, name: str, box: tuple[int, int, int, int]) -> Frame:
    assert frame.labels is not None
    left, top, right, bottom = box
    ids, image = frame.labels.ids.copy(), frame.image.copy()
    ids[top:bottom, left:right] = CLASSES.index(name)
    image[top:bottom, left:right] = (40, 40, 160)
    return frame.replace(image=image, labels=LabelMap(ids, CLASSES))


@pytest.fixture(scope="session")
def with_thing() -> Callable[[Frame, str, tuple[int, int, int, int]], Frame]:
    """Puts a thing into a frame: a box of one class."""
    return _with_thing
