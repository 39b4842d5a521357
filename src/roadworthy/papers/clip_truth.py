"""Rules with a time on drivers whose faults show only over time: who violates what in clips of the world."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from roadworthy.datasets.world import TimedScene, WorldDataset
from roadworthy.errors import NotApplicable
from roadworthy.frames import Signals
from roadworthy.papers.truth_matrix import CAREFUL, TruthMatrix, TruthRow, TruthRule, read_truth
from roadworthy.rules.clips_in_world import WorldClip
from roadworthy.rules.generation import RulePlan, plan_for
from roadworthy.rules.language.parser import parse
from roadworthy.rules.timing import FrameMargin, clip_margin
from roadworthy.seeding import rng_for
from roadworthy.world import HELD_OUT_TRACK_NAMES, TRACK_NAMES, careful_driver
from roadworthy.world.simulation import FAULTS, Driver

_LATE, _FORGETS = 2.5, 1.0  # seconds

ClipDriver = Callable[[Sequence[TimedScene]], list[Signals]]
"""What a driver does in each scene of a clip."""

_CAUGHT = {
    "late": ("right", "left"),
    "forgetful": ("right", "left"),
    "left-blind": ("left",),
    "pedestrian-blind": ("right", "left"),
    "rain-hasty": ("rain",),
}
"""The rules that each fault shows in; it shows in no other."""

SUMMARIES: Mapping[str, str] = {
    "late": f"sees everything {_LATE:g} s late",
    "forgetful": f"forgets everything {_FORGETS:g} s after it came",
    "left-blind": "does not see what is left of the road's centre",
    **{name: FAULTS[name].summary for name in ("pedestrian-blind", "rain-hasty")},
}

CLIP_RULES = read_truth(Path(__file__).with_name("clips.rules"), _CAUGHT)
"""Rules with a time, with the faults that each must catch."""


def _each(driver: Driver) -> ClipDriver:
    """Return a driver without memory."""
    return lambda scenes: [driver(scene) for scene, _ in scenes]


def _aware(knows: Callable[[float], bool]) -> ClipDriver:
    """Return a driver that knows of a thing by how many seconds ago it came into the clip."""

    def drive(scenes: Sequence[TimedScene]) -> list[Signals]:
        came: dict[int, float] = {}
        found = []
        for scene, time in scenes:
            known = [one for one in scene.actors if knows(time - came.setdefault(one.id, time))]
            found.append(careful_driver(scene.replace(actors=tuple(known))))
        return found

    return drive


def _left_blind(scenes: Sequence[TimedScene]) -> list[Signals]:
    return [
        careful_driver(scene.replace(actors=tuple(one for one in scene.actors if one.d > 0)))
        for scene, _ in scenes
    ]


DRIVERS: Mapping[str, ClipDriver] = {
    CAREFUL: _each(careful_driver),
    "late": _aware(lambda seconds: seconds >= _LATE),
    "forgetful": _aware(lambda seconds: seconds <= _FORGETS),
    "left-blind": _left_blind,
    **{name: _each(FAULTS[name].driver) for name in ("pedestrian-blind", "rain-hasty")},
}


def clip_matrix(
    clips: int = 50,
    *,
    seed: int = 0,
    rules: Sequence[TruthRule] = CLIP_RULES,
    drivers: Mapping[str, ClipDriver] = DRIVERS,
    progress: Callable[[Sequence[int]], Iterable[int]] = iter,
) -> TruthMatrix:
    """Try rules with a time on the careful driver and on faulty ones.

    Args:
        clips: The number of clips, on all five tracks.
        seed: Of the clips and of what the rules leave open.
        rules: The rules.
        drivers: The drivers by name.
        progress: Wraps the numbers of the clips, to show how far it is.

    Example:
        >>> matrix = clip_matrix(3, rules=[one for one in CLIP_RULES if one.id == "rain"])
        >>> matrix.false_alarms(CAREFUL)[0], matrix.sensitivity("rain", "rain-hasty")
        (0, 1.0)
    """
    rows = tuple(TruthRow(one) for one in rules)
    plans = [plan_for(parse(one.text)) for one in rules]
    data = WorldDataset(",".join((*TRACK_NAMES, *HELD_OUT_TRACK_NAMES)), count=clips, seed=seed, fps=10)
    for index in progress(range(clips)):
        key = int(rng_for(seed, "clip truth", index).integers(2**63))
        for row, plan in zip(rows, plans, strict=True):
            try:
                wrong = _violating(plan, data, index, key, drivers)
            except NotApplicable as error:
                row.reasons[error.reason] += 1
                continue
            row.qualify += 1
            row.violations.update(wrong)
    return TruthMatrix(clips, rows, tuple(drivers), SUMMARIES, "clips")


def _violating(
    plan: RulePlan, data: WorldDataset, index: int, seed: int, drivers: Mapping[str, ClipDriver]
) -> list[str]:
    """Return the drivers that violate a rule in a clip.

    Raises:
        NotApplicable: The change cannot be made, or is not seen for long enough.
    """
    assert plan.timing is not None
    clip = WorldClip(plan, data, index, seed)
    scenes = clip.scenes
    changed = [clip.scene(0, one) for one in scenes]
    visible = [clip.is_seen(scene, added) for scene, added in changed]
    expectation = plan.expectations[0]
    wrong = []
    for name, driver in drivers.items():
        before = [one.as_dict()[expectation.output] for one in driver(scenes)]
        after = driver([(scene, time) for (scene, _), (_, time) in zip(changed, scenes, strict=True)])
        found = [
            FrameMargin(time, expectation.margin(one, two), expectation.holds(one, two), shown)
            for (_, time), one, two, shown in zip(
                scenes, before, (each.as_dict()[expectation.output] for each in after), visible, strict=True
            )
        ]
        if not clip_margin(plan.timing, found).holds:
            wrong.append(name)
    return wrong
