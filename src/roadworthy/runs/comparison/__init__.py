"""Two runs compared case by case: what got fixed, what broke, and whether that is more than chance."""

from __future__ import annotations

from roadworthy.runs.comparison.comparing import Comparison, ComparisonVerdict, Difference, compare

__all__ = ["Comparison", "Difference", "ComparisonVerdict", "compare"]
