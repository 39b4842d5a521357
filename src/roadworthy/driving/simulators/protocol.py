"""What a simulator shows and what it is told, whichever it is, and opening one by name."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from roadworthy._frozen import frozen
from roadworthy._options import checked_options, takes_path
from roadworthy.errors import InputError
from roadworthy.frames import Frame
from roadworthy.registry import simulators


@dataclass(frozen=True)
class Controls:
    """What the vehicle is told to do until the next step.

    Attributes:
        steering: Degrees at the wheels, positive to the right.
        speed: The wanted speed in m/s; None leaves it to the simulator.
        throttle: 0 to 1, below 0 to brake, for a model that says it; None leaves it to the simulator.

    Example:
        >>> Controls(steering=float("nan"))
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: steering must be a finite number, got nan
    """

    steering: float
    speed: float | None = None
    throttle: float | None = None

    def __post_init__(self) -> None:
        for name in ("steering", "speed", "throttle"):
            value = getattr(self, name)
            if value is not None and not math.isfinite(value):
                raise InputError(f"{name} must be a finite number, got {value}")

    def share(self, full_lock: float) -> float:
        """Return what is steered as a share of the full lock in degrees, from -1 to 1.

        Example:
            >>> Controls(steering=5.0).share(25.0), Controls(steering=-90.0).share(25.0)
            (0.2, -1.0)
        """
        return max(-1.0, min(1.0, self.steering / full_lock))


@dataclass(frozen=True, eq=False)
class Situation:
    """What is true at one moment of a drive.

    Attributes:
        time: Seconds since the start.
        frame: What the camera sees.
        signals: What is known, by the names and in the units of `roadworthy.driving.drives.SIGNALS`; NaN
            where it is not known now.
        events: Whether each event that the simulator can tell goes on, by the names of
            `roadworthy.driving.drives.EVENTS`.
        sector: The name of the piece of the track that the vehicle is on; None where there are none.
        laps: Whole laps driven.
        ended: Why the simulator ended the drive; empty while it goes on.
    """

    time: float
    frame: Frame
    signals: Mapping[str, float] = field(default_factory=dict)
    events: Mapping[str, bool] = field(default_factory=dict)
    sector: str | None = None
    laps: int = 0
    ended: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "signals", frozen(self.signals))
        object.__setattr__(self, "events", frozen(self.events))


@runtime_checkable
class DrivingSimulator(Protocol):
    """Moves a vehicle one step at a time.

    A simulator that dies, stops answering or sends what cannot be used raises a
    :class:`~roadworthy.errors.SimulatorError` from `reset` or `step`. What it can mend itself, such as one
    broken image, it mends and tells in `notes`.
    """

    @property
    def name(self) -> str:
        """What it is called, such as ``"world:town"``."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What went wrong since the last reset and was mended, a sentence each."""
        ...

    def reset(self) -> Situation:
        """Put the vehicle at the start and return what is true there."""
        ...

    def step(self, controls: Controls, /) -> Situation:
        """Drive one step and return what is true then.

        Raises:
            InputError: It was not reset before the first step.
            SimulatorError: It stopped answering, or failed.
        """
        ...

    def close(self) -> None:
        """Let go of sockets and processes; a second call does nothing."""
        ...


def pedals(controls: Controls, steering: float, speed: float, limit: float) -> float:
    """Return the throttle of the papers' agents for a simulator with pedals: 1 - steer² - (speed/limit)².

    A model that answers throttle gets it; one that answers speed gets that speed as the limit.

    Args:
        controls: What the model wants.
        steering: What is steered, as a share of the full lock, from -1 to 1.
        speed: The present speed in m/s.
        limit: The speed in m/s that is not passed.

    Returns:
        From -1, full brake, to 1, full throttle.

    Example:
        >>> pedals(Controls(0.0), 0.0, 5.0, limit=10.0)
        0.75
        >>> pedals(Controls(0.0, speed=4.0), 0.0, 5.0, limit=10.0)
        -0.5625
    """
    if controls.throttle is not None:
        return max(-1.0, min(1.0, controls.throttle))
    wanted = limit if controls.speed is None else min(limit, controls.speed)
    if wanted <= 0:
        return -1.0
    return max(-1.0, min(1.0, 1.0 - steering**2 - (speed / wanted) ** 2))


def open_simulator(reference: str, /, **options: object) -> DrivingSimulator:
    """Open a simulator.

    Args:
        reference: Its name, and after a colon what it opens: ``"world:town"``, ``"udacity:127.0.0.1:4567"``.
        options: The simulator's options; text is converted to what the option takes.

    Raises:
        UnknownNameError: No simulator has this name.
        InputError: What it shall open, or an option, cannot be used.

    Example:
        >>> open_simulator("world:town", traffic="0").name
        'world:town'
        >>> open_simulator("world:twon")
        Traceback (most recent call last):
        ...
        roadworthy.errors.SceneError: unknown track 'twon': did you mean 'town'?
    """
    name, _, path = reference.partition(":")
    if not name:
        raise InputError(f"a simulator is written name or name:path, such as 'world:town', got {reference!r}")
    factory = simulators.get(name)
    if path and takes_path(factory) == "never":
        raise InputError(f"{name!r} takes nothing after the colon, got {path!r}: write {name!r} alone")
    checked = checked_options(name, factory, options)
    simulator = factory(path, **checked) if path else factory(**checked)
    if not isinstance(simulator, DrivingSimulator):
        raise InputError(
            f"{name!r} must give a simulator with name, notes, reset, step and close, got "
            f"{type(simulator).__name__}"
        )
    return simulator
