"""Which nominal sectors to give up, so that the thresholds of the rest raise as many alarms as possible.

A threshold is the greatest value of a metric among the nominal sectors that are kept. It falls only when
the sectors with the greatest values are given up, from the top. So a mutant sector has an alarm if and only
if, for one of the metrics, all nominal sectors with at least its value are given up; how many these are is
its *level*. Sectors below the first `limit` places of every metric are never worth giving up.

The search branches on one nominal sector: given up, or kept for good. What is kept cuts off everything
below it in all metrics. The bound on what else can be won relaxes two things: a mutant sector may be won
once for every metric, and a nominal sector that several metrics have in the way may be paid by them in
parts. What is left is a choice of one depth per metric under a budget, and its Lagrangian bound is a maximum
for each metric alone.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from roadworthy._frozen import FrozenDict
from roadworthy.driving.oracles.false_alarms import FalseAlarmBound, conformal_limits, tight_bound
from roadworthy.driving.sectors import SectorTable, Unit
from roadworthy.errors import InputError, check_number
from roadworthy.result_tables import ResultTable

_PRICES = np.linspace(0.0, 1.0, 25)[1:]  # of a nominal sector, as shares of the highest that can matter

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class FitResult:
    """The outcome of a search.

    Attributes:
        given_up: The numbers of the nominal sectors that are given up, in order.
        alarms: How many mutant sectors have an alarm then.
        bound: How many can have one at most; equal to alarms when the search came to its end.
    """

    given_up: tuple[int, ...]
    alarms: int
    bound: int


def search(nominal: Numbers, mutants: Numbers, limit: int, seconds: float | None = None) -> FitResult:
    """Return an optimal choice of nominal sectors, the smallest of those that are optimal.

    Args:
        nominal: The metrics of the nominal sectors, rows × metrics; all get worse upwards.
        mutants: Those of the mutants' sectors.
        limit: How many nominal sectors may be given up; less than there are.
        seconds: After which the search ends with what it has.
    """
    end = math.inf if seconds is None else time.monotonic() + seconds
    levels = _levels(nominal, mutants, limit)
    least = levels.min(axis=1, initial=limit + 1)
    always = int(np.count_nonzero(least == 0))
    levels, counts = np.unique(levels[(least > 0) & (least <= limit)], axis=0, return_counts=True)
    order = np.argsort(-nominal, axis=0, kind="stable")[:limit]
    candidates, places = np.unique(order, return_inverse=True)
    places = places.reshape(order.shape)  # depth × metrics: which candidate stands there
    won, chosen = _greedy(places, levels, counts, limit)
    best = won, -int(np.count_nonzero(chosen))
    nothing = np.zeros_like(chosen)
    # Given up, kept for good, the mutant sectors that are undecided, how many are won, and how many can be.
    stack = [(nothing, nothing, levels, counts, 0, int(counts.sum()))]
    while stack and time.monotonic() <= end:
        taken, kept, levels, counts, won, bound = stack.pop()
        size = int(np.count_nonzero(taken))
        if (bound, -size) <= best:
            continue
        costs = _costs(places, taken, kept, limit - size)
        cheapest = costs[levels, np.arange(levels.shape[1])].min(axis=1)
        won += int(counts[cheapest == 0].sum())
        if (won, -size) > best:
            best, chosen = (won, -size), taken
        undecided = (cheapest > 0) & np.isfinite(cheapest)
        levels, counts = levels[undecided], counts[undecided]
        gains = np.where(np.isfinite(costs), _gains(levels, counts, len(costs)), 0.0)
        in_the_way = np.isfinite(costs[1:-1]) & ~taken[places]
        winnable = _winnable(places, gains, in_the_way, limit - size)
        bound = min(bound, won + int(counts.sum()), won + winnable)
        # What is won from here on takes at least one more.
        if (bound, -size - 1) <= best:
            continue
        # The candidate to branch on stands in the way of most, for what it costs.
        rates = (gains / np.maximum(costs, 1))[1:-1]
        beyond = np.maximum.accumulate(rates[::-1], axis=0)[::-1]
        scores = np.bincount(places.ravel(), np.where(in_the_way, beyond, 0.0).ravel())
        branch = np.arange(len(candidates)) == scores.argmax()
        stack.append((taken, kept | branch, levels, counts, won, bound))
        stack.append((taken | branch, kept, levels, counts, won, bound))
    most = max([best[0], *(node[-1] for node in stack)])
    return FitResult(tuple(candidates[chosen].tolist()), always + best[0], always + most)


def _levels(nominal: Numbers, mutants: Numbers, limit: int) -> Places:
    """Return how many nominal sectors must be given up for a metric to alarm, cut off above the limit."""
    levels = np.empty(mutants.shape, np.intp)
    for metric in range(nominal.shape[1]):
        below = np.searchsorted(np.sort(nominal[:, metric]), mutants[:, metric], "left")
        levels[:, metric] = np.minimum(len(nominal) - below, limit + 1)
    return levels


def _costs(places: Places, taken: Flags, kept: Flags, left: int) -> Numbers:
    """Return how many more must be given up to get to a depth, infinite where that is not possible."""
    costs = np.cumsum(~taken[places], axis=0, dtype=np.float64)
    costs[np.logical_or.accumulate(kept[places], axis=0) | (costs > left)] = np.inf
    return np.pad(costs, ((1, 1), (0, 0)), constant_values=((0.0, np.inf), (0.0, 0.0)))


def _gains(levels: Places, counts: Places, depths: int) -> Numbers:
    """Return how many mutant sectors each depth of each metric wins, depths × metrics."""
    metrics = levels.shape[1]
    cells = levels * metrics + np.arange(metrics)
    found = np.bincount(cells.ravel(), np.repeat(counts, metrics).astype(np.float64), depths * metrics)
    return np.asarray(np.cumsum(found.reshape(depths, metrics), axis=0), np.float64)


def _greedy(places: Places, levels: Places, counts: Places, limit: int) -> tuple[int, Flags]:
    """Return a good set: again and again the depth of a metric that wins most for each sector given up."""
    taken = np.zeros(places.max(initial=-1) + 1, np.bool_)
    while True:
        costs = _costs(places, taken, np.zeros_like(taken), limit - int(np.count_nonzero(taken)))
        undecided = (costs[levels, np.arange(levels.shape[1])] > 0).all(axis=1)
        gains = _gains(levels[undecided], counts[undecided], len(costs))
        rates = np.where(np.isfinite(costs) & (costs > 0), gains / np.maximum(costs, 1), 0.0)
        depth, metric = np.unravel_index(int(rates.argmax()), rates.shape)
        if rates[depth, metric] <= 0:
            return int(counts[~undecided].sum()), taken
        taken[places[:depth, metric]] = True


def _winnable(places: Places, gains: Numbers, in_the_way: Flags, left: int) -> int:
    """Return a bound on what can still be won."""
    paid = in_the_way & (gains.max(axis=0) > 0)
    sharing = np.bincount(places[paid], minlength=places.max(initial=-1) + 1)
    share = np.where(paid, 1.0 / np.maximum(sharing[places], 1), 0.0)
    shared = np.vstack([np.zeros((1, share.shape[1])), np.cumsum(share, axis=0)])
    gains = gains[:-1]  # the last row stands for levels out of reach
    prices = _PRICES * float((gains / np.maximum(shared, 1e-9))[1:].max(initial=0.0))
    surplus = gains - prices[:, None, None] * np.where(gains > 0, shared, 0.0)
    return int(np.floor(float((prices * left + surplus.max(axis=1).sum(axis=1)).min()) + 1e-6))


Direction: TypeAlias = Literal["up", "down"]
"""Whether driving gets worse as a metric grows, or as it falls."""

Table: TypeAlias = SectorTable | Mapping[str, ArrayLike] | ArrayLike
"""Metrics of sectors: a table, columns by name, or an array of rows × metrics."""
Directions: TypeAlias = Mapping[str, Direction] | Sequence[Direction] | None
"""Directions by metric, in the order of the metrics, or "up" for all."""


@dataclass(frozen=True)
class Oracle:
    """Raises an alarm where a metric is beyond its threshold.

    Attributes:
        metrics: What it looks at, in order.
        directions: Whether each metric gets worse upwards or downwards.
        thresholds: The last value of each metric that raises no alarm. They are tight: each is the worst
            value among the nominal sectors that were kept; or conformal, which are wider.
        intervals: Between which values a threshold may lie, the others staying as they are, so that every
            sector of the fit is judged alike; the threshold itself is one end and belongs to the interval,
            the other end does not.
        given_up: The nominal sectors in which an alarm was allowed, by their number in the table.
        alarms: In how many of the mutants' sectors there is an alarm.
        sectors: Of how many.
        bound: No thresholds raise more alarms than this with as many sectors given up.
        false_alarms: How often a new good lap raises an alarm, at most.
        conformal: Whether thresholds were chosen for that.
    """

    metrics: tuple[str, ...]
    directions: Mapping[str, Direction]
    thresholds: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]
    given_up: tuple[int, ...]
    alarms: int
    sectors: int
    bound: int
    false_alarms: FalseAlarmBound
    conformal: bool = False

    @property
    def optimal(self) -> bool:
        """Whether it is proven that no thresholds raise more true alarms."""
        return self.alarms == self.bound

    def __str__(self) -> str:
        signs = {"up": "≤", "down": "≥"}
        return " and ".join(
            f"{name} {signs[self.directions[name]]} {self.thresholds[name]:.6g}" for name in self.metrics
        )

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        return {
            "thresholds": dict(self.thresholds),
            "directions": dict(self.directions),
            "intervals": {
                name: [end if math.isfinite(end) else None for end in ends]
                for name, ends in self.intervals.items()
            },
            "given_up": self.given_up,
            "alarms": self.alarms,
            "sectors": self.sectors,
            "bound": self.bound,
            "optimal": self.optimal,
            "conformal": self.conformal,
            "false_alarm_bound": self.false_alarms.as_dict(),
        }

    def table(self) -> ResultTable:
        """Return the thresholds; one without an end raises no alarm that another does not."""
        rows = tuple(
            (
                name,
                self.directions[name],
                f"{self.thresholds[name]:.4g}",
                f"{low:.4g} to {high:.4g}" if math.isfinite(low + high) else "alarms nowhere alone",
            )
            for name in self.metrics
            for low, high in [self.intervals[name]]
        )
        return ResultTable("", ("metric", "worse", "threshold", "may lie in"), rows)

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
        return self._alarmed(mutants, mutants.drivers)

    def accused(self, good: SectorTable) -> tuple[str, ...]:
        """Return the laps with an alarm in at least one of their sectors, in the order of the table."""
        return tuple(lap for lap in self._alarmed(good, good.laps) if lap)

    def _alarmed(self, table: SectorTable, names: tuple[str, ...]) -> tuple[str, ...]:
        alarmed = np.atleast_1d(self.judge(table).any(axis=1))
        found = {name for name, alarm in zip(names, alarmed, strict=True) if alarm}
        return tuple(name for name in dict.fromkeys(names) if name in found)


def fit_oracle(
    nominal: Table,
    mutants: Table,
    *,
    give_up: int = 0,
    directions: Directions = None,
    seconds: float | None = None,
    alarms: float | None = None,
    unit: Unit = "lap",
    candidates: int | None = None,
) -> Oracle:
    """Return the thresholds that raise an alarm in as many sectors of the mutants as possible.

    Equations 5 to 8 of Jahangirova, Stocco and Tonella, "Quality Metrics and Oracles for Autonomous Vehicles
    Testing" (ICST 2021), solved exactly. Equation 7 multiplies by 0 what is given up, which would keep a
    threshold from falling below 0; here a sector that is given up says nothing about thresholds.

    Of several optima, the one that gives up fewest sectors is taken. Mutants that crash or leave their lane
    need no threshold: leave them out.

    With `alarms`, thresholds are conformal instead: a new good lap raises an alarm with at most that
    probability, whatever the mutants do.

    Args:
        nominal: The sectors of the driver that drives well.
        mutants: Those of the others; the same metrics.
        give_up: In how many nominal sectors an alarm is allowed; `given_up` computes it from a share.
        directions: Whether each metric gets worse upwards or downwards, by name or in order; upwards if left
            out.
        seconds: After which the search ends with the best that it has, and a bound.
        alarms: With which probability a new good lap may raise an alarm.
        unit: What is new: a lap, the track of a lap, or its driver.
        candidates: How many metrics these were chosen from by looking at the nominal sectors; they were named
            beforehand if left out.

    Raises:
        InputError: There are no sectors, the metrics differ, a number is not known, more sectors would be
            given up than can be, or there are too few laps for the probability.

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
    check_number("seconds of the search", seconds, least=0)
    good, bad, ways = checked_problem(nominal, mutants, give_up, directions)
    signs = signs_of(ways, good.metrics)
    kept, alarmed = good.values * signs, bad.values * signs
    if alarms is None:
        found = search(kept, alarmed, int(give_up), seconds)
        limits = np.delete(kept, found.given_up, axis=0).max(axis=0)
        chosen_from = len(good.metrics) if candidates is None else candidates
        expected = tight_bound(good, signs, unit, give_up=int(give_up), candidates=chosen_from)
    elif give_up:
        raise InputError("expected sectors to give up or a probability of alarms, got both")
    else:
        limits, expected = conformal_limits(good, bad, signs, alarms, unit)
        beyond = np.flatnonzero((kept > limits).any(axis=1)).tolist()
        found = FitResult(tuple(beyond), int(np.count_nonzero((alarmed > limits).any(axis=1))), len(bad))
    return Oracle(
        good.metrics,
        ways,
        # Adding 0.0 turns the -0.0 that a change of sign leaves into 0.0.
        FrozenDict(zip(good.metrics, (limits * signs + 0.0).tolist(), strict=True)),
        FrozenDict(_intervals(good, bad, limits, signs)),
        found.given_up,
        found.alarms,
        len(bad),
        found.bound,
        expected,
        alarms is not None,
    )


