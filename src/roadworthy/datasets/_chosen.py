"""Some frames of a data set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from roadworthy.cases import Dataset
from roadworthy.errors import InputError, suggest
from roadworthy.frames import Frame

__all__ = ["ChosenFrames", "sample_of", "spread"]


def spread(total: int, count: int) -> list[int]:
    """Return so many indices, or as many as there are, spread evenly.

    Example:
        >>> spread(100, 5), spread(2, 5)
        ([0, 20, 40, 60, 80], [0, 1])
    """
    shown = min(count, total)
    return [index * total // shown for index in range(shown)]


@dataclass(frozen=True, eq=False)
class ChosenFrames:
    """Some frames of a data set, under a name of one's own.

    Attributes:
        name: What they are called in rows and reports.
        data: The data set.
        indices: Which of its frames, in order.
    """

    name: str
    data: Dataset
    indices: Sequence[int]

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the frames; a data set that has none beforehand has none here either."""
        known = self.data.ids  # type: ignore[attr-defined]
        return tuple(known[index] for index in self.indices)

    @property
    def on_error(self) -> str:
        """What becomes of frames that cannot be read."""
        return getattr(self.data, "on_error", "raise")

    @property
    def units(self) -> Any:
        """The native units of the data set; None where it declares none."""
        return getattr(self.data, "units", None)

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: int, /) -> Frame:
        return self.data[self.indices[index]]

    def __iter__(self) -> Iterator[Frame]:
        for index in self.indices:
            try:
                yield self.data[index]
            except InputError:
                if self.on_error != "skip":
                    raise

    @property
    def hashed(self) -> Dataset:
        """What tells them from others: of data that is made all of it, for its recipe; else these frames."""
        from roadworthy.datasets.world import WorldDataset
        from roadworthy.datasets.world_crops import WorldCropsDataset

        return self.data if isinstance(self.data, WorldDataset | WorldCropsDataset) else self

    @classmethod
    def named(cls, name: str, data: Dataset, ids: Sequence[str]) -> ChosenFrames:
        """Return the frames with some ids, in the order of the data set.

        Raises:
            InputError: There is no such frame, or the data set cannot tell.

        Example:
            >>> from roadworthy.datasets import load
            >>> some = ChosenFrames.named("hard ones", load("world:town"), ["town-000012", "town-000007"])
            >>> some.indices
            [7, 12]
        """
        known = getattr(data, "ids", None)
        if known is None:
            raise InputError(f"{data.name} does not say the ids of its frames, so none can be named")
        places = {id: index for index, id in enumerate(known)}
        for id in ids:
            if id not in places:
                raise InputError(
                    f"{data.name} has no frame {id!r} among its {len(data)}; {suggest(id, places)}"
                )
        return cls(name, data, sorted({places[id] for id in ids}))

    def sampled(self, count: int) -> ChosenFrames:
        """Return so many of them, or as many as there are, spread evenly."""
        return ChosenFrames(self.name, self.data, [self.indices[one] for one in spread(len(self), count)])


def sample_of(data: Dataset, count: int | None) -> Dataset:
    """Return so many frames, spread evenly, under a name that says so; the data set where it has no more.

    Raises:
        InputError: It has no frames.

    Example:
        >>> from roadworthy.datasets import load
        >>> sample_of(load("world:town"), 5).name
        '5 frames of world:town'
    """
    if not len(data):
        raise InputError(f"{data.name} has no frames")
    if count is None or count >= len(data):
        return data
    return ChosenFrames(f"{count} frames of {data.name}", data, spread(len(data), count))
