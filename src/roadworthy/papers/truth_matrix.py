"""Rules that the careful driver of the world obeys, and faults that show in a frame or only over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from roadworthy import world
from roadworthy._yaml import read_yaml
from roadworthy.cases import Answers, Case, Predict, Predicted, Prediction, Status
from roadworthy.datasets.world import TimedScene, WorldDataset
from roadworthy.errors import InputError, NotApplicable, check_number
from roadworthy.frames import Boxes, Frame, LabelMap, PlannedPath, Signals
from roadworthy.models import Task
from roadworthy.result_tables import ResultTable
from roadworthy.rules.clips import judged_clip, seen
from roadworthy.rules.clips_in_world import WorldClip
from roadworthy.rules.counterfactual import Counterfactuals, with_notes
from roadworthy.rules.files import read_rules
from roadworthy.rules.gauges import gauge_of
from roadworthy.rules.generation import RulePlan, plan_for
from roadworthy.rules.language.parser import parse
from roadworthy.rules.method import judged
from roadworthy.rules.reading import Rule
from roadworthy.seeding import rng_for
from roadworthy.world import HELD_OUT_TRACK_NAMES, TRACK_NAMES, Scene, WorldObject, careful_driver
from roadworthy.world.simulation import FAULTS, Driver


@dataclass(frozen=True)
class TruthRule:
    """A rule that the careful driver obeys.

    Attributes:
        id: A short name.
        text: The rule.
        caught: The faults with which a driver cannot obey it, by their names.
    """

    id: str
    text: str
    caught: tuple[str, ...] = ()


def read_truth(file: str, caught: Mapping[str, Collection[str]]) -> tuple[TruthRule, ...]:
    """Return the rules of a file of this room, given the rules that each fault shows in."""
    return tuple(
        TruthRule(one.id, one.text, tuple(fault for fault, ids in caught.items() if one.id in ids))
        for one in read_rules(Path(__file__).with_name(file))
    )


_CAUGHT = read_yaml(Path(__file__).with_name("truth.yaml"), "file of faults", "rules by fault").data
TRUTH_RULES = read_truth("truth.rules", _CAUGHT["frames"])
"""The rules of the RMT paper, and more: on signs, on rain, on what is seen and planned, and on what none of
the faults touches."""
_SEEN_OR_PLANNED = ("see-", "label-", "plan-")  # what ids of such rules begin with
_SEEING = 20  # of so many frames, one is enough for rules about what is seen and planned: they are drawn

Answer = Callable[[world.Scene, Task], Prediction]
"""What somebody answers about a scene: signals, boxes, a label map or a path."""


def careful_answer(scene: world.Scene, task: Task) -> Prediction:
    """Return what is true of a scene, and what the careful driver does and plans in it.

    Example:
        >>> from roadworthy.world import make_scene
        >>> careful_answer(make_scene("meadow", s=100), "regression").speed > 5
        True
    """
    if task == "regression":
        return world.careful_driver(scene)
    if task == "path":
        return world.careful_path(scene)
    frame = _drawn(scene)
    assert frame.boxes is not None
    assert frame.labels is not None
    return frame.boxes.replace(scores=np.ones(len(frame.boxes))) if task == "detection" else frame.labels


@lru_cache(maxsize=8)
def _drawn(scene: world.Scene) -> Frame:
    return world.frame_of(scene)


def _left_blind(scene: world.Scene, task: Task) -> Prediction:
    if task in ("regression", "path"):
        return careful_answer(scene, task)
    seen = [one for one in scene.actors if one.element != "pedestrian" or one.d > 0]
    return careful_answer(scene.replace(actors=tuple(seen)), task)


def _unsure(scene: world.Scene, task: Task) -> Prediction:
    answer = careful_answer(scene, task)
    if not isinstance(answer, Boxes) or scene.conditions.amount("foggy") == 0:
        return answer
    return answer.replace(scores=np.full(len(answer), 0.4))


def _wet_blind(scene: world.Scene, task: Task) -> Prediction:
    answer = careful_answer(scene, task)
    if not isinstance(answer, LabelMap) or scene.conditions.amount("rainy") == 0:
        return answer
    ids = answer.ids.copy()
    ids[answer.mask("road")] = answer.classes.index("terrain")
    return LabelMap(ids, answer.classes)


def _heedless(scene: world.Scene, task: Task) -> Prediction:
    empty = scene.replace(actors=(), scenery=world.Scenery(), conditions=world.Conditions())
    return careful_answer(empty if task == "path" else scene, task)


def _lane_cutting(scene: world.Scene, task: Task) -> Prediction:
    answer = _heedless(scene, task)
    if not isinstance(answer, PlannedPath):
        return answer
    # The left of the road, which in a bend is not that of the picture.
    turned = answer.headings()
    left = np.stack([np.sin(turned), -np.cos(turned)], axis=1)
    return PlannedPath(answer.points + _CUT * left, answer.times)


SIGHT_FAULTS: Mapping[str, tuple[str, Answer]] = {
    "left-blind": ("does not see pedestrians on the left", _left_blind),
    "unsure": ("is less sure in fog", _unsure),
    "wet-blind": ("takes a wet road for grass", _wet_blind),
    "heedless": ("plans as if the road were empty", _heedless),
    "lane-cutting": ("plans to drive on the centre line of an empty road", _lane_cutting),
}
"""Faults of what is seen and planned, by their names, with what is wrong."""
SUMMARIES: Mapping[str, str] = {
    **{name: one.summary for name, one in FAULTS.items()},
    **{name: one[0] for name, one in SIGHT_FAULTS.items()},
}
"""What is wrong with whom."""


def _answering(driver: Driver) -> Answer:
    """Return what a driver answers: it sees and plans as the careful one does."""
    return lambda scene, task: driver(scene) if task == "regression" else careful_answer(scene, task)


CAREFUL = "careful"
"""The name of the careful driver in a matrix."""
LEAST_SENSITIVITY = 0.99
"""The share of qualifying frames in which a rule must catch a fault that it depends on."""


@dataclass
class TruthRow:
    """What became of one rule.

    Attributes:
        rule: The rule.
        qualify: The number of frames in which it can be tried.
        reasons: Why other frames do not qualify, with their numbers.
        violations: The number of frames in which each driver violates it.
    """

    rule: TruthRule
    qualify: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    violations: Counter[str] = field(default_factory=Counter)

    @contextmanager
    def trying(self) -> Iterator[None]:
        """Count the frame in which the rule is tried inside, or why it does not qualify."""
        try:
            yield
            self.qualify += 1
        except NotApplicable as error:
            self.reasons[error.reason] += 1

    def rate(self, driver: str) -> float | None:
        """Return the share of qualifying frames in which a driver violates the rule; None without any."""
        return self.violations[driver] / self.qualify if self.qualify else None


@dataclass(frozen=True)
class TruthMatrix:
    """Rules × drivers: who violates what.

    Attributes:
        frames: The number of frames.
        rows: One for each rule.
        drivers: The names of the drivers: the careful one, and the faults.
        summaries: What is wrong with the drivers, by their names.
        unit: What the rules are tried on.
    """

    frames: int
    rows: tuple[TruthRow, ...]
    drivers: tuple[str, ...]
    summaries: Mapping[str, str] = field(default_factory=lambda: SUMMARIES)
    unit: str = "frames"

    def sensitivity(self, rule: str, fault: str) -> float | None:
        """Return the share of qualifying frames in which a rule catches a fault; None if none qualifies."""
        return next(row for row in self.rows if row.rule.id == rule).rate(fault)

    def caught(self, fault: str) -> tuple[int, int]:
        """Return in how many frames the rules that depend on it catch a fault, and how many qualify."""
        return _sums(self._dependent(fault), fault)

    def false_alarms(self, driver: str) -> tuple[int, int]:
        """Return in how many frames a driver violates rules that it should obey, and how many qualify."""
        return _sums((row for row in self.rows if driver not in row.rule.caught), driver)

    def _dependent(self, fault: str) -> Iterator[TruthRow]:
        return (row for row in self.rows if fault in row.rule.caught)

    @property
    def shortfalls(self) -> tuple[str, ...]:
        """What is not as it must be, in words; nothing where all verdicts are true."""
        return tuple(self._shortfalls())

    def _shortfalls(self) -> Iterator[str]:
        for row in self.rows:
            if not row.qualify:
                one = self.unit.removesuffix("s")
                yield f"{row.rule.id}: no {one} qualifies, so it shows nothing; take more {self.unit}"
                continue
            for driver in self.drivers:
                found, rate = row.violations[driver], row.rate(driver) or 0.0
                if driver in row.rule.caught:
                    if rate < LEAST_SENSITIVITY:
                        yield (
                            f"{row.rule.id} catches {driver!r} in {found} of {row.qualify} {self.unit} "
                            f"({rate:.2%}, expected {LEAST_SENSITIVITY:.0%} or more)"
                        )
                elif found:
                    yield f"{row.rule.id} wrongly catches {driver!r} in {found} of {row.qualify} {self.unit}"
        for driver in self.drivers:
            if driver != CAREFUL and not any(self._dependent(driver)):
                yield f"no rule depends on what {driver!r} lacks"

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        drivers = []
        for name in self.drivers:
            (caught, of), (wrong, others) = self.caught(name), self.false_alarms(name)
            drivers.append(
                {
                    "name": name,
                    "summary": self.summaries.get(name, "has no fault"),
                    "sensitivity": {row.rule.id: row.rate(name) for row in self._dependent(name)},
                    "caught": caught,
                    "qualify": of,
                    "false_alarms": wrong,
                    "qualify_for_others": others,
                }
            )
        return {
            "passed": not self.shortfalls,
            "shortfalls": list(self.shortfalls),
            "drivers": drivers,
            "rules": [
                {
                    "id": row.rule.id,
                    "text": row.rule.text,
                    "depends_on": list(row.rule.caught),
                    "qualify": row.qualify,
                    "violations": {name: row.violations[name] for name in self.drivers},
                    "reasons": dict(row.reasons.most_common()),
                }
                for row in self.rows
            ],
        }

    def tables(self) -> list[ResultTable]:
        """Return the share of qualifying frames in which each driver violates each rule.

        Rules about what is seen and planned have a table of their own, with who sees and plans wrongly.
        """
        seen = [row for row in self.rows if row.rule.id.startswith(_SEEN_OR_PLANNED)]
        others = [row for row in self.rows if row not in seen]
        moving = [one for one in self.drivers if one not in SIGHT_FAULTS]
        sighted = [one for one in self.drivers if one == CAREFUL or one in SIGHT_FAULTS]
        kinds = (others, moving), (seen, sighted)
        return [self._table(rows, drivers) for rows, drivers in kinds if rows]

    def _table(self, own: Sequence[TruthRow], drivers: Sequence[str]) -> ResultTable:
        rows = [
            (
                row.rule.id,
                str(row.qualify),
                *("–" if (rate := row.rate(name)) is None else _percent(rate) for name in drivers),
            )
            for row in own
        ]
        sums = [self.caught(name) for name in drivers]
        rows.append(("sensitivity", "", *(_percent(caught / of) if of else "" for caught, of in sums)))
        wrong = [self.false_alarms(name) for name in drivers]
        rows.append(("false alarms", "", *(f"{false}/{of}" for false, of in wrong)))
        unit = self.unit
        title = f"Share of qualifying {unit} in which a driver violates a rule; {self.frames} {unit}"
        names = (name.replace("-", "-\n") for name in drivers)
        return ResultTable(title, ("rule", unit, *names), tuple(rows))


def _percent(share: float) -> str:
    """Return a share; only 0 and 1 look whole."""
    if share in (0, 1):
        return f"{share:.0%}" if share else "0"
    return f"{min(max(share, 0.0001), 0.9999):.2%}"


def _sums(rows: Iterable[TruthRow], driver: str) -> tuple[int, int]:
    known = list(rows)
    return sum(row.violations[driver] for row in known), sum(row.qualify for row in known)


def truth_matrix(
    frames: int = 1000,
    *,
    seed: int = 0,
    rules: Sequence[TruthRule] = TRUTH_RULES,
    drivers: Mapping[str, Driver] | None = None,
    progress: Callable[[Sequence[int]], Iterable[int]] = iter,
) -> TruthMatrix:
    """Try rules on the careful driver and on the faulty ones.

    Args:
        frames: The number of frames of the world: all five tracks, all weathers and times of day.
        seed: Of the frames and of what the rules leave open.
        rules: The rules.
        drivers: The drivers by name; the careful one and all faults when left out.
        progress: Wraps the numbers of the frames, to show how far it is.

    Raises:
        InputError: The world cannot be changed as a rule says; a rule depends on a fault that nobody has.

    Example:
        >>> matrix = truth_matrix(12, rules=[one for one in TRUTH_RULES if one.id == "R7"])
        >>> matrix.false_alarms(CAREFUL)[0], matrix.sensitivity("R7", "night-blind")
        (0, 1.0)
    """
    check_number("frames of a matrix", frames, least=1)
    known: dict[str, Answer] = {name: _answering(one) for name, one in (drivers or {}).items()}
    if drivers is None:
        known = {CAREFUL: careful_answer, **{name: _answering(one.driver) for name, one in FAULTS.items()}}
        known |= {name: answer for name, (_, answer) in SIGHT_FAULTS.items()}
    for one in rules:
        if missing := [name for name in one.caught if name not in known]:
            raise InputError(f"{one.id} depends on {missing[0]!r}, but the drivers are {', '.join(known)}")
    rows = tuple(TruthRow(one) for one in rules)
    readings = [parse(one.text) for one in rules]
    data = WorldDataset(
        ",".join((*world.TRACK_NAMES, *world.HELD_OUT_TRACK_NAMES)),
        weather="all", time="all", level="all", count=frames, seed=seed,
    )  # fmt: skip
    for index in progress(range(frames)):
        made = Counterfactuals(data.scene(index), seed=int(rng_for(seed, "truth", index).integers(2**63)))
        asked = {name: cache(answer) for name, answer in known.items()}
        for row, rule in zip(rows, readings, strict=True):
            if _task(rule) != "regression" and row.qualify >= max(3, frames // _SEEING):
                continue
            with row.trying():
                row.violations.update(_violations(asked, rule, (made.scene, *made.of(rule))))
    return TruthMatrix(frames, rows, tuple(known))


def _task(rule: Rule) -> Task:
    return gauge_of(rule.blocks[0].expectation.output).tasks[0]


def _violations(asked: Mapping[str, Answer], rule: Rule, scenes: Sequence[world.Scene]) -> list[str]:
    """Return who violates a rule in its scenes.

    Raises:
        NotApplicable: There is nothing to measure on what is true.
    """
    task = _task(rule)
    frames = [_noted(scene, scenes[0], task) for scene in scenes]
    found = []
    for name, answer in asked.items():
        answers = [answer(scene, task) for scene in scenes]
        try:
            pairs = [
                block.expectation.judged((frames[n], frames[n + 1]), (answers[n], answers[n + 1]))[:2]
                for n, block in enumerate(rule.blocks)
            ]
        except NotApplicable:
            if name == CAREFUL:
                raise
            continue
        if not all(one.expectation.holds(*pair) for one, pair in zip(rule.blocks, pairs, strict=True)):
            found.append(name)
    return found


def _noted(scene: world.Scene, original: world.Scene, task: Task) -> Frame:
    """Return a frame of a scene with notes of what was added to the original; a blank one if none is seen."""
    known = {one.id for one in original.actors}
    added = [one.id for one in scene.actors if one.id not in known]
    return _BLANK if task == "regression" else with_notes(_drawn(scene), scene, added, world.Camera())


_CUT = 1.5  # metres to the left
_BLANK = Frame("scene", np.zeros((1, 1, 3), np.uint8))


_LATE, _FORGETS = 2.5, 1.0  # seconds
_BLIND, _HASTY = FAULTS["pedestrian-blind"], FAULTS["rain-hasty"]
_UNSEEN = Frame("clip", np.zeros((1, 1, 3), np.uint8))  # these drivers see the scene

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


# What is wrong, and the driver.
_FAULTS: Mapping[str, tuple[str, ClipDriver]] = {
    "late": (f"sees everything {_LATE:g} s late", _knowing(lambda _, ago: ago >= _LATE)),
    "forgetful": (f"forgets all {_FORGETS:g} s after it came", _knowing(lambda _, ago: ago <= _FORGETS)),
    "half-blind": ("does not see the left of the road", _knowing(lambda one, _: one.d > 0)),
    "hasty": ("drives faster for pedestrians", _of_frames(partial(_startled, speed=1.0))),
    "swerving": ("swerves for pedestrians", _of_frames(partial(_startled, steering=3.0))),
    _BLIND.name: (_BLIND.summary, _of_frames(_BLIND.driver)),
    _HASTY.name: (_HASTY.summary, _of_frames(_HASTY.driver)),
}
_FAULTY = {name: driver for name, (_, driver) in _FAULTS.items()}
DRIVERS: Mapping[str, ClipDriver] = {CAREFUL: _knowing(lambda *_: True), **_FAULTY}
CLIP_RULES = read_truth("clips.rules", _CAUGHT["clips"])
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
            with row.trying():
                row.violations.update(_violating(plan, WorldClip(plan, data, index, key)))
    summaries = {name: summary for name, (summary, _) in _FAULTS.items()}
    return TruthMatrix(clips, rows, tuple(DRIVERS), summaries, "clips")


def _violating(plan: RulePlan, clip: WorldClip) -> list[str]:
    """Return the drivers that violate a rule in a clip.

    Raises:
        NotApplicable: The change is not seen for long enough.
    """
    after = [(clip.scene(0, one)[0], one[1]) for one in clip.scenes]
    blanks = (_UNSEEN.replace(signals=Signals(timestamp=time)) for _, time in clip.scenes)
    pairs = zip(blanks, map(partial(clip.is_seen, 0), clip.scenes), strict=True)
    frames = tuple(chain.from_iterable([seen(blank, visible=one)] * 2 for blank, one in pairs))
    wrong = []
    for name, driver in DRIVERS.items():
        said = chain.from_iterable(zip(driver(clip.scenes), driver(after), strict=True))
        case, given = Case(name, "clip", (Predict(frames),)), Answers((Predicted(frames, tuple(said)),))
        if judged_clip(plan, case, given, judged).status is Status.VIOLATED:
            wrong.append(name)
    return wrong
