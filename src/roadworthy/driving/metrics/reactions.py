"""Reaction time and accuracy: what asks for an action, and whether and when it comes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from roadworthy.driving.metrics.catalogue import Metric
from roadworthy.driving.metrics.operators import Sectors
from roadworthy.driving.metrics.quantities import Missing, Quantities

__all__ = ["reactions"]


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
