"""Searches for changed images that show something new, and what they find."""

from __future__ import annotations

from roadworthy.coverage.search.settings import SearchSettings

__all__ = ["SearchSettings"]
