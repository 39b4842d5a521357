"""Runs: from a requirement to rows and images on disk."""

from __future__ import annotations

from roadworthy.runs.serial import ImageRetention, RunResult, run
from roadworthy.runs.store import RunStore, read_rows, read_verdicts

__all__ = ["ImageRetention", "RunResult", "RunStore", "read_rows", "read_verdicts", "run"]
