"""The quantities of a drive, and the operators that metrics apply to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from roadworthy.driving.drives import Drive, derivative
from roadworthy.driving.metrics.catalogue import Metric, MetricSettings, primitives

Series = NDArray[np.float64]
Flags = NDArray[np.bool_]
T = TypeVar("T")


class Missing(Exception):  # noqa: N818 - not an error: most drives lack most signals
    """A drive does not have what a metric needs; says what."""


_SIGNALS = {
    "TPP": "throttle",
    "LP": "lane_offset",
    "HP": "headway",
    "DTP": "pedestrian_distance",
    "DTV": "vehicle_distance",
    "SA": "steering",
    "BPP": "brake",
}
_RATES = {"AS": "ACC", "TPS": "TPP", "LS": "LP", "LA": "LS", "SAS": "SA"}


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
            "ACC": lambda: self._signal("acceleration") if self._has("acceleration") else self._rate("SP"),
            "HT": lambda: _time_to(self.series("HP"), self.series("SP")),
            "HS": self._headway_speed,
        }

    def series(self, primitive: str) -> Series:
        """Return the values of a quantity, one for each row.

        Raises:
            Missing: The drive lacks what it takes.
        """
        return _once(self._series, primitive, lambda: self._measured(primitive))

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

    def _measured(self, primitive: str) -> Series:
        if primitive in _SIGNALS:
            return self._signal(_SIGNALS[primitive])
        return self._rate(_RATES[primitive]) if primitive in _RATES else self._ways[primitive]()

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


def reactions(
    quantities: Quantities, sectors: Sectors, metric: Metric, *, accuracy: bool
) -> NDArray[np.float64]:
    """Return the mean reaction time, or the share of reactions in time, for what begins in each sector.

    Raises:
        Missing: The drive does not have the events, or the settings do not say which.
    """
    told = quantities.settings.reactions.get(str(metric))
    if told is None:
        raise Missing(f"what counts as a reaction for {metric} in the settings")
    time = quantities.drive.time
    asked = np.flatnonzero(_begins(_asking(quantities, told.to)))
    acting = time[_begins(quantities.flags(told.action))]
    delays = np.append(acting, np.inf)[np.searchsorted(acting, time[asked])] - time[asked]
    in_time = delays <= told.within
    where = sectors.numbers[asked]
    counted = np.ones(len(asked), np.bool_) if accuracy else in_time
    values = in_time.astype(np.float64) if accuracy else np.where(in_time, delays, 0.0)
    totals = np.bincount(where[counted], values[counted], sectors.count)
    counts = np.bincount(where[counted], minlength=sectors.count)
    with np.errstate(invalid="ignore"):
        return np.where(counts > 0, totals / counts, np.nan)


def _asking(quantities: Quantities, event: str) -> NDArray[np.bool_]:
    """Return where something asks for an action; a collision asks for one when it is foreseen."""
    condition = quantities.settings.conditions.get("TimeC(COL)")
    if event == "COL" and condition is not None:
        return condition.holds(quantities.time_to_collision())
    return quantities.flags(event)


def _begins(flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return np.asarray(flags & ~np.concatenate([[False], flags[:-1]]))


_ROUNDING = 1e-9
_SHORTEST = 0.01  # periods of the slowest that a filter must let pass


class Sectors:
    """Rows in sectors that follow each other.

    Args:
        numbers: The sector of each row, from 0, growing.
    """

    def __init__(self, numbers: NDArray[np.intp]) -> None:
        self.numbers = numbers
        self.count = int(numbers[-1]) + 1
        self.starts = np.searchsorted(numbers, np.arange(self.count))
        self.sizes = np.diff(self.starts, append=len(numbers)).astype(np.float64)

    def known(self, values: Series) -> tuple[Sectors | None, Series, NDArray[np.intp]]:
        """Return the sectors and values of rows where a value is known, and the numbers of those sectors."""
        usable = np.isfinite(values)
        if usable.all():
            return self, values, np.arange(self.count)
        kept = self.numbers[usable]
        if not len(kept):
            return None, values[:0], kept
        present, dense = np.unique(kept, return_inverse=True)
        return Sectors(dense), values[usable], present

    def total(self, values: Series) -> Series:
        """Return the sum over the rows of each sector."""
        return np.add.reduceat(values, self.starts)

    def least(self, values: Series) -> Series:
        """Return the minimum in each sector."""
        return np.asarray(np.minimum.reduceat(values, self.starts))

    def greatest(self, values: Series) -> Series:
        """Return the maximum in each sector."""
        return np.asarray(np.maximum.reduceat(values, self.starts))

    def mean(self, values: Series) -> Series:
        """Return the mean in each sector."""
        return self.total(values) / self.sizes

    def centred(self, values: Series) -> Series:
        """Return the distance of each row from the mean of its sector."""
        return values - self.mean(values)[self.numbers]

    def variance(self, values: Series) -> Series:
        """Return the variance of each sector as a sample; unknown for a single row."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.sizes > 1, self.total(self.centred(values) ** 2) / (self.sizes - 1), np.nan)

    def parts(self, values: Series) -> Iterator[Series]:
        """Yield the rows of each sector."""
        yield from np.split(values, self.starts[1:])

    def beginnings(self, flags: Flags, joined: Flags) -> Series:
        """Return how often something begins in each sector; what goes on from another one begins anew.

        Args:
            flags: In which rows it goes on.
            joined: Whether there is no gap before each row.
        """
        first = np.zeros(len(flags), np.bool_)
        first[self.starts] = True
        before = np.concatenate([[False], flags[:-1]]) & joined & ~first
        return self.total((flags & ~before).astype(np.float64))


