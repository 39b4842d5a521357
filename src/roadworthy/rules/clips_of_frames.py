"""Clips of recorded frames: what is added keeps its place on the ground, by the vehicle's recorded motion.

A thing is put into the last frame of a clip, where it is near and the ground is seen best. Where it is seen
in the frames before follows from the speed and the steering that were recorded (a bicycle on a plane): the
same cut-out, as large as its distance says. Weather, light and the lens have one character throughout.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from roadworthy.cases import Original
from roadworthy.datasets import ChosenFrames
from roadworthy.errors import NotApplicable
from roadworthy.frames import Frame
from roadworthy.rules.clips import CYCLING, ClipFollowUp, Timeline, kept, seen, timeline, whole_of
from roadworthy.rules.generation import RulePlan
from roadworthy.rules.ground_motion import ground_view
from roadworthy.seeding import rng_for
from roadworthy.transforms import Add, Transform
from roadworthy.transforms.objects.placement import GroundSpot, stands, usual_smallest, visible_share
from roadworthy.transforms.perspective import Perspective, real_height
from roadworthy.transforms.wording import MOMENT, TRAVELLED, described
from roadworthy.world.driver import WHEELBASE
from roadworthy.world.track import LANE_WIDTH

_BEFORE = 3.0  # seconds of a drive before a clip that are looked at, for the frames before a frame
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
        length = known.times[numbers[-1]] - known.times[numbers[0]]
        frames = known.between_times(numbers[-1], _BEFORE + length)
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


PlacedThings: TypeAlias = tuple[dict[int, MovingSpot], EgoMotion | None]


@dataclass(frozen=True)
class FilmedMoment:
    """A frame of recorded data, chosen or not, read in whichever process wants it.

    Attributes:
        frames: Frames of the data, as a run has them.
        number: Which of all frames of the data.
    """

    frames: ChosenFrames
    number: int

    def __call__(self) -> Frame:
        """Return the frame."""
        return Original(whole_of(self.frames), self.number)()


@dataclass(frozen=True)
class FilmedFollowUp(ClipFollowUp):
    """A frame of a recorded clip, changed as all of its frames are.

    Attributes:
        numbers: The frames of the clip.
    """

    original: FilmedMoment
    numbers: tuple[int, ...]

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
        placed = _placed(whole_of(self.original.frames), self.numbers, self.plan, self.block, self.seed)
        changed, visible = self._changed(frame.replace(previous=()), placed)
        before = [self._changed(one, placed)[0] for one in frame.previous]
        name = f"{frame.id}~{self.scenario}"
        return seen(changed.replace(id=name, previous=before, visual_change=None), visible=visible)

    def _changed(self, frame: Frame, placed: PlacedThings) -> tuple[Frame, bool]:
        """Return a frame after all steps, and whether all that is added is seen."""
        spots, motion = placed
        visible = True
        time = frame.signals.timestamp or 0.0
        moment = {MOMENT: time, TRAVELLED: 0.0 if motion is None else motion.ahead_at(time)}
        frame = frame.replace(metadata={**frame.metadata, **moment})
        for number, rng in enumerate(self.scenario.draws(self.seed)):
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


@lru_cache(maxsize=32)
def _known(source: FilmedMoment, names: tuple[str, ...]) -> Frame:
    """Return a frame with what is estimated; rules about one clip share it."""
    return source().with_known(*names)


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
    if visible_share(frame, place) < _LEAST_SEEN:
        return frame, False
    try:
        return thing.step.put(frame, place, rng).frame, large
    except NotApplicable:
        return frame, False


@kept
def _placed(
    data: ChosenFrames, numbers: tuple[int, ...], plan: RulePlan, block: int, seed: int
) -> PlacedThings:
    """Return what each step adds and how the vehicle moves.

    Raises:
        NotApplicable: The clip does not tell, or has no place.
    """
    scenario = plan.scenarios[block]
    things = [(number, one) for number, one in enumerate(scenario.steps) if isinstance(one, Add)]
    found: dict[int, MovingSpot] = {}
    draws = scenario.draws(seed)
    try:
        motion = EgoMotion.recorded(timeline(data), numbers)
    except NotApplicable:
        if things:
            raise
        return found, None
    frame = Original(data, numbers[-1])().replace(previous=()).with_known(*(Add.needs if things else ()))
    for number, step in things:
        found[number] = _near(frame, step, plan, motion, draws[number], ground_view(data))
        frame = step.put(frame, found[number].spot.place, rng_for(seed)).frame
    return found, motion


def _near(
    frame: Frame, step: Add, plan: RulePlan, motion: EgoMotion, rng: np.random.Generator, view: Perspective
) -> MovingSpot:
    """Return a thing near enough in the last frame of a clip to have been seen for as long as it must be."""
    assert plan.timing is not None
    element, needed = described(step.element).element, plan.timing.needed
    speed = motion.travelled(0.1) / 0.1
    other, ours = ("left", 1.0) if plan.traffic == "right" else ("right", -1.0)
    pace = _pace(step, element, speed, oncoming=step.side == other)
    # What is put into a frame knows no other focal length than the usual one.
    usual = Perspective.of(frame)
    times = usual.focal * usual.camera_height / (view.focal * view.camera_height)
    if step.distance or step.within:
        far = {name: min(getattr(step, name) * times, 100.0) for name in ("distance", "within")}
        step = step.replace(**far)
    elif pace is not None:
        smallest = step.smallest or usual_smallest(frame)
        most = (real_height(element) or 1.7) * view.focal / smallest
        away = most - motion.travelled(needed) + pace * needed
        nearest = max(_NEAREST, view.distance(_LOWEST * frame.height))
        if away < nearest:
            brief = f"large enough for less than {needed:g} s"
            raise NotApplicable(f"at the speed driven, a {step.element} is {brief}")
        step = step.replace(within=min(away * times, 100.0))
    spot = GroundSpot.of(frame, step.placed(frame, rng), view)
    if not _NEAREST <= spot.ahead < math.inf:
        raise NotApplicable(f"the {step.element} would be too near, or too far away to tell")
    if step.side == "either":
        pace = _pace(step, element, speed, oncoming=ours * spot.across < -LANE_WIDTH / 2)
    return MovingSpot(step, spot, pace)


def _pace(step: Add, element: str, speed: float, *, oncoming: bool) -> float | None:
    """Return how fast a thing moves along our way: see `WorldClip`."""
    if element == "vehicle" and step.reference != "roadside":
        return -speed if oncoming else None
    return (-CYCLING if oncoming else CYCLING) if element == "bicyclist" else 0.0
