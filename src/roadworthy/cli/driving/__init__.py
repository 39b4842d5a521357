"""``roadworthy driving``: a file for each command."""

from __future__ import annotations

from roadworthy.cli.driving import drive, metrics, mutate, oracle, rate
from roadworthy.cli.driving._group import app

__all__ = ["app", "drive", "metrics", "mutate", "oracle", "rate"]
