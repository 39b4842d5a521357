"""The telemetry of the Udacity simulator and its research versions: which field says what."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roadworthy.driving.simulators._remote import decoded_image, number
from roadworthy.errors import FrameError
from roadworthy.frames import SignalUnits

__all__ = ["Telemetry", "read_telemetry"]

_SPEEDS = {"telemetry": SignalUnits(speed="mph"), "car_telemetry": SignalUnits(speed="m/s")}
_PLAIN = {
    "throttle": "throttle",
    "brake": "brake",
    "cte": "lane_offset",
    "distance": "distance",
    # Unity has x to the right, y up and z ahead.
    "pos_x": "x",
    "pos_z": "y",
    "next_cte": "next_cte",
    "ang_diff": "ang_diff",
    # Whole seconds, so that it cannot time the rows.
    "sim_time": "sim_time",
}


@dataclass(frozen=True, eq=False)
class Telemetry:
    """What one message says.

    Attributes:
        image: What the camera saw; None if it cannot be read.
        wrong: Why it cannot be read.
        signals: In our names and units.
        flags: Whether the vehicle crashed or hit something, where the version says so.
        counts: Of crashes and of leaving the road so far, where the version counts them.
        sector: The number of the waypoint or sector.
        lap: The number of the lap.
    """

    image: NDArray[np.uint8] | None
    wrong: str
    signals: Mapping[str, float]
    flags: Mapping[str, bool] = field(default_factory=dict)
    counts: Mapping[str, float] = field(default_factory=dict)
    sector: str | None = None
    lap: int | None = None


def read_telemetry(event: str, data: Mapping[str, Any], *, full_lock: float) -> Telemetry:
    """Return what a telemetry message says.

    Args:
        event: "telemetry" of the original and most forks, or "car_telemetry" of udacity-gym.
        data: Its fields.
        full_lock: The largest angle of the wheels in degrees.
    """
    image, wrong = None, ""
    try:
        image = decoded_image(data.get("image"))
    except FrameError as error:
        wrong = str(error)
    signals = {name: number(data[key]) for key, name in _PLAIN.items() if key in data}
    if "speed" in data:
        signals["speed"] = _SPEEDS[event].decode_speed(number(data["speed"]))
    if "steering_angle" in data:
        angle = number(data["steering_angle"])
        # udacity-gym answers with what it was told, a share of the full lock.
        signals["steering"] = angle * full_lock if event == "car_telemetry" else angle
    sector = data.get("currentWayPoint", data.get("sector"))
    kind = "waypoint" if "currentWayPoint" in data else "sector"
    lap = number(data.get("lapNumber", data.get("lap")))
    return Telemetry(
        image,
        wrong,
        signals,
        _flags(data),
        {key: count for key in ("tot_crashes", "tot_obes") if not math.isnan(count := number(data.get(key)))},
        None if sector is None else f"{kind} {sector}",
        None if math.isnan(lap) else int(lap),
    )


def _flags(data: Mapping[str, Any]) -> dict[str, bool]:
    """Return the events that the message tells of."""
    flags: dict[str, bool] = {}
    if "crash" in data:
        flags["crash"] = number(data["crash"]) > 0
    if "hit" in data:
        hit = str(data["hit"]).strip().lower() not in ("", "none", "null", "0", "false")
        flags["collision"] = hit
        flags["crash"] = hit or flags.get("crash", False)
    return flags
