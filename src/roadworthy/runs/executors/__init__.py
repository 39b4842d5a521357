"""Executors: where the batches of a run are carried out."""

from __future__ import annotations

from roadworthy.runs.executors.serial import default_executor, executor_for
from roadworthy.runs.executors.work import Executor, ImageRetention, Retention

__all__ = ["Executor", "ImageRetention", "Retention", "default_executor", "executor_for"]
