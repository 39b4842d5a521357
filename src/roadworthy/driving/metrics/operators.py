"""The quantities of a drive, and the operators that metrics apply to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from roadworthy.driving.drives import Drive, derivative
from roadworthy.driving.metrics.catalogue import Metric, MetricSettings, NumberCondition, primitives

Series = NDArray[np.float64]
Flags = NDArray[np.bool_]
Rows = NDArray[np.intp]
T = TypeVar("T")


class Missing(Exception):  # noqa: N818 - not an error: most drives lack most signals
    """A drive does not have what a metric needs; says what."""


STANDING = 0.1
"""The speed in m/s below which a vehicle stands."""


class Happening(NamedTuple):
    """In which rows something goes on.

    Attributes:
        flags: Whether it goes on.
        known: Whether that is known; None where it is in all rows.
        moments: Whether each row is another one, that takes no time.
    """

    flags: Flags
    known: Flags | None = None
    moments: bool = False

    @classmethod
    def where(cls, condition: NumberCondition, values: Series) -> Happening:
        """Return where values satisfy a condition; that of an unknown value is not known."""
        known = ~np.isnan(values)
        return cls(condition.holds(values), None if known.all() else known)


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
        self._happening: dict[str, Happening | Missing] = {}
        self._ways: dict[str, Callable[[], Series]] = {
            "D": self._distance,
            "T": lambda: drive.time - drive.time[0],
            "SP": self._speed,
            "ACC": lambda: self._signal("acceleration") if self._has("acceleration") else self._rate("SP"),
            "HT": lambda: _time_to(self.series("HP"), self.series("SP"), STANDING),
            "HS": self._headway_speed,
        }

    @cached_property
    def rows(self) -> Rows:
        """The numbers of the rows."""
        return np.arange(len(self.drive))

    @cached_property
    def near(self) -> Flags:
        """Whether each row but the last has no gap after it."""
        return ~self.drive.gaps

    @cached_property
    def step(self) -> float:
        """The seconds from a row to the next, as usual; 0 where there is none."""
        lengths = np.diff(self.drive.time)[self.near]
        return float(np.median(lengths)) if len(lengths) else 0.0

    def series(self, primitive: str) -> Series:
        """Return the values of a quantity, one for each row.

        Raises:
            Missing: The drive lacks what it takes.
        """
        return _once(self._series, primitive, lambda: self._measured(primitive))

    def happening(self, event: str) -> Happening:
        """Return in which rows an event goes on; its primitive or its name.

        Raises:
            Missing: The drive does not say.
        """
        return _once(self._happening, event, lambda: self._goes_on(event))

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
        """Return the metres driven; between two known rows that are a gap apart, nothing is added."""
        odometer = self._has("distance")
        values = self._signal("distance") if odometer else self.series("SP")
        known = np.flatnonzero(np.isfinite(values))
        if not len(known):
            return np.full(len(values), np.nan)
        time, told = self.drive.time[known], values[known]
        lengths = np.diff(time)
        joined = lengths <= self.drive.gap
        metres = np.diff(told) if odometer else (told[1:] + told[:-1]) / 2 * lengths
        driven = np.concatenate([[0.0], np.cumsum(np.where(joined, metres, 0.0))])
        if len(known) == len(values):
            return driven
        between = np.searchsorted(known, np.arange(len(values)), "right") - 1
        inside = np.append(joined, False)[between] & (between >= 0)
        return np.where(np.isfinite(values) | inside, np.interp(self.drive.time, time, driven), np.nan)

    def _measured(self, primitive: str) -> Series:
        known = primitives()[primitive]
        if known.signal:
            return self._signal(known.signal)
        return self._rate(known.rate_of) if known.rate_of else self._ways[primitive]()

    def _headway_speed(self) -> Series:
        if self._has("lead_speed"):
            return np.asarray(self._signal("lead_speed") - self.series("SP"))
        return self._rate("HP")

    def _goes_on(self, event: str) -> Happening:
        known = primitives().get(event)
        name = known.event if known is not None and known.event is not None else event
        recorded = self.drive.events.get(name)
        if recorded is not None:
            return Happening(recorded)
        if event == "BR" and self._has("brake"):
            return Happening.where(
                NumberCondition(sign=">", value=self.settings.braking), self._signal("brake")
            )
        if event == "ST":
            faster = NumberCondition(sign=">", value=self.settings.steering_action)
            return Happening.where(faster, np.abs(self.series("SAS")))
        if event == "LC" and self._has("lane"):
            return self._lane_changes()
        raise Missing(f"the event {name}" + (" or the signal brake" if event == "BR" else ""))

    def _lane_changes(self) -> Happening:
        """Return where the lane is another than in the known row before; not where a gap parts the two."""
        lane = self._signal("lane")
        known = np.isfinite(lane)
        rows = np.flatnonzero(known)
        changed = np.zeros(len(lane), np.bool_)
        changed[rows[1:]] = (np.diff(lane[rows]) != 0) & (np.diff(self.drive.time[rows]) <= self.drive.gap)
        return Happening(changed, None if known.all() else known, moments=True)


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


def _time_to(distance: Series, closing: Series, slowest: float = 0.0) -> Series:
    """Return the seconds to cover a distance at a speed, infinite where it does not shrink."""
    with np.errstate(divide="ignore", invalid="ignore"):
        seconds = np.where(closing > slowest, distance / closing, np.inf)
    return np.where(np.isfinite(distance) & np.isfinite(closing), seconds, np.nan)


def reactions(
    quantities: Quantities, sectors: Sectors, metric: Metric, *, accuracy: bool
) -> NDArray[np.float64]:
    """Return the mean reaction time, or the share of reactions in time, for what begins in each sector.

    What asks for an action counts only where the record says whether the action followed: without a gap, an
    unknown row or the end of the drive before the action, or before the time for it is over.

    Raises:
        Missing: The drive does not have the events, or the settings do not say which.
    """
    told = quantities.settings.reactions.get(str(metric))
    if told is None:
        raise Missing(f"what counts as a reaction for {metric} in the settings")
    drive = quantities.drive
    action = quantities.happening(told.action)
    asked = _begins(quantities, _asking(quantities, told.to))
    acting = drive.time[_begins(quantities, action)]
    time = drive.time[asked]
    delays = np.append(acting, np.inf)[np.searchsorted(acting, time)] - time
    last = seen_until(quantities, action, asked)
    # The last row before a gap stands for as long as rows usually do.
    until = np.where(last >= 0, drive.time[last] + quantities.step, -np.inf)
    in_time = (delays <= told.within) & (time + delays <= until)
    counted = in_time | (time + told.within <= until + _ROUNDING) if accuracy else in_time
    where = sectors.numbers[asked][counted]
    values = (in_time.astype(np.float64) if accuracy else delays)[counted]
    counts = np.bincount(where, minlength=sectors.count)
    return _ratio(np.bincount(where, values, sectors.count).astype(np.float64), counts.astype(np.float64))


def _asking(quantities: Quantities, event: str) -> Happening:
    """Return where something asks for an action; a collision asks for one when it is foreseen."""
    condition = quantities.settings.conditions.get("TimeC(COL)")
    if event == "COL" and condition is not None:
        return Happening.where(condition, quantities.time_to_collision())
    return quantities.happening(event)


def _begins(quantities: Quantities, what: Happening) -> Rows:
    """Return where something begins; what goes on in the first row or after a gap begins there."""
    rows, near = _known_rows(quantities, what)
    flags = what.flags if what.known is None else what.flags[rows]
    if what.moments:
        return np.asarray(rows[flags])
    return np.asarray(rows[flags & ~np.append(False, flags[:-1] & near)[: len(rows)]])


def seen_until(quantities: Quantities, what: Happening, rows: Rows) -> Rows:
    """Return for some rows the last one up to which it is known, without a gap, whether something goes on.

    It is -1 where it is not known in the row itself.
    """
    drive = quantities.drive
    known, near = _known_rows(quantities, what)
    if not len(known):
        return np.full(len(rows), -1)
    lasts = np.flatnonzero(~np.append(near, False))
    before = np.searchsorted(known, rows, "right") - 1
    seen = (before >= 0) & (drive.time[rows] - drive.time[known[before]] <= drive.gap)
    return np.where(seen, known[lasts[np.searchsorted(lasts, before)]], -1)


def _known_rows(quantities: Quantities, what: Happening) -> tuple[Rows, Flags]:
    """Return the rows in which something is known, and whether each but the last has no gap after it."""
    if what.known is None:
        return quantities.rows, quantities.near
    rows = np.flatnonzero(what.known)
    return rows, np.asarray(np.diff(quantities.drive.time[rows]) <= quantities.drive.gap)


_ROUNDING = 1e-9
_STEADY = 1e-3  # rows whose times differ by less than this share stand for the same time
_SHORTEST = 0.01  # periods of the slowest that a filter must let pass


class Sectors:
    """Rows in sectors that follow each other.

    Args:
        numbers: The sector of each row, from 0, growing.
        time: The time stamp of each row.
        gap: Rows further apart than this many seconds have a gap between them.
        steps: The seconds until the next row; those between the time stamps if left out.
    """

    def __init__(
        self, numbers: NDArray[np.intp], time: Series, gap: float, steps: Series | None = None
    ) -> None:
        self.numbers, self.time, self.gap = numbers, time, gap
        self.count = int(numbers[-1]) + 1
        self.starts = np.searchsorted(numbers, np.arange(self.count))
        self.sizes = np.diff(self.starts, append=len(numbers)).astype(np.float64)
        self.lengths = np.diff(time)
        near = self.lengths <= gap
        self.inside: Flags = near.copy()
        self.inside[self.starts[1:] - 1] = False
        self.steps = np.append(np.where(near, self.lengths, 0.0), 0.0) if steps is None else steps

    def only(self, usable: Flags) -> tuple[Sectors | None, NDArray[np.intp]]:
        """Return the sectors of some rows, None if there are no rows, and their numbers among all."""
        kept = self.numbers[usable]
        if not len(kept):
            return None, kept
        first = np.append(True, kept[1:] != kept[:-1])
        found = Sectors(np.cumsum(first) - 1, self.time[usable], self.gap, self.steps[usable])
        # What is not known between two rows is taken as in the first, if they are not a gap apart.
        np.copyto(found.steps[:-1], found.lengths, where=found.inside)
        return found, kept[first]

    @cached_property
    def weights(self) -> Series | None:
        """The seconds that each row stands for: half way to its neighbours in the sector; None if all alike.

        The first and the last row of a stretch stand for as long to the outside as to the inside, a row
        without neighbours for the usual time.
        """
        lengths, inside, step = self.lengths, self.inside, self._step
        if step is None or (np.abs(lengths[inside] - step) <= _STEADY * step).all():
            return None
        half = np.where(inside, lengths / 2, 0.0)
        weights = np.append(half, 0.0)
        weights[1:] += half
        weights[~(np.append(False, inside) & np.append(inside, False))] *= 2
        weights[weights == 0] = step
        return weights

    @cached_property
    def _step(self) -> float | None:
        lengths = self.lengths[self.inside]
        return float(np.median(lengths)) if len(lengths) else None

    @cached_property
    def _whole(self) -> Series:
        """The weight of each sector."""
        return self.sizes if self.weights is None else self.total(self.weights)

    @cached_property
    def effective(self) -> Series:
        """How many rows of equal weight say as much as those of each sector (Kish)."""
        return self.sizes if self.weights is None else self._whole**2 / self.total(self.weights**2)

    def total(self, values: Series) -> Series:
        """Return the sum over the rows of each sector."""
        return np.add.reduceat(values, self.starts)

    def integral(self, values: Series) -> Series:
        """Return the sum over the time of each sector; unknown where no row is joined to another."""
        step = np.nan if self._step is None else self._step
        return self.mean(values) * self._whole * (step if self.weights is None else 1.0)

    def least(self, values: Series) -> Series:
        """Return the minimum in each sector."""
        return np.asarray(np.minimum.reduceat(values, self.starts))

    def greatest(self, values: Series) -> Series:
        """Return the maximum in each sector."""
        return np.asarray(np.maximum.reduceat(values, self.starts))

    def mean(self, values: Series) -> Series:
        """Return the mean over the time of each sector."""
        return self.total(values if self.weights is None else values * self.weights) / self._whole

    def centred(self, values: Series) -> Series:
        """Return the distance of each row from the mean of its sector."""
        return values - self.mean(values)[self.numbers]

    def variance(self, values: Series, fitted: int = 1) -> Series:
        """Return the mean square of values that are as far from what was fitted to them, as of a sample.

        Args:
            values: Distances from a mean (one number fitted) or from a line (two); they come squared.
            fitted: How many numbers were fitted; a sector with no more rows has no variance.
        """
        free = self.effective - fitted
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(free > _ROUNDING, self.mean(values**2) * self.effective / free, np.nan)

    def parts(self, values: Series) -> Iterator[Series]:
        """Yield the rows of each sector."""
        yield from np.split(values, self.starts[1:])

    def weighed(self, values: Series) -> Iterator[tuple[Series, Series | None]]:
        """Yield the rows of each sector, and their weights where they differ."""
        weights = [None] * self.count if self.weights is None else self.parts(self.weights)
        yield from zip(self.parts(values), weights, strict=True)

    def beginnings(self, flags: Flags) -> Series:
        """Return how often something begins in each sector; what goes on from another one begins anew.

        Args:
            flags: In which rows it goes on.
        """
        return self.total((flags & ~np.append(False, flags[:-1] & self.inside)).astype(np.float64))


def _ratio(above: Series, below: Series) -> Series:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(below != 0, above / below, np.nan)


def _deviation(sectors: Sectors, values: Series) -> Series:
    return np.sqrt(sectors.variance(sectors.centred(values)))


def median(sectors: Sectors, values: Series) -> Series:
    """Return what a signal is below for half of the time."""
    found = []
    for part, weights in sectors.weighed(values):
        if weights is None:
            found.append(np.median(part))
            continue
        order = np.argsort(part)
        below = np.cumsum(weights[order])
        half = below[-1] / 2
        place = np.searchsorted(below, [half * (1 - _ROUNDING), half * (1 + _ROUNDING)])
        found.append(part[order][place].mean())
    return np.array(found)


STATISTICS: Mapping[str, Callable[[Sectors, Series], Series]] = {
    "Min": Sectors.least,
    "Max": Sectors.greatest,
    "Mean": Sectors.mean,
    "Sum": Sectors.integral,
    "Med": median,
    "SD": _deviation,
    "Var": lambda sectors, values: sectors.variance(sectors.centred(values)),
    "CV": lambda sectors, values: _ratio(_deviation(sectors, values), sectors.mean(values)),
    "AbsDev": lambda sectors, values: sectors.mean(np.abs(sectors.centred(values))),
    "SoS": lambda sectors, values: sectors.integral(values**2),
    "RMSE": lambda sectors, values: np.sqrt(sectors.mean(values**2)),
    "Diff": lambda sectors, values: sectors.greatest(values) - sectors.least(values),
}
"""Operators that need nothing but the values."""


def _histogram(sectors: Sectors, values: Series, width: float) -> Iterator[tuple[Series, Series]]:
    """Yield for each sector the numbers of the bins that have values, and their share of the time."""
    for part, weights in sectors.weighed(np.floor(values / width + 0.5)):
        if weights is None:
            bins, counts = np.unique(part, return_counts=True)
            yield bins, counts / len(part)
        else:
            bins, places = np.unique(part, return_inverse=True)
            yield bins, np.bincount(places, weights) / weights.sum()


def mode(sectors: Sectors, values: Series, width: float) -> Series:
    """Return the middle of the bin with most time, the lowest of equals; bins are centred on multiples."""
    histograms = _histogram(sectors, values, width)
    first = (bins[(shares >= shares.max() - _ROUNDING).argmax()] for bins, shares in histograms)
    return np.array(list(first)) * width


def skewness(sectors: Sectors, values: Series, width: float) -> Series:
    """Return Pearson's first coefficient: the mean minus the mode, over the standard deviation."""
    return _ratio(sectors.mean(values) - mode(sectors, values, width), _deviation(sectors, values))


