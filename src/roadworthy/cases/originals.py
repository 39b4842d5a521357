"""The frames of a data set as cases ask for them: read where they are needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from roadworthy.cases.methods import Dataset
from roadworthy.cases.requirements import FrameSource
from roadworthy.errors import InputError, NotApplicable
from roadworthy.frames import Frame

__all__ = ["Original", "originals"]


@dataclass(frozen=True, eq=False)
class Original:
    """A frame of a data set, read in whichever process wants it; the last few are kept.

    Two are equal that stand for the same frame of the same data set, whether that can be hashed or not.

    Attributes:
        data: The data set.
        index: Which of its frames.
    """

    data: Dataset
    index: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Original) and self.data is other.data and self.index == other.index

    def __hash__(self) -> int:
        return hash((id(self.data), self.index))

    def __call__(self) -> Frame:
        """Return the frame.

        Raises:
            NotApplicable: It cannot be read, and the data set says that such frames are skipped.
        """
        try:
            return _read(self)
        except InputError as error:
            if getattr(self.data, "on_error", "raise") == "skip":
                raise NotApplicable("the frame cannot be read") from error
            raise


# A frame is changed in several ways one after another: it need not be read for each of them.
@lru_cache(maxsize=4)
def _read(original: Original) -> Frame:
    return original.data[original.index]


def originals(data: Dataset) -> Iterator[tuple[str, FrameSource]]:
    """Yield the frames of a data set with their ids; those that have ids beforehand are read where needed.

    Example:
        >>> from roadworthy.datasets import load
        >>> [(id, make().id) for id, make in originals(load("world:town", count=1))]
        [('town-000000', 'town-000000')]
    """
    ids: Sequence[str] | None = getattr(data, "ids", None)
    if ids is None:
        yield from ((frame.id, frame) for frame in data)
        return
    for index, id in enumerate(ids):
        yield id, Original(data, index)
