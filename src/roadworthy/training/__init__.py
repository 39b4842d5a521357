"""Training networks: data in, weights with a card out, the same for the same seed.

::

    variant = architecture("dave2").variant(["steering", "speed"])
    trained = train(variant, load("world", count=2000), folder=Path("mine"))
    evaluate(load_model("mine"), load("world:mountain", seed=7))
    drive_lap(load_model("mine"), "meadow")
"""

from __future__ import annotations

from roadworthy.frames.frame import with_history
from roadworthy.models.zoo.saved import ExportFormat, export
from roadworthy.training.evaluation import drive_lap, evaluate, measures_table, write_description
from roadworthy.training.loop import CHECKPOINT, Settings, Watcher
from roadworthy.training.train import TrainingSources, train

__all__ = [
    "CHECKPOINT", "ExportFormat", "Settings", "TrainingSources", "Watcher", "drive_lap", "evaluate", "export",
    "measures_table", "train", "with_history", "write_description",
]  # fmt: skip
