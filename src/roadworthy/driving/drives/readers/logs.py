"""Drives from data sets: whichever knows what the vehicle did at its frames is a log."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from roadworthy.datasets import load
from roadworthy.driving.drives.drive import SIGNALS, Drive
from roadworthy.errors import FrameError, InputError, check_known
from roadworthy.frames import Signals
from roadworthy.registry import datasets

_OTHERS = {"mcap": "bag"}  # names of formats that are not those of their readers
_OF_VEHICLE = ("speed", "steering", "acceleration", "throttle", "brake")
REST = "rest"
"""What the piece of a drive is called that is left when others of one length have been cut off."""


def is_log(source: str) -> bool:
    """Return whether a source names a data set."""
    name, colon, _ = source.partition(":")
    return bool(colon) and name in (*_OTHERS, *datasets.names())


def read_log(
    source: str,
    *,
    drive: str = "",
    gap: float = 1.0,
    cut_seconds: float | None = None,
    cut_metres: float | None = None,
    **options: Any,
) -> Drive:
    """Return what a data set knows about its drives; no image is read where signals are known without.

    Speed, steering, acceleration, pedals and time are in our units, as the data set gives them; so are
    further numbers, such as a position, that have the name of a signal. Metres driven are added up from the
    speed. Several drives, scenes or routes follow one another as sectors, with a gap in between.

    Args:
        source: The data set: `comma2k19:FOLDER`, `bag:FILE` or `mcap:FILE`, `nuscenes:FOLDER` and so on.
        drive: Only this one of its drives.
        gap: Rows further apart than this many seconds have a gap between them.
        cut_seconds: Cut each drive into sectors this long, and a rest.
        cut_metres: Likewise.
        options: What the reader of the data set takes.

    Raises:
        InputError: It cannot be read, has no such drive, or knows no time or nothing about the vehicle.
    """
    found = _drives(source, gap, options)
    if drive:
        check_known(f"{source} has no drive", drive, found)
        found = {drive: found[drive]}
    parts = [cut(one, cut_seconds, cut_metres) for one in found.values()]
    if len(parts) == 1:
        return parts[0]
    names: list[str] = []
    numbers = []
    for name, one in zip(found, parts, strict=True):
        numbers.append(one.sectors + len(names))
        whole = one.sector_names == ("1",)
        names += [name] if whole else [f"{name} {piece}" for piece in one.sector_names]
    starts = np.cumsum([0.0, *(one.duration + 2 * gap for one in parts[:-1])])
    columns = {
        name: [one.signals.get(name, np.full(len(one), math.nan)) for one in parts] for name in SIGNALS
    }
    driven = np.cumsum([0.0, *(np.nan_to_num(one[-1]) for one in columns["distance"][:-1])])
    columns["distance"] = [one + before for one, before in zip(columns["distance"], driven, strict=True)]
    signals = {name: np.concatenate(values) for name, values in columns.items()}
    return Drive(
        source,
        np.concatenate([one.time + start for one, start in zip(parts, starts, strict=True)]),
        {name: values for name, values in signals.items() if np.isfinite(values).any()},
        sectors=np.concatenate(numbers),
        sector_names=names,
        gap=gap,
        notes=[f"{name}: {note}" for name, one in found.items() for note in one.notes],
    )


def cut(drive: Drive, cut_seconds: float | None = None, cut_metres: float | None = None) -> Drive:
    """Return a drive in pieces of one length and, if anything is left, a rest; as it is without a length.

    Raises:
        InputError: Both lengths are given, one is not above 0, or metres are not known.
    """
    if cut_seconds is not None and cut_metres is not None:
        raise InputError("give --cut-seconds or --cut-metres, not both")
    if cut_seconds is not None:
        pieces, along = drive.cut_by_time(cut_seconds), drive.time - drive.time[0]
    elif cut_metres is not None:
        pieces, along = drive.cut_by_length(cut_metres), drive.signals["distance"]
    else:
        return drive
    known = along[np.isfinite(along)]
    steps = np.diff(known, prepend=known[:1])
    # The last piece is whole where the row after it would be in the next.
    last = known[-1] + np.array([0.0, min(steps[-1], 2 * np.median(steps))])
    if np.ptp(np.floor(last / (cut_seconds or cut_metres) + 1e-9)):
        return pieces
    return replace(pieces, sector_names=(*pieces.sector_names[:-1], REST))


def _drives(source: str, gap: float, options: Mapping[str, Any]) -> dict[str, Drive]:
    name, _, path = source.partition(":")
    data = load(f"{_OTHERS.get(name, name)}:{path}", **options)
    clusters: Sequence[str] = getattr(data, "clusters", [source] * len(data))
    if len(set(clusters)) == len(data):
        clusters = [source] * len(data)  # it knows of no drives
    signals = getattr(data, "signals", lambda number: data[number].signals)
    rows: dict[str, list[Signals]] = {}
    broken: dict[str, list[str]] = {}
    for number, cluster in enumerate(clusters):
        try:
            rows.setdefault(cluster, []).append(signals(number))
        except FrameError as error:
            broken.setdefault(cluster, []).append(str(error))
    for cluster, told in broken.items():
        if not rows[cluster]:
            raise InputError(f"{source}: no row of {cluster} can be read: {told[0]}")
    if not any(name in _numbers(row) for drive in rows.values() for row in drive for name in _OF_VEHICLE):
        raise InputError(
            f"{source} knows neither speed nor steering nor any other signal of the vehicle, by which a "
            f"drive is measured: where {name!r} has options for their topics, columns or files, give them"
        )
    return {name: _drive(name, drive, gap, broken.get(name, ())) for name, drive in rows.items() if drive}


def _numbers(row: Signals) -> dict[str, float]:
    found = {**row.extra, **{name: getattr(row, name) for name in _OF_VEHICLE}}
    return {name: value for name, value in found.items() if value is not None and name in SIGNALS}


def _drive(name: str, rows: Sequence[Signals], gap: float, broken: Sequence[str]) -> Drive:
    told = [_numbers(row) for row in rows]
    known = list(dict.fromkeys(name for row in told for name in row))
    time = [math.nan if row.timestamp is None else row.timestamp for row in rows]
    signals = {name: [row.get(name, math.nan) for row in told] for name in known}
    drive = Drive.repaired(name, time, signals, gap=gap, from_zero=True, broken=broken)
    if "speed" not in drive.signals:
        return drive
    seen = np.isfinite(drive.signals["speed"])
    speed = np.interp(drive.time, drive.time[seen], drive.signals["speed"][seen])
    metres = np.cumsum([0.0, *(drive.steps[:-1] * (speed[1:] + speed[:-1]) / 2)])
    return replace(drive, signals={"distance": metres, **drive.signals})
