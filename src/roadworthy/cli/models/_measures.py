"""Showing how good a model is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from roadworthy.result_tables import ResultTable

if TYPE_CHECKING:
    from roadworthy.models.scorers import Measure


def measures_table(measures: Sequence[Measure]) -> ResultTable:
    """Return measures as people read them, a line each."""
    from roadworthy.training import value_text

    rows = tuple((one.name, value_text(one), str(one.frames)) for one in measures)
    return ResultTable("", ("measure", "value", "frames"), rows)
