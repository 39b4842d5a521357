"""A foot on the pedals of the built-in vehicle: it follows a wanted speed as a driver does, not at once.

The vehicle of the world reaches any speed that its engine and brakes allow within one frame. A network's wish
jumps by a metre a second from frame to frame, so that a vehicle that followed each of them would press
throttle and brake in turn, two or three times a second. A driver's foot does not: it follows the wish with a
delay, lifts before it brakes, and does not brake for what lifting takes care of.
"""

from __future__ import annotations

import math

from roadworthy.driving.simulators.protocol import Controls
from roadworthy.world import VehicleLimits

__all__ = ["Foot"]

_SMOOTHING = 0.4  # seconds over which wishes are averaged
_RESPONSE = 0.8  # seconds in which two thirds of a difference in speed are made up
_RESISTANCE = 0.5  # m/s² that a vehicle in gear loses without pedals
_MOVING = 2.0  # m/s from which it loses all of that
_LATE = 0.8  # m/s² more than lifting gives must be wanted before the foot goes to the brake
_TOUCH = 0.06  # of the brake, that a foot on it presses at least
_HOLDING = 0.1  # of the brake, by which a vehicle that should stand is brought and kept to a stand
_STANDING = 0.5  # m/s; below this wish it should stand


class Foot:
    """Turns wanted speeds into throttle and brake, one step after the other.

    Throttle works against a resistance of 0.5 m/s², so that lifting slows down without braking, and a steady
    speed takes some throttle. The brake is taken when 0.8 m/s² more than that are wanted, and kept until
    lifting is enough.

    Args:
        limits: What engine and brakes can do.
        dt: Seconds of a step.
        speed: The speed at the start.

    Example:
        >>> foot = Foot(VehicleLimits(), 1 / 15, speed=10.0)
        >>> acceleration = foot.press(Controls(0.0, speed=9.9), 10.0)  # a little slower: it only lifts
        >>> foot.brake, 0 < foot.throttle < 0.2, -0.5 < acceleration < 0
        (0.0, True, True)
    """

    def __init__(self, limits: VehicleLimits, dt: float, speed: float) -> None:
        self._limits = limits
        self._dt = dt
        self._share = 1.0 - math.exp(-dt / _SMOOTHING)
        self._wanted = speed
        self._braking = False
        self.throttle = self._lifted(0.0, speed)
        self.brake = 0.0

    def press(self, controls: Controls, speed: float) -> float:
        """Press the pedals for one step and return the acceleration in m/s².

        Args:
            controls: What is wanted: a throttle, or a speed; without either, the last wish stays.
            speed: The present speed in m/s.
        """
        if controls.throttle is not None:
            pedal = max(-1.0, min(1.0, controls.throttle))
            self.throttle, self.brake, self._wanted = max(0.0, pedal), max(0.0, -pedal), speed
            self._braking = pedal < 0
        else:
            if controls.speed is not None:
                wanted = max(0.0, min(self._limits.speed, controls.speed))
                self._wanted += self._share * (wanted - self._wanted)
            self._follow(speed)
        if self.brake:
            return -self.brake * self._grip(speed) - _resistance(speed)
        return self.throttle * self._strength(speed) - _resistance(speed)

    def _follow(self, speed: float) -> None:
        acceleration = (self._wanted - speed) / _RESPONSE
        beyond = -acceleration - _resistance(speed)
        self._braking = beyond > (0.0 if self._braking else _LATE)
        self.throttle = 0.0 if self._braking else self._lifted(acceleration, speed)
        self.brake = max(_TOUCH, min(1.0, beyond / self._grip(speed))) if self._braking else 0.0
        if self._wanted < _STANDING and speed < _MOVING:
            self._braking, self.throttle, self.brake = True, 0.0, max(self.brake, _HOLDING)

    def _lifted(self, acceleration: float, speed: float) -> float:
        """Return the throttle that gives an acceleration, 0 where even that is too much."""
        return max(0.0, min(1.0, (acceleration + _resistance(speed)) / self._strength(speed)))

    def _strength(self, speed: float) -> float:
        """Return what full throttle gives before resistance takes its part."""
        return self._limits.acceleration + _resistance(speed)

    def _grip(self, speed: float) -> float:
        """Return what the full brake gives beside resistance."""
        return self._limits.braking - _resistance(speed)


def _resistance(speed: float) -> float:
    return _RESISTANCE * min(1.0, max(0.0, speed) / _MOVING)
