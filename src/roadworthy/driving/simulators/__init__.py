"""Simulators behind one protocol, and the closed loop that lets a model drive in them.

::

    simulator = open_simulator("world:town", traffic=0)
    driven = drive(load_model("dave2"), simulator, limits=DriveLimits(laps=1))
    driven.ended, compute(driven)["SD(LP)"]

`reset` and `step` give a `Situation`: time, camera frame, signals, events, sector. `docs/driving.md` tells
how to write one for another simulator.
"""

from __future__ import annotations

# Each registers its simulator.
from roadworthy.driving.simulators import donkey, served, udacity  # noqa: F401
from roadworthy.driving.simulators.loop import (
    ChangeableSimulator,
    Controls,
    DriveLimits,
    DriveRecorder,
    DrivingSimulator,
    ScenarioChange,
    Situation,
    drive,
    open_simulator,
    pedals,
)
from roadworthy.driving.simulators.scenarios import CaseScenario, Scenario, ScenarioDriver
from roadworthy.driving.simulators.world import WorldSimulator

__all__ = [
    "CaseScenario",
    "ChangeableSimulator",
    "Controls",
    "DrivingSimulator",
    "DriveLimits",
    "DriveRecorder",
    "Scenario",
    "ScenarioChange",
    "ScenarioDriver",
    "Situation",
    "WorldSimulator",
    "drive",
    "open_simulator",
    "pedals",
]
