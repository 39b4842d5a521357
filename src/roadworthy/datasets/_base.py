"""What every reader shares: frames by number, slices, names, and what becomes of unreadable frames."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, Self, SupportsIndex, get_args, overload

from roadworthy._frozen import FrozenDict
from roadworthy.errors import InputError
from roadworthy.frames import Frame

__all__ = ["BaseDataset", "OnError"]

OnError = Literal["raise", "skip"]


class BaseDataset(ABC):
    """Frames in a fixed order, read one at a time when they are asked for.

    A reader finds out in its constructor which frames there are and says how to read one. A slice is the
    same reader over fewer frames; nothing is read for it.

    A frame that cannot be read is an `InputError` that names its file. With ``on_error="skip"``, iteration
    leaves such frames out and `skipped` says which and why; asking for one by its index still raises, and
    the length stays that of the list, because finding out would mean to read everything. A slice and the
    data set that it was cut from share what they found out; a copy in another process has its own record.

    Args:
        name: What the data set is called in rows and reports.
        ids: The ids of all frames, in order, each one once.
        on_error: What iteration does with a frame that cannot be read.

    Raises:
        InputError: Two frames have the same id.

    Example:
        >>> import numpy as np
        >>> class Grey(BaseDataset):
        ...     def read(self, number: int) -> Frame:
        ...         if number == 30:
        ...             raise InputError("grey-30.png is cut short")
        ...         return Frame(self.all_ids[number], np.full((2, 2, 3), number, np.uint8))
        >>> data = Grey("grey", [f"grey-{level}" for level in range(100)], on_error="skip")
        >>> data[-1]
        Frame('grey-99', 2x2)
        >>> part = data[10:40:10]
        >>> part.name, part.ids
        ('grey[10:40:10]', ('grey-10', 'grey-20', 'grey-30'))
        >>> [frame.id for frame in part], dict(part.skipped)
        (['grey-10', 'grey-20'], {'grey-30': 'grey-30.png is cut short'})
    """

    def __init__(self, name: str, ids: Sequence[str], *, on_error: OnError = "raise") -> None:
        if on_error not in get_args(OnError):
            raise InputError(f"on_error must be 'raise' or 'skip', got {on_error!r}")
        self._name = name
        self.all_ids = ids
        self.on_error = on_error
        self._numbers = range(len(ids))
        self._reasons: dict[int, str] = {}
        if len(set(ids)) < len(ids):
            twice, times = Counter(ids).most_common(1)[0]
            raise InputError(f"{name}: ids of frames must differ, got {times} frames with the id {twice!r}")

    @abstractmethod
    def read(self, number: int) -> Frame:
        """Return the frame with this number in the whole data set, whatever slice this is.

        Raises:
            InputError: The frame cannot be read; the message names the file.
        """

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

    @property
    def skipped(self) -> Mapping[str, str]:
        """The frames that iteration has left out so far: id and reason, in order of the frames."""
        reasons = sorted(self._reasons.items(), reverse=self._numbers.step < 0)
        return FrozenDict(
            {self.all_ids[number]: reason for number, reason in reasons if number in self._numbers}
        )

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
        return map(self.read, self._numbers) if self.on_error == "raise" else self._readable()

    def _readable(self) -> Iterator[Frame]:
        for number in self._numbers:
            try:
                frame = self.read(number)
            except InputError as error:
                self._reasons[number] = str(error)
            else:
                # The file may have been mended since an earlier pass.
                self._reasons.pop(number, None)
                yield frame

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {len(self)} frames)"
