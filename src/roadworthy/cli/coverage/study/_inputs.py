"""What the studies take in: networks, and seed images drawn from a data set."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from roadworthy.cli.options import history_of, opened
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.cases import Dataset
    from roadworthy.frames import Frame, SignalUnits
    from roadworthy.models import SystemUnderTest


@dataclass
class SeedImages:
    """Some frames of a data set, with the earlier frames that the networks want, read one at a time.

    Attributes:
        data: The data set.
        numbers: Which of its frames, in order.
        history: How many earlier frames they need.
        count: How many frames the data was asked to make, where it is made.
        left_out: The frames that could not be used, with the reason, once they were read.
    """

    data: Dataset
    numbers: tuple[int, ...]
    history: int = 0
    count: int | None = None
    left_out: dict[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[Frame]:
        for number in self.numbers:
            if (frame := self.read(number)) is not None:
                yield frame

    def read(self, number: int) -> Frame | None:
        """Return a frame, or None where it cannot be used and the data set skips such frames.

        Raises:
            InputError: It cannot be read.
        """
        from roadworthy.training import with_history

        try:
            frame = self.data[number]
            if len(frame.previous) >= self.history:
                return frame
            before = (self.data[one] for one in range(max(0, number - self.history), number))
            found = [one for one in with_history([*before, frame], self.history) if one.id == frame.id]
        except InputError as error:
            if getattr(self.data, "on_error", "raise") == "raise":
                raise
            self.left_out[number] = str(error)
            return None
        if not found:
            self.left_out[number] = f"there are no {self.history} frames right before it"
            return None
        return found[0]

    @property
    def units(self) -> SignalUnits:
        """The native units of the data set; ours where it declares none."""
        from roadworthy.frames import SignalUnits

        found = getattr(self.data, "units", None)
        return found if isinstance(found, SignalUnits) else SignalUnits()

    def notes(self) -> list[str]:
        """Return what a reader should know about the frames, a sentence each."""
        if not self.left_out:
            return []
        number, reason = next(iter(self.left_out.items()))
        return [f"{len(self.left_out)} frames were left out; the first is number {number}: {reason}"]


def seed_images(
    reference: str,
    options: list[str] | None,
    systems: Sequence[SystemUnderTest],
    *,
    sample: int,
    part: str | None,
    seed: int,
) -> SeedImages:
    """Open a data set and draw seed images from it.

    Raises:
        InputError: There are no frames, or a number is out of range.
    """
    from roadworthy.seeding import rng_for

    if sample < 0:
        raise InputError(f"--sample must be 0 or more, got {sample}")
    history = max((history_of(one) or 0 for one in systems), default=0)
    # Data that is made is made in the number that is used.
    count = sample if sample and part is None else None
    data = opened(reference, options, count=count, history=history or None)
    chosen = _part(part, len(data))
    if not chosen:
        where = "" if part is None else f" among {part}"
        raise InputError(f"{data.name} has no frames{where}: it has {len(data)}")
    if sample and sample < len(chosen):
        drawn = rng_for(seed, "seed images").choice(len(chosen), sample, replace=False)
        return SeedImages(data, tuple(chosen[one] for one in sorted(drawn.tolist())), history, count)
    return SeedImages(data, tuple(chosen), history, count)


def _part(text: str | None, total: int) -> range:
    if text is None:
        return range(total)
    found = re.fullmatch(r"\s*(-?\d*)\s*:\s*(-?\d*)\s*", text)
    if found is None or "-" in found.groups():
        raise InputError(f"--frames is written FROM:TO, such as 3600: or 0:900, got {text!r}")
    start, stop = (int(one) if one else None for one in found.groups())
    return range(total)[start:stop]
