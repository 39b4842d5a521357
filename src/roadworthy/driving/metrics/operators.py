"""Reaction time and accuracy: what asks for an action, and whether and when it comes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache

import numpy as np
from numpy.typing import NDArray

from roadworthy.driving.metrics.catalogue import Metric
from roadworthy.driving.metrics.quantities import Missing, Quantities


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


Series = NDArray[np.float64]
Flags = NDArray[np.bool_]

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
