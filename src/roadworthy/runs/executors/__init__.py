"""Executors: where the batches of a run are carried out."""

from __future__ import annotations

from roadworthy.runs.executors.choosing import EXECUTORS, executor_for
from roadworthy.runs.executors.protocol import Executor, Session
from roadworthy.runs.executors.retention import ImageRetention, Retention
from roadworthy.runs.executors.serial import SerialExecutor
from roadworthy.runs.executors.work import Done, Job, Pair, Result, Unit, carry

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
