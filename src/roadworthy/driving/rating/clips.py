"""Pieces of drives that people rate, and what they are measured by."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np

from roadworthy._frozen import FrozenDict, frozen
from roadworthy.driving.drives import Drive
from roadworthy.driving.drives.drive import partial_sectors
from roadworthy.driving.metrics import MetricSettings, compute, parse_metric
from roadworthy.driving.requirements import AUTONOMOUS, usual_direction
from roadworthy.errors import InputError

Kind: TypeAlias = Literal["good", "poor", "attention"]
"""What a clip is shown for: a good drive, a poor one, or a crash that shows who pays attention."""

RATED_METRICS = (*AUTONOMOUS, "Max(SP)", "Count(CR)", "Count(LCR)")
"""The 26 metrics of Table II, in its order."""

_CRASH = "crash"
_LEAST = 3.0  # seconds before a crash, to see it coming
_NUMBERED = re.compile(r"(?P<track>.+?)[-_ ]?\d+(?: lap \d+)?$")


@dataclass(frozen=True)
class Lengths:
    """How long clips are.

    Attributes:
        shortest: Seconds that a clip lasts at least; below 10 people lack context.
        longest: Seconds that it lasts at most; beyond 15 it may show good and poor driving.
        sectors: How many sectors it may span.

    Raises:
        InputError: A clip cannot be so long.
    """

    shortest: float = 10.0
    longest: float = 15.0
    sectors: int = 3

    def __post_init__(self) -> None:
        if not 0 < self.shortest <= self.longest:
            raise InputError(
                f"clips must last more than 0 s and at most as long as the longest, got {self.shortest:g} to "
                f"{self.longest:g} s"
            )
        if self.sectors < 1:
            raise InputError(f"a clip must span at least one sector, got {self.sectors}")


@dataclass(frozen=True)
class Clip:
    """A piece of a drive.

    Attributes:
        id: What it is called for those who see it; says nothing about it.
        source: Where the drive lies.
        driver: Who drove.
        track: Where, by the name that its sectors have in common.
        sectors: The sectors that it is of.
        first: When it begins, in seconds of the drive.
        last: When it ends.
        kind: What it is shown for.
        metrics: What it was like; only what is known.
    """

    id: str
    source: str
    driver: str
    track: str
    sectors: tuple[str, ...]
    first: float
    last: float
    kind: Kind
    metrics: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "metrics", frozen(self.metrics))

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return self.last - self.first


def rated_clips(
    drive: Drive,
    kind: Kind,
    *,
    source: str = "",
    lengths: Lengths | None = None,
    settings: MetricSettings | None = None,
) -> list[Clip]:
    """Cut a drive into clips: a sector each, or as many in a row as it takes for the shortest length.

    A sector that lasts longer than a clip may is shown from its begin, and measured as it is shown. Left out
    are sectors in the middle of which the drive ended, those with a gap in the record, and those with a
    crash: that is bad without anybody's opinion.

    Args:
        drive: The drive.
        kind: What the clips are shown for.
        source: Where it lies.
        lengths: How long clips are.
        settings: Of the metrics.

    Example:
        >>> time = np.arange(600) / 15
        >>> drive = Drive("dave2", time, {"speed": 8 + 0 * time}).cut_by_time(6)
        >>> [(clip.sectors, round(clip.seconds)) for clip in rated_clips(drive, "good")]
        [(('1', '2'), 12), (('3', '4'), 12), (('5', '6'), 12)]
    """
    return [
        _measured(drive, clip, settings)
        for clip in _pieces(drive, kind, source, lengths or Lengths())
        if not _crashes(drive, clip) and not _has_gap(drive, clip)
    ]


def attention_clip(
    drive: Drive,
    *,
    source: str = "",
    lengths: Lengths | None = None,
    settings: MetricSettings | None = None,
) -> Clip | None:
    """Return the last seconds before the first crash of a drive; None if it has none or crashes at once.

    Example:
        >>> time = np.arange(300) / 15
        >>> drive = Drive("mutant", time, events={"crash": time > 18})
        >>> clip = attention_clip(drive)
        >>> round(clip.first), round(clip.last)
        (8, 18)
    """
    wanted = lengths or Lengths()
    crashes = np.flatnonzero(drive.events.get(_CRASH, False))
    if not len(crashes):
        return None
    last = float(drive.time[crashes[0]])
    first = max(float(drive.time[0]), last - wanted.shortest)
    if last - first < _LEAST:
        return None
    return _measured(drive, _clip(drive, "attention", source, first, last), settings)


def by_metric(clips: Sequence[Clip], metric: str, *, share: float = 1 / 3) -> list[Clip]:
    """Call the best clips by a metric good and the worst poor, whoever drove; those in between are left out.

    Args:
        clips: The clips.
        metric: What they are ranked by.
        share: Which share of them is good, and which is poor.

    Raises:
        InputError: A clip does not have the metric.

    Example:
        >>> clips = [Clip(str(n), "", "", "", (), 0, 1, "good", {"SD(LP)": n}) for n in range(6)]
        >>> [(clip.id, clip.kind) for clip in by_metric(clips, "SD(LP)")]
        [('0', 'good'), ('1', 'good'), ('4', 'poor'), ('5', 'poor')]
    """
    name = str(parse_metric(metric))
    lacking = next((clip for clip in clips if name not in clip.metrics), None)
    if lacking is not None:
        raise InputError(f"{name} is not known of {lacking.driver} in {', '.join(lacking.sectors)}")
    if not 0 < share <= 0.5:
        raise InputError(f"a share of good and of poor clips is above 0 and at most 0.5, got {share}")
    sign = 1 if usual_direction(name) == "up" else -1
    ranked = sorted(clips, key=lambda clip: (sign * clip.metrics[name], clip.id))
    count = int(share * len(ranked) + 1e-9)
    best, worst = ranked[:count], ranked[len(ranked) - count :]
    return [*(replace(one, kind="good") for one in best), *(replace(one, kind="poor") for one in worst)]


def _pieces(drive: Drive, kind: Kind, source: str, lengths: Lengths) -> Iterator[Clip]:
    starts = [
        float(drive.time[np.flatnonzero(drive.sectors == n)[0]]) for n in range(len(drive.sector_names))
    ]
    ends = [*starts[1:], float(drive.time[-1])]
    whole = [not partial for partial in partial_sectors(drive)]
    number = 0
    while number < len(starts):
        last = number
        while (
            ends[last] - starts[number] < lengths.shortest
            and last + 1 < min(len(starts), number + lengths.sectors)
            and whole[last + 1]
        ):
            last += 1
        end = ends[last] if last + 1 == len(starts) else float(drive.time[drive.time < ends[last]][-1])
        if whole[number] and ends[last] - starts[number] >= lengths.shortest:
            yield _clip(drive, kind, source, starts[number], min(end, starts[number] + lengths.longest))
        number = last + 1


def _clip(drive: Drive, kind: Kind, source: str, first: float, last: float) -> Clip:
    inside = drive.sectors[(drive.time >= first) & (drive.time <= last)]
    sectors = tuple(drive.sector_names[number] for number in np.unique(inside))
    what = f"{source}\0{drive.name}\0{first!r}\0{last!r}\0{kind == 'attention'}"
    id = hashlib.sha256(what.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return Clip(id, source, drive.name, _track(sectors), sectors, first, last, kind)


def _track(sectors: Sequence[str]) -> str:
    """Return what the names of sectors say about the track: town for town-03."""
    found = _NUMBERED.match(sectors[0])
    return found["track"] if found else ""


def _inside(drive: Drive, clip: Clip) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.asarray((drive.time >= clip.first) & (drive.time <= clip.last))


def _crashes(drive: Drive, clip: Clip) -> bool:
    return bool((drive.events.get(_CRASH, False) & _inside(drive, clip)).any())


def _has_gap(drive: Drive, clip: Clip) -> bool:
    inside = _inside(drive, clip)
    return bool((drive.gaps & inside[:-1] & inside[1:]).any())


def _measured(drive: Drive, clip: Clip, settings: MetricSettings | None) -> Clip:
    """Return a clip with the metrics of what it shows; what is before and after smooths its ends."""
    inside = _inside(drive, clip)
    numbers = np.cumsum(np.concatenate([[False], inside[1:] != inside[:-1]]))
    cut = drive.with_sectors(numbers)
    row = int(numbers[np.flatnonzero(inside)[0]])
    table = compute(cut, list(RATED_METRICS), settings=settings)
    known = {name: float(values[row]) for name, values in table.values.items() if np.isfinite(values[row])}
    return replace(clip, metrics=FrozenDict(known))
