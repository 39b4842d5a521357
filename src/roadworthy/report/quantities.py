"""What cases of a run can be ordered and filtered by: what was changed, and numbers in SQL."""

from __future__ import annotations

import re
from collections.abc import Collection

from roadworthy.runs.store import MEASURE, PARAMETER

# Columns that say what was changed, the first that a row has.
CHANGES = ("param.change.1", "param.transform", "param.transformation", "param.change")


def quantities_of(columns: Collection[str]) -> dict[str, str]:
    """Return what cases can be measured by, in a run with some columns, and what the database computes it by.

    Example:
        >>> list(quantities_of({"visual_change", "margin", "measure.after", "measure.before"}))
        ['margin', 'visual_change', 'deviation']
    """
    plain = {
        "margin": "margin",
        "visual_change": "visual_change",
        "distance": f"{MEASURE}distance.1",
        "strength": f"{MEASURE}strength",
    }
    outputs = {f"{PARAMETER}output.{number}": f"{MEASURE}before.{number}" for number in range(1, 10)}
    speeds = [
        f"CASE WHEN \"{output}\" = 'speed' THEN {_column(before)} END"
        for output, before in outputs.items()
        if {output, before} <= set(columns)
    ]
    computed = {name: _column(column) for name, column in plain.items() if column in columns} | {
        "deviation": _deviation(columns),
        "speed": f"coalesce({', '.join(speeds)}, NULL)" if speeds else "",
    }
    return {name: expression for name, expression in computed.items() if expression}


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
