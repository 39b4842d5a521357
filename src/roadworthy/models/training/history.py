"""Earlier frames for networks that see them, found among the frames of a recorded drive."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from roadworthy.frames import Frame

__all__ = ["with_history"]

_LONGEST_STEP = 1.0  # seconds between frames of one drive; recordings have 10 to 30 per second


def with_history(frames: Iterable[Frame], history: int) -> Iterator[Frame]:
    """Yield those frames that have so many earlier ones.

    A frame that comes without them gets the frames that were yielded before it, if these belong to the same
    drive: they have the same ``sequence`` in their metadata, and their time stamps follow each other within a
    second. The first frames of a drive are left out.

    Args:
        frames: Frames in the order in which they were recorded.
        history: How many earlier frames a frame must have.

    Example:
        >>> import numpy as np
        >>> from roadworthy.frames import Signals
        >>> image = np.zeros((2, 2, 3), np.uint8)
        >>> drive = [Frame(f"f{n}", image, signals=Signals(timestamp=n / 20)) for n in range(4)]
        >>> [(one.id, one.previous[0].id) for one in with_history(drive, 2)]
        [('f2', 'f0'), ('f3', 'f1')]
    """
    earlier: deque[Frame] = deque(maxlen=history)
    for frame in frames:
        if len(frame.previous) >= history:
            yield frame
            continue
        if earlier and not _follows(earlier[-1], frame):
            earlier.clear()
        if len(earlier) == history:
            yield frame.replace(previous=tuple(earlier))
        earlier.append(frame)


def _follows(before: Frame, after: Frame) -> bool:
    if before.metadata.get("sequence") != after.metadata.get("sequence"):
        return False
    first, second = before.signals.timestamp, after.signals.timestamp
    return first is not None and second is not None and 0 < second - first <= _LONGEST_STEP
