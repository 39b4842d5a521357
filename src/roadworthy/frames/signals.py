"""What the vehicle does at the moment of a frame, and the units data sets and models use for it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from roadworthy._frozen import FrozenDict, frozen
from roadworthy.errors import FrameError

Values = TypeVar("Values", float, NDArray[np.floating])

_SPEED_DIVISORS = {"m/s": 1.0, "km/h": 3.6, "mph": 1 / 0.44704}
_DEGREES = {"deg": 1.0, "rad": 180 / math.pi}


@dataclass(frozen=True)
class Signals:
    """What the vehicle does: what was recorded with a frame, or what a model answers. None is unknown.

    Attributes:
        speed: Metres per second; negative when reversing.
        steering: Degrees at the wheels, positive to the right.
        acceleration: Metres per second squared along the road.
        throttle: As the source has it, usually 0 to 1.
        brake: As the source has it, usually 0 to 1.
        timestamp: Seconds.
        extra: Further numbers of the source under its own names.

    Example:
        >>> Signals(speed=10.0, steering=-2.5).mirrored().steering
        2.5
    """

    speed: float | None = None
    steering: float | None = None
    acceleration: float | None = None
    throttle: float | None = None
    brake: float | None = None
    timestamp: float | None = None
    extra: Mapping[str, float] = field(default_factory=FrozenDict)

    def __post_init__(self) -> None:
        for name in _NAMES:
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _number(name, value))
        for name in self.extra:
            if name in _NAMES:
                raise FrameError(f"extra signal {name!r} has the name of a signal: pass {name}=... instead")
        numbers = {name: _number(name, value) for name, value in self.extra.items()}
        object.__setattr__(self, "extra", frozen(numbers))

    @classmethod
    def from_units(
        cls,
        units: SignalUnits,
        *,
        speed: float | None = None,
        steering: float | None = None,
        acceleration: float | None = None,
        throttle: float | None = None,
        brake: float | None = None,
        timestamp: float | None = None,
        extra: Mapping[str, float] | None = None,
    ) -> Signals:
        """Make signals from values in the units of a data set or model.

        Example:
            >>> units = SignalUnits("km/h", steering="rad", steering_positive="left", steering_ratio=14.4)
            >>> signals = Signals.from_units(units, speed=36, steering=-0.1)
            >>> signals.speed, round(signals.steering, 3)
            (10.0, 0.398)
        """
        return cls(
            speed=None if speed is None else units.decode_speed(_number("speed", speed)),
            steering=None if steering is None else units.decode_steering(_number("steering", steering)),
            acceleration=acceleration,
            throttle=throttle,
            brake=brake,
            timestamp=timestamp,
            extra=extra or {},
        )

    def mirrored(self) -> Signals:
        """Return the signals of the mirrored scene: steering to the other side, all else the same."""
        if self.steering is None:
            return self
        # Subtracting rather than negating, so that straight ahead stays 0.0 and does not become -0.0.
        return replace(self, steering=0.0 - self.steering)

    def as_dict(self) -> dict[str, float]:
        """Return the known signals, the extra ones included, by name.

        Example:
            >>> Signals(speed=3.0, extra={"gear": 2}).as_dict()
            {'speed': 3.0, 'gear': 2.0}
        """
        known = {name: getattr(self, name) for name in _NAMES}
        return {name: value for name, value in known.items() if value is not None} | dict(self.extra)


_NAMES = tuple(one.name for one in fields(Signals) if one.name != "extra")


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise FrameError(f"signal {name} must be a number, got {value!r}")
    if not math.isfinite(value):
        raise FrameError(f"signal {name} must be finite, got {value}: leave an unknown signal out")
    return float(value)


@dataclass(frozen=True)
class SignalUnits:
    """The units of a data set or model, declared once; values are converted where they come in or go out.

    Attributes:
        speed: "m/s", "km/h" or "mph", or the m/s that one unit stands for.
        steering: "deg" or "rad", or the degrees that one unit stands for, such as 25 where ±1 is ±25°.
        steering_positive: The side of positive angles.
        steering_ratio: Degrees of the steering wheel for one degree at the wheels; 1 where the angle is
            already that of the wheels.

    Example:
        >>> import numpy as np
        >>> simulator = SignalUnits(speed="mph", steering=25.0)
        >>> simulator.decode_steering(np.array([-1.0, 0.5])).tolist()
        [-25.0, 12.5]
        >>> simulator.encode_steering(12.5)
        0.5
    """

    speed: str | float = "m/s"
    steering: str | float = "deg"
    steering_positive: Literal["left", "right"] = "right"
    steering_ratio: float = 1.0

    def __post_init__(self) -> None:
        for name, known in (("speed", _SPEED_DIVISORS), ("steering", _DEGREES)):
            unit = getattr(self, name)
            if isinstance(unit, str) and unit not in known:
                raise FrameError(f"{name} unit must be {', '.join(known)} or a number, got {unit!r}")
            if not isinstance(unit, str) and not 0 < unit < math.inf:
                raise FrameError(f"{name} unit must be a positive number, got {unit!r}")
        if self.steering_positive not in ("left", "right"):
            raise FrameError(f"steering_positive must be 'left' or 'right', got {self.steering_positive!r}")
        if not 0 < self.steering_ratio < math.inf:
            raise FrameError(f"steering_ratio must be a positive number, got {self.steering_ratio!r}")

    def decode_speed(self, value: Values) -> Values:
        """Return m/s for a speed, or an array of speeds, in these units."""
        # What is too large becomes infinite, which is no value of a signal.
        with np.errstate(over="ignore"):
            return value / self._speed_divisor

    def encode_speed(self, value: Values) -> Values:
        """Return a speed, or an array of speeds, in m/s in these units."""
        return value * self._speed_divisor

    def decode_steering(self, value: Values) -> Values:
        """Return degrees at the wheels, positive right, for one or many angles in these units."""
        with np.errstate(over="ignore"):
            # Adding 0.0 turns the -0.0 that a change of sign leaves into 0.0.
            return value * self._degrees_right + 0.0

    def encode_steering(self, value: Values) -> Values:
        """Return an angle, or an array of angles, at the wheels, positive right, in these units."""
        return value / self._degrees_right + 0.0

    @property
    def _speed_divisor(self) -> float:
        return _SPEED_DIVISORS[self.speed] if isinstance(self.speed, str) else 1 / self.speed

    @property
    def _degrees_right(self) -> float:
        degrees = _DEGREES[self.steering] if isinstance(self.steering, str) else self.steering
        sign = 1.0 if self.steering_positive == "right" else -1.0
        return sign * degrees / self.steering_ratio
