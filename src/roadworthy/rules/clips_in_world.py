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
from roadworthy.rules.clips import seen, step_of
from roadworthy.rules.counterfactual import Counterfactuals, ResolvedChange, Spot, changed_by
from roadworthy.rules.generation import RulePlan
from roadworthy.seeding import rng_for
from roadworthy.transforms import Transform
from roadworthy.transforms.objects.remove import LEAST_SHARE
from roadworthy.transforms.wording import metadata_with
from roadworthy.world import Scene
from roadworthy.world.track import LANE_WIDTH

_CYCLING = 4.0  # m/s
_LEFT_OVER = (1.0, 4.0)  # metres until a thing leaves the view after the time in which it must be seen
_TRIES = 6
_SEEN_AHEAD = (None, "road", "sidewalk", "lane", "terrain", "ego-vehicle")
_DIFFERS = 8  # grey levels


@dataclass(frozen=True)
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

    def __call__(self) -> Frame:
        """Return the frame."""
        return _drawn(self)


@lru_cache(maxsize=32)
def _drawn(moment: WorldMoment) -> Frame:
    return moment.data.later(moment.index, moment.steps)


def _steps(plan: RulePlan, data: WorldDataset) -> range:
    """Return which frames of a drive are in a clip."""
    stride = max(1, round(step_of(plan) * data.fps))
    last = max(1, math.ceil(plan.clip_length * data.fps / stride - 1e-6)) * stride
    return range(0, last + 1, stride)


class WorldClip:
    """What a rule changes in the scenes of one drive: things keep their place in the world, or their pace.

    Vehicles on our lane drive as we do and those on the other lane come towards us as fast; bicyclists ride;
    all others stand.

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
        self._camera = data.camera
        self._least = LEAST_SHARE * data.camera.width * data.camera.height
        self.scenes = [data.scenes_later(index, steps)[-1] for steps in _steps(plan, data)]
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
        self._blocks = [[self._far_enough(one, needed, left) for one in steps] for steps in found]
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
        moved = _pace(spot.element, spot.across, travelled, time - self._begin)
        return dataclasses.replace(spot, ahead=spot.ahead + moved - travelled)

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

    def is_seen(self, scene: Scene, added: Sequence[int]) -> bool:
        """Return whether things that are added are seen in a scene, which is not drawn for it."""
        return all(Counterfactuals(scene, camera=self._camera).pixels(one) >= self._least for one in added)

    def shows(self, block: int, original: Frame, changed: Frame, added: Sequence[int]) -> bool:
        """Return whether a change is seen: each thing that is added, or enough of what is different."""
        if added:
            assert changed.instances is not None
            counts = (int(np.count_nonzero(changed.instances == one)) for one in added)
            return all(count >= self._least for count in counts)
        differs = cv2.absdiff(original.image, changed.image).max(axis=2) >= _DIFFERS
        sky = all(step.change.target in CONDITIONS for step in self._blocks[block])
        return sky or int(differs.sum()) >= self._least


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
        plan: What changes.
        block: Which block of its rule.
        seed: The same seed gives the same bytes.
    """

    original: WorldMoment
    plan: RulePlan
    block: int
    seed: int

    @property
    def steps(self) -> tuple[Transform, ...]:
        """The changes, one after the other."""
        return self.plan.scenarios[self.block].steps

    def __call__(self) -> Frame:
        """Return the changed frame.

        Raises:
            NotApplicable: The clip does not qualify.
        """
        moment, data = self.original, self.original.data
        clip = _world_clip(self.plan, data, moment.index, self.seed)
        if isinstance(clip, NotApplicable):
            raise NotApplicable(clip.reason)
        scenes = data.scenes_later(moment.index, moment.steps)
        changed = [(clip.scene(self.block, one), one[1]) for one in scenes]
        name = f"{moment().id}~{self.plan.scenarios[self.block]}"
        frame = data.frame_of([(scene, time) for (scene, _), time in changed], name)
        scene, added = changed[-1][0]
        visible = clip.shows(self.block, moment(), frame, added)
        return seen(_noted(frame, scene, added), visible=visible)

    def measured(self, frame: Frame) -> Frame:
        """Return the changed frame with its visual change."""
        return self.plan.scenarios[self.block].measured(self.original(), frame)


def _noted(frame: Frame, scene: Scene, added: Sequence[int]) -> Frame:
    """Return a frame that says what was added, where it is seen and how far away."""
    boxes = frame.boxes
    assert boxes is not None
    for thing in (one for one in scene.actors if one.id in added):
        for index in np.flatnonzero(np.asarray(boxes.track_ids) == thing.id).tolist():
            left, top, right, bottom = (round(one) for one in boxes.xyxy[index].tolist())
            note = {
                "element": thing.element,
                "properties": thing.attributes,
                "side": "right" if thing.d > scene.d else "left",
                "distance": round(float(scene.track.ahead(scene.s, thing.s)), 3),
                "box": (left, top, right, bottom),
                "foot": (left, right),
            }
            frame = frame.replace(metadata=metadata_with(frame, note))
    return frame


@lru_cache(maxsize=8)
def _world_clip(plan: RulePlan, data: WorldDataset, index: int, seed: int) -> WorldClip | NotApplicable:
    try:
        return WorldClip(plan, data, index, seed)
    except NotApplicable as error:
        return error


def world_clip(plan: RulePlan, data: WorldDataset, index: int, seed: int) -> tuple[FrameSource, ...]:
    """Return what makes the frames of a clip of the world, each original before its follow-ups."""
    sources: list[FrameSource] = []
    for steps in _steps(plan, data):
        original = WorldMoment(data, index, steps)
        sources += [
            original,
            *(WorldFollowUp(original, plan, block, seed) for block in range(len(plan.scenarios))),
        ]
    return tuple(sources)
