"""Runs: from a requirement to rows and images on disk."""

from __future__ import annotations

from roadworthy.runs.executors.work import Cost, ImageRetention
from roadworthy.runs.several import SeveralResults, run_several
from roadworthy.runs.single import RunResult, run
from roadworthy.runs.store import RunStore, StoredPair, StoredRun, image_path, read_rows, read_verdicts

__all__ = [
    "Cost",
    "ImageRetention",
    "RunResult",
    "RunStore",
    "SeveralResults",
    "StoredPair",
    "StoredRun",
    "image_path",
    "read_rows",
    "read_verdicts",
    "run",
    "run_several",
]
