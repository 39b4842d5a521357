"""Seed images drawn from a data set, and images that a guided search made of them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from roadworthy.cases import Dataset
from roadworthy.errors import InputError
from roadworthy.frames import Frame, SignalUnits
from roadworthy.frames.frame import with_history
from roadworthy.runs.changed_images import StoredImage, check_searched, stored_images
from roadworthy.runs.store import StoredRun
from roadworthy.seeding import rng_for

if TYPE_CHECKING:
    from roadworthy.papers.deeptest.deviation import DeviationFinding, DeviationStudy

_PAIR = ("guided", "")


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

    @classmethod
    def draw(
        cls,
        data: Dataset,
        sample: int,
        *,
        part: str | None,
        seed: int,
        history: int = 0,
        count: int | None = None,
    ) -> SeedImages:
        """Draw some frames of a data set at random; all of them where the sample is 0.

        Args:
            data: The data set.
            sample: How many.
            part: Only frames with these numbers, written FROM:TO.
            seed: The same seed draws the same.
            history: How many earlier frames they need.
            count: How many frames the data was asked to make, where it is made.

        Raises:
            InputError: There are no frames, or the part cannot be read.
        """
        chosen = _part(part, len(data))
        if not chosen:
            where = "" if part is None else f" among {part}"
            raise InputError(f"{data.name} has no frames{where}: it has {len(data)}")
        numbers = tuple(chosen)
        if sample and sample < len(chosen):
            drawn = rng_for(seed, "seed images").choice(len(chosen), sample, replace=False)
            numbers = tuple(chosen[one] for one in sorted(drawn.tolist()))
        return cls(data, numbers, history, count)

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
        found = getattr(self.data, "units", None)
        return found if isinstance(found, SignalUnits) else SignalUnits()

    def notes(self) -> list[str]:
        """Return what a reader should know about the frames, a sentence each."""
        if not self.left_out:
            return []
        number, reason = next(iter(self.left_out.items()))
        return [f"{len(self.left_out)} frames were left out; the first is number {number}: {reason}"]

    def about(self, models: Iterable[str], seed: int) -> dict[str, Any]:
        """Return what a study was made of."""
        return {
            "data": self.data.name,
            "seed_images": len(self) - len(self.left_out),
            "seed": seed,
            "models": list(models),
            "notes": self.notes(),
        }


def _part(text: str | None, total: int) -> range:
    if text is None:
        return range(total)
    found = re.fullmatch(r"\s*(-?\d*)\s*:\s*(-?\d*)\s*", text)
    if found is None or "-" in found.groups():
        raise InputError(f"--frames is written FROM:TO, such as 3600: or 0:900, got {text!r}")
    start, stop = (int(one) if one else None for one in found.groups())
    return range(total)[start:stop]


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
        """The ids of the frames, in order; None where these are all of the data.

        Raises:
            InputError: The data does not tell them.
        """
        data = self._images.data
        if len(self) == len(data):
            return None
        if (known := getattr(data, "ids", None)) is None:
            raise InputError(
                f"{data.name} does not list frame ids, so none can be drawn: --sample 0 takes all"
            )
        return [known[number] for number in self._numbers]

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, place: int, /) -> Frame:
        frame = self._images.read(self._numbers[place])
        assert frame is not None  # it could be read before
        return frame

    def __iter__(self) -> Iterator[Frame]:
        return map(self.__getitem__, range(len(self)))


class GuidedImages:
    """The images of a search, each with the id of its seed image; read when they are looked at.

    Args:
        run: The folder that the search wrote.
        seeds: Of the data set that it searched.

    Raises:
        InputError: The folder is no run, has no images, or is of other data.
    """

    def __init__(self, run: Path, seeds: SeedImages) -> None:
        ids = getattr(seeds.data, "ids", None)
        if ids is None:
            raise InputError(f"{seeds.data.name} does not name its frames, so no search can be matched to it")
        self._places = {id: number for number, id in enumerate(ids)}
        found = stored_images(run)
        rows = StoredRun.open(run).rows()
        self._unseen = sum(row["status"] == "passed" and not row["images"] for row in rows)
        self._images: list[StoredImage] = [one for one in found if one.original in self._places]
        self._strange = len(found) - len(self._images)
        if not self._images:
            raise InputError(
                f"{run} has {len(found)} images, and none is of a frame of {seeds.data.name}: expected a "
                f"search on this data; the first is of {found[0].original!r}"
            )
        check_searched(run, seeds.data)

    def __iter__(self) -> Iterator[tuple[str, Frame]]:
        for one in self._images:
            yield one.original, Frame.from_file(one.file, id=one.case)

    def with_originals(self, seeds: SeedImages) -> SeedImages:
        """Return the seed images together with those of the search."""
        own = {self._places[one.original] for one in self._images}
        return dataclasses.replace(seeds, numbers=tuple(sorted(own.union(seeds.numbers))))

    def notes(self) -> list[str]:
        """Return what a reader should know, a sentence each."""
        notes = []
        if self._strange:
            notes.append(f"{self._strange} images of the search are of frames that are not in the data")
        if self._unseen:
            notes.append(
                f"{self._unseen} tries that passed have no stored image, so the violations are no share of "
                "what the search tried: search with --images all"
            )
        return notes

    def image_of(self, study: DeviationStudy, finding: DeviationFinding) -> Frame:
        """Return the image that a finding is about."""
        (answers,) = (one for one in study.answers if one.model == finding.model)
        mine = np.array([answers.frames[place] == finding.worst.frame for place in answers.seeds[_PAIR]])
        # Of several images of one seed image, the error tells which it is.
        one = self._images[int(np.flatnonzero(mine & (answers.errors(_PAIR) == finding.worst.error))[0])]
        return Frame.from_file(one.file, id=one.case)
