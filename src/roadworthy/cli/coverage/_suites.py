"""Images that a run has stored, as data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.frames import Frame

__all__ = ["StoredImage", "Suite", "stored_images"]

_FAILING = ("violated", "error")
_ORIGINAL = ("param.seed", "param.frame", "param.seed_frame", "param.original")
_LEVELS = 4  # how far above a run the images may lie that it shares with others


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

    Where a case has several images the last is the changed one: the original stands before it.

    Raises:
        InputError: The folder is no run, or has no images.
    """
    from roadworthy.runs import image_path, read_rows

    images = _images_of(folder)
    found: dict[str, StoredImage] = {}
    for row in read_rows(folder):
        hashes = str(row["images"] or "").split()
        if not hashes:
            continue
        # A transform adds what it did to the id of the frame, after a tilde.
        named = (str(row[name]) for name in _ORIGINAL if isinstance(row.get(name), str))
        original = next(named, str(row["case"])).partition("~")[0]
        file = image_path(images, hashes[-1])
        if hashes[-1] not in found:
            failing = str(row["status"]) in _FAILING
            found[hashes[-1]] = StoredImage(str(row["case"]), original, failing, file)
    if not found:
        raise InputError(f"the run {folder} has stored no images: run it again with images of all cases")
    return list(found.values())


def _images_of(folder: Path) -> Path:
    place = folder
    for _ in range(_LEVELS):
        if (place / "images").is_dir():
            return place / "images"
        place = place.parent
    return folder / "images"


class Suite:
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
