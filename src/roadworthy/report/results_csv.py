"""All results of a run as one flat CSV file: a line for each requirement and system."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from roadworthy._files import write_text
from roadworthy._tables import csv_text
from roadworthy.cases import Status
from roadworthy.report.results import Result, results_of

if TYPE_CHECKING:
    from roadworthy.runs.store import StoredRun

__all__ = ["COLUMNS", "write_results"]

COLUMNS = (
    "requirement", "system", "method", "severity", "status", "rate", "upper_bound", "confidence", "max_rate",
    "failures", "judged", "passed", "violated", "not_applicable", "errors", "worst_margin", "tags", "text",
    "summary", "folder",
)  # fmt: skip
"""What a line says; numbers are not rounded, and empty where the method does not give them."""


def write_results(run: StoredRun, path: str | Path) -> Path:
    """Write the results of a run, in the order in which they are stored.

    Args:
        run: The run.
        path: The file.

    Raises:
        InputError: The file cannot be written.
    """
    path = Path(path)
    write_text(path, csv_text(COLUMNS, map(_line, results_of(run))))
    return path


def _line(result: Result) -> list[object]:
    requirement, counts = result.requirement, result.counts
    worst = result.measures.get("worst_margin")
    return [
        _inert(requirement.id),
        _inert(result.system),
        requirement.method,
        requirement.severity,
        result.standing,
        result.rate,
        result.bound,
        result.confidence,
        result.accepted,
        result.failures,
        result.judged,
        counts[Status.PASSED],
        counts[Status.VIOLATED],
        counts[Status.NOT_APPLICABLE],
        counts[Status.ERROR],
        worst,
        _inert(" | ".join(requirement.tags)),
        _inert(requirement.text),
        _inert(result.summary),
        result.folder,
    ]


def _inert(text: str) -> str:
    """Return text that a spreadsheet does not take for a formula.

    Example:
        >>> _inert("=1+1"), _inert("R1")
        ("'=1+1", 'R1')
    """
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text