def entropy(sectors: Sectors, values: Series, width: float) -> Series:
    """Return the entropy of the histogram in bits."""
    shares = (shares for _, shares in _histogram(sectors, values, width))
    return np.array([-(share * np.log2(share)).sum() + 0.0 for share in shares])


BINNED: Mapping[str, Callable[[Sectors, Series, float], Series]] = {
    "Mode": mode,
    "Skew": skewness,
    "Ent": entropy,
}
"""Operators that need the width of bins."""


def regression_error(sectors: Sectors, values: Series) -> Series:
    """Return the standard error of the line through the values over time, with n - 2."""
    across, up = sectors.centred(sectors.time), sectors.centred(values)
    slope = _ratio(sectors.mean(across * up), sectors.mean(across**2))
    return np.sqrt(sectors.variance(up - slope[sectors.numbers] * across, fitted=2))


def band_power(values: Series, time: Series, band: tuple[float, float]) -> float | None:
    """Return the power of a signal at the frequencies of a band; a sine of amplitude a has a²/2.

    The mean is taken away, and the rows are read off a steady grid. A signal that is too short to tell the
    band from a constant, or sampled too slowly for it, has no power that could be known: None.
    """
    count = len(values)
    grid = np.linspace(time[0], time[-1], count)
    step = grid[1] - grid[0]
    frequencies = np.fft.rfftfreq(count, step)
    inside = (frequencies >= band[0] * (1 - _ROUNDING)) & (frequencies <= band[1] * (1 + _ROUNDING))
    inside[0] = False
    if not inside.any() or 0.5 / step < band[1] * (1 - _ROUNDING):
        return None
    steady = np.interp(grid, time, values)
    spectrum = np.abs(np.fft.rfft(steady - steady.mean()) / count) ** 2
    spectrum[1 : (count + 1) // 2] *= 2
    return float(spectrum[inside].sum())


def reversals(values: Series, time: Series, gap: float, below: float | None) -> int | None:
    """Return the number of swings of at least a gap, to either side; None where the record is too short.

    The algorithm of SAE J2944: the signal is filtered, its turning points are found, and each time that the
    signal has risen (fallen) by the gap since its last low (high) is one reversal.

    Args:
        values: The angle.
        time: Its time stamps, three or more.
        gap: The least swing.
        below: The frequency in hertz above which the signal is filtered out; None leaves it as it is.
    """
    steady = np.interp(np.linspace(time[0], time[-1], len(values)), time, values)
    rate = (len(values) - 1) / (time[-1] - time[0])
    if below is not None and below < rate / 2:
        from scipy.signal import sosfiltfilt

        if (time[-1] - time[0]) * below < _SHORTEST:
            return None  # nothing as slow as what passes the filter can be seen

        padding = min(len(steady) - 1, round(3 * rate / below))
        steady = sosfiltfilt(_low_pass(below, round(rate, 3)), steady, padlen=padding)
    slope = np.sign(np.diff(steady))
    turning = np.flatnonzero(slope[1:] * slope[:-1] < 0) + 1
    points = steady[np.concatenate([[0], turning, [len(steady) - 1]])]
    return _rises(points, gap) + _rises(-points, gap)


@cache
def _low_pass(below: float, rate: float) -> Series:
    from scipy.signal import butter

    return np.asarray(butter(2, below, fs=rate, output="sos"), np.float64)


def _rises(points: Series, gap: float) -> int:
    count, low = 0, float(points[0])
    for point in points[1:].tolist():
        if point - low >= gap:
            count += 1
            low = point
        elif point < low:
            low = point
    return count
