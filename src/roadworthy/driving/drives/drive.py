"""How far rectangles that are turned any way are apart."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from roadworthy._frozen import FrozenDict, ReadOnlyArrays, frozen, read_only
from roadworthy._yaml import read_yaml
from roadworthy.errors import InputError, check_number

Series = NDArray[np.float64]
Rectangle = tuple[Series, float, float, float]
"""Centre, heading in radians, length and width."""


def distances(one: Rectangle, others: Sequence[Rectangle]) -> Series:
    """Return the distance of a rectangle from each of others, 0 where they touch.

    Example:
        >>> car = (np.zeros(2), 0.0, 4.0, 2.0)
        >>> distances(car, [(np.array([7.0, 0.0]), 0.0, 4.0, 2.0), (np.array([3.0, 1.0]), 0.5, 4.0, 2.0)])
        array([3., 0.])
    """
    if not others:
        return np.empty(0)
    own, *_ = theirs = _corners([one, *others])
    own, theirs = np.broadcast_to(own, theirs[1:].shape), theirs[1:]
    # Points of each from the edges of the other.
    apart = _apart(np.concatenate([own, theirs]), np.concatenate([theirs, own])).reshape(2, -1)
    return np.where(_overlap(own, theirs), 0.0, apart.min(axis=0))


def _corners(rectangles: Sequence[Rectangle]) -> Series:
    """Return the corners of n rectangles, (n, 4, 2)."""
    centre = np.array([one[0] for one in rectangles])
    heading, length, width = np.array([one[1:] for one in rectangles]).T
    heading = np.where(np.isfinite(heading), heading, 0.0)
    cos, sin = np.cos(heading), np.sin(heading)
    ahead = np.stack([cos * length / 2, sin * length / 2], axis=-1)
    aside = np.stack([-sin * width / 2, cos * width / 2], axis=-1)
    front, rear = centre + ahead, centre - ahead
    return np.stack([front + aside, rear + aside, rear - aside, front - aside], axis=1)


def _overlap(one: Series, two: Series) -> NDArray[np.bool_]:
    """Return whether no edge of either has the other wholly beyond it."""
    edges = np.concatenate([each[:, 1:3] - each[:, :2] for each in (one, two)], axis=1)[:, :, None]
    own, theirs = ((points[:, None] * edges).sum(axis=3) for points in (one, two))
    beyond = (own.max(axis=2) < theirs.min(axis=2)) | (theirs.max(axis=2) < own.min(axis=2))
    apart: NDArray[np.bool_] = beyond.any(axis=1)
    return ~apart


def _apart(points: Series, corners: Series) -> Series:
    """Return the least distance of points from the edges of rectangles, one after the other."""
    ways = np.roll(corners, -1, axis=1) - corners
    squares = np.maximum((ways**2).sum(axis=2), 1e-18)
    away = points[:, :, None] - corners[:, None]
    shares = np.clip((away * ways[:, None]).sum(axis=3) / squares[:, None], 0, 1)
    away -= shares[..., None] * ways[:, None]
    return np.asarray(np.hypot(away[..., 0], away[..., 1]).min(axis=(1, 2)))


_KNOWN = read_yaml(Path(__file__).with_name("signals.yaml"), "file of signals", "signals and events").data

SIGNALS: Mapping[str, str] = FrozenDict({name: one["unit"] for name, one in _KNOWN["signals"].items()})
"""The signals that metrics are computed from, with their units; a drive may have others as well."""

PLAUSIBLE: Mapping[str, tuple[float, float]] = FrozenDict(
    {
        name: (float(one["plausible"][0]), float(one["plausible"][1]))
        for name, one in _KNOWN["signals"].items()
    }
)
"""Between which numbers a signal can be; what lies beyond is a fault of the log, and not known."""

EVENTS: Mapping[str, str] = FrozenDict(_KNOWN["events"])
"""The events that metrics are computed from; each is true in the steps in which it goes on."""

FATAL_EVENTS = ("crash", "line crossing")
"""The events after which no metric is needed to call a drive bad."""


@dataclass(frozen=True, eq=False)
class Drive(ReadOnlyArrays):
    """Signals and events of one drive, a row per time stamp.

    Attributes:
        name: What the drive is called.
        time: Seconds, growing from row to row.
        signals: By name, a number for each row; NaN where it is not known. Units are those of `SIGNALS`. What
            is beyond `PLAUSIBLE` becomes NaN, and the notes say so.
        events: By name, whether it goes on in each row.
        sectors: The number of the sector that each row is in, 0 if there is only one. Rows of one sector
            stand together; a sector that is driven twice has two numbers.
        sector_names: What the sectors are called.
        gap: Rows that are further apart than this many seconds have a gap between them: nothing is said about
            the time in between, and nothing is differentiated across it.
        notes: What was wrong with the record that it was read from.
        ended: Why the drive ended, where whoever recorded it says so: "lap complete", "crash" and so on.
        track: Where it was driven, where whoever recorded it says so.

    Raises:
        InputError: Time does not grow, lengths differ, an event is not known in a row, or there are no rows.

    Example:
        >>> drive = Drive("lap", [0.0, 0.1, 0.2], {"speed": [8.0, 8.1, 8.2]}, {"braking": [0, 0, 1]})
        >>> len(drive), drive.duration
        (3, 0.2)
    """

    name: str
    time: NDArray[np.float64]
    signals: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    events: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    sectors: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, np.intp))
    sector_names: tuple[str, ...] = ()
    gap: float = 1.0
    notes: tuple[str, ...] = ()
    ended: str = ""
    track: str = ""

    def __init__(
        self,
        name: str,
        time: ArrayLike,
        signals: Mapping[str, ArrayLike] | None = None,
        events: Mapping[str, ArrayLike] | None = None,
        *,
        sectors: ArrayLike | None = None,
        sector_names: Sequence[str] | None = None,
        gap: float = 1.0,
        notes: Sequence[str] = (),
        ended: str = "",
        track: str = "",
    ) -> None:
        stamps = _growing(time, name)
        check_number(f"drive {name}: seconds of a gap", gap, above=0)
        known = {key: _column(values, key, len(stamps)) for key, values in (signals or {}).items()}
        implausible = [note for key, values in known.items() for note in _without_implausible(key, values)]
        happening = {key: _flags(values, key, len(stamps)) for key, values in (events or {}).items()}
        given = np.zeros(len(stamps)) if sectors is None else _column(sectors, "sectors", len(stamps))
        # What is no number of a sector becomes one that is refused below.
        numbers = np.where((given >= 0) & (given < len(stamps)), given, -1).astype(np.intp)
        if numbers.shape != stamps.shape or numbers[0] != 0 or not np.isin(np.diff(numbers), (0, 1)).all():
            raise InputError(
                f"drive {name}: expected the number of a sector for each row, from 0 by steps of 1"
            )
        names = tuple(sector_names or (str(number + 1) for number in range(int(numbers[-1]) + 1)))
        if len(names) != int(numbers[-1]) + 1:
            raise InputError(f"drive {name}: {int(numbers[-1]) + 1} sectors have {len(names)} names")
        for key, value in (
            ("name", name),
            ("time", read_only(stamps)),
            ("signals", frozen({key: read_only(values) for key, values in known.items()})),
            ("events", frozen(happening)),
            ("sectors", read_only(numbers)),
            ("sector_names", names),
            ("gap", float(gap)),
            ("notes", (*notes, *implausible)),
            ("ended", ended),
            ("track", track),
        ):
            object.__setattr__(self, key, value)

    @classmethod
    def repaired(
        cls,
        name: str,
        time: ArrayLike,
        signals: Mapping[str, ArrayLike],
        events: Mapping[str, ArrayLike] | None = None,
        *,
        gap: float = 1.0,
        from_zero: bool = False,
        broken: Sequence[str] = (),
    ) -> Drive:
        """Return a drive of rows that may be out of order, repeated or without a time; its notes tell.

        Of rows with one time stamp the first is kept.

        Args:
            name: What the drive is called.
            time: Seconds, in any order.
            signals: By name, a number for each row.
            events: By name, whether it goes on in each row.
            gap: Rows further apart than this many seconds have a gap between them.
            from_zero: Let time begin at 0.
            broken: What is wrong with further rows, which could not be read at all.

        Raises:
            InputError: No row has a time, or lengths differ.

        Example:
            >>> drive = Drive.repaired("log", [0.0, 0.2, 0.1, 0.1], {"speed": [5.0, 7.0, 6.0, 9.0]})
            >>> drive.signals["speed"].tolist(), drive.notes
            ([5.0, 6.0, 7.0], ('1 row went back in time', '1 row repeated a time stamp'))
        """
        stamps = _column(time, "time", None)
        usable = np.abs(stamps) < _LATEST
        if not usable.any():
            wrong = f"; the first that cannot be read: {broken[0]}" if broken else ""
            raise InputError(f"drive {name}: none of {len(stamps) + len(broken)} rows has a time{wrong}")
        if from_zero:
            stamps = stamps - stamps[usable].min()
        order = np.flatnonzero(usable)[np.argsort(stamps[usable], kind="stable")]
        first = np.concatenate([[True], np.diff(stamps[order]) > 0])[: len(order)]
        behind = int(np.count_nonzero(np.diff(stamps[usable]) < 0))
        kept = order[first]
        notes = [
            f"{_counted(count, 'row')} {what}"
            for count, what in (
                (int(np.count_nonzero(~usable)), "had no time"),
                (behind, "went back in time"),
                (len(order) - len(kept), "repeated a time stamp"),
            )
            if count
        ]
        ordered = {key: _column(values, key, len(stamps))[kept] for key, values in signals.items()}
        happening = {key: _column(values, key, len(stamps))[kept] for key, values in (events or {}).items()}
        drive = cls(name, stamps[kept], ordered, happening, gap=gap)
        gaps = int(np.count_nonzero(drive.gaps))
        if gaps:
            notes.append(f"{_counted(gaps, 'gap')} of more than {gap:g} s")
        if broken:
            notes.append(f"{_counted(len(broken), 'row')} left out; the first: {broken[0]}")
        return drive.with_notes(notes)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.time)

    @property
    def duration(self) -> float:
        """Seconds from the first row to the last."""
        return float(self.time[-1] - self.time[0])

    @property
    def gaps(self) -> NDArray[np.bool_]:
        """Whether there is a gap after each row but the last."""
        return np.asarray(np.diff(self.time) > self.gap)

    @property
    def steps(self) -> NDArray[np.float64]:
        """The seconds that each row stands for: until the next one; 0 before a gap and at the end."""
        lengths = np.diff(self.time, append=self.time[-1])
        lengths[:-1][self.gaps] = 0.0
        return np.asarray(lengths)

    def with_notes(self, notes: Sequence[str]) -> Drive:
        """Return the drive with further notes."""
        return replace(self, notes=(*self.notes, *notes))

    def with_sectors(self, sectors: ArrayLike, names: Sequence[str] | None = None) -> Drive:
        """Return the drive cut into sectors: a number for each row, from 0, growing where a sector begins."""
        return replace(self, sectors=np.asarray(sectors, np.intp), sector_names=tuple(names or ()))

    def cut_by_distance(self, ends: Sequence[float], names: Sequence[str] | None = None) -> Drive:
        """Return the drive cut into sectors at places along the way.

        A row whose distance is not known is still in the sector before.

        Args:
            ends: The metres driven at which a sector ends and the next begins, growing.
            names: Of the sectors, one more than ends.

        Raises:
            InputError: The drive has no distance, or ends and names make no sense.
        """
        driven = self.signals.get("distance")
        if driven is None:
            raise InputError(f"drive {self.name} has no distance to be cut by: cut it by time")
        places = _column(ends, "ends of sectors", None)
        if not (np.diff(places, prepend=-np.inf) > 0).all():
            raise InputError(f"drive {self.name}: expected ends of sectors that grow, got {list(ends)}")
        if names is not None and len(names) != len(places) + 1:
            raise InputError(f"{len(places)} ends part {len(places) + 1} sectors, got {len(names)} names")
        numbers = np.searchsorted(places, np.fmax.accumulate(np.append(-np.inf, driven))[1:], "right")
        present, dense = np.unique(numbers, return_inverse=True)
        return self.with_sectors(dense, None if names is None else [names[int(number)] for number in present])

    def cut_by_time(self, seconds: float) -> Drive:
        """Return the drive cut into sectors of equal time; the last may be shorter.

        Raises:
            InputError: Sectors are not longer than 0 s.

        Example:
            >>> Drive("lap", [0.0, 1.0, 2.0, 3.0], gap=2).cut_by_time(2.0).sectors.tolist()
            [0, 0, 1, 1]
        """
        check_number("seconds of a sector", seconds, above=0)
        numbers = np.floor((self.time - self.time[0]) / seconds + 1e-9).astype(np.intp)
        return self.with_sectors(np.unique(numbers, return_inverse=True)[1])

    def cut_by_length(self, metres: float) -> Drive:
        """Return the drive cut into sectors of equal length; the last may be shorter.

        Raises:
            InputError: Sectors are not longer than 0 m, or the drive has no distance.

        Example:
            >>> drive = Drive("lap", [0.0, 1.0, 2.0, 3.0], {"distance": [0.0, 4.0, 10.0, 19.0]}, gap=2)
            >>> drive.cut_by_length(10.0).sectors.tolist()
            [0, 0, 1, 1]
        """
        check_number("metres of a sector", metres, above=0)
        furthest = np.nanmax(self.signals.get("distance", np.zeros(1)))
        return self.cut_by_distance(np.arange(metres, furthest + metres, metres).tolist())


_LATEST = 1e100  # seconds: differences of later ones would overflow


def _growing(time: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return the time stamps of a drive.

    Raises:
        InputError: There are none, one is no number, or they do not grow.
    """
    stamps = _column(time, "time", None)
    if not len(stamps):
        raise InputError(f"drive {name}: expected at least one row, got none")
    if len(odd := np.flatnonzero(~(np.abs(stamps) < _LATEST))):
        row = int(odd[0])
        raise InputError(f"drive {name}: the time of row {row} is {stamps[row]}: leave such rows out")
    back = np.flatnonzero(np.diff(stamps) <= 0)
    if len(back):
        before, after = stamps[back[0] : back[0] + 2]
        raise InputError(
            f"drive {name}: time must grow, but row {back[0] + 1} has {after:g} s after {before:g} s: sort "
            "the rows and leave out repeated ones (Drive.repaired does)"
        )
    return stamps


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" + ("s" if count > 1 else "")


