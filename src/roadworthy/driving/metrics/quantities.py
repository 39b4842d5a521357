"""The primitives of Table I as series over the rows of a drive, from whatever signals it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from roadworthy.driving.drives import Drive, derivative
from roadworthy.driving.metrics.catalogue import primitives
from roadworthy.driving.metrics.settings import MetricSettings

Series = NDArray[np.float64]
Flags = NDArray[np.bool_]
T = TypeVar("T")


class Missing(Exception):  # noqa: N818 - not an error: most drives lack most signals
    """A drive does not have what a metric needs; says what."""


class Quantities:
    """What a drive says about each primitive, computed once when it is asked for.

    Args:
        drive: The drive.
        settings: What the metrics need to be told.
    """

    def __init__(self, drive: Drive, settings: MetricSettings) -> None:
        self.drive = drive
        self.settings = settings
        self._series: dict[str, Series | Missing] = {}
        self._flags: dict[str, Flags | Missing] = {}
        self._ways: dict[str, Callable[[], Series]] = {
            "D": self._distance,
            "T": lambda: drive.time - drive.time[0],
            "SP": self._speed,
            "ACC": self._acceleration,
            "AS": lambda: self._rate("ACC"),
            "TPP": lambda: self._signal("throttle"),
            "TPS": lambda: self._rate("TPP"),
            "LP": lambda: self._signal("lane_offset"),
            "LS": lambda: self._rate("LP"),
            "LA": lambda: self._rate("LS"),
            "HP": lambda: self._signal("headway"),
            "HT": self._headway_time,
            "HS": self._headway_speed,
            "DTP": lambda: self._signal("pedestrian_distance"),
            "DTV": lambda: self._signal("vehicle_distance"),
            "SA": lambda: self._signal("steering"),
            "SAS": lambda: self._rate("SA"),
            "BPP": lambda: self._signal("brake"),
        }

    def series(self, primitive: str) -> Series:
        """Return the values of a quantity, one for each row.

        Raises:
            Missing: The drive lacks what it takes.
        """
        return _once(self._series, primitive, self._ways[primitive])

    def flags(self, event: str) -> Flags:
        """Return in which rows an event goes on; its primitive or its name.

        Raises:
            Missing: The drive does not say.
        """
        return _once(self._flags, event, lambda: self._happening(event))

    def target(self, primitive: str) -> Series | float:
        """Return what a quantity should be.

        Raises:
            Missing: Neither settings nor drive say it.
        """
        given = self.settings.targets.get(primitive)
        if given is None:
            raise Missing(f"a target of {primitive} in the settings")
        return self._signal(given) if isinstance(given, str) else given

    def time_to_collision(self) -> Series:
        """Return the seconds until the vehicle ahead is reached at the present speeds; infinite if never."""
        return _time_to(self.series("HP"), -self.series("HS"))

    def time_to_line(self) -> Series:
        """Return the seconds until a wheel is on a lane marking at the present lateral speed."""
        clearance = self._signal("lateral_clearance")
        return _time_to(clearance, -derivative(self.drive, clearance, window=self.settings.smoothing))

    def _signal(self, name: str) -> Series:
        values = self.drive.signals.get(name)
        known = None if values is None else np.isfinite(values)
        if values is None or known is None or not known.any():
            raise Missing(f"the signal {name}")
        # Some logs write infinity where there is nobody to measure a distance to.
        return values if known.all() else np.where(known, values, np.nan)

    def _rate(self, primitive: str) -> Series:
        return derivative(self.drive, self.series(primitive), window=self.settings.smoothing)

    def _has(self, *names: str) -> bool:
        return all(bool(np.isfinite(self.drive.signals.get(name, np.nan)).any()) for name in names)

    def _speed(self) -> Series:
        if self._has("speed"):
            return self._signal("speed")
        window = self.settings.smoothing
        if self._has("distance"):
            return derivative(self.drive, self._signal("distance"), window=window)
        if self._has("x", "y"):
            rates = [derivative(self.drive, self._signal(name), window=window) for name in ("x", "y")]
            return np.hypot(*rates)
        raise Missing("the signal speed, distance, or x and y")

    def _distance(self) -> Series:
        if self._has("distance"):
            driven = self._signal("distance")
            return np.asarray(driven - driven[np.isfinite(driven)][0])
        # Between two rows with a known speed the mean of both; nothing where they are a gap apart.
        speed = self.series("SP")
        known = np.flatnonzero(np.isfinite(speed))
        if not len(known):
            return np.full(len(speed), np.nan)
        time, pace = self.drive.time[known], speed[known]
        lengths = np.diff(time)
        joined = lengths <= self.drive.gap
        covered = np.where(joined, (pace[1:] + pace[:-1]) / 2 * lengths, 0.0)
        driven = np.interp(self.drive.time, time, np.concatenate([[0.0], np.cumsum(covered)]))
        between = np.searchsorted(known, np.arange(len(speed)), "right") - 1
        inside = np.append(joined, False)[between] & (between >= 0)
        return np.where(np.isfinite(speed) | inside, driven, np.nan)

    def _acceleration(self) -> Series:
        return self._signal("acceleration") if self._has("acceleration") else self._rate("SP")

    def _headway_time(self) -> Series:
        return _time_to(self.series("HP"), self.series("SP"))

    def _headway_speed(self) -> Series:
        if self._has("lead_speed"):
            return np.asarray(self._signal("lead_speed") - self.series("SP"))
        return self._rate("HP")

    def _happening(self, event: str) -> Flags:
        known = primitives().get(event)
        name = known.event if known is not None and known.event is not None else event
        recorded = self.drive.events.get(name)
        if recorded is not None:
            return recorded
        if event == "BR" and self._has("brake"):
            return np.asarray(self._signal("brake") > self.settings.braking)
        if event == "ST":
            return np.asarray(np.abs(self.series("SAS")) > self.settings.steering_action)
        if event == "LC" and self._has("lane"):
            lane = self._signal("lane")
            rows = np.flatnonzero(np.isfinite(lane))
            changed = np.zeros(len(lane), np.bool_)
            changed[rows[1:]] = np.diff(lane[rows]) != 0
            return changed
        raise Missing(f"the event {name}" + (" or the signal brake" if event == "BR" else ""))


def _once(known: dict[str, T | Missing], name: str, compute: Callable[[], T]) -> T:
    """Return what is computed under a name, or raise what is missing; it is computed only once."""
    if name not in known:
        try:
            known[name] = compute()
        except Missing as missing:
            known[name] = missing
    found = known[name]
    if isinstance(found, Missing):
        raise found
    return found


def _time_to(distance: Series, closing: Series) -> Series:
    """Return the seconds to cover a distance at a speed, infinite where it does not shrink."""
    with np.errstate(divide="ignore", invalid="ignore"):
        seconds = np.where(closing > 0, distance / closing, np.inf)
    return np.where(np.isfinite(distance) & np.isfinite(closing), seconds, np.nan)
