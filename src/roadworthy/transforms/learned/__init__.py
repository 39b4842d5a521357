"""Learned engines: networks that paint what an edited label map says, or another weather, time or season.

Using one needs ONNX Runtime alone; training one and importing a checkpoint need torch.
"""

from roadworthy._files import sha256_of
from roadworthy.transforms.learned.card import EngineCard
from roadworthy.transforms.learned.engine import LearnedEngine, shipped_names

__all__ = ["EngineCard", "LearnedEngine", "sha256_of", "shipped_names"]
