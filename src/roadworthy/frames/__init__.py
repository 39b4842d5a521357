"""Frames: what a camera saw and what is known about it."""

from roadworthy.frames.boxes import Boxes
from roadworthy.frames.frame import Frame, Signals, SignalUnits
from roadworthy.frames.labels import LabelMap
from roadworthy.frames.path import PlannedPath

__all__ = ["Boxes", "Frame", "LabelMap", "PlannedPath", "SignalUnits", "Signals"]
