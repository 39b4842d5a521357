"""How much of a specification test data tries, and the test cases that are missing at its borders."""

from __future__ import annotations

from roadworthy.bbsl.coverage.borders import BorderObjects, Change, nearest_changes
from roadworthy.bbsl.coverage.conditions import AtomCoverage, SpecCoverage

__all__ = ["AtomCoverage", "BorderObjects", "Change", "SpecCoverage", "nearest_changes"]
