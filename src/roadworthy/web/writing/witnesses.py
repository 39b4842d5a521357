"""Witnesses of static checks as the page draws them: boxes and bands in image pixels, y down."""

from __future__ import annotations

from typing import Any

from roadworthy.bbsl import Box, Interval, Spec
from roadworthy.bbsl.checking import CheckResult, Witness
from roadworthy.bbsl.checking.results import written
from roadworthy.report.bbsl import interval_axes

__all__ = ["checked", "drawn"]


def checked(spec: Spec, result: CheckResult) -> dict[str, Any]:
    """Return what static checks found out, as the page shows it."""
    axes = interval_axes(spec)
    return {
        "ok": result.ok,
        "vacuous": result.vacuous,
        "properties": [
            {"name": name, "status": result.status(name).value, "ok": all(one.ok for one in result.of(name))}
            for name in ("exhaustive", "exclusionary", "non-redundant")
        ],
        "findings": [
            {
                "property": one.concerns,
                "sentence": str(one),
                "ok": one.ok,
                "status": one.status.value,
                "witness": None if one.witness is None else drawn(one.witness, axes),
            }
            for one in result.findings
        ],
    }


def drawn(witness: Witness, axes: dict[str, str]) -> dict[str, Any]:
    """Return a witness as shapes.

    Example:
        >>> from roadworthy.bbsl import parse
        >>> spec = parse("exfunction v(): bb endexfunction case far PROJ_y(v()) > [0, 100] endcase")
        >>> shown = drawn(spec.check().problems[0].witness, interval_axes(spec))
        >>> [one["name"] for one in shown["boxes"]], shown["cases"]
        (['v'], [])
    """
    boxes: list[dict[str, Any]] = []
    bands: list[dict[str, Any]] = []
    notes: list[str] = []
    height = witness.height
    for call in witness.calls:
        arguments = ", ".join(map(written, call.arguments))
        name = f"{call.function}({arguments})" if arguments else call.function
        value = call.value
        if isinstance(value, Box):
            boxes.append(_box(name, value, height))
        elif isinstance(value, Interval) and axes.get(call.function) in ("x", "y"):
            bands.append(_band(name, value, axes[call.function], height))
        elif isinstance(value, bool | float | Interval) or not value:
            notes.append(f"{name} = {written(value)}")
        else:
            boxes += [_box(f"{name}[{number}]", one, height) for number, one in enumerate(value, 1)]
    return {
        "width": witness.width,
        "height": height,
        "boxes": boxes,
        "bands": bands,
        "notes": notes,
        "cases": list(witness.labels),
        "text": str(witness),
    }


def _box(name: str, box: Box, height: float) -> dict[str, Any]:
    return {
        "name": name,
        "x1": box.x.lower,
        "y1": height - box.y.upper,
        "x2": box.x.upper,
        "y2": height - box.y.lower,
    }


def _band(name: str, interval: Interval, axis: str, height: float) -> dict[str, Any]:
    low, high = interval
    ends = (low, high) if axis == "x" else (height - high, height - low)
    return {"name": name, "axis": axis, "from": ends[0], "to": ends[1]}
