"""Recording a drive step by step, so that what was driven survives whatever happens next."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from roadworthy.driving.drives import Drive
from roadworthy.driving.simulators.protocol import Controls, Situation
from roadworthy.errors import InputError

__all__ = ["SECTOR_LENGTH", "Recorder"]

SECTOR_LENGTH = 100.0
"""Metres of a sector where a simulator names none, and about those of the built-in tracks."""

_ANSWERED = ("answered_steering", "answered_speed")


class Recorder:
    """Collects the situations of a drive.

    Hold on to one when the model or the simulator may fail: `drive` fills it, and `finished` gives what was
    driven until then.

    Args:
        name: What the drive is called: who drives.

    Example:
        >>> from roadworthy.driving.simulators import WorldSimulator
        >>> recorder = Recorder("nobody")
        >>> recorder.add(WorldSimulator("meadow", traffic=0).reset())
        >>> drive = recorder.finished("stopped at once")
        >>> len(drive), drive.ended, drive.sector_names
        (1, 'stopped at once', ('meadow-01',))
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._times: list[float] = []
        self._rows: list[dict[str, float]] = []
        self._events: list[Mapping[str, bool]] = []
        self._sectors: list[str | None] = []
        self._stale = 0

    def __len__(self) -> int:
        """Return how many situations were recorded."""
        return len(self._rows)

    @property
    def metres(self) -> float:
        """How far the vehicle went, by its own distance or by its speed."""
        return self._rows[-1]["distance"] if self._rows else 0.0

    def add(self, situation: Situation) -> None:
        """Record a situation; one that is not later than the last is counted and left out."""
        if self._times and not situation.time > self._times[-1]:
            self._stale += 1
            return
        metres = situation.signals.get("distance", math.nan)
        if not math.isfinite(metres):
            metres = self.metres + self._covered(situation)
        self._times.append(situation.time)
        self._rows.append({**situation.signals, "distance": metres})
        self._events.append(situation.events)
        self._sectors.append(situation.sector)

    def _covered(self, situation: Situation) -> float:
        """Return the metres since the last situation, at the mean of the speeds that are known."""
        if not self._rows:
            return 0.0
        speeds = [row.get("speed", math.nan) for row in (self._rows[-1], situation.signals)]
        known = [one for one in speeds if math.isfinite(one)]
        return (situation.time - self._times[-1]) * sum(known) / max(len(known), 1)

    def answered(self, controls: Controls) -> None:
        """Record what the model answered in the last situation."""
        if self._rows:
            speed = math.nan if controls.speed is None else controls.speed
            self._rows[-1].update(zip(_ANSWERED, (controls.steering, speed), strict=True))

    def finished(self, ended: str, notes: Iterable[str] = ()) -> Drive:
        """Return the drive.

        Args:
            ended: Why it ended.
            notes: What went wrong on the way.

        Raises:
            InputError: Nothing was recorded.
        """
        if not self._rows:
            raise InputError(f"drive {self.name}: nothing was driven")
        names = list(dict.fromkeys(name for row in self._rows for name in row))
        signals = {name: np.array([row.get(name, math.nan) for row in self._rows]) for name in names}
        known = {name: values for name, values in signals.items() if np.isfinite(values).any()}
        told = list(dict.fromkeys(name for row in self._events for name in row))
        events = {name: [row.get(name, False) for row in self._events] for name in told}
        all_notes = list(notes)
        if self._stale:
            count = "1 situation" if self._stale == 1 else f"{self._stale} situations"
            all_notes.append(f"{count} left out in which time did not go on")
        return self._cut(Drive(self.name, self._times, known, events, notes=all_notes, ended=ended))

    def _cut(self, drive: Drive) -> Drive:
        """Return the drive in the sectors that the simulator named, or in stretches of equal length."""
        if all(name is None for name in self._sectors):
            ends = np.arange(SECTOR_LENGTH, self.metres + SECTOR_LENGTH, SECTOR_LENGTH)
            titles = [f"{SECTOR_LENGTH * number:.0f} m" for number in range(len(ends) + 1)]
            return drive.cut_by_distance(ends.tolist(), titles)
        numbers: list[int] = []
        titles = []
        for name in self._sectors:
            # One that the simulator cannot place is still on the piece before.
            if not titles or (name is not None and name != titles[-1]):
                titles.append(name or "start")
            numbers.append(len(titles) - 1)
        return drive.with_sectors(numbers, titles)
