"""Where a vehicle plans to drive: points on the road with the times at which it is there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from roadworthy._frozen import ReadOnlyArrays, read_only
from roadworthy.errors import FrameError, told_as

FRONT, REAR, HALF_WIDTH = 2.0, 2.3, 0.9
"""Of the vehicle: metres from below its camera to its front and its rear, and half its width."""

_STILL = 0.05  # metres from one point to the next below which it does not tell a direction


@dataclass(frozen=True, eq=False, init=False)
class PlannedPath(ReadOnlyArrays):
    """The path of the point on the road below the camera, which is at (0, 0) now and looks ahead.

    Attributes:
        points: Metres ahead and metres to the right, n × 2; behind and to the left are negative.
        times: Seconds from now, n of them, above 0 and rising.

    Example:
        >>> path = PlannedPath([[5, 0], [10, 1]], [0.5, 1])
        >>> path.speeds.round(1).tolist()
        [10.0, 10.2]
    """

    points: NDArray[np.float64]
    times: NDArray[np.float64]

    def __init__(self, points: ArrayLike, times: ArrayLike) -> None:
        with told_as(FrameError, "points and times of a path must be numbers", TypeError, ValueError):
            points, times = np.array(points, np.float64), np.array(times, np.float64)
        if points.ndim != 2 or points.shape[1:] != (2,) or not len(points):
            raise FrameError(f"points of a path must be n × 2, metres ahead and right, got {points.shape}")
        if times.shape != (len(points),):
            raise FrameError(
                f"a path must have a time for each of its {len(points)} points, got {times.shape}"
            )
        if not (np.isfinite(points).all() and np.isfinite(times).all()):
            raise FrameError("points and times of a path must be finite")
        if not (np.diff(times, prepend=0.0) > 0).all():
            told = ", ".join(f"{one:g}" for one in times)
            raise FrameError(f"times of a path must be above 0 s and rise, got {told}")
        object.__setattr__(self, "points", read_only(points))
        object.__setattr__(self, "times", read_only(times))

    @property
    def speeds(self) -> NDArray[np.float64]:
        """Metres per second on the way to each point."""
        steps = np.diff(self.points, axis=0, prepend=[[0.0, 0.0]])
        speeds: NDArray[np.float64] = np.hypot(*steps.T) / np.diff(self.times, prepend=0.0)
        return speeds

    def at(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the points at some times, on straight lines between those of the path."""
        when = np.concatenate([[0.0], self.times])
        columns = np.vstack([[0.0, 0.0], self.points]).T
        return np.stack([np.interp(times, when, column) for column in columns], axis=1)

    def mirrored(self) -> PlannedPath:
        """Return the path in the mirrored scene."""
        return PlannedPath(self.points * [1.0, -1.0] + 0.0, self.times)

    def headings(self) -> NDArray[np.float64]:
        """Return the direction at each point, radians to the right; where it stands still, that before."""
        steps = np.diff(self.points, axis=0, prepend=[[0.0, 0.0]])
        told = np.hypot(*steps.T) > _STILL
        angles = np.where(told, np.arctan2(steps[:, 1], steps[:, 0]), 0.0)
        last = np.maximum.accumulate(np.where(told, np.arange(len(told)), -1))
        headings: NDArray[np.float64] = np.where(last < 0, 0.0, angles[np.maximum(last, 0)])
        return headings

    def offset(self, other: PlannedPath) -> float:
        """Return the largest distance of a point of this path from the line of another, prolonged straight.

        Example:
            >>> slower, straight = PlannedPath([[3, 0.2], [6, 0.4]], [1, 2]), PlannedPath([[9, 0]], [1])
            >>> round(slower.offset(straight), 2)
            0.4
        """
        corners = np.vstack([[0.0, 0.0], other.points])
        starts, steps = corners[:-1], np.diff(corners, axis=0)
        turned = other.headings()[-1]
        starts = np.vstack([starts, corners[-1]])
        steps = np.vstack([steps, 1000.0 * np.array([np.cos(turned), np.sin(turned)])])
        lengths = np.maximum((steps**2).sum(axis=1), 1e-12)
        gaps = self.points[:, None] - starts[None]
        share = np.clip((gaps * steps).sum(axis=2) / lengths, 0.0, 1.0)
        return float(np.linalg.norm(gaps - share[..., None] * steps, axis=2).min(axis=1).max())

    def clearance(self, place: tuple[float, float]) -> float:
        """Return the least metres between the vehicle's outline, on its way, and a place.

        Example:
            >>> round(PlannedPath([[10, 0], [20, 0]], [1, 2]).clearance((15, 2.9)), 2)
            2.0
        """
        times = np.linspace(0.0, self.times[-1], 161)
        points = self.at(times)
        headings = self.headings()[np.searchsorted(self.times, times - 1e-9)]
        headings[0] = 0.0
        ahead, right = (np.asarray(place) - points).T
        along = ahead * np.cos(headings) + right * np.sin(headings)
        aside = right * np.cos(headings) - ahead * np.sin(headings)
        past = np.maximum(np.maximum(along - FRONT, -REAR - along), 0.0)
        return float(np.hypot(past, np.maximum(np.abs(aside) - HALF_WIDTH, 0.0)).min())
