"""Drives from files, one module per format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from roadworthy._frozen import FrozenDict
from roadworthy._options import checked_options
from roadworthy.driving.drives.drive import Drive
from roadworthy.driving.drives.readers.commonroad import read_commonroad
from roadworthy.driving.drives.readers.logs import cut, is_log, read_log
from roadworthy.driving.drives.readers.recorded import DRIVE_FILE, is_recorded, read_recorded, write_drive
from roadworthy.driving.drives.readers.simulator_logs import read_donkey, read_udacity_sim
from roadworthy.driving.drives.readers.tables import read_table
from roadworthy.errors import InputError, suggest

__all__ = ["FORMATS", "drives_in", "read_drive", "read_recorded", "read_typed", "write_drive"]

FORMATS: Mapping[str, Callable[..., Drive]] = FrozenDict(
    {
        "udacity-sim": read_udacity_sim,
        "donkey": read_donkey,
        "commonroad": read_commonroad,
        "table": read_table,
        "drive": read_recorded,
    }
)
"""The readers by the name of what they read."""


def read_drive(source: str, **options: Any) -> Drive:
    """Read a drive, spelt format:path.

    Args:
        source: `udacity-sim:driving_log.csv`, `donkey:tub`, `commonroad:scenario.xml` or `table:log.csv`; a
            table is CSV or Parquet and needs a mapping of its columns. A drive that Roadworthy recorded is
            `drive:` and its file or folder, or these alone. Any data set that knows what the vehicle did is
            a log, too: `comma2k19:FOLDER`, `mcap:FILE`, `nuscenes:FOLDER`.
        options: What the reader of the format takes.

    Raises:
        InputError: There is no such format or file, or the file is broken.
    """
    name, colon, path = source.partition(":")
    if name not in FORMATS and is_recorded(source):
        name, path = "drive", source
    elif name not in FORMATS and is_log(source):
        return read_log(source, **options)
    elif not colon or name not in FORMATS:
        raise InputError(f"expected format:path for a drive, got {source!r}: {suggest(name, FORMATS)}")
    try:
        return FORMATS[name](path, **options)
    except TypeError as error:
        raise InputError(f"{source}: {error}: see what {FORMATS[name].__name__} takes") from None


def read_typed(source: str, given: Mapping[str, Any]) -> Drive:
    """Read a drive with options as they are typed; `cut_seconds` and `cut_metres` go with any source.

    Raises:
        InputError: It cannot be read, or an option cannot be used.
    """
    name = source.partition(":")[0]
    logged = name not in FORMATS and is_log(source)
    ours = ("cut_seconds", "cut_metres", *(("drive", "gap") if logged else ()))
    own: dict[str, Any] = checked_options(name, read_log, {key: given[key] for key in ours if key in given})
    options = {key: value for key, value in given.items() if key not in ours}
    if logged:
        return read_drive(source, **options, **own)
    if name in FORMATS:
        options = checked_options(name, FORMATS[name], options)
    elif options:
        raise InputError(f"options belong to a format: write format:path before them, got {source!r}")
    return cut(read_drive(source, **options), **own)


def drives_in(places: Sequence[Path]) -> Iterator[tuple[Path, Drive]]:
    """Yield the drives of folders and where each lies; a folder of folders stands for all drives in it.

    Raises:
        InputError: There is no drive in a place.
    """
    for place in places:
        if place.is_file() or (place / DRIVE_FILE).is_file():
            yield place, read_drive(str(place))
            continue
        found = sorted(place.rglob(DRIVE_FILE)) if place.is_dir() else []
        if not found:
            raise InputError(f"{place}: found no drive: expected {DRIVE_FILE}, as `driving drive` writes it")
        for file in found:
            yield file.parent, read_drive(str(file.parent))
