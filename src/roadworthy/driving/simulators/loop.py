"""The closed loop: a model's answers move the vehicle, the simulator answers, and the drive is recorded."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from roadworthy.driving.drives import EVENTS, Drive
from roadworthy.driving.simulators.opening import open_simulator
from roadworthy.driving.simulators.protocol import Controls, DrivingSimulator, Situation
from roadworthy.driving.simulators.recording import Recorder
from roadworthy.errors import InputError, SystemUnderTestError, suggest
from roadworthy.frames import Signals
from roadworthy.models import SystemUnderTest
from roadworthy.models.driver import Driver

__all__ = ["Limits", "Scenario", "ScenarioDriver", "drive"]

_STANDING = 0.1  # m/s


@dataclass(frozen=True)
class Limits:
    """When a drive ends.

    Attributes:
        laps: After so many whole laps; None does not count them.
        seconds: After so many seconds in the simulator.
        metres: After so many metres; None does not measure them.
        standing: After standing still for so many seconds; the red lights of the built-in world are shorter.
        events: At the first of these events.

    Example:
        >>> Limits(seconds=0)
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: seconds must be above 0, got 0
    """

    laps: int | None = 1
    seconds: float = 600.0
    metres: float | None = None
    standing: float = 30.0
    events: tuple[str, ...] = ("crash",)

    def __post_init__(self) -> None:
        for name in ("laps", "seconds", "metres", "standing"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InputError(f"{name} must be above 0, got {value}")
        for event in self.events:
            if event not in EVENTS:
                raise InputError(f"there is no event {event!r}: {suggest(event, EVENTS)}")

    def reached(self, situation: Situation, metres: float, standing: float) -> str:
        """Return why a drive is over; nothing while it goes on."""
        if situation.ended:
            return situation.ended
        for event in self.events:
            if situation.events.get(event):
                return event
        if self.laps is not None and situation.laps >= self.laps:
            return "lap complete" if self.laps == 1 else f"{self.laps} laps complete"
        if self.metres is not None and metres >= self.metres:
            return "distance driven"
        if standing > self.standing:
            return "stopped"
        return "time over" if situation.time >= self.seconds else ""


def drive(
    system: SystemUnderTest,
    simulator: DrivingSimulator,
    *,
    limits: Limits | None = None,
    recorder: Recorder | None = None,
    watch: Callable[[Situation], None] | None = None,
) -> Drive:
    """Let a model drive and return the recorded drive.

    The drive's `ended` says why it ended, and its notes what went wrong on the way.

    A model that answers steering alone gets a speed: the careful driver's in the built-in world, elsewhere
    that of the throttle 1 - steer² - (speed/limit)² of the papers' agents. What the model answered is
    recorded as the signals answered_steering and answered_speed, beside what the vehicle did.

    Args:
        system: The model: it answers with steering, speed or both.
        simulator: Where it drives; it is reset, and left open.
        limits: When the drive ends.
        recorder: Where the drive is recorded; keep it to have what was driven when this raises.
        watch: Called with every situation, for progress and films.

    Raises:
        SystemUnderTestError: The model failed, answered NaN, or said nothing to drive by.
        SimulatorError: The simulator died, stopped answering or sent what cannot be used.

    Example:
        >>> from roadworthy.driving.simulators import WorldSimulator
        >>> from roadworthy.models import Truth
        >>> driven = drive(Truth(), WorldSimulator("meadow", traffic=0), limits=Limits(seconds=2.0))
        >>> driven.ended, len(driven), bool(abs(driven.signals["lane_offset"]).max() < 0.2)
        ('time over', 31, True)
    """
    limits = limits or Limits()
    recorder = Recorder(system.name) if recorder is None else recorder
    driver = Driver(system)
    situation = simulator.reset()
    recorder.add(situation)
    standing_since = situation.time
    while True:
        if watch is not None:
            watch(situation)
        if not situation.signals.get("speed", math.inf) < _STANDING:
            standing_since = situation.time
        ended = limits.reached(situation, recorder.metres, situation.time - standing_since)
        if ended:
            return recorder.finished(ended, simulator.notes)
        controls = _controls(driver, situation)
        recorder.answered(controls)
        situation = simulator.step(controls)
        # The step that completes the last lap ends the last sector; it is not the first again.
        home = limits.laps is not None and situation.laps >= limits.laps
        recorder.add(replace(situation, sector=None) if home else situation)


def _controls(driver: Driver, situation: Situation) -> Controls:
    """Return what the model wants, completed by what a careful driver would do where that is known."""
    careful = Signals(
        steering=_known(situation, "target_steering"),
        speed=_known(situation, "target_speed"),
    )
    answer = driver.answer(situation.frame, otherwise=careful)
    if answer.steering is None:
        raise SystemUnderTestError(
            f"{driver.system.name} must answer with steering to drive in a simulator that does not say what "
            "should be steered, got speed alone"
        )
    return Controls(answer.steering, answer.speed, answer.throttle)


def _known(situation: Situation, name: str) -> float | None:
    value = situation.signals.get(name, math.nan)
    return value if math.isfinite(value) else None


@dataclass(frozen=True)
class Scenario:
    """A drive to be asked for in a case: which simulator with which options, and when it ends.

    Attributes:
        simulator: Its name, or name:path, such as ``"world:town"``.
        options: Its options.
        limits: When the drive ends.
    """

    simulator: str
    options: Mapping[str, object] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)


class ScenarioDriver:
    """Answers cases that ask for a drive through a `Scenario`; give it to a runner as its simulator.

    Example:
        >>> from roadworthy.models import Truth
        >>> scenario = Scenario("world:meadow", {"traffic": 0}, Limits(seconds=0.2))
        >>> ScenarioDriver().drive(scenario, Truth()).ended
        'time over'
    """

    def drive(self, scenario: object, system: SystemUnderTest, /) -> Drive:
        """Open the simulator, let the system drive and close it again.

        Raises:
            InputError: It is no scenario, or the simulator cannot be opened.
            SystemUnderTestError: The system failed.
            SimulatorError: The simulator failed.
        """
        if not isinstance(scenario, Scenario):
            raise InputError(f"expected a Scenario to drive through, got {type(scenario).__name__}")
        simulator = open_simulator(scenario.simulator, **scenario.options)
        try:
            return drive(system, simulator, limits=scenario.limits)
        finally:
            simulator.close()