def _column(values: ArrayLike, name: str, length: int | None) -> NDArray[np.float64]:
    try:
        column = np.array(values, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name}: expected numbers, one for each row") from None
    if column.ndim != 1 or (length is not None and len(column) != length):
        wanted = "a number for each row" if length is None else f"{length} numbers, one for each row"
        raise InputError(f"{name}: expected {wanted}, got shape {column.shape}")
    return column


def _flags(values: ArrayLike, name: str, length: int) -> NDArray[np.bool_]:
    column = _column(values, name, length)
    unknown = np.flatnonzero(np.isnan(column))
    if len(unknown):
        raise InputError(
            f"event {name}: expected yes or no in each row, got neither in row {unknown[0]}: leave out an "
            "event that is not always known"
        )
    return read_only(column > 0)


def _without_implausible(name: str, values: NDArray[np.float64]) -> list[str]:
    """Make what a signal cannot be unknown, and return what to say about it."""
    low, high = PLAUSIBLE.get(name, (-np.inf, np.inf))
    # Infinity is how some logs write that there is nobody to measure a distance to.
    rows = np.flatnonzero(((values < low) | (values > high)) & np.isfinite(values))
    if not len(rows):
        return []
    count, first = _counted(len(rows), "value"), values[rows[0]]
    values[rows] = np.nan
    return [f"{count} of {name} not between {low:g} and {high:g}, taken as unknown; the first: {first:g}"]


