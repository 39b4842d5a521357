"""Which recorded drives there are below the folders that were given."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from roadworthy.driving.drives.readers.recorded import DRIVE_FILE
from roadworthy.web.folders import file_below

__all__ = ["find_drives"]

_DEPTH = 4
_MOST = 500


def find_drives(folder: Path) -> dict[str, Path]:
    """Return the folders of recorded drives below a folder, by their paths in it; "." is the folder itself.

    No more than 500 are returned, none deeper than four folders, and none that lies elsewhere in truth.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Path(folder, "good", "town").mkdir(parents=True)
        ...     _ = Path(folder, "good", "town", "drive.parquet").write_bytes(b"")
        ...     list(find_drives(Path(folder)))
        ['good/town']
    """
    found: dict[str, Path] = {}
    for place in _folders(folder):
        name = place.relative_to(folder).as_posix()
        if file_below(folder, f"{name}/{DRIVE_FILE}") is not None:
            found[name] = place
            if len(found) == _MOST:
                break
    return found


def _folders(folder: Path) -> Iterator[Path]:
    for place, names, _ in os.walk(folder):
        # In order, so that the same ones are found every time; a run's images and rows hold no drives.
        names[:] = sorted(one for one in names if one not in ("images", "cases") and not one.startswith("."))
        here = Path(place)
        if len(here.relative_to(folder).parts) >= _DEPTH:
            names.clear()
        yield here
