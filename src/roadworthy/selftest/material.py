"""What faults are seeded into: frames of the built-in world, and systems that answer frame by frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from roadworthy.cases import Prediction
from roadworthy.datasets import BaseDataset, load
from roadworthy.frames import Frame
from roadworthy.models import FrameFunction

__all__ = ["Frames", "answering", "world_frames"]


class Frames(BaseDataset):
    """A data set of frames that are there already.

    Example:
        >>> import numpy as np
        >>> data = Frames("two", [Frame(id, np.zeros((2, 2, 3), np.uint8)) for id in "ab"])
        >>> data.ids, data[-1]
        (('a', 'b'), Frame('b', 2x2))
    """

    def __init__(self, name: str, frames: Sequence[Frame]) -> None:
        super().__init__(name, [frame.id for frame in frames])
        self._frames = tuple(frames)

    def read(self, number: int) -> Frame:
        """Return a frame."""
        return self._frames[number]


@lru_cache(maxsize=8)
def world_frames(count: int, seed: int, size: str = "160x80") -> Frames:
    """Return frames of the built-in world, which are drawn once.

    Example:
        >>> world_frames(2, 0, "32x16").ids
        ('town-000000', 'town-000001')
    """
    return Frames("town", list(load("world:town", count=count, seed=seed, size=size, traffic=3)))


def answering(answer: Callable[[Frame], Prediction]) -> FrameFunction:
    """Return a system under test that answers frame by frame.

    Example:
        >>> from roadworthy.frames import Signals
        >>> answering(lambda frame: Signals(speed=8.0)).predict(list(world_frames(2, 0, "32x16")))[0].speed
        8.0
    """
    return FrameFunction("seeded", lambda frames: [answer(frame) for frame in frames])
