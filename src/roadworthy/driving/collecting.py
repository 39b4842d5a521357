"""The metrics of many drives in one table, and which drives do not belong in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from roadworthy._frozen import FrozenDict
from roadworthy.driving.drives import FATAL_EVENTS, Drive
from roadworthy.driving.metrics import MetricSettings, MetricTable, compute, parse_metric
from roadworthy.driving.oracles import Direction
from roadworthy.driving.sectors import SectorTable
from roadworthy.errors import InputError

__all__ = ["AUTONOMOUS", "Collection", "collect", "usual_direction"]

AUTONOMOUS = (
    *("SD(BPP)", "Max(LP)", "Mean(BPP)", "SD(SP)", "Max(ACC)", "SD(LP)", "Min(ACC)", "SD(SA)", "SD(ACC)"),
    *("Min(SP)", "Max(SA)", "Mean(TPP)", "SD(TPP)", "SD(LS)", "Mean(SP)", "Mean(SAS)", "Count(BR)"),
    *("SD(SAS)", "Mean(SA)", "Mean(LS)", "Mean(ACC)", "Mean(LP)", "Min(LP)"),
)
"""The 23 metrics that Table II of the paper ranks for networks that drive, in its order."""

_WORSE_DOWNWARDS = ("Min", "TimeE", "RA", "D")
_GOOD_WHEN_LARGE = ("SP", "HP", "HT", "DTP", "DTV", "TPP")


@dataclass(frozen=True)
class Collection:
    """Metrics of drives.

    Attributes:
        table: A row for each sector of each drive that is in.
        left_out: The drives that are not, with the reason.
        dropped: The metrics that are not, because some sector does not have them.
    """

    table: SectorTable
    left_out: Mapping[str, str]
    dropped: tuple[str, ...]


def collect(
    drives: Iterable[Drive],
    metrics: Sequence[str] | None = None,
    *,
    settings: MetricSettings | None = None,
    keep_fatal: bool = False,
) -> Collection:
    """Compute metrics per sector for many drives.

    A drive that crashes or crosses a line is bad without any metric, so it is left out, as in the paper.

    Args:
        drives: The drives; their names are the drivers of the table's rows.
        metrics: Which; those of Table II that all sectors have if left out. A metric that is asked for must
            be there in every sector.
        settings: Targets, conditions and so on; those that come with the package if left out.
        keep_fatal: Keep drives that crash or cross a line.

    Raises:
        InputError: No drive is left, two have one name, or a metric that was asked for is not known in a
            sector.
    """
    computed: list[MetricTable] = []
    left_out: dict[str, str] = {}
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
        computed.append(compute(drive, wanted, settings=settings))
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
    return Collection(joined, FrozenDict(left_out), dropped)


def usual_direction(metric: str) -> Direction:
    """Return whether driving is usually worse where a metric is greater, or where it is smaller.

    Example:
        >>> usual_direction("SD(LP)"), usual_direction("Min(ACC)"), usual_direction("Mean(SP)")
        ('up', 'down', 'down')
    """
    parsed = parse_metric(metric)
    outer = parsed.operators[0] if parsed.operators else parsed.primitive
    if outer in _WORSE_DOWNWARDS and parsed.primitive not in ("LP", "SA"):
        return "down"
    return "down" if outer == "Mean" and parsed.primitive in _GOOD_WHEN_LARGE else "up"


def _known(table: MetricTable, name: str) -> bool:
    return name in table.values and bool(np.isfinite(table.values[name]).all())
