"""Clips of recorded frames: what is added keeps its place on the ground, by the vehicle's recorded motion.

A thing is put into the last frame of a clip, where it is near and the ground is seen best. Where it is seen
in the frames before follows from the speed and the steering that were recorded (a bicycle on a plane): the
same cut-out, as large as its distance says. Weather, light and the lens have one character throughout.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from roadworthy.cases import FrameSource
from roadworthy.datasets import ChosenFrames
from roadworthy.errors import NotApplicable
from roadworthy.frames import Frame
from roadworthy.rules.clips import ClipFrame, Timeline, seen, timeline
from roadworthy.rules.generation import ChangedScenario, RulePlan, about_step
from roadworthy.rules.ground_motion import ground_view
from roadworthy.rules.timing import Timing
from roadworthy.seeding import rng_for
from roadworthy.transforms import Add, Transform
from roadworthy.transforms.objects.placement import GroundSpot, stands, usual_smallest, visible_share
from roadworthy.transforms.perspective import Perspective, real_height
from roadworthy.transforms.wording import MOMENT, TRAVELLED, described
from roadworthy.world.driver import WHEELBASE

_BEFORE = 3.0  # seconds of a drive before a clip that are looked at, for the frames before a frame
_CYCLING = 4.0  # m/s
_NEAREST = 6.0  # metres from the camera to a thing in the last frame, at least
_LOWEST = 0.9  # of the image's height: the row of its foot there, at most
_LEAST_SEEN = 0.35

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class EgoMotion:
    """Where the vehicle was during a clip.

    Attributes:
        times: Seconds, ascending.
        ahead: Metres ahead of where it is at the end, at each time; most are negative.
        right: Metres to the right of that.
        yaw: Radians to the right of its heading at the end.
    """

    times: Floats
    ahead: Floats
    right: Floats
    yaw: Floats

    @classmethod
    def recorded(cls, known: Timeline, numbers: tuple[int, ...]) -> EgoMotion:
        """Return the motion that speed and steering of a drive tell, up to the last of some frames.

        Raises:
            NotApplicable: They are not recorded for all of it.
        """
        frames = known.between_times(
            numbers[-1], _BEFORE + known.times[numbers[-1]] - known.times[numbers[0]]
        )
        signals = [known.signals(number) for number in frames]
        if any(one.speed is None or one.steering is None for one in signals):
            raise NotApplicable("speed and steering are not recorded for all frames of the clip")
        times = np.array([known.times[number] for number in frames])
        speed = np.array([one.speed for one in signals])
        turning = speed * np.tan(np.radians([one.steering for one in signals])) / WHEELBASE
        steps = np.diff(times)
        yaw = np.concatenate([[0.0], np.cumsum((turning[1:] + turning[:-1]) / 2 * steps)])
        gone = (speed[1:] + speed[:-1]) / 2 * steps
        middle = (yaw[1:] + yaw[:-1]) / 2 - yaw[-1]
        ahead = np.concatenate([[0.0], np.cumsum(gone * np.cos(middle))])
        right = np.concatenate([[0.0], np.cumsum(gone * np.sin(middle))])
        return cls(times, ahead - ahead[-1], right - right[-1], yaw - yaw[-1])

    def seen_from(self, time: float, across: float, ahead: float) -> tuple[float, float]:
        """Return where a spot on the ground, given as it is seen at the end, is seen from at another time."""
        z, x, yaw = (float(np.interp(time, self.times, one)) for one in (self.ahead, self.right, self.yaw))
        far, aside = ahead - z, across - x
        return aside * math.cos(yaw) - far * math.sin(yaw), aside * math.sin(yaw) + far * math.cos(yaw)

    def ahead_at(self, time: float) -> float:
        """Return how far ahead of where it is at the end the vehicle was at a time."""
        return float(np.interp(time, self.times, self.ahead))

    def travelled(self, seconds: float) -> float:
        """Return the metres of the last seconds."""
        return -self.ahead_at(float(self.times[-1]) - seconds)


@dataclass(frozen=True)
class MovingSpot:
    """A thing that was put into the last frame of a clip, and how fast it moves along the road."""

    step: Add
    spot: GroundSpot
    pace: float | None  # m/s along our way; None for a vehicle that drives as we do

    def at(self, time: float, motion: EgoMotion) -> tuple[float, float]:
        """Return metres across and ahead of the camera at a time."""
        if self.pace is None:
            return self.spot.across, self.spot.ahead
        moved = self.pace * (time - float(motion.times[-1]))
        return motion.seen_from(time, self.spot.across, self.spot.ahead + moved)


@dataclass(frozen=True)
class FilmedFollowUp:
    """A frame of a clip, changed as all of its frames are.

    Attributes:
        original: The frame.
        numbers: The frames of the clip.
        scenario: What is changed.
        timing: How long the change must be seen.
        seed: The same seed gives the same bytes.
    """

    original: ClipFrame
    numbers: tuple[int, ...]
    scenario: ChangedScenario
    timing: Timing
    seed: int

    @property
    def steps(self) -> tuple[Transform, ...]:
        """The changes, one after the other; a thing that is added is looked at where it is nearest."""
        nearest = self.original.number == self.numbers[-1]
        return tuple(one for one in self.scenario.steps if nearest or not isinstance(one, Add))

    def __call__(self) -> Frame:
        """Return the changed frame; what cannot be seen in it is not there.

        Raises:
            NotApplicable: The clip does not qualify.
        """
        frame = _known(self.original, (*self.scenario.needs, *self.scenario.wants))
        placed = self._placed()
        changed, visible = self._changed(frame.replace(previous=()), placed)
        before = [self._changed(one, placed)[0] for one in frame.previous]
        name = f"{frame.id}~{self.scenario}"
        return seen(changed.replace(id=name, previous=before, visual_change=None), visible=visible)

    def _placed(self) -> tuple[dict[int, MovingSpot], EgoMotion | None]:
        found = _placed(self.original.data, self.numbers, self.scenario, self.timing, self.seed)
        if isinstance(found, NotApplicable):
            raise NotApplicable(found.reason)
        return found

    def _changed(
        self, frame: Frame, placed: tuple[dict[int, MovingSpot], EgoMotion | None]
    ) -> tuple[Frame, bool]:
        """Return a frame after all steps, and whether all that is added is seen."""
        spots, motion = placed
        visible = True
        time = frame.signals.timestamp or 0.0
        moment = {MOMENT: time, TRAVELLED: 0.0 if motion is None else motion.ahead_at(time)}
        frame = frame.replace(metadata={**frame.metadata, **moment})
        for number, rng in enumerate(_draws(self.scenario, self.seed)):
            step = self.scenario.steps[number]
            if number in spots:
                assert motion is not None
                frame, shown = _with_thing(frame, spots[number], time, motion, rng)
                visible &= shown
                continue
            try:
                frame = step(frame, rng, measure=False)
            except NotApplicable:
                if step.family == "weather":  # that comes and goes is another
                    raise
                visible = False
        return frame, visible

    def measured(self, frame: Frame) -> Frame:
        """Return the changed frame with its visual change."""
        return self.scenario.measured(self.original(), frame)


@lru_cache(maxsize=32)
def _known(source: ClipFrame, names: tuple[str, ...]) -> Frame:
    """Return a frame with what is estimated; rules about one clip share it."""
    return source().with_known(*names)


def _draws(scenario: ChangedScenario, seed: int) -> list[np.random.Generator]:
    """Return the random numbers of each step: the same for every frame of a clip."""
    counts: Counter[str] = Counter()
    found = []
    for step in scenario.steps:
        counts[about_step(step)] += 1
        found.append(rng_for(seed, about_step(step), counts[about_step(step)]))
    return found


def _with_thing(
    frame: Frame, thing: MovingSpot, time: float, motion: EgoMotion, rng: np.random.Generator
) -> tuple[Frame, bool]:
    """Return a frame with a thing where it is seen from there, and whether it is large and plain enough.

    Raises:
        NotApplicable: It would not stand on the ground that it stands on.
    """
    across, ahead = thing.at(time, motion)
    if ahead < 1.0:
        return frame, False
    place = thing.spot.at(across, ahead)
    left, top, right, bottom = place.window
    inside = left >= 0 and right <= frame.width and bottom <= frame.height
    if not inside or bottom - top < 4:
        return frame, False
    frame = frame.with_known(*thing.step.needs)
    large = bottom - top >= (thing.step.smallest or usual_smallest(frame))
    if large and not stands(frame, place, thing.step.ground(place)):
        raise NotApplicable(f"in one frame of the clip the {thing.step.element} would lose its ground")
    shown = visible_share(frame, place) >= _LEAST_SEEN
    if not shown:
        return frame, False
    try:
        return thing.step.put(frame, place, rng).frame, large
    except NotApplicable:
        return frame, False


@lru_cache(maxsize=8)
def _placed(
    data: ChosenFrames, numbers: tuple[int, ...], scenario: ChangedScenario, timing: Timing, seed: int
) -> tuple[dict[int, MovingSpot], EgoMotion | None] | NotApplicable:
    """Return what each step adds and how the vehicle moves; why that is not possible."""
    things = [(number, one) for number, one in enumerate(scenario.steps) if isinstance(one, Add)]
    found: dict[int, MovingSpot] = {}
    draws = _draws(scenario, seed)
    try:
        motion = EgoMotion.recorded(timeline(data), numbers)
    except NotApplicable as error:
        return error if things else (found, None)
    try:
        frame = ClipFrame(data, numbers[-1])().replace(previous=()).with_known(*Add.needs)
        for number, step in things:
            found[number] = _near(frame, step, timing, motion, draws[number], ground_view(data))
            frame = step.put(frame, found[number].spot.place, rng_for(seed)).frame
    except NotApplicable as error:
        return error
    return found, motion


def _near(
    frame: Frame, step: Add, timing: Timing, motion: EgoMotion, rng: np.random.Generator, view: Perspective
) -> MovingSpot:
    """Return a thing near enough in the last frame of a clip to have been seen for as long as it must be."""
    element = described(step.element).element
    speed = motion.travelled(0.1) / 0.1
    pace = _pace(step, element, speed)
    # What is put into a frame knows no other focal length than the usual one.
    usual = Perspective.of(frame)
    times = usual.focal * usual.camera_height / (view.focal * view.camera_height)
    if step.distance or step.within:
        step = step.replace(
            distance=min(step.distance * times, 100.0), within=min(step.within * times, 100.0)
        )
    elif pace is not None:
        smallest = step.smallest or usual_smallest(frame)
        most = (real_height(element) or 1.7) * view.focal / smallest
        away = most - motion.travelled(timing.needed) + pace * timing.needed
        nearest = max(_NEAREST, view.distance(_LOWEST * frame.height))
        if away < nearest:
            shown = max(0.0, (most - nearest) / max(speed - pace, 0.1))
            raise NotApplicable(
                f"at {speed * 3.6:.0f} km/h a {step.element} is large enough for {shown:.1f} s only"
            )
        step = step.replace(within=min(away * times, 100.0))
    spot = GroundSpot.of(frame, step.placed(frame, rng), view)
    if not _NEAREST <= spot.ahead < math.inf:
        raise NotApplicable(f"the {step.element} would be too near, or too far away to tell")
    return MovingSpot(step, spot, pace)


def _pace(step: Add, element: str, speed: float) -> float | None:
    """Return how fast a thing moves along our way: see `WorldClip`."""
    oncoming = step.side == "left" or "reverse" in step.reference or "oncoming" in step.reference
    if element == "vehicle" and step.reference != "roadside":
        return -speed if oncoming else None
    return (-_CYCLING if step.side == "left" else _CYCLING) if element == "bicyclist" else 0.0


def filmed_clip(
    plan: RulePlan, frames: ChosenFrames, numbers: tuple[int, ...], seed: int
) -> tuple[FrameSource, ...]:
    """Return what makes the frames of a recorded clip, each original before its follow-ups."""
    assert plan.timing is not None
    sources: list[FrameSource] = []
    for number in numbers:
        original = ClipFrame(frames, number)
        sources.append(original)
        sources += [FilmedFollowUp(original, numbers, one, plan.timing, seed) for one in plan.scenarios]
    return tuple(sources)
