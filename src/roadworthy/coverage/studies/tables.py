"""What the tables of studies have in common."""

from __future__ import annotations

from roadworthy.coverage.oracle_tables import Counts
from roadworthy.result_tables import ResultTable

__all__ = ["from_counts", "percent"]


def from_counts(name: str, counts: Counts) -> ResultTable:
    """Return a table of erroneous behaviours as a table of a study."""
    rows = tuple(
        (label, *("-" if cell is None else str(cell) for cell in cells)) for label, cells in counts.rows
    )
    return ResultTable(
        counts.title,
        (counts.corner, *counts.columns),
        rows,
        "- means that no images were left to count, unlike 0.",
        name=name,
    )


def percent(share: float | None) -> str:
    """Return a share in percent.

    Example:
        >>> percent(0.1234), percent(None)
        ('12.3%', '-')
    """
    return "-" if share is None else f"{share:.1%}"
