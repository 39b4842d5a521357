"""Training networks: data in, weights with a card out, the same for the same seed.

::

    variant = architecture("dave2").variant(["steering", "speed"])
    trained = train(variant, load("world", count=2000), folder=Path("mine"))
    evaluate(load_model("mine"), load("world:mountain", seed=7))
    drive_lap(load_model("mine"), "meadow")
"""

from __future__ import annotations

from roadworthy.frames.frame import with_history
from roadworthy.models.description import sections
from roadworthy.models.zoo.saved import ExportFormat, export
from roadworthy.training.card import Card, DataNote, write_description
from roadworthy.training.evaluation import (
    Lap,
    Scorer,
    SignalScorer,
    drive_lap,
    evaluate,
    signal_errors,
    value_text,
)
from roadworthy.training.loop import CHECKPOINT, chosen_device
from roadworthy.training.samples import Samples, read_samples
from roadworthy.training.settings import EpochResult, Fitted, Settings, Watcher
from roadworthy.training.tasks import DrivingTask, TrainingTask, task_for
from roadworthy.training.train import Trained, fit, train, train_on

__all__ = [
    "CHECKPOINT",
    "Card",
    "DataNote",
    "DrivingTask",
    "EpochResult",
    "ExportFormat",
    "Fitted",
    "Lap",
    "Samples",
    "Scorer",
    "Settings",
    "SignalScorer",
    "Trained",
    "TrainingTask",
    "Watcher",
    "chosen_device",
    "drive_lap",
    "evaluate",
    "export",
    "fit",
    "read_samples",
    "sections",
    "signal_errors",
    "task_for",
    "train",
    "train_on",
    "value_text",
    "with_history",
    "write_description",
]
