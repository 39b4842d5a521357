"""What a simulator has to do, and the loop that lets a model drive in it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from roadworthy._frozen import frozen
from roadworthy._options import checked_options, takes_path
from roadworthy.driving.drives import EVENTS, Drive
from roadworthy.errors import InputError, SystemUnderTestError, check_known, check_number
from roadworthy.frames import Frame, Signals
from roadworthy.models import SystemUnderTest
from roadworthy.models.protocols import Driver
from roadworthy.registry import simulators

if TYPE_CHECKING:
    from roadworthy.world import Scene


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
        roadworthy.errors.InputError: steering must be finite, got nan
    """

    steering: float
    speed: float | None = None
    throttle: float | None = None

    def __post_init__(self) -> None:
        for name in ("steering", "speed", "throttle"):
            value = getattr(self, name)
            check_number(name, value, above=-math.inf, below=math.inf)

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
        signals: What is known, by the names and in the units of `drives.drive.SIGNALS`; NaN where it is
            not known now.
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


class ScenarioChange(Protocol):
    """What changes during a drive, at one moment and for good."""

    @property
    def after(self) -> float:
        """Seconds after the start."""

    @property
    def words(self) -> str:
        """What changes, in plain words."""

    @property
    def steps(self) -> Sequence[Mapping[str, Any]]:
        """What changes, as data: `op` (add, remove, replace), `target`, `properties`, `distance` and more."""

    def in_world(self, scene: Scene, /) -> tuple[Scene, tuple[int, ...]]:
        """Return a scene of the built-in world as it is then, with the ids of what came."""


@runtime_checkable
class ChangeableSimulator(DrivingSimulator, Protocol):
    """A simulator in which something can change during a drive; that lasts until the next reset.

    From then on its situations have the event `changed`, and the signals `change_ahead`, the metres along the
    road from our front to what came, `change_distance`, those between both outlines, and `others_distance`,
    those to the nearest of all others, as far as it knows them.
    """

    def check_change(self, change: ScenarioChange, /) -> None:
        """Refuse what cannot change here, before the first step.

        Raises:
            InputError: It cannot; says what would be possible.
        """

    def change(self, change: ScenarioChange, /) -> None:
        """Make the change now.

        Raises:
            NotApplicable: It is not possible where the vehicle is now.
        """


def refused_change(simulator: object, name: str) -> str:
    """Return that nothing can change during a drive in a simulator, or a class of them; empty if it can."""
    if all(callable(getattr(simulator, one, None)) for one in ("check_change", "change")):
        return ""
    return f"nothing can be changed during a drive in {name}: it offers no change(); drive in world:town"


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
    return -1.0 if wanted <= 0 else max(-1.0, min(1.0, 1.0 - steering**2 - (speed / wanted) ** 2))


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
    simulator = checked_simulator(reference, **options)()
    if not isinstance(simulator, DrivingSimulator):
        raise InputError(f"{reference!r} must give a DrivingSimulator, got {type(simulator).__name__}")
    return simulator


def checked_simulator(reference: str, /, **options: object) -> Callable[[], object]:
    """Return what opens a simulator; a simulator elsewhere waits for its connection then.

    Raises:
        UnknownNameError: No simulator has this name.
        InputError: An option cannot be used.
    """
    name, _, path = reference.partition(":")
    if not name:
        raise InputError(f"a simulator is written name or name:path, such as 'world:town', got {reference!r}")
    factory = simulators.get(name)
    if path and takes_path(factory) == "never":
        raise InputError(f"{name!r} takes nothing after the colon, got {path!r}: write {name!r} alone")
    return partial(factory, *([path] if path else []), **checked_options(name, factory, options))


SECTOR_LENGTH = 100.0
"""Metres of a sector where a simulator names none, and about those of the built-in tracks."""

_ANSWERED = ("answered_steering", "answered_speed")


