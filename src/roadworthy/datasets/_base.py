"""What every reader shares: access by number, slices and names."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Self, SupportsIndex, overload

from roadworthy.frames import Frame

__all__ = ["BaseDataset"]


class BaseDataset(ABC):
    """Frames in a fixed order, read one at a time when they are asked for.

    A reader finds out in its constructor which frames there are and says how to read one. A slice is the
    same reader over fewer frames; nothing is read for it.

    Args:
        name: What the data set is called in rows and reports.
        ids: The ids of all frames, in order.

    Example:
        >>> import numpy as np
        >>> class Grey(BaseDataset):
        ...     def read(self, number: int) -> Frame:
        ...         return Frame(self.all_ids[number], np.full((2, 2, 3), number, np.uint8))
        >>> data = Grey("grey", [f"grey-{level}" for level in range(100)])
        >>> data[-1]
        Frame('grey-99', 2x2)
        >>> part = data[10:40:10]
        >>> part.name, part.ids
        ('grey[10:40:10]', ('grey-10', 'grey-20', 'grey-30'))
    """

    def __init__(self, name: str, ids: Sequence[str]) -> None:
        self._name = name
        self.all_ids = ids
        self._numbers = range(len(ids))

    @abstractmethod
    def read(self, number: int) -> Frame:
        """Return the frame with this number in the whole data set, whatever slice this is."""

    @property
    def name(self) -> str:
        """What the data set is called in rows and reports; a slice says so."""
        chosen = self._numbers
        if chosen == range(len(self.all_ids)):
            return self._name
        stop = "" if chosen.stop < 0 else chosen.stop
        step = "" if chosen.step == 1 else f":{chosen.step}"
        return f"{self._name}[{chosen.start}:{stop}{step}]"

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the frames, in order."""
        return tuple(self.all_ids[number] for number in self._numbers)

    def number(self, index: SupportsIndex) -> int:
        """Return the number in the whole data set of the frame with this index; negative ones count back.

        Raises:
            IndexError: There is no such frame.
        """
        try:
            return self._numbers[index]
        except IndexError:
            raise IndexError(f"{self.name} has {len(self)} frames, got index {index!r}") from None

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, index: SupportsIndex, /) -> Frame: ...
    @overload
    def __getitem__(self, index: slice, /) -> Self: ...
    def __getitem__(self, index: SupportsIndex | slice, /) -> Frame | Self:
        if not isinstance(index, slice):
            return self.read(self.number(index))
        part = copy.copy(self)
        part._numbers = self._numbers[index]
        return part

    def __iter__(self) -> Iterator[Frame]:
        return map(self.read, self._numbers)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {len(self)} frames)"
