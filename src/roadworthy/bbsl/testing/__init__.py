"""Tests of detectors by specifications (Definitions 11 to 13): matching, verdicts, and the paper's tables."""

from __future__ import annotations

from roadworthy.bbsl.testing.judging import (
    MATCHINGS,
    OUTSIDE,
    FrameJudgement,
    Matched,
    Matching,
    ObjectRole,
    Outside,
    TestRow,
    find_role,
    judge,
    match,
    row_of,
)
from roadworthy.bbsl.testing.tables import Cell, Count, IouComparison, LabelledFrames, compare

__all__ = [
    "MATCHINGS",
    "OUTSIDE",
    "Cell",
    "IouComparison",
    "Count",
    "FrameJudgement",
    "LabelledFrames",
    "Matched",
    "Matching",
    "ObjectRole",
    "Outside",
    "TestRow",
    "compare",
    "find_role",
    "judge",
    "match",
    "row_of",
]
