"""Rates of change of noisy signals, without spikes at the ends."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from roadworthy.driving.drives.drive import Drive

__all__ = ["WINDOW", "derivative"]

WINDOW = 0.7
"""Seconds over which a signal is fitted with a parabola to differentiate it."""

_STEADY = 1e-3  # steps that differ by less than this share are taken as equal


def derivative(drive: Drive, values: NDArray[np.float64], *, window: float = WINDOW) -> NDArray[np.float64]:
    """Return the change of a signal per second, in every row of a drive.

    In each row, a parabola is fitted to what lies within the window round it (Savitzky and Golay), and its
    slope is taken. At the ends, the window lies on one side, so the slope follows the signal there and does
    not fall to 0 or jump. Nothing is fitted across gaps or rows where the signal is not known. A stretch of
    one row has no slope, one of two has that of the line.

    Args:
        drive: The drive that has the signal.
        values: The signal, a number for each row.
        window: The length of the window in seconds.

    Example:
        >>> drive = Drive("lap", np.arange(40) / 15, {"speed": 0.5 * (np.arange(40) / 15) ** 2})
        >>> slope = derivative(drive, drive.signals["speed"])
        >>> bool(np.allclose(slope, drive.time))
        True
    """
    slopes = np.full(len(values), np.nan)
    known = np.isfinite(values)
    joined = known[1:] & known[:-1] & ~drive.gaps
    starts = np.flatnonzero(known & np.concatenate([[True], ~joined]))
    ends = np.flatnonzero(known & np.concatenate([~joined, [True]])) + 1
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        slopes[start:end] = _slope(drive.time[start:end], values[start:end], window)
    return slopes


def _slope(time: NDArray[np.float64], values: NDArray[np.float64], window: float) -> NDArray[np.float64]:
    """Return the slope within one stretch."""
    from scipy.signal import savgol_filter

    if len(time) < 2:
        return np.full(len(time), np.nan)
    steps = np.diff(time)
    step = float(np.median(steps))
    steady = bool((np.abs(steps - step) <= _STEADY * step).all())
    if steady:
        grid, on_grid = time, values
    else:
        # Stamps that jitter are read off a steady grid with as many rows, and the slopes are read back.
        grid = np.linspace(time[0], time[-1], len(time))
        step = float(grid[1] - grid[0])
        on_grid = np.interp(grid, time, values)
    length = min(2 * round(window / step / 2) + 1, len(grid) - (1 - len(grid) % 2))
    if length < 3:
        slopes = np.gradient(on_grid, grid)
    else:
        slopes = savgol_filter(on_grid, length, polyorder=2, deriv=1, delta=step)
    return np.asarray(slopes if steady else np.interp(time, grid, slopes), np.float64)
