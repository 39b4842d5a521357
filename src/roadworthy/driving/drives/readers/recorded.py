"""Drives that Roadworthy recorded: Parquet files that hold everything about a drive."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from types import UnionType
from typing import Any

import numpy as np

from roadworthy._files import naming, parse_json, replacing
from roadworthy.driving.drives.drive import Drive
from roadworthy.errors import InputError

DRIVE_FILE = "drive.parquet"
"""What the file is called in the folder of a drive."""

_KEY = b"roadworthy.drive"
_VERSION = 1
_ABOUT: dict[str, type | UnionType] = {
    "name": str,
    "sector_names": list,
    "gap": int | float,
    "notes": list,
    "ended": str,
}


def write_drive(drive: Drive, path: str | PathLike[str]) -> None:
    """Write a drive as Parquet: a column for time, for the sector and for each signal and event.

    Signals are columns of numbers, events of truth values, so that any tool can read them; names, notes and
    the rest are in the file's metadata.

    Raises:
        InputError: The file cannot be written, or a signal has the name of an event.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     driven = Drive("lap", [0.0, 0.1], {"speed": [5.0, 6.0]}, ended="crash")
        ...     write_drive(driven, f"{folder}/a.parquet")
        ...     again = read_recorded(f"{folder}/a.parquet")
        >>> again.name, again.ended, again.signals["speed"].tolist()
        ('lap', 'crash', [5.0, 6.0])
    """
    import pyarrow as pa
    from pyarrow import parquet

    target = Path(path)
    names = ["time", "sector", *drive.signals, *drive.events]
    if len(set(names)) != len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise InputError(f"drive {drive.name}: two columns cannot both be called {', '.join(twice)}")
    columns = [drive.time, drive.sectors, *drive.signals.values(), *drive.events.values()]
    about = {"version": _VERSION, **{key: getattr(drive, key) for key in (*_ABOUT, "track")}}
    table = pa.table([pa.array(np.asarray(column)) for column in columns], names=names)
    table = table.replace_schema_metadata({_KEY: json.dumps(about)})
    with replacing(target) as unfinished:
        parquet.write_table(table, unfinished)


def is_recorded(path: str | PathLike[str]) -> bool:
    """Return whether a file, or the folder that holds it, is a drive that Roadworthy recorded."""
    from pyarrow import ArrowInvalid, parquet

    file = _file(path)
    if file.suffix.lower() != ".parquet" or not file.is_file():
        return False
    try:
        return _KEY in (parquet.read_schema(file).metadata or {})
    except (OSError, ArrowInvalid):
        return False


def read_recorded(path: str | PathLike[str]) -> Drive:
    """Return a drive that Roadworthy recorded.

    Args:
        path: The file, or the folder in which it lies as drive.parquet.

    Raises:
        InputError: There is no such file, it is none of ours, or a newer Roadworthy wrote it.
    """
    import pyarrow as pa
    from pyarrow import parquet

    file = _file(path)
    try:
        table = parquet.read_table(file)
        # Also what a column says of its time zone may be no text.
        arrays = [column.to_numpy() for column in table.columns]
    except (OSError, pa.ArrowException, UnicodeDecodeError, IndexError) as error:
        raise InputError(f"{file}: cannot be read as a drive: {str(error).splitlines()[0]}") from None
    told = (table.schema.metadata or {}).get(_KEY)
    if told is None:
        raise InputError(f"{file}: not a drive recorded by Roadworthy: read it as a table with a mapping")
    about = _about(told, file)
    signals: dict[str, Any] = {}
    events: dict[str, Any] = {}
    for name, array, kind in zip(table.column_names, arrays, table.schema.types, strict=True):
        if name not in ("time", "sector"):
            (events if pa.types.is_boolean(kind) else signals)[name] = array
    columns = dict(zip(table.column_names, arrays, strict=True))
    missing = [name for name in ("time", "sector") if name not in columns]
    if missing:
        raise InputError(f"{file}: is a broken drive: it has no column {missing[0]}")
    with naming(f"{file}: is a broken drive"):
        timed = {"time": columns["time"], "sectors": columns["sector"]}
        return Drive(signals=signals, events=events, **timed, **about)


def _about(told: bytes, file: Path) -> dict[str, Any]:
    """Return what the metadata of a file says about the drive."""
    try:
        about = parse_json(told)
        version = about["version"]
        lacking = [key for key, kind in _ABOUT.items() if not isinstance(about.get(key), kind)]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"{file}: is a broken drive: its metadata cannot be read ({error!r})") from None
    if version != _VERSION:
        raise InputError(
            f"{file}: expected a drive of version {_VERSION}, got {version}: read it with the Roadworthy "
            "that wrote it"
        )
    track = about.get("track", "")  # which files of before do not have
    if lacking or not isinstance(track, str):
        raise InputError(f"{file}: is a broken drive: its metadata has no {', '.join(lacking) or 'track'}")
    return {**{key: about[key] for key in _ABOUT}, "track": track}


def _file(path: str | PathLike[str]) -> Path:
    found = Path(path)
    return found / DRIVE_FILE if found.is_dir() else found
