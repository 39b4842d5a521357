"""The Udacity simulator, by its own wire protocol; it connects to us."""

from __future__ import annotations

from roadworthy.driving.simulators.udacity.simulator import UdacitySimulator

__all__ = ["UdacitySimulator"]
