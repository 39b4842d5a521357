from __future__ import annotations

import pytest

from roadworthy.frames import Frame
from roadworthy.world import Camera, add, frame_of, make_scene


@pytest.fixture(scope="session")
def town() -> Frame:
    """A frame of the world with everything known, things on both sides of the road among it."""
    scene = make_scene("town", s=560, seed=5, traffic=1.6)
    for ahead, side in ((9, "right"), (14, "left")):
        scene = add(scene, "pedestrian", ahead=ahead, side=side)
    scene = add(scene, "red car", ahead=16, place="lane")
    return frame_of(scene, Camera(320, 160))
