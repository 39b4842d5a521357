"""Thresholds of driving metrics that raise as many true alarms as possible and few false ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from roadworthy._frozen import FrozenDict
from roadworthy.driving.oracles._search import search
from roadworthy.driving.sectors import SectorTable
from roadworthy.errors import InputError

__all__ = ["Direction", "Oracle", "Table", "checked_problem", "fit_oracle", "given_up", "signs_of"]

Direction: TypeAlias = Literal["up", "down"]
"""Whether driving gets worse as a metric grows, or as it falls."""

Table: TypeAlias = SectorTable | Mapping[str, ArrayLike] | ArrayLike
"""Metrics of sectors: a table, columns by name, or an array of rows × metrics."""


@dataclass(frozen=True)
class Oracle:
    """Raises an alarm where a metric is beyond its threshold.

    Attributes:
        metrics: What it looks at, in order.
        directions: Whether each metric gets worse upwards or downwards.
        thresholds: The last value of each metric that raises no alarm. They are tight: each is the worst
            value among the nominal sectors that were kept.
        intervals: Between which values a threshold may lie, the others staying as they are, so that every
            sector of the fit is judged alike; the threshold itself is one end and belongs to the interval,
            the other end does not.
        given_up: The nominal sectors in which an alarm was allowed, by their number in the table.
        alarms: In how many of the mutants' sectors there is an alarm.
        sectors: Of how many.
        bound: No thresholds raise more alarms than this with as many sectors given up.
    """

    metrics: tuple[str, ...]
    directions: Mapping[str, Direction]
    thresholds: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]
    given_up: tuple[int, ...]
    alarms: int
    sectors: int
    bound: int

    @property
    def optimal(self) -> bool:
        """Whether it is proven that no thresholds raise more true alarms."""
        return self.alarms == self.bound

    def __str__(self) -> str:
        signs = {"up": "≤", "down": "≥"}
        return " and ".join(
            f"{name} {signs[self.directions[name]]} {self.thresholds[name]:.6g}" for name in self.metrics
        )

    def judge(self, sectors: Table) -> NDArray[np.bool_]:
        """Return which metric raises an alarm in which sector, rows × metrics.

        Raises:
            InputError: The table lacks one of the metrics.

        Example:
            >>> oracle = fit_oracle({"SD(SA)": [0.1, 0.2]}, {"SD(SA)": [0.3, 0.2]})
            >>> oracle.judge({"SD(SA)": [0.19, 0.21]}).ravel().tolist()
            [False, True]
        """
        table = _with_names(sectors, self.metrics).select(self.metrics)
        signs = signs_of(self.directions, self.metrics)
        return np.asarray(
            table.values * signs > np.array([self.thresholds[name] for name in self.metrics]) * signs
        )

    def killed(self, mutants: SectorTable) -> tuple[str, ...]:
        """Return the drivers with an alarm in at least one of their sectors, in the order of the table."""
        alarmed = np.atleast_1d(self.judge(mutants).any(axis=1))
        found = {name for name, alarm in zip(mutants.drivers, alarmed, strict=True) if alarm}
        return tuple(name for name in dict.fromkeys(mutants.drivers) if name in found)


def fit_oracle(
    nominal: Table,
    mutants: Table,
    *,
    give_up: int = 0,
    directions: Mapping[str, Direction] | Sequence[Direction] | None = None,
    seconds: float | None = None,
) -> Oracle:
    """Return the thresholds that raise an alarm in as many sectors of the mutants as possible.

    Equations 5 to 8 of Jahangirova, Stocco and Tonella, "Quality Metrics and Oracles for Autonomous Vehicles
    Testing" (ICST 2021), solved exactly. Equation 7 multiplies by 0 what is given up, which would keep a
    threshold from falling below 0; here a sector that is given up says nothing about thresholds.

    Of several optima, the one that gives up fewest sectors is taken. Mutants that crash or leave their lane
    need no threshold: leave them out.

    Args:
        nominal: The sectors of the driver that drives well.
        mutants: Those of the others; the same metrics.
        give_up: In how many nominal sectors an alarm is allowed; `given_up` computes it from a share.
        directions: Whether each metric gets worse upwards or downwards, by name or in order; upwards if left
            out.
        seconds: After which the search ends with the best that it has, and a bound.

    Raises:
        InputError: There are no sectors, the metrics differ, a number is not known, or more sectors would be
            given up than can be.

    Example:
        Table III of the paper, without false alarms and with one in two sectors:

        >>> nominal = {"m1": [0.5, 0.4], "m2": [0.3, 0.6], "m3": [0.4, 0.9]}
        >>> mutant = {"m1": [1.5, 0.2], "m2": [0.3, 0.6], "m3": [1.4, 0.5]}
        >>> strict = fit_oracle(nominal, mutant)
        >>> print(strict, "|", strict.alarms, "of", strict.sectors)
        m1 ≤ 0.5 and m2 ≤ 0.6 and m3 ≤ 0.9 | 1 of 2
        >>> lenient = fit_oracle(nominal, mutant, give_up=1)
        >>> print(lenient, "|", lenient.alarms, "of", lenient.sectors)
        m1 ≤ 0.5 and m2 ≤ 0.3 and m3 ≤ 0.4 | 2 of 2
    """
    if seconds is not None and not seconds >= 0:
        raise InputError(f"expected 0 seconds or more for the search, got {seconds}")
    good, bad, ways = checked_problem(nominal, mutants, give_up, directions)
    signs = signs_of(ways, good.metrics)
    found = search(good.values * signs, bad.values * signs, int(give_up), seconds)
    tight = np.delete(good.values * signs, found.given_up, axis=0).max(axis=0)
    return Oracle(
        good.metrics,
        ways,
        # Adding 0.0 turns the -0.0 that a change of sign leaves into 0.0.
        FrozenDict(zip(good.metrics, (tight * signs + 0.0).tolist(), strict=True)),
        FrozenDict(_intervals(good, bad, tight, signs)),
        found.given_up,
        found.alarms,
        len(bad),
        found.bound,
    )


def checked_problem(
    nominal: Table,
    mutants: Table,
    give_up: int,
    directions: Mapping[str, Direction] | Sequence[Direction] | None,
) -> tuple[SectorTable, SectorTable, FrozenDict[str, Direction]]:
    """Return the sectors with their metrics in one order, and every metric's direction.

    Raises:
        InputError: They do not fit together.
    """
    good = SectorTable.of(nominal)
    bad = _with_names(mutants, good.metrics)
    if set(bad.metrics) != set(good.metrics):
        raise InputError(
            f"expected the same metrics for both, got {', '.join(good.metrics)} for the nominal sectors and "
            f"{', '.join(bad.metrics)} for the mutants"
        )
    if not len(good):
        raise InputError("expected at least one nominal sector, got none")
    if isinstance(give_up, bool) or not isinstance(give_up, int | np.integer) or not 0 <= give_up < len(good):
        raise InputError(
            f"expected to give up 0 to {len(good) - 1} of {len(good)} nominal sectors, got {give_up!r}"
        )
    return good, bad.select(good.metrics), _directions(directions, good.metrics)


def given_up(share: float, sectors: int) -> int:
    """Return how many of a number of sectors may be given up: N - ⌈(1 - ε)·N⌉, Equation 8.

    Example:
        >>> given_up(0.5, 2), given_up(0.11, 28)
        (1, 3)
    """
    if not 0 <= share < 1:
        raise InputError(f"expected a share of sectors from 0 to below 1, got {share}")
    return math.floor(share * sectors + 1e-9)


def _with_names(sectors: Table, names: tuple[str, ...]) -> SectorTable:
    if isinstance(sectors, SectorTable | Mapping):
        return SectorTable.of(sectors)
    return SectorTable.of(sectors, metrics=names)


def _directions(
    given: Mapping[str, Direction] | Sequence[Direction] | None, metrics: tuple[str, ...]
) -> FrozenDict[str, Direction]:
    if given is None:
        given = {}
    elif not isinstance(given, Mapping):
        if isinstance(given, str) or len(given) != len(metrics):
            raise InputError(f"expected {len(metrics)} directions, up or down, one per metric, got {given!r}")
        given = dict(zip(metrics, given, strict=True))
    for name, way in given.items():
        if name not in metrics or way not in ("up", "down"):
            raise InputError(
                f"expected up or down for a metric of {', '.join(metrics)}, got {way!r} for {name!r}"
            )
    return FrozenDict({name: given.get(name, "up") for name in metrics})


def signs_of(directions: Mapping[str, Direction], metrics: tuple[str, ...]) -> NDArray[np.float64]:
    """Return 1 for each metric that gets worse upwards, and -1 for each that does downwards."""
    return np.array([1.0 if directions[name] == "up" else -1.0 for name in metrics])


def _intervals(
    good: SectorTable, bad: SectorTable, tight: NDArray[np.float64], signs: NDArray[np.float64]
) -> dict[str, tuple[float, float]]:
    """Return between which values each threshold may lie without any sector being judged otherwise."""
    values = np.concatenate([good.values, bad.values]) * signs
    alarms = values > tight
    alone = alarms.sum(axis=1) == 1
    intervals = {}
    for number, name in enumerate(good.metrics):
        # Tight: one nominal sector without alarm has exactly this value, so it cannot fall.
        only = values[alone & alarms[:, number], number]
        ends = (tight[number] * signs[number] + 0.0, only.min(initial=np.inf) * signs[number] + 0.0)
        intervals[name] = (float(min(ends)), float(max(ends)))
    return intervals
