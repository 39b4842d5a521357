from __future__ import annotations

import numpy as np
import pytest

from roadworthy.frames import Frame, LabelMap
from roadworthy.world import Camera, add, frame_of, make_scene


@pytest.fixture(scope="session")
def town() -> Frame:
    """A frame of the world with everything known, things on both sides of the road among it."""
    scene = make_scene("town", s=560, seed=5, traffic=1.6)
    for ahead, side in ((9, "right"), (14, "left")):
        scene = add(scene, "pedestrian", ahead=ahead, side=side)
    scene = add(scene, "red car", ahead=16, place="lane")
    return frame_of(scene, Camera(320, 160))


@pytest.fixture
def frame() -> Frame:
    """A small frame of sky and road with a bright line, for engines."""
    ids = np.full((24, 32), 1, np.uint8)
    ids[:8] = 3
    ids[10:, 14:17] = 2
    image = np.full((24, 32, 3), 90, np.uint8)
    image[ids == 2] = 230
    return Frame("drive/7", image, labels=LabelMap(ids, ("void", "road", "line", "sky")))
