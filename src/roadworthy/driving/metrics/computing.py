"""Metrics of a drive: per sector or whole, and per step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from roadworthy._frozen import FrozenDict
from roadworthy.driving.drives import Drive
from roadworthy.driving.metrics import operators
from roadworthy.driving.metrics.catalogue import (
    CATALOGUE,
    OPERATORS,
    Metric,
    MetricSettings,
    parse_metric,
    primitives,
)
from roadworthy.driving.metrics.operators import (
    BINNED,
    STANDING,
    STATISTICS,
    Flags,
    Happening,
    Missing,
    Quantities,
    Rows,
    Sectors,
    Series,
    reactions,
    seen_until,
)
from roadworthy.driving.sectors import SectorTable
from roadworthy.errors import InputError
from roadworthy.registry import metrics

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class MetricTable:
    """Metrics of a drive, a row per sector.

    Attributes:
        drive: The name of the drive.
        sectors: The names of the sectors.
        values: By metric, a number for each sector; NaN where a sector does not have it, infinite for the
            time to something that does not come.
        missing: The metrics that cannot be computed from this drive, with what they need.
    """

    drive: str
    sectors: tuple[str, ...]
    values: Mapping[str, Series]
    missing: Mapping[str, str]

    def __getitem__(self, metric: str) -> Series:
        """Return the numbers of one metric, in any spelling.

        Raises:
            InputError: It was not computed; says why.
        """
        name = str(parse_metric(metric))
        if name in self.values:
            return self.values[name]
        why = f"needs {self.missing[name]}" if name in self.missing else "was not asked for"
        raise InputError(f"{name} of drive {self.drive} {why}")

    def table(self, metrics: Sequence[str] | None = None) -> SectorTable:
        """Return the metrics as rows for oracles: those asked for, or all that every sector has."""
        names = (
            [str(parse_metric(name)) for name in metrics]
            if metrics is not None
            else [name for name, column in self.values.items() if np.isfinite(column).all()]
        )
        columns = {name: self[name] for name in names}
        return SectorTable.of(columns, drivers=[self.drive] * len(self.sectors), sectors=self.sectors)


def compute(
    drive: Drive,
    metrics: Sequence[str | Metric] | None = None,
    *,
    whole: bool = False,
    settings: MetricSettings | None = None,
) -> MetricTable:
    """Compute metrics for each sector of a drive.

    A primitive by itself, and its distance from the target, is a value per step; over a sector it is the
    mean.

    Args:
        drive: The drive.
        metrics: Which; all of Table I if left out.
        whole: Take the whole drive as one sector.
        settings: Targets, conditions and so on; those that come with the package if left out.

    Raises:
        InputError: There is no such metric.

    Example:
        >>> drive = Drive("lap", [0.0, 0.1, 0.2], {"lane_offset": [0.1, -0.1, 0.3]})
        >>> table = compute(drive, ["Mean(LP)", "SD(LP)", "Mean(HP)"])
        >>> {name: round(float(column[0]), 3) for name, column in table.values.items()}
        {'Mean(LP)': 0.167, 'SD(LP)': 0.2}
        >>> table.missing["Mean(HP)"]
        'the signal headway'
    """
    wanted = _wanted(metrics)
    sectors = Sectors(np.zeros(len(drive), np.intp) if whole else drive.sectors, drive.time, drive.gap)
    work = _Computation(Quantities(drive, settings or MetricSettings.standard()), sectors)
    values, missing = {}, {}
    # Numbers beyond all measure overflow to infinity, and what comes of that is not known.
    with np.errstate(over="ignore", invalid="ignore"):
        for metric in wanted:
            try:
                values[str(metric)] = work.value(metric)
            except Missing as lacking:
                missing[str(metric)] = str(lacking)
    names = ("whole",) if whole else drive.sector_names
    return MetricTable(drive.name, names, FrozenDict(values), FrozenDict(missing))


def per_step(
    drive: Drive, metrics: Sequence[str | Metric], *, settings: MetricSettings | None = None
) -> dict[str, Series]:
    """Return values for each row of a drive: primitives, their distance from the target, times to events.

    Raises:
        InputError: A metric is a number for many steps, or the drive lacks what it needs.

    Example:
        >>> drive = Drive("lap", [0.0, 0.1, 0.2], {"lane_offset": [0.1, -0.1, 0.3]})
        >>> per_step(drive, ["DevT(LP)"])["DevT(LP)"].tolist()
        [0.1, 0.1, 0.3]
    """
    quantities = Quantities(drive, settings or MetricSettings.standard())
    work = _Computation(quantities, Sectors(drive.sectors, drive.time, drive.gap))
    found = {}
    with np.errstate(over="ignore", invalid="ignore"):
        for metric in _wanted(metrics):
            try:
                found[str(metric)] = work.steps(metric)
            except Missing as lacking:
                raise InputError(f"{metric} of drive {drive.name} needs {lacking}") from None
    return found


def availability(drive: Drive, *, settings: MetricSettings | None = None) -> dict[str, str | None]:
    """Return, for every metric of Table I, what it lacks to be computed from a drive; None where it can be.

    Example:
        >>> found = availability(Drive("lap", [0.0, 0.1], {"speed": [5.0, 5.1]}))
        >>> found["Mean(ACC)"], found["Mean(TPP)"]
        (None, 'the signal throttle')
    """
    missing = compute(drive, whole=True, settings=settings).missing
    return {str(entry.metric): missing.get(str(entry.metric)) for entry in CATALOGUE}


def _wanted(metrics: Sequence[str | Metric] | None) -> list[Metric]:
    if metrics is None:
        return [entry.metric for entry in CATALOGUE]
    if isinstance(metrics, str):
        raise InputError(f"expected a list of metrics, got the text {metrics!r}")
    return [one if isinstance(one, Metric) else parse_metric(one) for one in metrics]


class _Computation:
    """Computes metrics of one drive in its sectors."""

    def __init__(self, quantities: Quantities, sectors: Sectors) -> None:
        self.quantities = quantities
        self.settings = quantities.settings
        self.drive = quantities.drive
        self.sectors = sectors
        self._known: dict[tuple[str, ...], tuple[Sectors | None, Flags, Rows]] = {}

    def steps(self, metric: Metric) -> Series:
        """Return the value in each step."""
        primitive, chain = metric.primitive, metric.operators
        if not chain and primitives()[primitive].event is not None:
            flags, known, _ = self.quantities.happening(primitive)
            return flags.astype(np.float64) if known is None else np.where(known, flags, np.nan)
        if chain == ("TimeE",):
            return self._time_to(primitive)
        if primitive in ("TO", "SARR", "BD") or chain not in ((), ("DevT",)):
            raise InputError(
                f"{metric} is one number for many steps: ask for it per sector, or for {primitive} per step"
            )
        return self._plain(metric, chain)

    def value(self, metric: Metric) -> Series:
        """Return the value in each sector."""
        if primitives()[metric.primitive].event is not None:
            return self._of_event(metric)
        if metric.primitive in ("D", "T", "TO", "SARR", "BD"):
            if metric.operators:
                raise InputError(f"{metric}: {metric.primitive} is one number, no operator applies to it")
            return self._single(metric.primitive)
        outer, inner = metric.operators[:1], metric.operators[1:]
        if outer == ("DevT",):
            outer, inner = (), ("DevT",)
        if inner not in ((), ("DevT",)) and metric.operators != ("CountC", "Max"):
            raise InputError(f"{metric}: operators apply to a quantity, or to DevT of it")
        if outer in (("CountC",), ("TimeC",), ("Count",)):
            return self._in_condition(metric, outer[0], () if inner == ("Max",) else inner)
        # RMSE measures from the target too.
        chain = ("DevT",) if outer == ("RMSE",) else inner
        values = self._plain(metric, chain)
        if outer == ("PowF",):
            return self._band_power(metric, values)
        return self._over_known(metric, outer[0] if outer else "Mean", values, chain)

    def _plain(self, metric: Metric, chain: tuple[str, ...]) -> Series:
        values = self.quantities.series(metric.primitive)
        return np.abs(values - self.quantities.target(metric.primitive)) if chain == ("DevT",) else values

    def _over_known(self, metric: Metric, operator: str, values: Series, chain: tuple[str, ...]) -> Series:
        key = (metric.primitive, *chain)
        if key not in self._known:
            usable = np.isfinite(values)
            everywhere = self.sectors, np.arange(self.sectors.count)
            sectors, present = everywhere if usable.all() else self.sectors.only(usable)
            self._known[key] = sectors, usable, present
        sectors, usable, present = self._known[key]
        found = np.full(self.sectors.count, np.nan)
        if sectors is not None:
            values = values if sectors is self.sectors else values[usable]
            if operator in self.settings.magnitude.get(metric.primitive, ()):
                values = np.abs(values)
            found[present] = self._statistic(metric, operator, sectors, values)
        return found

    def _statistic(self, metric: Metric, operator: str, sectors: Sectors, values: Series) -> Series:
        if operator in STATISTICS:
            return STATISTICS[operator](sectors, values)
        if operator == "SER":
            return operators.regression_error(sectors, values)
        if operator in BINNED:
            return BINNED[operator](sectors, values, self._told(self.settings.bins, "width of bins", metric))
        raise InputError(f"{metric}: {operator} applies to events only")

    def _told(self, given: Mapping[str, T], what: str, metric: Metric) -> T:
        if metric.primitive not in given:
            raise Missing(f"a {what} for {metric.primitive} in the settings")
        return given[metric.primitive]

    def _in_condition(self, metric: Metric, operator: str, inner: tuple[str, ...]) -> Series:
        values = self._plain(metric, inner)
        if operator in self.settings.magnitude.get(metric.primitive, ()):
            values = np.abs(values)
        condition = self.settings.conditions.get(str(metric))
        if condition is None:
            raise Missing(f"a condition for {metric} in the settings")
        return self._while_true(
            Happening.where(condition, values), "TimeC" if operator == "TimeC" else "Count"
        )

    def _while_true(self, what: Happening, operator: str) -> Series:
        """Return how long or how often something goes on in the known part of each sector."""
        found = np.full(self.sectors.count, np.nan)
        sectors, flags, present = self.sectors, what.flags, np.arange(self.sectors.count)
        if what.known is not None:
            usable, present = self.sectors.only(what.known)
            if usable is None:
                return found
            sectors, flags = usable, what.flags[what.known]
        if operator == "TimeC":
            found[present] = sectors.total(np.where(flags, sectors.steps, 0.0))
        else:
            found[present] = (
                sectors.total(flags.astype(np.float64)) if what.moments else sectors.beginnings(flags)
            )
        return found

    def _of_event(self, metric: Metric) -> Series:
        if len(metric.operators) != 1:
            raise InputError(f"{metric}: an event is not a metric: ask for Count, TimeC, TimeE, RT or RA")
        operator = metric.operators[0]
        if operator == "TimeE":
            return self._soonest(metric.primitive)
        if operator in ("RT", "RA"):
            return reactions(self.quantities, self.sectors, metric, accuracy=operator == "RA")
        if operator not in ("Count", "CountC", "TimeC"):
            raise InputError(f"{metric}: {operator} does not apply to an event")
        condition = self.settings.conditions.get(str(metric))
        if metric.primitive == "COL" and operator != "Count" and condition is not None:
            return self._while_true(Happening.where(condition, self.quantities.time_to_collision()), operator)
        happening = self.quantities.happening(metric.primitive)
        if operator == "TimeC" and happening.moments:
            raise Missing("the event lane change: lanes say when it happens, not how long it takes")
        return self._while_true(happening, operator)

    def _time_to(self, primitive: str) -> Series:
        """Return the seconds to an event in each step: foreseen for collisions and lines, else as it came."""
        if primitive == "COL":
            return self.quantities.time_to_collision()
        if primitive == "LCR":
            return self.quantities.time_to_line()
        rows = self.quantities.rows
        return self._until(primitive, rows, np.full(len(rows), len(rows)))

    def _until(self, primitive: str, rows: Rows, ends: Rows) -> Series:
        """Return the seconds from some rows to an event before others, infinite if there is none.

        They are not known where a gap, or rows that do not say, come before the event or the end.
        """
        what = self.quantities.happening(primitive)
        coming = np.append(np.flatnonzero(what.flags), len(self.drive))
        event = coming[np.searchsorted(coming, rows)]
        seen = seen_until(self.quantities, what, rows)
        seconds = np.append(self.drive.time, np.inf)[event] - self.drive.time[rows]
        never = np.where((event >= ends) & (seen >= ends - 1), np.inf, np.nan)
        return np.where((event < ends) & (event <= seen), seconds, never)

    def _soonest(self, primitive: str) -> Series:
        if primitive in ("COL", "LCR"):
            values = self._time_to(primitive)
            found = self.sectors.least(np.where(np.isnan(values), np.inf, values))
            return np.where(self.sectors.total((~np.isnan(values)).astype(np.float64)) > 0, found, np.nan)
        starts = self.sectors.starts
        return self._until(primitive, starts, np.append(starts[1:], len(self.drive)))

    def _single(self, primitive: str) -> Series:
        starts = self.sectors.starts
        # A sector lasts until the next one begins.
        if primitive == "T":
            return self.sectors.total(self.sectors.steps)
        if primitive == "D":
            driven = self.quantities.series("D")
            known = self.sectors.total(np.isfinite(driven).astype(np.float64)) > 0
            return np.where(known, self.sectors.total(np.nan_to_num(np.diff(driven, append=np.nan))), np.nan)
        if primitive == "TO":
            offset = self.quantities.series("LP")
            return np.asarray(offset[np.append(starts[1:] - 1, len(self.drive) - 1)] - offset[starts])
        return self._reversal_rate() if primitive == "SARR" else self._braking_distance()

    def _reversal_rate(self) -> Series:
        """Return the reversals per minute, over the stretches without gaps."""
        told = self.settings.reversal

        def counted(part: Series, stamps: Series) -> int | None:
            return operators.reversals(part * told.steering_ratio, stamps, told.gap, told.below)

        return self._each_second(self.quantities.series("SA"), counted) * 60

    def _band_power(self, metric: Metric, values: Series) -> Series:
        """Return the power in a band, the mean over the stretches without gaps by their length."""
        band = self._told(self.settings.bands, "band", metric)

        def lasting(part: Series, stamps: Series) -> float | None:
            found = operators.band_power(part, stamps, band)
            return None if found is None else found * float(stamps[-1] - stamps[0])

        return self._each_second(values, lasting)

    def _each_second(self, values: Series, total: Callable[[Series, Series], float | None]) -> Series:
        """Return the sum of something over stretches without gaps for each second; NaN where none has it."""
        sums, seconds = np.zeros(self.sectors.count), np.zeros(self.sectors.count)
        for sector, part, stamps in self._stretches(values):
            if (found := total(part, stamps)) is not None:
                sums[sector] += found
                seconds[sector] += stamps[-1] - stamps[0]
        return np.where(seconds > 0, sums / np.maximum(seconds, 1e-9), np.nan)

    def _stretches(self, values: Series) -> Iterator[tuple[int, Series, Series]]:
        """Yield the parts of each sector, of three rows or more, with known values and no gap in time."""
        known = np.isfinite(values)
        joined = np.append(False, known[1:] & known[:-1] & self.sectors.inside)
        starts = np.flatnonzero(known & ~joined)
        ends = np.flatnonzero(known & ~np.concatenate([joined[1:], [False]])) + 1
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            if end - start > 2:
                yield int(self.sectors.numbers[start]), values[start:end], self.drive.time[start:end]

    def _braking_distance(self) -> Series:
        """Return the mean distance from where braking begins to where the vehicle stands."""
        flags, known, _ = self.quantities.happening("BR")
        speed, distance = self.quantities.series("SP"), self.quantities.series("D")
        usable = np.isfinite(speed) & np.isfinite(distance)
        rows = np.flatnonzero(usable if known is None else usable & known)
        braking, standing = flags[rows], speed[rows] < STANDING
        near = np.append(False, np.diff(self.drive.time[rows]) <= self.drive.gap)[: len(rows)]
        # Where braking began must have been seen, neither before the record nor in a gap.
        begins = np.flatnonzero(braking & ~np.append(True, braking[:-1])[: len(rows)] & ~standing)
        over = np.append(np.flatnonzero(~braking | standing | ~near), len(rows))
        stops = over[np.searchsorted(over, begins)]
        stopped = np.append(standing & near, False)[stops]
        begins, stops = rows[begins[stopped]], rows[stops[stopped]]
        where = self.sectors.numbers[begins]
        metres = np.bincount(where, distance[stops] - distance[begins], self.sectors.count)
        counts = np.bincount(where, minlength=self.sectors.count)
        return np.where(counts > 0, metres / np.maximum(counts, 1), np.nan)


def unit_of(metric: str | Metric) -> str:
    """Return the unit of a metric; empty where it has none.

    Example:
        >>> unit_of("SD(SP)"), unit_of("Var(LP)"), unit_of("Count(BR)"), unit_of("CV(LP)")
        ('m/s', '(m)²', 'times', '')
    """
    parsed = parse_metric(metric) if isinstance(metric, str) else metric
    own = primitives()[parsed.primitive].unit
    return OPERATORS[parsed.operators[0]].get("unit", "{}").format(own) if parsed.operators else own


def meaning_of(metric: str | Metric) -> str:
    """Return a metric in words.

    Example:
        >>> meaning_of("SD(LP)"), meaning_of("TimeE(CR)")
        ('standard deviation of lateral position', 'seconds to crash')
    """
    parsed = parse_metric(metric) if isinstance(metric, str) else metric
    words = primitives()[parsed.primitive].title
    for operator in reversed(parsed.operators):
        words = OPERATORS[operator]["words"].format(words)
    return words


def _per_sector(drive: Drive, *, name: str) -> NDArray[np.float64]:
    return compute(drive, [name])[name]


for _entry in CATALOGUE:
    _unit, _name = unit_of(_entry.metric), str(_entry.metric)
    _summary = meaning_of(_entry.metric) + (f", in {_unit}" if _unit and _unit != "0 to 1" else "")
    metrics.register(_name, summary=_summary)(partial(_per_sector, name=_name))
