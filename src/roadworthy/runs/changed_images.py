"""The changed images that a run has stored, as data; and whether a search was on these data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.cases import Dataset, Scalar
    from roadworthy.frames import Frame


_FAILING = ("violated", "error")
_ORIGINALS = "not applicable"  # a search stores its seed images as well, and there is no verdict on them
_ORIGINAL = ("param.seed", "param.frame", "param.seed_frame", "param.original")


@dataclass(frozen=True)
class StoredImage:
    """The changed image of a case.

    Attributes:
        case: The id of the case.
        original: The id of the frame that was changed.
        failing: Whether the case failed.
        file: The image.
    """

    case: str
    original: str
    failing: bool
    file: Path


def stored_images(folder: Path) -> list[StoredImage]:
    """Return the changed image of every case of a run whose image was stored, each image once.

    Where a case has several images the last is the changed one: the original stands before it. Cases without
    a verdict, such as the seed images of a search, are left out, and so are clips: what is known of a case is
    that of their first frame.

    Raises:
        InputError: The folder is no run, or has no images of single frames that were changed.
    """
    from roadworthy.runs.store import StoredRun

    run = StoredRun.open(folder)
    found: dict[str, StoredImage] = {}
    for row in run.rows():
        hashes = str(row["images"] or "").split()
        status = str(row["status"])
        unknown = status == _ORIGINALS or row.get("param.clip") is not None
        if hashes and hashes[-1] not in found and not unknown:
            file = run.image(hashes[-1])
            found[hashes[-1]] = StoredImage(str(row["case"]), _original(row), status in _FAILING, file)
    if not found:
        raise InputError(f"{folder} has no images of changed frames: run it again with images of all cases")
    return list(found.values())


def check_searched(folder: Path, data: Dataset) -> None:
    """Refuse data that are not those of a search: frames are matched by their ids, which others may have too.

    What the search says of its data must be what the data are called; and the first of its seed images that
    is stored and whose id the data have must be theirs.

    Raises:
        InputError: It is a search on other data.
    """
    from roadworthy._files import read_record
    from roadworthy.images import read_image
    from roadworthy.runs.store import StoredRun

    told = folder / "search.json"
    searched = str(read_record(dict[str, Any], told).get("data", "")) if told.is_file() else ""
    if searched and _place(searched) != _place(data.name):
        raise InputError(f"{folder} is a search on {searched}, not on {data.name}: give the data it searched")
    places = {id: number for number, id in enumerate(getattr(data, "ids", ()))}
    run = StoredRun.open(folder)
    for row in run.rows():
        place = places.get(_original(row))
        if place is None or str(row["status"]) != _ORIGINALS or not row["images"]:
            continue
        frame = data[place]
        stored = read_image(run.image(str(row["images"]).split()[-1]))
        if stored.shape != frame.image.shape or (stored != frame.image).any():
            raise InputError(
                f"frame {frame.id!r} of {data.name} is another image than the one that {folder} searched: "
                "give the data with the same options"
            )
        return


def _place(name: str) -> str:
    """Return what data are called, without the part of them that was taken."""
    whole = re.sub(r"^\d+ frames of |(\[[^\]]*\])+$", "", name)
    reader, _, path = whole.partition(":")
    try:
        return f"{reader}:{Path(path).resolve()}" if path else whole
    except ValueError:  # what no file is called
        return whole


def _original(row: Mapping[str, Scalar]) -> str:
    # A transform adds what it did to the id of the frame, after a tilde.
    named = (str(row[name]) for name in _ORIGINAL if isinstance(row.get(name), str))
    return next(named, str(row["case"])).partition("~")[0]


class ChangedImages:
    """The changed images of a run, as a data set; what is known about them is their image alone.

    Args:
        folder: The run.

    Raises:
        InputError: The folder is no run, or has no images.
    """

    def __init__(self, folder: Path) -> None:
        self.name = f"the images of {folder}"
        self._images = stored_images(folder)

    def __len__(self) -> int:
        return len(self._images)

    def __getitem__(self, index: int, /) -> Frame:
        from roadworthy.frames import Frame

        one = self._images[index]
        return Frame.from_file(one.file, id=one.case)

    def __iter__(self) -> Iterator[Frame]:
        return map(self.__getitem__, range(len(self)))