def checked_problem(
    nominal: Table, mutants: Table, give_up: int, directions: Directions
) -> tuple[SectorTable, SectorTable, FrozenDict[str, Direction]]:
    """Return the sectors with their metrics in one order, and every metric's direction.

    Raises:
        InputError: They do not fit together.
    """
    good = SectorTable.of(nominal)
    bad = _with_names(mutants, good.metrics)
    if set(bad.metrics) != set(good.metrics):
        raise InputError(
            f"expected the same metrics, got {list(good.metrics)} for the nominal sectors and "
            f"{list(bad.metrics)} for the mutants"
        )
    if not len(good):
        raise InputError("expected at least one nominal sector, got none")
    if isinstance(give_up, bool) or not isinstance(give_up, int | np.integer) or not 0 <= give_up < len(good):
        raise InputError(f"expected to give up 0 to {len(good) - 1} nominal sectors, got {give_up!r}")
    return good, bad.select(good.metrics), _directions(directions, good.metrics)


def given_up(share: float, sectors: int) -> int:
    """Return how many of a number of sectors may be given up: N - ⌈(1 - ε)·N⌉, Equation 8.

    Example:
        >>> given_up(0.5, 2), given_up(0.11, 28)
        (1, 3)
    """
    check_number("the share of sectors", share, least=0, below=1)
    return math.floor(share * sectors + 1e-9)


