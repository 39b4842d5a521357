"""The metrics of many drives in one table, and which drives do not belong in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from roadworthy._frozen import FrozenDict
from roadworthy.driving.drives import FATAL_EVENTS, Drive
from roadworthy.driving.drives.drive import without_partial_sectors
from roadworthy.driving.metrics import MetricSettings, MetricTable, compute, parse_metric
from roadworthy.driving.oracles import Direction
from roadworthy.driving.sectors import SectorTable
from roadworthy.errors import InputError

AUTONOMOUS = (
    *("SD(BPP)", "Max(LP)", "Mean(BPP)", "SD(SP)", "Max(ACC)", "SD(LP)", "Min(ACC)", "SD(SA)", "SD(ACC)"),
    *("Min(SP)", "Max(SA)", "Mean(TPP)", "SD(TPP)", "SD(LS)", "Mean(SP)", "Mean(SAS)", "Count(BR)"),
    *("SD(SAS)", "Mean(SA)", "Mean(LS)", "Mean(ACC)", "Mean(LP)", "Min(LP)"),
)
"""The 23 metrics that Table II of the paper ranks for networks that drive, in its order."""

_WORSE_DOWNWARDS = ("Min", "TimeE", "RA")
_MIDDLES = ("Mean", "Med", "Mode")
_GOOD_WHEN_LARGE = ("D", "SP", "HP", "HT", "HS", "DTP", "DTV", "TPP")
_WORSE_WHEN_LARGE = ("LP", "LS", "LA", "SA", "SAS", "BPP")  # even the smallest of them


@dataclass(frozen=True)
class Collection:
    """Metrics of drives.

    Attributes:
        table: A row for each sector of each drive that is in.
        left_out: The drives that are not, with the reason.
        dropped: The metrics that are not, because some sector does not have them.
        kept_fatal: The drives that crash or cross a line and are in all the same, with which of it.
    """

    table: SectorTable
    left_out: Mapping[str, str]
    dropped: tuple[str, ...]
    kept_fatal: Mapping[str, str] = FrozenDict()


def collect(
    drives: Iterable[Drive],
    metrics: Sequence[str] | None = None,
    *,
    settings: MetricSettings | None = None,
    keep_fatal: bool = False,
    keep_partial: bool = False,
) -> Collection:
    """Compute metrics per sector for many drives.

    A drive that crashes or crosses a line is bad without any metric, so it is left out, as in the paper. So
    is the sector in the middle of which a drive ends: its sums and counts are not those of a whole one.

    Args:
        drives: The drives; their names are the drivers of the table's rows.
        metrics: Which; those of Table II that all sectors have if left out. A metric that is asked for must
            be there in every sector.
        settings: Targets, conditions and so on; those that come with the package if left out.
        keep_fatal: Keep drives that crash or cross a line.
        keep_partial: Keep the sector in the middle of which a drive ends.

    Raises:
        InputError: No drive is left, two have one name, or a metric that was asked for is not known in a
            sector.
    """
    computed: list[MetricTable] = []
    left_out: dict[str, str] = {}
    kept_fatal: dict[str, str] = {}
    names: set[str] = set()
    wanted = AUTONOMOUS if metrics is None else [str(parse_metric(name)) for name in metrics]
    for drive in drives:
        if drive.name in names:
            raise InputError(f"two drives are called {drive.name}: give every driver a name of its own")
        names.add(drive.name)
        fatal = [event for event in FATAL_EVENTS if event in drive.events and drive.events[event].any()]
        if fatal and not keep_fatal:
            left_out[drive.name] = fatal[0]
            continue
        whole = drive if keep_partial else without_partial_sectors(drive)
        if whole is None:
            left_out[drive.name] = f"no whole sector: {drive.ended}"
            continue
        if fatal:
            kept_fatal[drive.name] = fatal[0]
        computed.append(compute(whole, wanted, settings=settings))
    if not computed:
        reasons = ", ".join(f"{name} ({reason})" for name, reason in left_out.items()) or "there were none"
        raise InputError(f"no drive is left to compute metrics of: {reasons}")
    usable = [name for name in wanted if all(_known(table, name) for table in computed)]
    dropped = tuple(name for name in wanted if name not in usable)
    if dropped and metrics is not None:
        table = next(one for one in computed if not _known(one, dropped[0]))
        why = table.missing.get(dropped[0], "a value in every sector")
        raise InputError(f"{dropped[0]} of drive {table.drive} needs {why}")
    tables = [table.table(usable) for table in computed]
    joined = SectorTable(
        tuple(usable),
        np.concatenate([one.values for one in tables]),
        tuple(name for one in tables for name in one.drivers),
        tuple(name for one in tables for name in one.sectors),
    )
    return Collection(joined, FrozenDict(left_out), dropped, FrozenDict(kept_fatal))


def usual_direction(metric: str) -> Direction:
    """Return whether driving is usually worse where a metric is greater, or where it is smaller.

    Less of what is good when there is much of it (speed, distance to others) is worse, and so are smaller
    minima, events that come sooner and reactions that are more seldom right; of all else, more is worse.

    Example:
        >>> usual_direction("SD(LP)"), usual_direction("Min(ACC)"), usual_direction("Mean(SP)")
        ('up', 'down', 'down')
    """
    parsed = parse_metric(metric)
    # By itself, what is measured is its mean over a sector.
    outer, inner = parsed.operators[:1] or ("Mean",), parsed.operators[1:]
    if inner or outer == ("DevT",):
        return "up"  # the distance from a target
    if outer[0] in _WORSE_DOWNWARDS:
        return "up" if parsed.primitive in _WORSE_WHEN_LARGE else "down"
    return "down" if outer[0] in _MIDDLES and parsed.primitive in _GOOD_WHEN_LARGE else "up"


def directions_of(metrics: Sequence[str], up: Sequence[str], down: Sequence[str]) -> dict[str, Direction]:
    """Return whether each metric gets worse upwards or downwards: as usual, but for those that are named.

    Raises:
        InputError: A metric is named that is not there, or named for both.
    """
    ways = {name: usual_direction(name) for name in metrics}
    risen, fallen = ({str(parse_metric(name)) for name in given} for given in (up, down))
    for name in sorted(risen | fallen):
        if name not in ways:
            raise InputError(
                f"{name} has a direction but is not looked at: the metrics are {', '.join(metrics)}"
            )
        if name in risen & fallen:
            raise InputError(f"{name} gets worse upwards or downwards, not both: leave out --up or --down")
        ways[name] = "up" if name in risen else "down"
    return ways


def _known(table: MetricTable, name: str) -> bool:
    return name in table.values and bool(np.isfinite(table.values[name]).all())
