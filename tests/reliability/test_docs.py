"""The page on reliability: its limits are those that ship."""

from __future__ import annotations

import re
from pathlib import Path

from roadworthy.reliability import PAPER_TRANSFORMATIONS, transformation_named
from roadworthy.visual_change.tolerance import tolerance_of

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reliability.md").read_text("utf-8")


def test_the_table_of_changes_is_what_is_declared() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \|.*\| (.*) \| ([\d.]+) \| ([\d.]+) \|$", PAGE, re.M)
    assert [row[0] for row in rows] == list(PAPER_TRANSFORMATIONS)
    for name, hazard, correctness, prediction in rows:
        known = tolerance_of(name)
        assert (float(correctness), float(prediction)) == (known.correctness, known.prediction)
        assert hazard == str(transformation_named(name).hazards[0])
