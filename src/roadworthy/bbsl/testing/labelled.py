"""Ground truth without images: labels are enough to test recorded detections."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from roadworthy.errors import InputError
from roadworthy.frames import Boxes, Frame


class _BoxLabels(Protocol):
    """A data set that knows the boxes of a frame without its image, such as `KittiDataset`."""

    @property
    def name(self) -> str: ...

    @property
    def ids(self) -> tuple[str, ...]: ...

    def __len__(self) -> int: ...

    def boxes(self, index: int, /) -> Boxes: ...


class LabelledFrames:
    """A data set of black frames with the boxes of another that has no images.

    Args:
        labels: The data set that knows the boxes.
        width: The width of the frames.
        height: Their height. Where y is turned, this is what counts.

    Example:
        >>> class One:
        ...     name, ids = "one", ("000007",)
        ...     def __len__(self) -> int:
        ...         return 1
        ...     def boxes(self, index: int) -> Boxes:
        ...         return Boxes([[1, 2, 3, 4]], ["car"])
        >>> data = LabelledFrames(One(), 1242, 375)
        >>> len(data), data[0]
        (1, Frame('000007', 1242x375, 1 boxes))
    """

    def __init__(self, labels: _BoxLabels, width: int, height: int) -> None:
        if width < 1 or height < 1:
            raise InputError(f"the size of the frames must be 1x1 or more, got {width}x{height}")
        self._labels = labels
        # One black pixel that is looked at everywhere: frames without images take no memory.
        self._black = np.broadcast_to(np.zeros((1, 1, 3), np.uint8), (height, width, 3))

    @property
    def name(self) -> str:
        """What the data set is called in rows and reports."""
        return self._labels.name

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the frames, in order."""
        return tuple(self._labels.ids)

    def __len__(self) -> int:
        return len(self._labels)

    def __getitem__(self, index: int, /) -> Frame:
        return Frame(self.ids[index], self._black, boxes=self._labels.boxes(index))

    def __iter__(self) -> Iterator[Frame]:
        return (self[index] for index in range(len(self)))
