"""Searches for changed images that show something new, and what they find."""

from __future__ import annotations

from roadworthy.coverage.search.settings import SEARCHES, SearchSettings
from roadworthy.coverage.search.strategies import Algorithm1, Curious, RandomChoice
from roadworthy.coverage.search.trials import SearchStrategy, SearchTrial, Space, TrialResult

__all__ = [
    "SEARCHES",
    "Algorithm1",
    "Curious",
    "RandomChoice",
    "SearchStrategy",
    "TrialResult",
    "SearchSettings",
    "Space",
    "SearchTrial",
]
