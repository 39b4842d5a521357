"""Which sectors of a drive were driven to their end."""

from __future__ import annotations

import numpy as np

from roadworthy.driving.drives import Drive

__all__ = ["partial_sectors", "without_partial_sectors"]

_ARRIVED = ("complete", "destination reached")


def partial_sectors(drive: Drive) -> tuple[bool, ...]:
    """Return for each sector whether the drive ended in the middle of it.

    Sums, counts and extremes of a part of a sector cannot be compared with those of whole ones. A drive that
    ends by time, after so many metres, by an event or by an error leaves its last sector in the middle; one
    that completes its laps or arrives does not. Where nobody says why a drive ended, all sectors count as
    whole.

    Example:
        >>> drive = Drive("lap", [0, 1, 2], sectors=[0, 0, 1], sector_names=["a", "b"], ended="time over")
        >>> partial_sectors(drive)
        (False, True)
    """
    left = bool(drive.ended) and not drive.ended.endswith(_ARRIVED)
    return (*(False for _ in drive.sector_names[1:]), left)


def without_partial_sectors(drive: Drive) -> Drive | None:
    """Return the whole sectors of a drive; None if there is none.

    Example:
        >>> drive = Drive("lap", [0, 1, 2], sectors=[0, 0, 1], sector_names=["a", "b"], ended="time over")
        >>> without_partial_sectors(drive).sector_names
        ('a',)
    """
    partial = partial_sectors(drive)
    if not any(partial):
        return drive
    kept = ~np.asarray(partial)[drive.sectors]
    if not kept.any():
        return None
    return Drive(
        drive.name,
        drive.time[kept],
        {name: values[kept] for name, values in drive.signals.items()},
        {name: flags[kept] for name, flags in drive.events.items()},
        sectors=drive.sectors[kept],
        sector_names=drive.sector_names[:-1],
        gap=drive.gap,
        notes=drive.notes,
        ended=drive.ended,
    )