WINDOW = 0.7
"""Seconds over which a signal is fitted with a parabola to differentiate it."""

_STEADY = 1e-3  # steps that differ by less than this share are taken as equal


def derivative(drive: Drive, values: NDArray[np.float64], *, window: float = WINDOW) -> NDArray[np.float64]:
    """Return the change of a signal per second, in every row of a drive.

    In each row, a parabola is fitted to what lies within the window round it (Savitzky and Golay), and its
    slope is taken. At the ends, the window lies on one side, so the slope follows the signal there and does
    not fall to 0 or jump. Nothing is fitted across gaps or rows where the signal is not known. A stretch of
    one row has no slope, one of two has that of the line.

    Args:
        drive: The drive that has the signal.
        values: The signal, a number for each row.
        window: The length of the window in seconds.

    Example:
        >>> drive = Drive("lap", np.arange(40) / 15, {"speed": 0.5 * (np.arange(40) / 15) ** 2})
        >>> slope = derivative(drive, drive.signals["speed"])
        >>> bool(np.allclose(slope, drive.time))
        True
    """
    slopes = np.full(len(values), np.nan)
    known = np.isfinite(values)
    joined = known[1:] & known[:-1] & ~drive.gaps
    starts = np.flatnonzero(known & np.concatenate([[True], ~joined]))
    ends = np.flatnonzero(known & np.concatenate([~joined, [True]])) + 1
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        slopes[start:end] = _slope(drive.time[start:end], values[start:end], window)
    return slopes


