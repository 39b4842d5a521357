"""Metrics in words and with their units, and their names in the registry."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from roadworthy.driving.drives import Drive
from roadworthy.driving.metrics.catalogue import CATALOGUE, OPERATORS, Metric, parse_metric, primitives
from roadworthy.driving.metrics.computing import compute
from roadworthy.registry import metrics

__all__ = ["meaning_of", "unit_of"]

_SQUARES = {"Var", "SoS", "PowF"}
_NO_UNIT = {"CV", "Skew"}
_SECONDS = {"TimeC", "TimeE", "RT"}
_IN_WORDS = {
    "Count": "number of times: {}",
    "CountC": "number of times that {} meets a condition",
    "TimeC": "seconds in which {} meets a condition",
    "TimeE": "seconds to {}",
    "Diff": "maximum minus minimum of {}",
    "DevT": "distance from the target of {}",
}


def unit_of(metric: str | Metric) -> str:
    """Return the unit of a metric; empty where it has none.

    Example:
        >>> unit_of("SD(SP)"), unit_of("Var(LP)"), unit_of("Count(BR)"), unit_of("CV(LP)")
        ('m/s', '(m)²', 'times', '')
    """
    parsed = parse_metric(metric) if isinstance(metric, str) else metric
    own = primitives()[parsed.primitive].unit
    outer = parsed.operators[0] if parsed.operators else ""
    if outer in _SECONDS:
        return "s"
    if outer in ("Count", "CountC"):
        return "times"
    if outer == "RA":
        return "0 to 1"
    if outer == "Ent":
        return "bits"
    if outer in _NO_UNIT:
        return ""
    return f"({own})²" if outer in _SQUARES else own


def meaning_of(metric: str | Metric) -> str:
    """Return a metric in words.

    Example:
        >>> meaning_of("SD(LP)"), meaning_of("TimeE(CR)")
        ('standard deviation of lateral position', 'seconds to crash')
    """
    parsed = parse_metric(metric) if isinstance(metric, str) else metric
    words = primitives()[parsed.primitive].title
    for operator in reversed(parsed.operators):
        plain = OPERATORS[operator].partition(":")[0].partition(",")[0].removesuffix(" of a sample")
        words = _IN_WORDS.get(operator, f"{plain} of {{}}").format(words)
    return words


def _per_sector(drive: Drive, *, name: str) -> NDArray[np.float64]:
    return compute(drive, [name])[name]


def _register() -> None:
    for entry in CATALOGUE:
        unit = unit_of(entry.metric)
        summary = meaning_of(entry.metric) + (f", in {unit}" if unit and unit != "0 to 1" else "")
        name = str(entry.metric)
        metrics.register(name, summary=summary)(partial(_per_sector, name=name))


_register()
