"""Runs: from a requirement to rows and images on disk."""

from __future__ import annotations

from roadworthy.runs.several import run_several
from roadworthy.runs.single import RunResult, run
from roadworthy.runs.store import RunStore, StoredRun, read_rows, read_verdicts

__all__ = ["RunResult", "RunStore", "StoredRun", "read_rows", "read_verdicts", "run", "run_several"]
