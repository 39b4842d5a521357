"""Clips of the built-in world: a thing keeps its place on the track and is drawn as each frame sees it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np

from roadworthy.cases import FrameSource
from roadworthy.datasets.world import TimedScene, WorldDataset
from roadworthy.errors import NotApplicable
from roadworthy.frames import Frame
from roadworthy.ontology import CONDITIONS
from roadworthy.rules.clips import seen
from roadworthy.rules.counterfactual import Counterfactuals, ResolvedChange, Spot, changed_by
from roadworthy.rules.generation import ChangedScenario, RulePlan
from roadworthy.rules.reading import Rule
from roadworthy.rules.timing import Timing
from roadworthy.seeding import rng_for
from roadworthy.transforms import Transform
from roadworthy.transforms.objects.remove import LEAST_SHARE
from roadworthy.world import Camera, Scene
from roadworthy.world.track import LANE_WIDTH

_CYCLING = 4.0  # m/s
_LEFT_OVER = (1.0, 4.0)  # metres until a thing leaves the view after the time in which it must be seen
_TRIES = 6
_SEEN_AHEAD = (None, "road", "sidewalk", "lane", "terrain", "ego-vehicle")
_DIFFERS = 8  # grey levels


@dataclass(frozen=True, eq=False)
class WorldMoment:
    """A frame of a drive in the world, drawn in whichever process wants it.

    Attributes:
        data: The data set.
        index: The frame with which the drive begins.
        steps: How many frames later.
    """

    data: WorldDataset
    index: int
    steps: int

    def _key(self) -> tuple[int, int, int]:
        return id(self.data), self.index, self.steps

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WorldMoment) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __call__(self) -> Frame:
        """Return the frame."""
        return _drawn(self)


@lru_cache(maxsize=32)
def _drawn(moment: WorldMoment) -> Frame:
    return moment.data.later(moment.index, moment.steps)


class WorldClip:
    """What a rule changes in the scenes of one drive: things keep their place in the world, or their pace.

    Vehicles on our lane drive as we do and those on the other lane come towards us as fast; bicyclists ride;
    all others stand.

    Args:
        scenes: The scenes of the drive, in order.
        rule: What changes.
        timing: How long it must be seen: things are put as far away as that takes.
        seed: Chooses what the rule leaves open.
        camera: Who must see the changes.

    Raises:
        NotApplicable: The first scene does not qualify, or traffic would run into what is added.
        InputError: The world cannot be changed as the rule says.
    """

    def __init__(
        self, scenes: Sequence[TimedScene], rule: Rule, timing: Timing, seed: int, camera: Camera
    ) -> None:
        (self._first, self._begin), *_ = scenes
        self._camera = camera
        self.least = LEAST_SHARE * camera.width * camera.height
        needed = [one for one in scenes if one[1] - self._begin <= timing.needed + 1e-6][-1]
        reason = NotApplicable("")
        for trial in range(_TRIES):
            # Another seed puts things elsewhere, where no traffic comes by.
            rng = rng_for(seed, "clip", trial)
            try:
                self.blocks = self._resolved(rule, needed, rng)
                self._check_free(scenes)
                return
            except NotApplicable as error:
                reason = error
        raise reason

    def _resolved(
        self, rule: Rule, needed: TimedScene, rng: np.random.Generator
    ) -> list[list[ResolvedChange]]:
        made = Counterfactuals(self._first, int(rng.integers(2**63)), self._camera)
        left = rng.uniform(*_LEFT_OVER)
        return [[self._far_enough(one, needed, left) for one in steps] for steps in made.resolved(rule)]

    def _far_enough(self, step: ResolvedChange, needed: TimedScene, left: float) -> ResolvedChange:
        """Return a change whose thing is still in view when it has been seen for as long as it must be."""
        spot, change = step.spot, step.change
        if spot is None or change.distance or change.reference not in _SEEN_AHEAD:
            return step
        slope = math.tan(math.radians(self._camera.field_of_view) / 2)
        closest = self._camera.forward + abs(spot.across - self._first.d) / slope + left
        away = spot.ahead + closest - self._now(spot, needed).ahead
        if change.within and away > change.within:
            return step
        moved = dataclasses.replace(spot, ahead=away)
        if self._now(spot, needed).ahead < closest and not moved.fits(self._first, self._camera):
            raise NotApplicable(f"there is no room in view for a {spot.element} that is seen for so long")
        return dataclasses.replace(step, spot=moved if self._now(spot, needed).ahead < closest else spot)

    def _check_free(self, scenes: Sequence[TimedScene]) -> None:
        spots = [step.spot for steps in self.blocks for step in steps if step.spot]
        if not all(self._now(spot, timed).is_free(timed[0]) for spot in spots for timed in scenes):
            raise NotApplicable("other traffic would run into what is added")

    def _now(self, spot: Spot, timed: TimedScene) -> Spot:
        """Return a thing as far ahead as it is at another time."""
        scene, time = timed
        travelled = self._first.track.ahead(self._first.s, scene.s)
        moved = _pace(spot.element, spot.across, travelled, time - self._begin)
        return dataclasses.replace(spot, ahead=spot.ahead + moved - travelled)

    def scene(self, block: int, timed: TimedScene) -> tuple[Scene, list[int]]:
        """Return a scene as a block changes it, and the ids of what is added."""
        scene, added = timed[0], []
        for step in self.blocks[block]:
            if step.spot is None:
                scene = changed_by(scene, step.change)
            else:
                scene = self._now(step.spot, timed).added(scene)
                added.append(scene.actors[-1].id)
        return scene, added

    def is_seen(self, scene: Scene, added: Sequence[int]) -> bool:
        """Return whether things that are added are seen in a scene, which is not drawn for it."""
        return all(Counterfactuals(scene, camera=self._camera).pixels(one) >= self.least for one in added)

    def shows(self, block: int, original: Frame, changed: Frame, added: Sequence[int]) -> bool:
        """Return whether a change is seen: each thing that is added, or enough of what is different."""
        if added:
            assert changed.instances is not None
            instances = changed.instances
            return all(cv2.countNonZero((instances == one).view("uint8")) >= self.least for one in added)
        if all(step.change.target in CONDITIONS for step in self.blocks[block]):
            return True
        differs = cv2.absdiff(original.image, changed.image).max(axis=2) >= _DIFFERS
        return int(differs.sum()) >= self.least


def _pace(element: str, across: float, travelled: float, time: float) -> float:
    """Return how many metres along the road a thing has moved while we travelled so many."""
    if element == "vehicle" and abs(across) < LANE_WIDTH:
        return math.copysign(travelled, across)
    return math.copysign(_CYCLING * time, across) if element == "bicyclist" else 0.0


@dataclass(frozen=True)
class WorldFollowUp:
    """A frame of a drive in which something is different.

    Attributes:
        original: The frame as it was.
        start: The first frame of the clip.
        last: The last one, so many frames later.
        stride: Frames of the drive from one to the next.
        rule: What changes.
        timing: How long it must be seen.
        block: Which block of the rule.
        scenario: The same in other words.
        seed: The same seed gives the same bytes.
    """

    original: WorldMoment
    start: WorldMoment
    last: int
    stride: int
    rule: Rule
    timing: Timing
    block: int
    scenario: ChangedScenario
    seed: int

    @property
    def steps(self) -> tuple[Transform, ...]:
        """The changes, one after the other."""
        return self.scenario.steps

    def __call__(self) -> Frame:
        """Return the changed frame.

        Raises:
            NotApplicable: The clip does not qualify.
        """
        clip = _world_clip(self.start, self.last, self.stride, self.rule, self.timing, self.seed)
        if isinstance(clip, NotApplicable):
            raise NotApplicable(clip.reason)
        moment, data = self.original, self.original.data
        scenes = data.scenes_later(moment.index, moment.steps)
        changed = [(clip.scene(self.block, one), one[1]) for one in scenes]
        before = moment()
        frame = data.frame_of([(scene, time) for (scene, _), time in changed], f"{before.id}~{self.scenario}")
        added = changed[-1][0][1]
        return seen(frame, visible=clip.shows(self.block, before, frame, added))

    def measured(self, frame: Frame) -> Frame:
        """Return the changed frame with its visual change."""
        return self.scenario.measured(self.original(), frame)


@lru_cache(maxsize=8)
def _world_clip(
    start: WorldMoment, last: int, stride: int, rule: Rule, timing: Timing, seed: int
) -> WorldClip | NotApplicable:
    scenes = [
        start.data.scenes_later(start.index, start.steps + step)[-1] for step in range(0, last + 1, stride)
    ]
    try:
        return WorldClip(scenes, rule, timing, seed, start.data.camera)
    except NotApplicable as error:
        return error


def world_clip(
    plan: RulePlan, data: WorldDataset, number: int, step: float, seed: int
) -> tuple[FrameSource, ...]:
    """Return what makes the frames of a clip of the world, each original before its follow-ups."""
    assert plan.timing is not None
    stride = max(1, round(step * data.fps))
    last = max(1, math.ceil(plan.clip_length * data.fps / stride - 1e-6)) * stride
    start = WorldMoment(data, number, 0)
    sources: list[FrameSource] = []
    for steps in range(0, last + 1, stride):
        original = WorldMoment(data, number, steps)
        sources.append(original)
        sources += [
            WorldFollowUp(original, start, last, stride, plan.rule, plan.timing, block, scenario, seed)
            for block, scenario in enumerate(plan.scenarios)
        ]
    return tuple(sources)