def _slope(time: NDArray[np.float64], values: NDArray[np.float64], window: float) -> NDArray[np.float64]:
    """Return the slope within one stretch."""
    from scipy.signal import savgol_filter

    if len(time) < 2:
        return np.full(len(time), np.nan)
    steps = np.diff(time)
    step = float(np.median(steps))
    steady = bool((np.abs(steps - step) <= _STEADY * step).all())
    if steady:
        grid, on_grid = time, values
    else:
        # Stamps that jitter are read off a steady grid with as many rows, and the slopes are read back.
        grid = np.linspace(time[0], time[-1], len(time))
        step = float(grid[1] - grid[0])
        on_grid = np.interp(grid, time, values)
    length = min(2 * round(window / step / 2) + 1, len(grid) - (1 - len(grid) % 2))
    if length < 3:
        slopes = np.gradient(on_grid, grid)
    else:
        slopes = savgol_filter(on_grid, length, polyorder=2, deriv=1, delta=step)
    return np.asarray(slopes if steady else np.interp(time, grid, slopes), np.float64)


_ARRIVED = ("complete", "destination reached")
_WHOLE = 0.9  # of its length on another lap: lines are cut, and the last step of a sector ends in the next


def partial_sectors(drive: Drive) -> tuple[bool, ...]:
    """Return for each sector whether the drive ended inside the sector, or began there.

    Sums, counts and extremes of a part of a sector cannot be compared with those of whole ones. A drive that
    ends by time, after so many metres, by an event or by an error leaves its last sector in the middle; one
    that completes its laps or arrives does not. Where nobody says why a drive ended, all sectors count as
    whole. No recording says where in a sector it starts: the first one is partial where a later lap shows
    that it is longer, and counts as whole where no lap does.

    Example:
        >>> drive = Drive("lap", [0, 1, 2], sectors=[0, 0, 1], sector_names=["a", "b"], ended="time over")
        >>> partial_sectors(drive)
        (False, True)
    """
    partial = [False] * len(drive.sector_names)
    partial[-1] = bool(drive.ended) and not drive.ended.endswith(_ARRIVED)
    again = [
        number
        for number, name in enumerate(drive.sector_names)
        if number and not partial[number] and re.sub(r" lap \d+$", "", name) == drive.sector_names[0]
    ]
    if again and (speed := drive.signals.get("speed")) is not None:
        metres = np.bincount(drive.sectors, drive.steps * speed, len(partial))
        partial[0] |= bool(metres[0] < _WHOLE * metres[again].min())
    return tuple(partial)


_FAILURES = ("crash", "collision", "line crossing")


def failing_sectors(drive: Drive) -> tuple[str, ...]:
    """Return the sectors in which the vehicle crashed, touched somebody or crossed a line, in order.

    Example:
        >>> drive = Drive("lap", [0.0, 0.1, 0.2], events={"crash": [0, 0, 1]}, sectors=[0, 0, 1])
        >>> failing_sectors(drive)
        ('2',)
    """
    failed = np.zeros(len(drive), np.bool_)
    for name in _FAILURES:
        failed |= drive.events.get(name, False)
    return tuple(drive.sector_names[int(number)] for number in np.unique(drive.sectors[failed]))