def _with_names(sectors: Table, names: tuple[str, ...]) -> SectorTable:
    if isinstance(sectors, SectorTable | Mapping):
        return SectorTable.of(sectors)
    return SectorTable.of(sectors, metrics=names)


def _directions(given: Directions, metrics: tuple[str, ...]) -> FrozenDict[str, Direction]:
    if given is None:
        given = {}
    elif not isinstance(given, Mapping):
        if isinstance(given, str) or len(given) != len(metrics):
            raise InputError(f"expected {len(metrics)} directions, up or down, one per metric, got {given!r}")
        given = dict(zip(metrics, given, strict=True))
    for name, way in given.items():
        if name not in metrics or way not in ("up", "down"):
            raise InputError(f"expected up or down for {', '.join(metrics)}, got {way!r} for {name!r}")
    return FrozenDict({name: given.get(name, "up") for name in metrics})


def signs_of(directions: Mapping[str, Direction], metrics: tuple[str, ...]) -> Numbers:
    """Return 1 for each metric that gets worse upwards, and -1 for each that does downwards."""
    return np.array([1.0 if directions[name] == "up" else -1.0 for name in metrics])


def _intervals(
    good: SectorTable, bad: SectorTable, tight: Numbers, signs: Numbers
) -> dict[str, tuple[float, float]]:
    """Return between which values each threshold may lie without any sector being judged otherwise."""
    values = np.concatenate([good.values, bad.values]) * signs
    alarms = values > tight
    alone = alarms.sum(axis=1) == 1
    intervals = {}
    for number, name in enumerate(good.metrics):
        # Tight: one nominal sector without alarm has exactly this value, so it cannot fall. Conformal: a
        # new good lap would raise more alarms.
        only = values[alone & alarms[:, number], number]
        ends = (tight[number] * signs[number] + 0.0, only.min(initial=np.inf) * signs[number] + 0.0)
        intervals[name] = (float(min(ends)), float(max(ends)))
    return intervals
