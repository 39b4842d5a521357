"""Vehicle dynamics: a kinematic bicycle with limits on what its actuators can do."""

from __future__ import annotations

import math
from dataclasses import dataclass

from roadworthy.errors import SceneError

__all__ = ["MAX_STEERING", "WHEELBASE", "VehicleLimits", "VehicleState", "advance"]

WHEELBASE = 2.7
MAX_STEERING = 25.0  # degrees at the wheels


@dataclass(frozen=True)
class VehicleLimits:
    """What steering, engine and brakes can do.

    Args:
        steering: Largest angle in degrees at the wheels.
        steering_rate: Degrees per second.
        acceleration: In m/s².
        braking: In m/s².
        speed: Highest speed in m/s.

    Example:
        >>> weak = VehicleLimits(braking=2.0)
        >>> advance(VehicleState(0.0, 0.0, 0.0, speed=10.0), 0.0, 0.0, dt=0.5, limits=weak).speed
        9.0
    """

    steering: float = MAX_STEERING
    steering_rate: float = 80.0
    acceleration: float = 2.5
    braking: float = 7.0
    speed: float = 40.0


@dataclass(frozen=True)
class VehicleState:
    """Pose of the rear axle in world coordinates, speed, and where the wheels point.

    Args:
        x: Metres to the east.
        y: Metres to the north.
        heading: Radians counter-clockwise from east.
        speed: In m/s.
        steering: Degrees at the wheels, positive to the right.
        acceleration: In m/s², over the last step.

    Example:
        >>> VehicleState(x=0.0, y=0.0, heading=0.0, speed=10.0).steering
        0.0
    """

    x: float
    y: float
    heading: float
    speed: float = 0.0
    steering: float = 0.0
    acceleration: float = 0.0


def advance(
    state: VehicleState, steering: float, speed: float, dt: float, limits: VehicleLimits | None = None
) -> VehicleState:
    """Move for ``dt`` seconds towards a steering angle (degrees) and a speed (m/s).

    Example:
        >>> start = VehicleState(0.0, 0.0, 0.0, speed=10.0)
        >>> advance(start, steering=0.0, speed=10.0, dt=0.1).x
        1.0
        >>> advance(start, steering=0.0, speed=0.0, dt=0.1).speed  # the brakes give 7 m/s²
        9.3
    """
    if not (math.isfinite(steering) and math.isfinite(speed)):
        raise SceneError(f"steering and speed must be finite numbers, got {steering} and {speed}")
    if not dt > 0:
        raise SceneError(f"a step takes more than 0 seconds, got {dt}")
    limits = limits or VehicleLimits()
    wanted = max(-limits.steering, min(limits.steering, steering))
    turn = limits.steering_rate * dt
    angle = state.steering + max(-turn, min(turn, wanted - state.steering))
    target = max(0.0, min(limits.speed, speed))
    change = max(-limits.braking * dt, min(limits.acceleration * dt, target - state.speed))
    new_speed = state.speed + change
    travelled = (state.speed + new_speed) / 2 * dt
    curvature = math.tan(math.radians(angle)) / WHEELBASE
    # Along an arc, so that the step length does not matter while the wheels are still.
    middle = state.heading - curvature * travelled / 2
    half = curvature * travelled / 2
    chord = travelled * (math.sin(half) / half if abs(half) > 1e-9 else 1.0)
    return VehicleState(
        state.x + chord * math.cos(middle),
        state.y + chord * math.sin(middle),
        state.heading - curvature * travelled,
        new_speed,
        angle,
        change / dt,
    )
