"""Drives through one scenario that are repeated: how far they differ, beside how far scenarios do."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from roadworthy._frozen import FrozenDict
from roadworthy.driving.drives import Drive
from roadworthy.driving.drives.readers import read_recorded
from roadworthy.driving.metrics import MetricSettings, compute
from roadworthy.driving.requirements import DrivingQuality, label
from roadworthy.driving.simulators.scenarios import kept_drive


@dataclass(frozen=True)
class MetricSpread:
    """How a metric of whole drives spreads.

    Attributes:
        metric: Its name.
        mean: The mean over scenarios, each of which counts once.
        between_repeats: The standard deviation between drives through one scenario; None where none has two.
        between_scenarios: That between scenarios, without what their repeats add to it; None where that
            cannot be told apart.
        scenarios: How many scenarios have the metric.
        drives: How many drives have it.
    """

    metric: str
    mean: float
    between_repeats: float | None
    between_scenarios: float | None
    scenarios: int
    drives: int

    @classmethod
    def of(cls, metric: str, groups: Sequence[Sequence[float]]) -> Self | None:
        """Return the spread of values that are known, a group for each scenario; None where none is.

        The variances are those of the analysis of variance with one random factor.

        Example:
            >>> found = MetricSpread.of("Mean(SP)", [[9.0, 11.0], [13.0, 15.0]])
            >>> found.mean, round(found.between_repeats, 3), round(found.between_scenarios, 3)
            (12.0, 1.414, 2.646)
        """
        finite = [[one for one in group if math.isfinite(one)] for group in groups]
        known = [np.array(group) for group in finite if group]
        if not known:
            return None
        means = np.array([group.mean() for group in known])
        freedom = sum(len(group) - 1 for group in known)
        # Less the first of them, so that equal values differ by nothing and not by what rounding leaves.
        within = sum(float((group - group[0]).var()) * len(group) for group in known) / max(freedom, 1)
        between = None
        if len(known) > 1 and freedom:
            noise = within * float(np.mean([1 / len(group) for group in known]))
            between = math.sqrt(max(0.0, float(means.var(ddof=1)) - noise))
        drives = sum(map(len, known))
        repeats = math.sqrt(within) if freedom else None
        return cls(metric, float(means.mean()), repeats, between, len(known), drives)


@dataclass(frozen=True, eq=False)
class Repeats:
    """The drives of a run by their scenario, in the order in which they were driven.

    Example:
        >>> first, second = (Drive("dave2", [0.0, 0.1], {"speed": [8.0, last]}) for last in (8.1, 8.2))
        >>> Repeats({"udacity": (first, first, second)}).notes()
        ['udacity: the same seed gave 2 different drives of 3; first difference after 0.1 s, in speed']
        >>> Repeats({"world:town": (first, first)}).notes()
        ['world:town: 2 repeats are identical']
    """

    drives: Mapping[str, tuple[Drive, ...]]

    @classmethod
    def kept(cls, folder: Path, requirement: str, model: str, asked: DrivingQuality) -> Self:
        """Return those that a run keeps, also those that ended in a failure."""
        found: dict[str, tuple[Drive, ...]] = {}
        for place, scenario in enumerate(asked.scenarios if asked.repeats > 1 else ()):
            numbers = (place * asked.repeats + repeat + 1 for repeat in range(asked.repeats))
            files = [kept_drive(folder, requirement, model, number)[0] for number in numbers]
            found[label(scenario)] = tuple(read_recorded(file) for file in files if file.is_file())
        return cls(FrozenDict({name: drives for name, drives in found.items() if drives}))

    def notes(self) -> list[str]:
        """Return whether repeats of a scenario differ, a sentence for each."""
        told = []
        for name, drives in self.drives.items():
            distinct: list[Drive] = []
            for one in drives:
                if all(_difference(other, one) for other in distinct):
                    distinct.append(one)
            if len(distinct) > 1:
                after, what = min(_difference(distinct[0], one) or (math.inf, "") for one in distinct[1:])
                told.append(
                    f"{name}: the same seed gave {len(distinct)} different drives of {len(drives)}; first "
                    f"difference after {after:.3g} s, in {what}"
                )
            elif len(drives) > 1:
                told.append(f"{name}: {len(drives)} repeats are identical")
        return told

    def spread(self, settings: MetricSettings | None = None) -> list[MetricSpread]:
        """Return how each metric spreads that some drive has, over whole drives."""
        values: dict[str, dict[str, list[float]]] = {}
        for name, drives in self.drives.items():
            for drive in drives:
                for metric, (value,) in compute(drive, whole=True, settings=settings).values.items():
                    values.setdefault(metric, {}).setdefault(name, []).append(float(value))
        found = (MetricSpread.of(metric, list(groups.values())) for metric, groups in values.items())
        return [one for one in found if one is not None]


def _difference(one: Drive, other: Drive) -> tuple[float, str] | None:
    """Return after how many seconds two drives differ first, and in what; None where they are the same."""
    rows = min(len(one), len(other))
    first: dict[str, int] = {}
    for name, mine, theirs in _columns(one, other):
        odd = np.flatnonzero((mine[:rows] != theirs[:rows]) & ~(np.isnan(mine) & np.isnan(theirs))[:rows])
        if len(odd):
            first[name] = int(odd[0])
    if first:
        row = min(first.values())
        names = [name for name, place in first.items() if place == row]
        return float(one.time[row] - one.time[0]), " and ".join(names[:2])
    if (len(one), one.ended) == (len(other), other.ended):
        return None
    return float(one.time[rows - 1] - one.time[0]), "where they end"


def _columns(one: Drive, other: Drive) -> list[tuple[str, NDArray[np.float64], NDArray[np.float64]]]:
    """Return the columns of both drives, what the vehicle does before what the model answered."""
    tables: list[dict[str, NDArray[np.float64]]] = [
        {
            "time": each.time,
            **each.signals,
            **{name: flags.astype(float) for name, flags in each.events.items()},
        }
        for each in (one, other)
    ]
    rows = min(len(one), len(other))
    unknown = np.full(rows, math.nan)
    names = dict.fromkeys(name for table in tables for name in table)
    mine, theirs = tables
    return [(name, mine.get(name, unknown)[:rows], theirs.get(name, unknown)[:rows]) for name in names]
