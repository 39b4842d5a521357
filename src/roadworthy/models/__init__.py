"""Systems under test: the protocol they follow, and those that come with the package."""

from __future__ import annotations

from roadworthy.models.protocols import Simulator, SystemUnderTest
from roadworthy.models.truth import Truth

__all__ = ["Simulator", "SystemUnderTest", "Truth"]
