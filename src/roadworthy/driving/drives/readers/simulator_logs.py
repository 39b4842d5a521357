"""Logs that the simulators of Donkey and Udacity write."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from roadworthy._files import parse_json, read_json, read_text
from roadworthy.datasets.udacity import logged_signals
from roadworthy.driving.drives.drive import Drive
from roadworthy.errors import FrameError, InputError
from roadworthy.frames import Signals, SignalUnits

_RECORD = re.compile(r"record_(\d+)\.json$")
_CATALOG = re.compile(r"^catalog_(\d+)\.catalog$")
_FULL_LOCK = 16.0  # degrees at the wheels in the simulator


def read_donkey(
    path: str | PathLike[str],
    *,
    full_lock: float = _FULL_LOCK,
    half_lane: float | None = None,
    gap: float = 1.0,
) -> Drive:
    """Return the drive of a tub: steering, throttle, brake, and speed and lateral position where it has them.

    What was driven is taken: the pilot's answer in the modes local and local_angle, else the user's. A
    negative throttle is the brake. Records that were deleted, in Donkey's own tools, are left out: they are
    still in the catalogs, and the manifest of the tub lists them.

    Args:
        path: The folder with the records, `record_1.json` and so on, or with `catalog` files of one JSON
            object a line.
        full_lock: The degrees at the wheels that steering 1 stands for.
        half_lane: Metres from the middle of the lane to its markings; with it, a cross-track error beyond is
            a line crossing.
        gap: Rows further apart than this many seconds have a gap between them.

    Raises:
        InputError: There are no records, none can be used, or the manifest cannot be read.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise InputError(f"{folder}: expected the folder of a Donkey tub")
    deleted = _deleted(folder / "manifest.json")
    rows, broken, left_out = [], [], 0
    for name, index, record in _records(folder):
        if index in deleted:
            left_out += 1
            continue
        try:
            rows.append(_row(record))
        except (OverflowError, ValueError) as error:
            broken.append(f"{name}: {error}")
    if not rows:
        wrong = f"; the first: {broken[0]}" if broken else f"; {left_out} are deleted" if left_out else ""
        raise InputError(f"{folder}: found no record_*.json and no catalog that can be used{wrong}")
    columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    time = columns.pop("time")
    columns["steering"] = SignalUnits(steering=full_lock).decode_steering(columns["steering"])
    throttle = columns["throttle"]
    columns["throttle"], columns["brake"] = np.maximum(throttle, 0.0), np.maximum(-throttle, 0.0)
    known = {name: values for name, values in columns.items() if np.isfinite(values).any()}
    events = {}
    if half_lane is not None and "lane_offset" in known:
        events["line crossing"] = np.abs(known["lane_offset"]) > half_lane
    drive = Drive.repaired(fspath(path), time, known, events, gap=gap, from_zero=True, broken=broken)
    if not left_out:
        return drive
    return drive.with_notes([f"{left_out} records left out that the tub marks as deleted"])


def _deleted(manifest: Path) -> frozenset[int]:
    """Return the numbers of the records that a tub no longer counts: the fifth line of its manifest."""
    if not manifest.is_file():
        return frozenset()
    try:
        documents = [parse_json(line) for line in read_text(manifest).splitlines() if line.strip()]
    except ValueError as error:
        raise InputError(
            f"{manifest} must hold a line of JSON for each part of a tub's manifest: {error}; mend it, or "
            "remove it to take deleted records, too"
        ) from error
    catalogs = documents[4] if len(documents) > 4 else {}
    indexes = catalogs.get("deleted_indexes", []) if isinstance(catalogs, dict) else catalogs
    if not isinstance(indexes, list) or not all(type(index) is int for index in indexes):
        raise InputError(f"{manifest}: deleted_indexes must be a list of whole numbers, got {indexes!r:.80}")
    return frozenset(indexes)


def _records(folder: Path) -> Iterator[tuple[str, int | None, Any]]:
    """Yield the records of either version of a tub, in order: name, number in a newer one, and content."""
    for file in _numbered(folder, _RECORD):
        try:
            yield file.name, None, read_json(file)
        except InputError as error:
            yield file.name, None, InputError(str(error).replace(f"{file} ", "", 1))
    position = -1
    for file in _numbered(folder, _CATALOG):
        for number, line in enumerate(read_text(file).splitlines(), 1):
            if not line.strip():
                continue
            position += 1
            name = f"{file.name}:{number}"
            try:
                record = parse_json(line)
            except ValueError as error:
                yield name, position, error
                continue
            index = record.get("_index") if isinstance(record, dict) else None
            yield name, index if isinstance(index, int) else position, record


def _numbered(folder: Path, pattern: re.Pattern[str]) -> list[Path]:
    numbers = {file: int(match[1]) for file in folder.iterdir() if (match := pattern.search(file.name))}
    return sorted(numbers, key=numbers.__getitem__)


def _row(record: Any) -> dict[str, float]:
    if isinstance(record, Exception):
        raise ValueError(str(record))
    if not isinstance(record, dict):
        raise ValueError(f"expected an object, got a {type(record).__name__}")
    mode = record.get("user/mode", "user")
    steered = "pilot" if mode in ("local", "local_angle") else "user"
    fuelled = "pilot" if mode == "local" else "user"
    stamped = "milliseconds" if "milliseconds" in record else "_timestamp_ms"
    if record.get(stamped) is None:
        raise ValueError("expected milliseconds or _timestamp_ms")
    return {
        "time": _number(record, stamped) / 1000,
        "steering": _number(record, f"{steered}/angle"),
        "throttle": _number(record, f"{fuelled}/throttle"),
        "speed": _number(record, "speed"),
        "lane_offset": _number(record, "cte"),
    }


def _number(record: dict[str, Any], key: str) -> float:
    value = record.get(key)
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"expected a number for {key}, got {value!r}")
    return float(value)


def read_udacity_sim(path: str | PathLike[str], *, gap: float = 1.0) -> Drive:
    """Return the drive of a driving_log.csv: speed, steering, throttle and brake, timed by the images' names.

    Rows that cannot be read are left out, and the drive's notes say how many and why.

    Args:
        path: The log, or the folder in which it lies; no image is needed.
        gap: Rows further apart than this many seconds have a gap between them.

    Raises:
        InputError: There is no log, or no row of it can be used.
    """
    rows: list[Signals] = []
    broken: list[str] = []
    for row in logged_signals(fspath(path)):
        if isinstance(row, FrameError):
            broken.append(str(row))
        else:
            rows.append(row)
    if not rows:
        wrong = f"no row of the log can be used; the first: {broken[0]}" if broken else "the log has no rows"
        raise InputError(f"{path}: {wrong}")
    columns = {
        name: np.array([_known(getattr(row, name)) for row in rows])
        for name in ("speed", "steering", "throttle", "brake")
    }
    time = np.array([_known(row.timestamp) for row in rows])
    return Drive.repaired(fspath(path), time, columns, gap=gap, from_zero=True, broken=broken)


def _known(value: float | None) -> float:
    return np.nan if value is None else value