def _ratio(above: Series, below: Series) -> Series:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(below != 0, above / below, np.nan)


STATISTICS: Mapping[str, Callable[[Sectors, Series], Series]] = {
    "Min": Sectors.least,
    "Max": Sectors.greatest,
    "Mean": Sectors.mean,
    "Sum": Sectors.total,
    "Med": lambda sectors, values: np.array([np.median(part) for part in sectors.parts(values)]),
    "SD": lambda sectors, values: np.sqrt(sectors.variance(values)),
    "Var": Sectors.variance,
    "CV": lambda sectors, values: _ratio(np.sqrt(sectors.variance(values)), sectors.mean(values)),
    "AbsDev": lambda sectors, values: sectors.mean(np.abs(sectors.centred(values))),
    "SoS": lambda sectors, values: sectors.total(values**2),
    "RMSE": lambda sectors, values: np.sqrt(sectors.mean(values**2)),
    "Diff": lambda sectors, values: sectors.greatest(values) - sectors.least(values),
}
"""Operators that need nothing but the values."""


def mode(sectors: Sectors, values: Series, width: float) -> Series:
    """Return the middle of the bin with most values, the lowest of equals; bins are centred on multiples."""
    found = []
    for part in sectors.parts(np.floor(values / width + 0.5)):
        bins, counts = np.unique(part, return_counts=True)
        found.append(bins[counts.argmax()] * width)
    return np.array(found)


def skewness(sectors: Sectors, values: Series, width: float) -> Series:
    """Return Pearson's first coefficient: the mean minus the mode, over the standard deviation."""
    return _ratio(sectors.mean(values) - mode(sectors, values, width), np.sqrt(sectors.variance(values)))


def entropy(sectors: Sectors, values: Series, width: float) -> Series:
    """Return the entropy of the histogram in bits."""
    found = []
    for part in sectors.parts(np.floor(values / width + 0.5)):
        share = np.unique(part, return_counts=True)[1] / len(part)
        found.append(-(share * np.log2(share)).sum() + 0.0)
    return np.array(found)


BINNED: Mapping[str, Callable[[Sectors, Series, float], Series]] = {
    "Mode": mode,
    "Skew": skewness,
    "Ent": entropy,
}
"""Operators that need the width of bins."""


def regression_error(sectors: Sectors, values: Series, time: Series) -> Series:
    """Return the standard error of the line through the values over time, with n - 2."""
    across, up = sectors.centred(time), sectors.centred(values)
    slope = _ratio(sectors.total(across * up), sectors.total(across**2))
    left = sectors.total((up - slope[sectors.numbers] * across) ** 2)
    return np.sqrt(_ratio(left, np.where(sectors.sizes > 2, sectors.sizes - 2, 0.0)))


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


def reversals(values: Series, time: Series, gap: float, below: float | None) -> int:
    """Return the number of swings of at least a gap, to either side.

    The algorithm of SAE J2944: the signal is filtered, its turning points are found, and each time that the
    signal has risen (fallen) by the gap since its last low (high) is one reversal.

    Args:
        values: The angle.
        time: Its time stamps, three or more.
        gap: The least swing.
        below: The frequency in hertz above which the signal is filtered out; None leaves it as it is.
    """
    grid = np.linspace(time[0], time[-1], len(values))
    steady = np.interp(grid, time, values)
    rate = (len(values) - 1) / (time[-1] - time[0])
    if below is not None and below < rate / 2:
        from scipy.signal import sosfiltfilt

        if (time[-1] - time[0]) * below < _SHORTEST:
            return 0  # nothing as slow as what passes the filter can be seen

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
