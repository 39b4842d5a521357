"""Drives that were recorded, by where they lie."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.driving.drives import Drive


def drives_in(places: Sequence[Path]) -> Iterator[tuple[Path, Drive]]:
    """Yield the drives of folders and where each lies; a folder of folders stands for all drives in it.

    Raises:
        InputError: There is no drive in a place.
    """
    from roadworthy.driving.drives.readers import read_drive
    from roadworthy.driving.drives.readers.recorded import DRIVE_FILE

    for place in places:
        if place.is_file() or (place / DRIVE_FILE).is_file():
            yield place, read_drive(str(place))
            continue
        found = sorted(place.rglob(DRIVE_FILE)) if place.is_dir() else []
        if not found:
            raise InputError(f"{place}: found no drive: expected {DRIVE_FILE}, as `driving drive` writes it")
        for file in found:
            yield file.parent, read_drive(str(file.parent))
