"""By what cases are measured: how much was changed, how much the answer changed; for the database."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

__all__ = ["Amount", "Measurable", "Order", "orders_of", "quantities_of"]

DEVIATION, DISTANCE = "deviation", "measure.distance.1"
"""The names, in addresses, of by how much the answer changed, and of how far away what was added stands."""


@dataclass(frozen=True)
class Measurable:
    """Something that cases can be chosen and sorted by.

    Attributes:
        name: What addresses call it.
        words: What it is.
        expression: What the database computes it by.
    """

    name: str
    words: str
    expression: str


@dataclass(frozen=True)
class Amount:
    """Something that cases can be chosen by, in one run.

    Attributes:
        name: What addresses call it.
        words: What it is.
        least: The smallest of the run.
        most: The largest.
    """

    name: str
    words: str
    least: float
    most: float


@dataclass(frozen=True)
class Order:
    """An order of cases.

    Attributes:
        words: What it is.
        expression: What the database sorts by.
    """

    words: str
    expression: str


def quantities_of(columns: Collection[str]) -> Mapping[str, Measurable]:
    """Return what cases can be measured by, in a run with some columns.

    Example:
        >>> list(quantities_of({"visual_change", "margin", "measure.after", "measure.before"}))
        ['visual_change', 'deviation', 'margin']
    """
    plain = {
        "visual_change": "Δv of the change",
        "measure.strength": "strength of the change",
        DISTANCE: "distance, in m",
        DEVIATION: "deviation of the answer",
        "margin": "margin",
    }
    computed = {name: _column(name) for name in plain if name in columns}
    if expression := _deviation(columns):
        computed[DEVIATION] = expression
    return {
        name: Measurable(name, words, computed[name]) for name, words in plain.items() if name in computed
    }


def orders_of(columns: Collection[str]) -> Mapping[str, Order]:
    """Return how the cases of a run with some columns can be sorted.

    Example:
        >>> list(orders_of({"visual_change", "margin", "measure.error"}))
        ['margin', 'best', 'deviating', 'steady', 'unseen', 'seen', 'case']
    """
    known = quantities_of(columns)
    found = {
        "margin": Order("margin, worst first", "margin"),
        "best": Order("margin, best first", "margin DESC"),
    }
    if DEVIATION in known:
        by = known[DEVIATION].expression
        found["deviating"] = Order("deviation, largest first", f"{by} DESC")
        found["steady"] = Order("deviation, smallest first", by)
    found["unseen"] = Order("change, least seen first", "visual_change")
    found["seen"] = Order("change, best seen first", "visual_change DESC")
    if DISTANCE in known:
        by = known[DISTANCE].expression
        found["near"] = Order("distance, nearest first", by)
        found["far"] = Order("distance, farthest first", f"{by} DESC")
    return {
        name: Order(one.words, f"{one.expression} NULLS LAST, margin NULLS LAST")
        for name, one in found.items()
    } | {"case": Order("frame", '"case"')}


def _deviation(columns: Collection[str]) -> str:
    """Return by how much the answer changed that decided; of several relations the one with the least margin.

    A search holds an answer against what is true, so there it is the error.
    """
    numbers = sorted(
        int(one[1]) for name in columns if (one := re.fullmatch(r"measure\.margin\.(\d+)", name))
    )
    parts = []
    if numbers:
        least = f"least({', '.join(_column(f'measure.margin.{number}') for number in numbers)})"
        whens = " ".join(
            f"WHEN {_column(f'measure.margin.{number}')} = {least} THEN {_apart(f'.{number}')}"
            for number in numbers
        )
        parts.append(f"CASE {whens} END")
    if "measure.error" in columns:
        parts.append(f"abs({_column('measure.error')})")
    if {"measure.before", "measure.after"} <= set(columns):
        parts.append(_apart(""))
    return f"coalesce({', '.join(parts)})" if parts else ""


def _apart(suffix: str) -> str:
    return f"abs({_column(f'measure.after{suffix}')} - {_column(f'measure.before{suffix}')})"


def _column(name: str) -> str:
    # Other requirements of a run may keep something else under the name.
    return f'TRY_CAST("{name}" AS DOUBLE)'