class DriveRecorder:
    """Collects the situations of a drive.

    Hold on to one when the model or the simulator may fail: `drive` fills it, and `finished` gives what was
    driven until then.

    Args:
        name: What the drive is called: who drives.
        track: Where, if that is known.

    Example:
        >>> from roadworthy.driving.simulators import WorldSimulator
        >>> recorder = DriveRecorder("nobody")
        >>> recorder.add(WorldSimulator("meadow", traffic=0).reset())
        >>> drive = recorder.finished("stopped at once")
        >>> len(drive), drive.ended, drive.sector_names
        (1, 'stopped at once', ('meadow-01',))
    """

    def __init__(self, name: str, track: str = "") -> None:
        self.name = name
        self.track = track
        self._times: list[float] = []
        self._rows: list[dict[str, float]] = []
        self._events: list[Mapping[str, bool]] = []
        self._sectors: list[str | None] = []
        self._stale = 0

    def __len__(self) -> int:
        """Return how many situations were recorded."""
        return len(self._rows)

    @property
    def metres(self) -> float:
        """How far the vehicle went, by its own distance or by its speed."""
        return self._rows[-1]["distance"] if self._rows else 0.0

    def add(self, situation: Situation) -> None:
        """Record a situation; one that is not later than the last is counted and left out."""
        if self._times and not situation.time > self._times[-1]:
            self._stale += 1
            return
        metres = situation.signals.get("distance", math.nan)
        if not math.isfinite(metres):
            metres = self.metres + self._covered(situation)
        self._times.append(situation.time)
        self._rows.append({**situation.signals, "distance": metres})
        self._events.append(situation.events)
        self._sectors.append(situation.sector)

    def _covered(self, situation: Situation) -> float:
        """Return the metres since the last situation, at the mean of the speeds that are known."""
        if not self._rows:
            return 0.0
        speeds = [row.get("speed", math.nan) for row in (self._rows[-1], situation.signals)]
        known = [one for one in speeds if math.isfinite(one)]
        return (situation.time - self._times[-1]) * sum(known) / max(len(known), 1)

    def answered(self, controls: Controls) -> None:
        """Record what the model answered in the last situation."""
        if self._rows:
            speed = math.nan if controls.speed is None else controls.speed
            self._rows[-1].update(zip(_ANSWERED, (controls.steering, speed), strict=True))

    def finished(self, ended: str, notes: Iterable[str] = ()) -> Drive:
        """Return the drive.

        Args:
            ended: Why it ended.
            notes: What went wrong on the way.

        Raises:
            InputError: Nothing was recorded.
        """
        if not self._rows:
            raise InputError(f"drive {self.name}: nothing was driven")
        names = list(dict.fromkeys(name for row in self._rows for name in row))
        signals = {name: np.array([row.get(name, math.nan) for row in self._rows]) for name in names}
        known = {name: values for name, values in signals.items() if np.isfinite(values).any()}
        told = list(dict.fromkeys(name for row in self._events for name in row))
        events = {name: [row.get(name, False) for row in self._events] for name in told}
        all_notes = list(notes)
        if self._stale:
            count = "1 situation" if self._stale == 1 else f"{self._stale} situations"
            all_notes.append(f"{count} left out in which time did not go on")
        driven = Drive(self.name, self._times, known, events, notes=all_notes, ended=ended, track=self.track)
        return self._cut(driven)

    def _cut(self, drive: Drive) -> Drive:
        """Return the drive in the sectors that the simulator named, or in stretches of equal length."""
        if all(name is None for name in self._sectors):
            ends = np.arange(SECTOR_LENGTH, self.metres + SECTOR_LENGTH, SECTOR_LENGTH)
            titles = [f"{SECTOR_LENGTH * number:.0f} m" for number in range(len(ends) + 1)]
            return drive.cut_by_distance(ends.tolist(), titles)
        numbers: list[int] = []
        titles = []
        for name in self._sectors:
            # One that the simulator cannot place is still on the piece before.
            if not titles or (name is not None and name != titles[-1]):
                titles.append(name or "start")
            numbers.append(len(titles) - 1)
        return drive.with_sectors(numbers, titles)


_STANDING = 0.1  # m/s
_MOMENT = 1e-6  # seconds; rounding


@dataclass(frozen=True)
class DriveLimits:
    """When a drive ends.

    Attributes:
        laps: After so many whole laps; None does not count them.
        seconds: After so many seconds in the simulator.
        metres: After so many metres; None does not measure them.
        standing: After standing still for so many seconds; the red lights of the built-in world are shorter.
        events: At the first of these events.

    Example:
        >>> DriveLimits(seconds=0)
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
            check_number(name, getattr(self, name), above=0)
        for event in self.events:
            check_known("there is no event", event, EVENTS)

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
    limits: DriveLimits | None = None,
    recorder: DriveRecorder | None = None,
    watch: Callable[[Situation], None] | None = None,
    change: ScenarioChange | None = None,
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
        change: What changes on the way; the simulator must be a `ChangeableSimulator`.

    Raises:
        InputError: The simulator cannot make the change.
        NotApplicable: The change is not possible where the vehicle is then.
        SystemUnderTestError: The model failed, answered NaN, or said nothing to drive by.
        SimulatorError: The simulator died, stopped answering or sent what cannot be used.

    Example:
        >>> from roadworthy.driving.simulators import WorldSimulator
        >>> from roadworthy.models import Truth
        >>> driven = drive(Truth(), WorldSimulator("meadow", traffic=0), limits=DriveLimits(seconds=2.0))
        >>> driven.ended, len(driven), bool(abs(driven.signals["lane_offset"]).max() < 0.2)
        ('time over', 31, True)
    """
    limits = limits or DriveLimits()
    recorder = DriveRecorder(system.name) if recorder is None else recorder
    driver = Driver(system)
    situation = simulator.reset()
    recorder.add(situation)
    standing_since = situation.time
    waiting = _checked(simulator, change)
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
        if waiting and change and situation.time > change.after - _MOMENT:
            waiting.change(change)
            waiting = None
        situation = simulator.step(controls)
        # The step that completes the last lap ends the last sector; it is not the first again.
        home = limits.laps is not None and situation.laps >= limits.laps
        recorder.add(replace(situation, sector=None) if home else situation)


def _checked(simulator: DrivingSimulator, change: ScenarioChange | None) -> ChangeableSimulator | None:
    """Return the simulator if something is to change in it."""
    if change is None:
        return None
    if not isinstance(simulator, ChangeableSimulator):
        raise InputError(refused_change(simulator, simulator.name))
    simulator.check_change(change)
    return simulator


def _controls(driver: Driver, situation: Situation) -> Controls:
    """Return what the model wants, completed by what a careful driver would do where that is known."""
    careful = Signals(steering=_known(situation, "target_steering"), speed=_known(situation, "target_speed"))
    answer = driver.answer(situation.frame, otherwise=careful)
    if answer.steering is None:
        raise SystemUnderTestError(f"{driver.system.name} must answer with steering to drive, got speed only")
    return Controls(answer.steering, answer.speed, answer.throttle)


def _known(situation: Situation, name: str) -> float | None:
    value = situation.signals.get(name, math.nan)
    return value if math.isfinite(value) else None
