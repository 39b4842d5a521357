"""Vehicle dynamics: a kinematic bicycle with limits on what its actuators can do."""

from __future__ import annotations

import math
from dataclasses import dataclass

from roadworthy.errors import SceneError
from roadworthy.world.driver import MAX_STEERING, WHEELBASE

__all__ = ["VehicleLimits", "VehicleState", "advance"]


@dataclass(frozen=True)
class VehicleLimits:
    """What steering, engine and brakes can do."""

    steering: float = MAX_STEERING  # degrees at the wheels
    steering_rate: float = 80.0  # degrees per second
    acceleration: float = 2.5  # m/s²
    braking: float = 7.0  # m/s²
    speed: float = 40.0  # m/s


@dataclass(frozen=True)
class VehicleState:
    """Pose of the rear axle in world coordinates, speed, and where the wheels point."""

    x: float
    y: float
    heading: float  # radians counter-clockwise from east
    speed: float = 0.0
    steering: float = 0.0  # degrees, positive to the right
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
