"""Signals recorded beside a camera: their units, and their values at the time of a frame."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from roadworthy._tables import SECONDS, Table, TimeUnit
from roadworthy.errors import InputError
from roadworthy.frames import Signals, SignalUnits

SpeedUnit = Literal["m/s", "km/h", "mph"]
SteeringUnit = float | Literal["deg", "rad"]
"""Of steering; a number is the degrees that 1 stands for."""
Side = Literal["left", "right"]
# Seconds between two values of a signal beyond which it is not known in between.
_GAP = 1.0
# Metres per second below which the way a vehicle turns tells nothing of its wheels.
_SLOWEST = 1.0
SIGNAL_COLUMNS = ("speed", "steering", "acceleration", "throttle", "brake")

Track = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Times in seconds, ascending, and the values of a signal at them."""


@dataclass(frozen=True, eq=False)
class SignalTracks:
    """Signals recorded beside a camera, each at times of its own.

    Attributes:
        tracks: Each signal by its name, in the units of the recording.
        units: These units.

    Example:
        >>> speed = np.array([0.0, 0.5]), np.array([36.0, 72.0])
        >>> tracks = SignalTracks({"speed": speed}, SignalUnits("km/h"))
        >>> tracks.at(0.25).speed, tracks.at(0.6).speed
        (15.0, None)
    """

    tracks: Mapping[str, Track]
    units: SignalUnits

    @classmethod
    def read(cls, path: Path, units: SignalUnits, time_unit: TimeUnit, offset: float) -> SignalTracks:
        """Read a CSV file with the column time and some of speed, steering and the like; blanks are unknown.

        Raises:
            InputError: It cannot be read, has no such columns, or a cell is no number.
        """
        table = Table.read(path)
        table.require("time")
        names = [name for name in SIGNAL_COLUMNS if name in table.columns]
        if not names:
            raise InputError(f"{path} needs a column {' or '.join(SIGNAL_COLUMNS)}, got {table.columns}")
        rows = range(len(table.rows))
        times = np.array([table.number(row, "time") for row in rows]) * SECONDS[time_unit] - offset
        columns = {name: [table.known(row, name) for row in rows] for name in names}
        return cls({name: track_of(times, column) for name, column in columns.items()}, units)

    def at(self, time: float | None) -> Signals:
        """Return the signals at a time, between two values by their distance; none far from any."""
        if time is None:
            return Signals()
        found: dict[str, Any] = {"timestamp": time}
        for name, (times, values) in self.tracks.items():
            after = int(np.searchsorted(times, time))
            # At the very time of a value it is known, however far the one before is.
            exact = after < len(times) and times[after] == time
            around = slice(after if exact else max(after - 1, 0), after + 1)
            near = times[around]
            if len(near) and near[0] <= time <= near[-1] and near[-1] - near[0] <= _GAP:
                found[name] = float(np.interp(time, near, values[around]))
        return Signals.from_units(self.units, **found)


def track_of(times: Sequence[float] | NDArray[np.float64], values: Sequence[float | None]) -> Track:
    """Return the known values of a signal in the order of their times."""
    known = np.array([math.nan if value is None else value for value in values], np.float64)
    stamps = np.asarray(times, np.float64)
    order = np.argsort(stamps, kind="stable")
    order = order[np.isfinite(known[order])]
    return stamps[order], known[order]


def turned_wheels(speed: float, yaw_rate: float, wheelbase: float) -> float | None:
    """Return the degrees at the wheels, positive to the right, at which a vehicle turns as it does.

    Args:
        speed: Metres per second.
        yaw_rate: Radians per second, positive to the left, as in ROS and nuScenes.
        wheelbase: Metres.

    Returns:
        None where the vehicle is too slow to tell.

    Example:
        >>> round(turned_wheels(10.0, -0.2, 2.7), 2), turned_wheels(0.1, 0.0, 2.7)
        (3.09, None)
    """
    return None if abs(speed) < _SLOWEST else math.degrees(math.atan(-wheelbase * yaw_rate / speed))
