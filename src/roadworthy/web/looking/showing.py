"""A stored row as the page shows it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from roadworthy.cases import Scalar
from roadworthy.runs.store import MEASURE, PARAMETER
from roadworthy.web.looking.marks import Mark

__all__ = ["shown"]

_SIDES = ("x1", "y1", "x2", "y2")


def shown(row: Mapping[str, Scalar], mark: Mark | None = None) -> dict[str, Any]:
    """Return a row as JSON can hold it: pictures, answers, boxes, and everything else by name.

    Example:
        >>> row = {"requirement": "R1", "system": "dave2", "case": "town-1", "status": "violated",
        ...        "margin": -1.5, "reason": "", "visual_change": 0.25, "images": "ab cd",
        ...        "param.output.1": "speed", "measure.before.1": 8.0, "measure.after.1": 9.5}
        >>> one = shown(row)
        >>> one["pictures"], one["answers"]
        (['ab', 'cd'], [{'output': 'speed', 'before': 8.0, 'after': 9.5, 'margin': None}])
    """
    return {
        "requirement": row["requirement"],
        "system": row["system"],
        "case": row["case"],
        "status": row["status"],
        "margin": _number(row["margin"]),
        "reason": row["reason"] or "",
        "visual_change": _number(row.get("visual_change")),
        "tolerated": row.get(f"{MEASURE}tolerated"),
        "pictures": str(row["images"] or "").split(),
        "answers": list(_answers(row)),
        "boxes": dict(_boxes(row)),
        "expected": row.get(f"{MEASURE}expected"),
        "found": row.get(f"{MEASURE}found"),
        "parameters": _part(row, PARAMETER),
        "measures": _part(row, MEASURE),
        "mark": "" if mark is None else mark.mark,
        "note": "" if mark is None else mark.note,
    }


def _answers(row: Mapping[str, Scalar]) -> Iterator[dict[str, Any]]:
    number = 1
    while (before := row.get(f"{MEASURE}before.{number}")) is not None:
        yield {
            "output": row.get(f"{PARAMETER}output.{number}"),
            "before": _number(before),
            "after": _number(row.get(f"{MEASURE}after.{number}")),
            "margin": _number(row.get(f"{MEASURE}margin.{number}")),
        }
        number += 1


def _boxes(row: Mapping[str, Scalar]) -> Iterator[tuple[str, list[float]]]:
    for kind in ("truth", "detection"):
        corners = [_number(row.get(f"{MEASURE}{kind}.{side}")) for side in _SIDES]
        if all(one is not None for one in corners):
            yield kind, [one for one in corners if one is not None]


def _part(row: Mapping[str, Scalar], prefix: str) -> dict[str, Any]:
    """Return the parameters or measures of a row that it has; numbers too large for JavaScript as text."""
    return {
        name.removeprefix(prefix): _told(value)
        for name, value in row.items()
        if name.startswith(prefix) and value is not None
    }


def _told(value: Scalar) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return str(value) if isinstance(value, int) and abs(value) > 2**53 else value


def _number(value: object) -> float | None:
    """Return a number that JSON can hold; an infinite one as a very large one."""
    if not isinstance(value, int | float) or math.isnan(value):
        return None
    return float(value) if math.isfinite(value) else math.copysign(1e308, value)
