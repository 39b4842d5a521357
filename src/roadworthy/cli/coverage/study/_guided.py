"""Images that a guided search has found, for the oracle to judge."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from roadworthy.cli.coverage._suites import StoredImage, check_searched, stored_images
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.cli.coverage.study._inputs import SeedImages
    from roadworthy.frames import Frame
    from roadworthy.papers.deeptest.deviation import DeviationStudy, Finding


_PAIR = ("guided", "")


class GuidedImages:
    """The images of a search, each with the id of its seed image; read when they are looked at.

    Args:
        run: The folder that the search wrote.
        seeds: Of the data set that it searched.

    Raises:
        InputError: The folder is no run, has no images, or is of other data.
    """

    def __init__(self, run: Path, seeds: SeedImages) -> None:
        from roadworthy.runs import read_rows

        ids = getattr(seeds.data, "ids", None)
        if ids is None:
            raise InputError(f"{seeds.data.name} does not name its frames, so no search can be matched to it")
        self._places = {id: number for number, id in enumerate(ids)}
        found = stored_images(run)
        self._unseen = sum(row["status"] == "passed" and not row["images"] for row in read_rows(run))
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
            yield one.original, self._read(one)

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

    def image_of(self, study: DeviationStudy, finding: Finding) -> Frame:
        """Return the image that a finding is about."""
        (answers,) = (one for one in study.answers if one.model == finding.model)
        seeds = answers.seeds[_PAIR]
        mine = np.array([answers.frames[place] == finding.worst.frame for place in seeds])
        # Of several images of one seed image, the error tells which it is.
        return self._read(
            self._images[int(np.flatnonzero(mine & (answers.errors(_PAIR) == finding.worst.error))[0])]
        )

    def _read(self, one: StoredImage) -> Frame:
        from roadworthy.frames import Frame

        return Frame.from_file(one.file, id=one.case)
