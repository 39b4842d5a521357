"""Executors: where the batches of a run are carried out."""

from __future__ import annotations

from roadworthy.runs.executors.serial import EXECUTORS, SerialExecutor, executor_for
from roadworthy.runs.executors.work import (
    BatchJob,
    BatchResult,
    Done,
    Executor,
    ImageRetention,
    Pair,
    Retention,
    Session,
    WorkUnit,
    carry,
)

__all__ = [
    "EXECUTORS",
    "Done",
    "Executor",
    "ImageRetention",
    "BatchJob",
    "Pair",
    "BatchResult",
    "Retention",
    "SerialExecutor",
    "Session",
    "WorkUnit",
    "carry",
    "executor_for",
]
