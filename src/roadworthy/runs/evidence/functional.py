"""Functional coverage of a run: which parts of the operating domain its data touches."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from roadworthy.cases import Dataset
from roadworthy.coverage.functional import FunctionalCoverage

__all__ = ["functional_coverage", "functional_document"]

_NOTE = (
    "Of the frames as they were recorded or made. What requirements change in them, such as the weather, "
    "is in triggering_conditions.csv."
)


def functional_coverage(
    data: Iterable[Dataset],
    *,
    domain: Path | None = None,
    progress: Callable[[int], None] | None = None,
) -> FunctionalCoverage:
    """Return which cells of an operating domain the frames of data sets are in.

    It looks at the frames as they were recorded or made. What a method changed in them, such as rain that a
    rule asks for, is in the catalogue of triggering conditions instead.

    Args:
        data: The data sets.
        domain: The file that declares the domain; that of Roadworthy when left out.
        progress: Called after every frame with the number of frames so far.

    Example:
        >>> from roadworthy.datasets import load
        >>> functional_coverage([load("world:town", count=4)]).frames
        4
    """
    found = FunctionalCoverage(domain)
    for one in data:
        for frame in one:
            found.update([frame])
            if progress is not None:
                progress(found.frames)
    return found


def functional_document(found: FunctionalCoverage, data: Iterable[str]) -> dict[str, Any]:
    """Return it as JSON can hold it, with every cell in which there is no frame."""
    return {
        "note": _NOTE,
        "domain": found.domain.path.name,
        "data": list(data),
        "frames": found.frames,
        "covered": found.covered,
        "total": found.total,
        "share": found.value,
        "rows": [row._asdict() for row in found.rows()],
        "never_touched": found.holes("is in no recorded frame", "are in no recorded frame together"),
    }
