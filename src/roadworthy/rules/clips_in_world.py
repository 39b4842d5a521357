"""Clips of the built-in world: a thing keeps its place on the track and is drawn as each frame sees it."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import cast

import cv2
import numpy as np

from roadworthy.datasets import ChosenFrames
from roadworthy.datasets.world import TimedScene, WorldDataset
from roadworthy.errors import NotApplicable
from roadworthy.frames import Frame
from roadworthy.ontology import CONDITIONS
from roadworthy.rules.clips import CYCLING, WALKING, ClipFollowUp, check_gaps, kept, seen, step_of, whole_of
from roadworthy.rules.counterfactual import Counterfactuals, ResolvedChange, Spot, changed_by, with_notes
from roadworthy.rules.generation import RulePlan
from roadworthy.rules.language.times import motions_of
from roadworthy.seeding import rng_for
from roadworthy.transforms.objects.remove import LEAST_SHARE
from roadworthy.world import Scene
from roadworthy.world.scene import Details
from roadworthy.world.track import LANE_WIDTH

_LEFT_OVER = (1.0, 4.0)  # metres until a thing leaves the view after the time in which it must be seen
_TRIES = 6
_SEEN_AHEAD = (None, "road", "sidewalk", "lane", "terrain", "ego-vehicle")
_DIFFERS = 8  # grey levels


@dataclass(frozen=True)
class WorldMoment:
    """A frame of a drive in the world, drawn in whichever process wants it.

    Attributes:
        frames: Frames of the world, as a run has them.
        index: The frame with which the drive begins.
        steps: How many frames later.
    """

    frames: ChosenFrames
    index: int
    steps: int

    @property
    def data(self) -> WorldDataset:
        """The world."""
        return cast(WorldDataset, whole_of(self.frames).data)

    def __call__(self) -> Frame:
        """Return the frame."""
        return self.data.later(self.index, self.steps)


def steps_of(plan: RulePlan, data: WorldDataset) -> range:
    """Return which frames of a drive are in a clip."""
    stride = max(1, round(step_of(plan) * data.fps))
    last = max(1, math.ceil(plan.clip_length * data.fps / stride - 1e-6)) * stride
    return range(0, last + 1, stride)


class WorldClip:
    """What a rule changes in the scenes of one drive: things keep their place in the world, or their pace.

    Vehicles on our lane drive as we do and those on the other lane come towards us as fast; bicyclists ride;
    pedestrians that walk or cross do so; all others stand.

    Args:
        plan: What changes, and how long it must be seen: things are put as far away as that takes.
        data: The world.
        index: The frame with which the drive begins.
        seed: Chooses what the rule leaves open.

    Raises:
        NotApplicable: The first scene does not qualify, or traffic would run into what is added.
        InputError: The world cannot be changed as the rule says.
    """

    def __init__(self, plan: RulePlan, data: WorldDataset, index: int, seed: int) -> None:
        assert plan.timing is not None
        self._made: dict[tuple[int, float], tuple[Scene, list[int]]] = {}
        self._data, self._camera = data, data.camera
        self._least = LEAST_SHARE * data.camera.width * data.camera.height
        self.scenes = [data.scenes_later(index, steps)[-1] for steps in steps_of(plan, data)]
        check_gaps([time for _, time in self.scenes], plan.timing.needed, step_of(plan))
        self._first, self._begin = self.scenes[0]
        needed = [one for one in self.scenes if one[1] - self._begin <= plan.timing.needed + 1e-6][-1]
        for trial in range(_TRIES):
            # Another seed puts things elsewhere, where no traffic comes by.
            rng = rng_for(seed, "clip", trial)
            try:
                self._resolve(plan, needed, rng)
                return
            except NotApplicable:
                if trial == _TRIES - 1:
                    raise

    def _resolve(self, plan: RulePlan, needed: TimedScene, rng: np.random.Generator) -> None:
        found = Counterfactuals(self._first, int(rng.integers(2**63)), self._camera).resolved(plan.rule)
        left = rng.uniform(*_LEFT_OVER)
        self._blocks = [
            [self._far_enough(_going(one, motion), needed, left) for one in steps]
            for motion, steps in zip(motions_of(plan.rule), found, strict=True)
        ]
        spots = [step.spot for steps in self._blocks for step in steps if step.spot]
        if not all(self._now(spot, timed).is_free(timed[0]) for spot in spots for timed in self.scenes):
            raise NotApplicable("other traffic would run into what is added")

    def _far_enough(self, step: ResolvedChange, needed: TimedScene, left: float) -> ResolvedChange:
        """Return a change whose thing is still in view when it has been seen for as long as it must be."""
        spot, change = step.spot, step.change
        if spot is None or change.distance or change.reference not in _SEEN_AHEAD:
            return step
        slope = math.tan(math.radians(self._camera.field_of_view) / 2)
        closest = self._camera.forward + abs(spot.across - self._first.d) / slope + left
        lacking = closest - self._now(spot, needed).ahead
        moved = dataclasses.replace(spot, ahead=spot.ahead + max(lacking, 0.0))
        if change.within and moved.ahead > change.within:
            return step
        if not moved.fits(self._first, self._camera):
            raise NotApplicable(f"there is no room in view for a {spot.element} that is seen for so long")
        return dataclasses.replace(step, spot=moved)

    def _now(self, spot: Spot, timed: TimedScene) -> Spot:
        """Return a thing as far ahead as it is at another time."""
        scene, time = timed
        travelled = self._first.track.ahead(self._first.s, scene.s)
        if spot.element == "vehicle" and abs(spot.across) < LANE_WIDTH:
            driven = math.copysign(travelled, spot.across)
            return dataclasses.replace(spot, ahead=spot.ahead + driven - travelled)
        yaw, gone = spot.details.get("yaw", 0.0), spot.details.get("speed", 0.0) * (time - self._begin)
        ahead = spot.ahead + gone * math.cos(yaw) - travelled
        return dataclasses.replace(spot, ahead=ahead, across=spot.across + gone * math.sin(yaw))

    def scene(self, block: int, timed: TimedScene) -> tuple[Scene, list[int]]:
        """Return a scene as a block changes it, and the ids of what is added; the same again for the same."""
        if (known := self._made.get((block, timed[1]))) is not None:
            return known
        scene, added = timed[0], []
        for step in self._blocks[block]:
            if step.spot is None:
                scene = changed_by(scene, step.change)
            else:
                scene = self._now(step.spot, timed).added(scene)
                added.append(scene.actors[-1].id)
        return self._made.setdefault((block, timed[1]), (scene, added))

    def is_seen(self, block: int, timed: TimedScene) -> bool:
        """Return whether a change is seen in a scene: each thing that is added, or enough of what differs."""
        scene, added = self.scene(block, timed)
        if all(step.spot or step.change.target in CONDITIONS for step in self._blocks[block]):
            look = Counterfactuals(scene, camera=self._camera)
            return all(look.pixels(one) >= self._least for one in added)
        before, after = (self._data.frame_of([(one, 0.0)], "seen").image for one in (timed[0], scene))
        return int(np.count_nonzero(cv2.absdiff(before, after).max(axis=2) >= _DIFFERS)) >= self._least


def _going(step: ResolvedChange, motion: str) -> ResolvedChange:
    """Return a change whose thing has a speed and a heading, where it moves by itself."""
    spot = step.spot
    if spot is None or not (spot.element == "bicyclist" or (spot.element == "pedestrian" and motion)):
        return step
    details: Details = {**spot.details, "speed": CYCLING if spot.element == "bicyclist" else WALKING}
    if motion == "across" and spot.element == "pedestrian":
        details["yaw"] = math.copysign(math.pi / 2, -spot.across)
    return dataclasses.replace(step, spot=dataclasses.replace(spot, details=details))


@dataclass(frozen=True)
class WorldFollowUp(ClipFollowUp):
    """A frame of a drive in which something is different."""

    original: WorldMoment

    def __call__(self) -> Frame:
        """Return the changed frame.

        Raises:
            NotApplicable: The clip does not qualify.
        """
        moment, data = self.original, self.original.data
        clip = _world_clip(self.plan, data, moment.index, self.seed)
        scenes = data.scenes_later(moment.index, moment.steps)
        changed = [(clip.scene(self.block, one), one[1]) for one in scenes]
        name = f"{moment().id}~{self.scenario}"
        frame = data.frame_of([(scene, time) for (scene, _), time in changed], name)
        scene, added = changed[-1][0]
        noted = with_notes(frame, scene, added, data.camera)
        return seen(noted, visible=clip.is_seen(self.block, scenes[-1]))


_world_clip = kept(WorldClip)
