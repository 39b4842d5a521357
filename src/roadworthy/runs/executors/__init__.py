"""Executors: where the batches of a run are carried out."""

from __future__ import annotations

from roadworthy.runs.executors.serial import EXECUTORS, SerialExecutor, executor_for
from roadworthy.runs.executors.work import (
    Done,
    Executor,
    ImageRetention,
    Job,
    Pair,
    Result,
    Retention,
    Session,
    Unit,
    carry,
)

__all__ = [
    "EXECUTORS",
    "Done",
    "Executor",
    "ImageRetention",
    "Job",
    "Pair",
    "Result",
    "Retention",
    "SerialExecutor",
    "Session",
    "Unit",
    "carry",
    "executor_for",
]
