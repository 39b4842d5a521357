"""What was changed in a case, and by how much, read from its row whatever the method."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from roadworthy.cases import Scalar

__all__ = ["MEASURED", "Changed", "changes_in"]

Row = Mapping[str, Scalar]

VISUAL_CHANGE = "visual change"
DISTANCE = "distance (m)"
HEIGHT = "height of the object (pixels)"
MEASURED = (VISUAL_CHANGE, DISTANCE, HEIGHT)
"""Quantities that nobody sets: hardly two cases have the same."""

_STEP = re.compile(r"(?P<name>[\w-]+)\((?P<inside>[^()]*)\)(?P<tail>[^+]*)(?:\+\s*|$)")
_FAILED = ("violated", "error")
_SCENES = ("param.simulator", "param.option.", "param.sector")
"""How parameters begin that say in what surroundings a case took place, for methods that change no image."""


class Changed(NamedTuple):
    """One condition that a case tried.

    Attributes:
        condition: What it is, such as ``rain`` or ``add(element=pedestrian)``.
        quantity: What the amount is: ``amount``, ``angle``, ``visual change``; empty where there is none.
        amount: How much of it.
        failed: Whether the answer under this condition failed; None when the case was not applicable.
        margin: The margin that belongs to it.
    """

    condition: str
    quantity: str
    amount: float | None
    failed: bool | None
    margin: float | None


def changes_in(row: Row) -> Iterator[Changed]:
    """Yield the conditions that a case tried: one, or one for each relation of a rule.

    Example:
        >>> row = {"status": "violated", "margin": -2.0, "param.transform": "rotation(angle=15)"}
        >>> next(changes_in(row))
        Changed(condition='rotation', quantity='angle', amount=15.0, failed=True, margin=-2.0)
    """
    status = str(row["status"])
    failed = None if status == "not applicable" else status in _FAILED
    margin = _margin(row.get("margin"))
    if row.get("param.change.1") is not None:
        yield from _relations(row, failed)
    elif (text := row.get("param.transform")) is not None:
        yield _changed(str(text), row.get("visual_change"), None, failed, margin)
    elif (text := row.get("param.transformation")) is not None:
        amount = _number(row.get("visual_change"))
        yield Changed(str(text), VISUAL_CHANGE, amount, failed, margin)
    elif (text := row.get("measure.expected")) is not None:
        low, high = _number(row.get("measure.truth.y1")), _number(row.get("measure.truth.y2"))
        amount = None if low is None or high is None else high - low
        name = f"the ground truth leads to {text}"
        yield Changed(name, HEIGHT if amount is not None else "", amount, failed, margin)
    else:
        yield Changed(_scene(row), "", None, failed, margin)


def _scene(row: Row) -> str:
    """Return where a case took place, such as a sector of a track in the rain."""
    known = [
        f"{name.removeprefix('param.').removeprefix('option.')} {row[name]}"
        for scene in _SCENES
        for name in row
        if name.startswith(scene) and row[name] is not None
    ]
    return ", ".join(known) or "as recorded"


def _relations(row: Row, failed: bool | None) -> Iterator[Changed]:
    """Yield the changes of a rule; of several, those whose own relation does not hold have failed."""
    number = 1
    while (text := row.get(f"param.change.{number}")) is not None:
        margin = _margin(row.get(f"measure.margin.{number}"))
        # Without a margin of its own the whole case was an error or not applicable.
        own = failed if margin is None or not failed else margin <= 0
        seen = row.get(f"measure.visual_change.{number}")
        yield _changed(str(text), seen, row.get(f"measure.distance.{number}"), own, margin)
        number += 1


def _changed(
    text: str, visual_change: Scalar, distance: Scalar, failed: bool | None, margin: float | None
) -> Changed:
    condition, quantity, amount = _spelled(text)
    if amount is None and (far := _number(distance)) is not None:
        quantity, amount = DISTANCE, far
    if amount is None and (seen := _number(visual_change)) is not None:
        quantity, amount = VISUAL_CHANGE, seen
    return Changed(condition, quantity, amount, failed, margin)


def _spelled(text: str) -> tuple[str, str, float | None]:
    """Return a transform without its amount, what the amount is, and how much."""
    steps = list(_STEP.finditer(text))
    if "".join(step[0] for step in steps) != text:
        return text, "", None
    names, numbers = [], list[tuple[str, float]]()
    for step in steps:
        kept = []
        for setting in filter(None, (one.strip() for one in step["inside"].split(","))):
            key, _, value = setting.partition("=")
            number = _parsed(value)
            if number is None:
                kept.append(setting)
            else:
                numbers.append((key, number))
        inside = f"({', '.join(kept)})" if kept else ""
        names.append(f"{step['name']}{inside}{step['tail'].rstrip()}")
    if len(steps) > 1:
        # In any order and however often: a search joins them in more ways than a catalogue can have lines.
        return " + ".join(sorted(set(names))), "", None
    chosen = [one for one in numbers if one[0] == "amount"] or numbers
    if len(chosen) == 1:
        return names[0], *chosen[0]
    return names[0], "", None


def _parsed(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _margin(value: Scalar) -> float | None:
    """Return a margin, which may be infinite: nothing is near the border."""
    return float(value) if isinstance(value, int | float) and not math.isnan(value) else None


def _number(value: Scalar) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
