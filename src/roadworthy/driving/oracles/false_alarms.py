"""How often good drives raise alarms: what can be said of a new one, and thresholds that keep to it.

All of it rests on exchangeability: had the new lap been among those of the fit, it could have been any of
them. Nothing is assumed about how metrics are distributed or go together. Laps of one driver on one track are
alike, so for another track or another driver it is tracks or drivers that are counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roadworthy.driving.sectors import UNITS, SectorTable, Unit
from roadworthy.errors import InputError, check_number

_USUAL = Fraction(1, 20)  # the probability for which the laps needed are told
_NEW: Mapping[Unit, str] = {
    "lap": "a new good lap",
    "track": "a good lap on a new track",
    "driver": "a good lap by a new driver",
}

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class FalseAlarmBound:
    """How likely it is at most that a good drive which nobody has seen yet raises an alarm.

    Attributes:
        unit: What is new: another lap by the same drivers on the same tracks, a lap on another track, or a
            lap by another driver.
        units: How many of these were learned from.
        alarms: Of one more than these, whichever is left out, at most so many raise an alarm when the
            thresholds are those of the others.
        left_out: How many of them do raise one; None where nobody has looked.

    Example:
        >>> print(FalseAlarmBound("track", 10, 1))
        A good lap on a new track, one like these 10 tracks, raises an alarm with probability at most 9.1% (1
        in 11).
    """

    unit: Unit
    units: int
    alarms: int
    left_out: int | None = None

    def __post_init__(self) -> None:
        counts = (self.units, self.alarms, 0 if self.left_out is None else self.left_out)
        whole = all(isinstance(one, int) and not isinstance(one, bool) and one >= 0 for one in counts)
        if self.unit not in UNITS or not whole:
            raise InputError(
                "a bound of false alarms has a unit (lap, track or driver) and whole numbers of units and "
                f"alarms, got {self.unit!r}, {self.units!r}, {self.alarms!r} and {self.left_out!r}"
            )

    @property
    def share(self) -> Fraction:
        """The probability, exactly; 1 where nothing is known."""
        return min(Fraction(1), Fraction(self.alarms, self.units + 1))

    @property
    def who(self) -> str:
        """Whom it is about, in words."""
        return _NEW[self.unit]

    @property
    def counted(self) -> str:
        """What was learned from, in words."""
        return _counted(self.units, self.unit)

    def __str__(self) -> str:
        if self.share == 1:
            needed = _counted(math.ceil(self.alarms / _USUAL) - 1, self.unit)
            words = (
                f"Nothing bounds how often {self.who} raises an alarm: {self.counted} "
                f"{'is' if self.units == 1 else 'are'} too few. {needed} would bound it by 5%."
            )
        else:
            share, total = self.share.as_integer_ratio()
            like = (
                "by these drivers on these tracks" if self.unit == "lap" else f"one like these {self.counted}"
            )
            words = (
                f"A{self.who[1:]}, {like}, raises an alarm with probability "
                f"at most {percent(self.share)} ({share} in {total})."
            )
        if self.left_out is not None:
            words += f" Left out of the fit one at a time, {self.left_out} of {self.counted} raise one."
        return words

    def in_laps(self, laps: int) -> str:
        """Return how likely any of several laps raises an alarm, at most; nothing where that is not bounded.

        Example:
            >>> print(FalseAlarmBound("lap", 99, 1).in_laps(5))
            A good driver raises one somewhere in these 5 laps with probability at most 5.0%.
        """
        share = self.share * laps
        if laps < 2 or share >= 1:
            return ""
        somewhere = f"A good driver raises one somewhere in these {laps} laps"
        return f"{somewhere} with probability at most {percent(share)}."

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        return {
            "unit": self.unit,
            "units": self.units,
            "alarms": self.alarms,
            "left_out": self.left_out,
            "probability": float(self.share),
            "words": str(self),
        }

    @classmethod
    def read(cls, data: object) -> FalseAlarmBound:
        """Return what `as_dict` wrote.

        Raises:
            InputError: It is something else.
        """
        if not isinstance(data, Mapping):
            raise InputError(f"the bound of false alarms must be a mapping, got {data!r}")
        return cls(data.get("unit"), data.get("units"), data.get("alarms"), data.get("left_out"))  # type: ignore[arg-type]


def percent(share: Fraction) -> str:
    """Return a probability that is at most this, rounded up: it stays true."""
    return f"{math.ceil(share * 1000) / 10:.1f}%"


def tight_bound(
    good: SectorTable, signs: Numbers, unit: Unit, *, give_up: int, candidates: int
) -> FalseAlarmBound:
    """Return what can be said where each threshold is the worst value among sectors that are not given up.

    With k sectors given up, a threshold is at least the k + 1 worst value of its metric. So whoever raises an
    alarm by a metric is among the k + 1 worst of all, itself included; with m metrics these are m (k + 1) at
    most. It does not matter which sectors are given up, nor which metrics are chosen from the candidates.
    """
    names, worst = _worst(good, signs, unit)
    counted = [number for number, name in enumerate(names) if name]
    alone = None
    if not give_up and len(counted) > 1:
        second, first = np.sort(worst, axis=0)[-2:]
        alone = len(set(worst.argmax(axis=0)[first > second].tolist()) & set(counted))
    return FalseAlarmBound(unit, len(counted), candidates * (give_up + 1), alone)


def conformal_limits(
    good: SectorTable, bad: SectorTable, signs: Numbers, share: float, unit: Unit
) -> tuple[Numbers, FalseAlarmBound]:
    """Return thresholds that a new good lap passes with at most some probability, all metrics together.

    The score of a lap is its largest excess over all metrics and sectors. Metrics are put on one scale by the
    median and the quartiles of the mutants' laps, which owe nothing to the good ones; so no good lap need be
    set aside, and the ⌈(1 - α)(n + 1)⌉-th smallest score of all gives the thresholds of every metric.

    Args:
        good: The sectors of the good laps.
        bad: Those of the mutants.
        signs: 1 for each metric that gets worse upwards, -1 for each that does downwards.
        share: The probability, α.
        unit: What is new.

    Returns:
        The thresholds, each with the sign of its metric, and the bound.

    Raises:
        InputError: The share is none, there are too few laps for it, or no mutants.
    """
    check_number("the share of new good laps with an alarm", share, above=0, below=1)
    if not len(bad):
        raise InputError("conformal thresholds need at least one mutant, to put metrics on one scale")
    names, worst = _worst(good, signs, unit)
    counted = np.array([bool(name) for name in names])
    units = int(np.count_nonzero(counted))
    # Adding a little lets 5% of 20 be 1.
    above = math.floor(share * (units + 1) + 1e-9)
    if not above:
        needed, least = math.ceil(1 / share - 1e-9) - 1, percent(Fraction(1, units + 1))
        raise InputError(
            f"alarms on at most {100 * share:.4g}% of new good laps take {_counted(needed, unit)} to learn "
            f"from, got {units}: give more good drives, or allow {least} or more"
        )
    low, middle, high = np.percentile(_worst(bad, signs, "lap")[1], [25, 50, 75], axis=0)
    spread = np.where(high > low, high - low, np.where(middle == 0, 1.0, np.abs(middle)))
    scores = ((worst - middle) / spread).max(axis=1)
    limit = np.sort(scores[counted])[units - above]
    # Rounding must not raise an alarm where a lap has just the score that is allowed.
    kept = worst[counted & (scores <= limit)].max(axis=0)
    return np.maximum(middle + limit * spread, kept), FalseAlarmBound(unit, units, above)


def _worst(table: SectorTable, signs: Numbers, unit: Unit) -> tuple[list[str], Numbers]:
    """Return the names of units, and the worst value of each metric in each, all worse upwards."""
    names, rows = np.unique(table.units(unit), return_inverse=True)
    worst = np.full((len(names), len(table.metrics)), -np.inf)
    np.maximum.at(worst, rows, table.values * signs)
    return names.tolist(), worst


def _counted(count: int, unit: Unit) -> str:
    return f"{count} {unit}{'' if count == 1 else 's'}"
