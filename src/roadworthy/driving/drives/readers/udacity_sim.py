"""The driving log of the Udacity simulator as a drive."""

from __future__ import annotations

from os import PathLike, fspath

import numpy as np

from roadworthy.datasets.udacity import logged_signals
from roadworthy.driving.drives.drive import Drive
from roadworthy.errors import FrameError, InputError
from roadworthy.frames import Signals


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
