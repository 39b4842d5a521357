"""The networks of learned engines: Pix2pixHD, CycleGAN, UNIT, U-GAT-IT, and small ones that ship.

The parameters have the names of the public code, so that public checkpoints can be read. torch is loaded when
a network is built or a checkpoint read, not before.
"""

from __future__ import annotations

from roadworthy.training.engine_networks.checkpoint import (
    Direction,
    NetworkCheckpoint,
    architecture_of,
    read_checkpoint,
    write_checkpoint,
)
from roadworthy.training.engine_networks.export import OPSET, Exported, export_onnx
from roadworthy.training.engine_networks.settings import (
    ARCHITECTURES,
    CycleganSettings,
    GlobalSettings,
    LocalSettings,
    NetworkInputs,
    NetworkSettings,
    SmallSynthesisSettings,
    SmallTranslationSettings,
    UgatitSettings,
    UnitSettings,
    network_for,
    seeded,
    settings_for,
)

__all__ = [
    "ARCHITECTURES",
    "CycleganSettings",
    "Direction",
    "Exported",
    "GlobalSettings",
    "LocalSettings",
    "NetworkCheckpoint",
    "NetworkInputs",
    "NetworkSettings",
    "OPSET",
    "SmallSynthesisSettings",
    "SmallTranslationSettings",
    "UgatitSettings",
    "UnitSettings",
    "architecture_of",
    "export_onnx",
    "network_for",
    "read_checkpoint",
    "seeded",
    "settings_for",
    "write_checkpoint",
]
