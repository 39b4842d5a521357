"""Searches for changed images that show something new, and what they find."""

from __future__ import annotations

from roadworthy.coverage.search.settings import SEARCHES, Settings
from roadworthy.coverage.search.strategies import Algorithm1, Curious, RandomChoice
from roadworthy.coverage.search.trials import Search, Seen, Space, Trial

__all__ = [
    "SEARCHES",
    "Algorithm1",
    "Curious",
    "RandomChoice",
    "Search",
    "Seen",
    "Settings",
    "Space",
    "Trial",
]
