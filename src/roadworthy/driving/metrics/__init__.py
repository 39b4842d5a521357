"""Metrics of driving quality: every metric, event and operator of the literature study's Table I.

::

    table = compute(drive.cut_by_time(10))      # all that the drive's signals allow, per sector
    table["SD(LP)"]                             # one number for each sector
    table.missing["Mean(HP)"]                   # what it would take
"""

from __future__ import annotations

from roadworthy.driving.metrics.catalogue import CATALOGUE, Metric, MetricSettings, parse_metric, primitives
from roadworthy.driving.metrics.computing import (
    MetricTable,
    availability,
    compute,
    meaning_of,
    per_step,
    unit_of,
)

__all__ = [
    "CATALOGUE",
    "Metric",
    "MetricSettings",
    "MetricTable",
    "availability",
    "compute",
    "meaning_of",
    "parse_metric",
    "per_step",
    "primitives",
    "unit_of",
]
