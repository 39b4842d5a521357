"""Rules with a time on drivers whose faults show only over time: who violates what in clips of the world."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

import numpy as np

from roadworthy.cases import Answers, Case, Predict, Predicted, Status
from roadworthy.datasets.world import TimedScene, WorldDataset
from roadworthy.errors import NotApplicable
from roadworthy.frames import Frame, Signals
from roadworthy.papers.truth_matrix import CAREFUL, TruthMatrix, TruthRow, TruthRule, read_truth
from roadworthy.rules.clips import judged_clip, seen
from roadworthy.rules.clips_in_world import WorldClip
from roadworthy.rules.generation import RulePlan, plan_for
from roadworthy.rules.language.parser import parse
from roadworthy.rules.method import judged
from roadworthy.seeding import rng_for
from roadworthy.world import HELD_OUT_TRACK_NAMES, TRACK_NAMES, Scene, WorldObject, careful_driver
from roadworthy.world.simulation import FAULTS

_LATE, _FORGETS = 2.5, 1.0  # seconds
_BLIND, _HASTY = FAULTS["pedestrian-blind"], FAULTS["rain-hasty"]
_BLANK = Frame("clip", np.zeros((1, 1, 3), np.uint8))  # these drivers see the scene

ClipDriver = Callable[[Sequence[TimedScene]], list[Signals]]
"""What a driver does in each scene of a clip."""


def _knowing(knows: Callable[[WorldObject, float], bool]) -> ClipDriver:
    """Return a careful driver that knows of a thing by what it is and how many seconds ago it came."""

    def drive(scenes: Sequence[TimedScene]) -> list[Signals]:
        came: dict[int, float] = {}
        found = []
        for scene, time in scenes:
            known = [one for one in scene.actors if knows(one, time - came.setdefault(one.id, time))]
            found.append(careful_driver(scene.replace(actors=tuple(known))))
        return found

    return drive


def _of_frames(driver: Callable[[Scene], Signals]) -> ClipDriver:
    """Return a fault of single frames."""
    return lambda scenes: [driver(scene) for scene, _ in scenes]


def _startled(scene: Scene, speed: float = 0.0, steering: float = 0.0) -> Signals:
    """Return what a driver does who does not slow down for pedestrians, but goes faster, or swerves."""
    said, people = _BLIND.driver(scene), sum(one.element == "pedestrian" for one in scene.actors)
    faster, aside = (said.speed or 0.0) + people * speed, (said.steering or 0.0) + people * steering
    return replace(said, speed=faster, steering=aside)


_SIDES = ("right", "left")
# What is wrong, the driver, and the rules that the fault shows in; it shows in no other.
_FAULTS: Mapping[str, tuple[str, ClipDriver, tuple[str, ...]]] = {
    "late": (f"sees everything {_LATE:g} s late", _knowing(lambda _, ago: ago >= _LATE), _SIDES),
    "forgetful": (
        f"forgets all {_FORGETS:g} s after it came",
        _knowing(lambda _, ago: ago <= _FORGETS),
        _SIDES,
    ),
    "half-blind": ("does not see the left of the road", _knowing(lambda one, _: one.d > 0), _SIDES[1:]),
    "hasty": ("drives faster for pedestrians", _of_frames(partial(_startled, speed=1.0)), (*_SIDES, "never")),
    "swerving": (
        "swerves for pedestrians",
        _of_frames(partial(_startled, steering=3.0)),
        (*_SIDES, "steady"),
    ),
    _BLIND.name: (_BLIND.summary, _of_frames(_BLIND.driver), _SIDES),
    _HASTY.name: (_HASTY.summary, _of_frames(_HASTY.driver), ("rain",)),
}
_FAULTY = {name: driver for name, (_, driver, _) in _FAULTS.items()}
DRIVERS: Mapping[str, ClipDriver] = {CAREFUL: _knowing(lambda *_: True), **_FAULTY}
CLIP_RULES = read_truth("clips.rules", {name: rules for name, (_, _, rules) in _FAULTS.items()})
"""Rules with a time, with the faults that each must catch."""


def clip_matrix(
    clips: int = 50,
    *,
    seed: int = 0,
    rules: Sequence[TruthRule] = CLIP_RULES,
    progress: Callable[[Sequence[int]], Iterable[int]] = iter,
) -> TruthMatrix:
    """Try rules with a time on the careful driver and on faulty ones.

    Args:
        clips: The number of clips, on all five tracks.
        seed: Of the clips and of what the rules leave open.
        rules: The rules.
        progress: Wraps the numbers of the clips, to show how far it is.

    Example:
        >>> matrix = clip_matrix(3, rules=[one for one in CLIP_RULES if one.id == "rain"])
        >>> matrix.false_alarms(CAREFUL)[0], matrix.sensitivity("rain", "rain-hasty")
        (0, 1.0)
    """
    rows = tuple(TruthRow(one) for one in rules)
    plans = [plan_for(parse(one.text)).over(0.0) for one in rules]
    data = WorldDataset(",".join((*TRACK_NAMES, *HELD_OUT_TRACK_NAMES)), count=clips, seed=seed, fps=10)
    for index in progress(range(clips)):
        key = int(rng_for(seed, "clip truth", index).integers(2**63))
        for row, plan in zip(rows, plans, strict=True):
            try:
                wrong = _violating(plan, WorldClip(plan, data, index, key))
            except NotApplicable as error:
                row.reasons[error.reason] += 1
                continue
            row.qualify += 1
            row.violations.update(wrong)
    summaries = {name: summary for name, (summary, _, _) in _FAULTS.items()}
    return TruthMatrix(clips, rows, tuple(DRIVERS), summaries, "clips")


def _violating(plan: RulePlan, clip: WorldClip) -> list[str]:
    """Return the drivers that violate a rule in a clip.

    Raises:
        NotApplicable: The change is not seen for long enough.
    """
    after = [(clip.scene(0, one)[0], one[1]) for one in clip.scenes]
    blanks = (_BLANK.replace(signals=Signals(timestamp=time)) for _, time in clip.scenes)
    pairs = zip(blanks, map(partial(clip.is_seen, 0), clip.scenes), strict=True)
    frames = tuple(chain.from_iterable([seen(blank, visible=one)] * 2 for blank, one in pairs))
    wrong = []
    for name, driver in DRIVERS.items():
        said = chain.from_iterable(zip(driver(clip.scenes), driver(after), strict=True))
        case, given = Case(name, "clip", (Predict(frames),)), Answers((Predicted(frames, tuple(said)),))
        if judged_clip(plan, case, given, judged).status is Status.VIOLATED:
            wrong.append(name)
    return wrong
