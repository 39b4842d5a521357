"""Seed images as a data set: what a search changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.cases import Dataset
    from roadworthy.cli.coverage.study._inputs import SeedImages
    from roadworthy.frames import Frame, SignalUnits


class Seeds:
    """The seed images that can be used, read when they are asked for.

    Args:
        images: What was drawn from a data set.

    Raises:
        InputError: None can be used.
    """

    def __init__(self, images: SeedImages) -> None:
        self._images = images
        self._numbers = [number for number in images.numbers if images.read(number) is not None]
        if not self._numbers:
            raise InputError(f"{images.data.name} has no frame that can be used: {' '.join(images.notes())}")
        self.units: SignalUnits = images.units

    @property
    def name(self) -> str:
        """What they are drawn from, and how many."""
        return f"{len(self)} frames of {self._images.data.name}"

    @property
    def ids(self) -> list[str] | None:
        """The ids of the frames, in order; None where the data does not tell them, or where these are all."""
        known = getattr(self._images.data, "ids", None)
        if known is None or len(self) == len(self._images.data):
            return None
        return [known[number] for number in self._numbers]

    @property
    def hashed(self) -> Dataset:
        """What tells them from others, as a manifest has it."""
        from roadworthy.datasets import ChosenFrames

        chosen = ChosenFrames(self.name, self._images.data, self._numbers)
        return self if chosen.hashed is chosen else chosen.hashed

    @property
    def needs_more(self) -> bool:
        """Whether they have earlier frames that the reader of the data does not give by itself."""
        return len(self._images.data[self._numbers[0]].previous) < self._images.history

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, place: int, /) -> Frame:
        frame = self._images.read(self._numbers[place])
        assert frame is not None  # it could be read before
        return frame

    def __iter__(self) -> Iterator[Frame]:
        return map(self.__getitem__, range(len(self)))
