"""Simulators behind one protocol, and the closed loop that lets a model drive in them.

::

    simulator = open_simulator("world:town", traffic=0)
    driven = drive(load_model("dave2"), simulator, limits=DriveLimits(laps=1))
    driven.ended, compute(driven)["SD(LP)"]

`reset` and `step` give a `Situation`: time, camera frame, signals, events, sector. `docs/driving.md` tells
how to write one for another simulator.
"""

from __future__ import annotations

from roadworthy.driving.simulators.donkey import DonkeySimulator
from roadworthy.driving.simulators.loop import (
    SECTOR_LENGTH,
    Controls,
    DriveLimits,
    DriveRecorder,
    DrivingSimulator,
    Situation,
    checked_simulator,
    drive,
    open_simulator,
    pedals,
)
from roadworthy.driving.simulators.metadrive import MetaDriveSimulator
from roadworthy.driving.simulators.scenarios import CameraFrames, Scenario, ScenarioDriver, kept_drive
from roadworthy.driving.simulators.udacity import UdacitySimulator
from roadworthy.driving.simulators.world import WorldSimulator, world_sectors

__all__ = [
    "SECTOR_LENGTH",
    "CameraFrames",
    "Controls",
    "DonkeySimulator",
    "DrivingSimulator",
    "DriveLimits",
    "MetaDriveSimulator",
    "DriveRecorder",
    "Scenario",
    "ScenarioDriver",
    "Situation",
    "UdacitySimulator",
    "WorldSimulator",
    "checked_simulator",
    "drive",
    "kept_drive",
    "open_simulator",
    "pedals",
    "world_sectors",
]
