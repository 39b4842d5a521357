"""Drivers with one seeded fault each: the careful driver without one of its abilities.

A rule that depends on the ability must catch such a driver, and no other rule may: that is how verdicts are
checked against a truth. Wherever the ability is not needed, the answers are those of the careful driver, bit
for bit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from roadworthy._frozen import FrozenDict
from roadworthy.errors import InputError, suggest
from roadworthy.frames import Signals
from roadworthy.world.driver import careful_driver, lane_keeping
from roadworthy.world.edits import remove, with_conditions
from roadworthy.world.scene import Scene
from roadworthy.world.track import LANE_CENTRE

__all__ = ["FAULTS", "Driver", "Fault", "faulty_driver"]

Driver = Callable[[Scene], Signals]

_HASTE = 0.25  # the share of speed that a downpour adds, where the careful driver takes as much away


@dataclass(frozen=True)
class Fault:
    """One ability that a driver lacks.

    Attributes:
        name: A word or two, such as "pedestrian-blind".
        summary: What is wrong with the driver.
        driver: The driver that has the fault.
    """

    name: str
    summary: str
    driver: Driver


def _blind_to(element: str) -> Driver:
    def drive(scene: Scene) -> Signals:
        return careful_driver(remove(scene, element))

    return drive


def _as_by_day(scene: Scene) -> Signals:
    return careful_driver(with_conditions(scene, time="day") if scene.conditions.time == "night" else scene)


def _by_lines_alone(scene: Scene) -> Signals:
    """Drive between the lines on both sides; where there are none, between the edges of the whole road."""
    careful = careful_driver(scene)
    if scene.lines:
        return careful
    # Lane keeping makes for the middle of our lane; moved by as much, for the middle of the road.
    steering = lane_keeping(scene.track, scene.s, scene.d + LANE_CENTRE, scene.yaw)
    return dataclasses.replace(careful, steering=steering)


def _faster_in_rain(scene: Scene) -> Signals:
    rain = scene.conditions.amount("rainy")
    if rain == 0:
        return careful_driver(scene)
    dry = careful_driver(with_conditions(scene, weather="sunny"))
    assert dry.speed is not None
    return dataclasses.replace(dry, speed=dry.speed * (1 + _HASTE * rain))


FAULTS: Mapping[str, Fault] = FrozenDict(
    {
        fault.name: fault
        for fault in (
            Fault("pedestrian-blind", "does not see pedestrians", _blind_to("pedestrian")),
            Fault("sign-blind", "does not see traffic signs", _blind_to("traffic sign")),
            Fault("night-blind", "drives as fast at night as by day", _as_by_day),
            Fault(
                "lines-only",
                "steers by the lane lines alone: without them it takes the whole road for its lane",
                _by_lines_alone,
            ),
            Fault("rain-hasty", "drives the faster the more it rains", _faster_in_rain),
        )
    }
)
"""The faults by their names."""


def faulty_driver(fault: str | Fault) -> Driver:
    """Return the driver that has a fault.

    Args:
        fault: A fault, or the name of one of `FAULTS`.

    Raises:
        InputError: No fault has this name.

    Example:
        >>> from roadworthy.world import add, careful_driver, make_scene
        >>> scene = make_scene("meadow", s=100, seed=1)
        >>> blind, with_pedestrian = faulty_driver("pedestrian-blind"), add(scene, "pedestrian", ahead=15)
        >>> blind(with_pedestrian) == blind(scene), blind(scene) == careful_driver(scene)
        (True, True)
    """
    if isinstance(fault, Fault):
        return fault.driver
    if fault not in FAULTS:
        raise InputError(f"unknown fault {fault!r}: {suggest(fault, FAULTS)}")
    return FAULTS[fault].driver
