"""From what a rule says to the frames that try it: a scenario for each of its blocks.

Every scenario is made from the original frame (Formula 2 of the RMT paper); what it is compared with is the
answer to the scenario before it. ::

    plan = plan_for(parse("If a pedestrian appears on the roadside, then the ego-vehicle should slow down."))
    original, follow_up = plan.frames(frame, seed=7)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, TypeAlias

import cv2
import numpy as np

from roadworthy._frozen import FrozenDict
from roadworthy.cases import FrameSource, Prediction
from roadworthy.errors import InputError, NotApplicable
from roadworthy.frames import Frame
from roadworthy.ontology import ontology
from roadworthy.rules.amounts import CLOSER, FARTHER, AddedElsewhere, Faded, can_be_moved, levelled, scaled
from roadworthy.rules.expectation import Expectation, Quantity
from roadworthy.rules.gauges import DRIVEN, gauge_of
from roadworthy.rules.language.times import motion_of
from roadworthy.rules.reading import Rule, SceneChange
from roadworthy.rules.timing import Timing
from roadworthy.seeding import rng_for
from roadworthy.transforms import Add, Composition, Engine, Operation, Transform, UserEngine, transform_for
from roadworthy.transforms.engines import EngineTransform
from roadworthy.transforms.operations import AddOperation, RemoveOperation, ReplaceOperation
from roadworthy.transforms.wording import REALISM, ElementDescription, added_things

Traffic: TypeAlias = Literal["right", "left"]

_LEAST_CONTRAST = 32  # levels; as the transform that adds things has it
_ROADSIDE = ("on", "roadside")
_AHEAD = ("in front of", "ego-vehicle")
_RELATIONS = {"on": "on", "in": "on", "front": "in front of", "behind": "behind", "beside": "beside"}
_OUR_WAY = ("ego-vehicle", "road", "lane")
_DRAWS = 12  # of what is added to a real frame, until one fits
# What comes over everything else, in this order: what is added stands in the rain, too.
_LAST = ("season", "weather", "time")


@dataclass(frozen=True)
class ChangedScenario(Composition):
    """All that one block of a rule changes, made at the same time.

    What is random about a step depends on the seed and on what the step is about, not on the other steps: the
    pedestrian of one block is the pedestrian of the next, whatever else changes there.

    Example:
        >>> from roadworthy.datasets import load
        >>> from roadworthy.transforms import make_transform
        >>> frame, person = load("world:town", count=1)[0], make_transform("add", element="pedestrian")
        >>> by_day, at_night = (
        ...     ChangedScenario(steps)(frame, 3, measure=False).metadata["added"][0]["box"]
        ...     for steps in ((person,), (person, make_transform("night")))
        ... )
        >>> by_day == at_night
        True
    """

    name = "scenario"
    summary = "all that one block of a rule changes"

    def change(self, frame: Frame, rng: np.random.Generator) -> Frame:
        """Return the frame after all changes.

        Raises:
            NotApplicable: The frame does not qualify for one of them, or what is added cannot be seen under
                the weather or in the dark.
        """
        seed = int(rng.integers(2**63))
        # The frames before it are changed one by one, by whoever calls this.
        frame = frame.replace(previous=())
        changed = self._after(frame, seed, self.steps)
        if any(can_be_moved(one) and not can_be_moved(later) for one, later in pairwise(self.steps)):
            others = tuple(step for step in self.steps if not can_be_moved(step))
            _check_seen(changed, self._after(frame, seed, others))
        return changed

    def _after(self, frame: Frame, seed: int, steps: tuple[Transform, ...]) -> Frame:
        """Return the frame after some of the changes."""
        for step, rng in zip(self.steps, self.draws(seed), strict=True):
            if step in steps and not step.is_identity:
                frame = step(frame, rng, measure=False)
        return frame

    def draws(self, seed: int) -> list[np.random.Generator]:
        """Return the random numbers of each step: of the second step about a thing, other ones."""
        about = [f"{one.name} {one.settings.get('element', '')}" for one in map(_whole, self.steps)]
        return [rng_for(seed, one, about[: place + 1].count(one)) for place, one in enumerate(about)]

    def scaled(self, amount: float) -> ChangedScenario:
        """Return less of all its changes; 1 is all of them."""
        return ChangedScenario(tuple(scaled(step, amount) for step in self.steps))


def _check_seen(changed: Frame, without: Frame) -> None:
    """Refuse a frame in which what was added cannot be told from what it hides."""
    for note in added_things(changed):
        left, top, right, bottom = note["box"]
        window = slice(max(0, top), bottom), slice(max(0, left), right)
        if cv2.norm(changed.image[window], without.image[window], cv2.NORM_INF) < _LEAST_CONTRAST:
            raise NotApplicable("the added object would not stand out from its background")


def _whole(step: Transform) -> Transform:
    """Return a step of which there may be less as it was before."""
    while isinstance(step, AddedElsewhere | Faded):
        step = step.base
    return step


@dataclass(frozen=True)
class RulePlan:
    """How a rule is tried: a scenario for each relation that must hold.

    Attributes:
        rule: The rule.
        scenarios: What is made of the original frame; one for each relation.
        expectations: What must hold between the answer to each scenario and the one before, at first that to
            the original frame.
        words: What each scenario changes, in plain words.
        clip: Seconds of the clips on which it is tried; 0 for as long as its time asks for, or, without a
            time, for single frames.
        traffic: The side of the road that one drives on.
    """

    rule: Rule
    scenarios: tuple[ChangedScenario, ...]
    expectations: tuple[Expectation, ...]
    words: tuple[str, ...]
    clip: float = 0.0
    traffic: Traffic = "right"

    @property
    def timing(self) -> Timing | None:
        """When it must hold in a clip; None where single frames are judged."""
        return self.rule.timing or (Timing() if self.clip else None)

    @property
    def clip_length(self) -> float:
        """Seconds of the clips on which it is tried; 0 where single frames are judged."""
        return self.clip or (self.timing.usual_length if self.timing else 0.0)

    @property
    def outputs(self) -> tuple[str, ...]:
        """What a model has to predict, each once."""
        return tuple(dict.fromkeys(one.output for one in self.expectations))

    @property
    def engines(self) -> tuple[UserEngine, ...]:
        """The image engines that make its changes, each once."""
        steps = (_whole(step) for scenario in self.scenarios for step in scenario.steps)
        return tuple(dict.fromkeys(one.engine for one in steps if isinstance(one, EngineTransform)))

    def misfit(self, frame: Frame) -> str:
        """Return why one of its engines is not used on frames such as this one; empty if all are."""
        return next(filter(None, (one.misfit(frame) for one in self.engines)), "")

    def sources(self, original: FrameSource, seed: int) -> tuple[FrameSource, ...]:
        """Return what makes the frames: the original, then a follow-up for each scenario."""
        alone = len(self.scenarios) == 1
        return (original, *(FollowUp(original, scenario, seed, alone=alone) for scenario in self.scenarios))

    def frames(self, frame: Frame, seed: int) -> tuple[Frame, ...]:
        """Return the original frame and its follow-ups.

        Raises:
            NotApplicable: The frame does not qualify; says why.
        """
        _, *others = self.sources(frame, seed)
        return (frame, *(one if isinstance(one, Frame) else one() for one in others))

    def after(self, first: Transform) -> RulePlan:
        """Return the plan on top of a change that somebody else makes first (setting II of the paper's RQ4).

        That change alone must do what the first block asks for; then comes the rule's own change, made in
        addition, and its answer is compared with that to the first change alone.

        Example:
            >>> from roadworthy.rules import parse
            >>> from roadworthy.transforms import make_transform
            >>> rule = parse("If a pedestrian appears on the roadside, the ego-vehicle should slow down.")
            >>> plan = plan_for(rule)
            >>> [str(one) for one in plan.after(make_transform("rain:heavy")).scenarios]
            ['rain(amount=1)', 'rain(amount=1) + add(element=pedestrian)']
        """
        steps = first.steps if isinstance(first, Composition) else (first,)
        both = (ChangedScenario((*steps, *scenario.steps)) for scenario in self.scenarios)
        return RulePlan(
            self.rule,
            (ChangedScenario(steps), *both),
            (self.expectations[0], *self.expectations),
            (str(first), *(f"{first} and {words}" for words in self.words)),
        )

    def made_by(self, change: Transform) -> RulePlan:
        """Return the plan with the rule's one change made by another transform (setting I of RQ4).

        Raises:
            InputError: The rule has more than one change.
        """
        if len(self.scenarios) != 1 or len(self.rule.blocks[0].changes) != 1:
            raise InputError(f"another transform can make one change only, got {self.rule.text!r}")
        steps = change.steps if isinstance(change, Composition) else (change,)
        return RulePlan(self.rule, (ChangedScenario(steps),), self.expectations, (str(change),))

    def over(self, seconds: float) -> RulePlan:
        """Return the plan for clips of so many seconds; 0 for what its time asks for.

        Raises:
            InputError: The clips are too short for its time; or it has a time, or clips, and what it changes
                cannot be kept the same through a clip.
        """
        plan = dataclasses.replace(self, clip=seconds)
        if plan.timing is None:
            return plan
        if seconds and seconds < plan.timing.needed:
            raise InputError(
                f"a clip must take {plan.timing.needed:g} s at least for '{plan.timing}', got {seconds:g}"
            )
        steps = [step for one in self.scenarios for step in one.steps]
        if self.words != _words_of(self.rule) or any(isinstance(step, EngineTransform) for step in steps):
            raise InputError(
                "over a clip, changes are made by what is built in: leave out by, after and engines"
            )
        if any(isinstance(step, AddedElsewhere) for step in steps):
            raise InputError(
                "over a clip, things come closer by themselves: leave out what is closer or farther"
            )
        for block in self.rule.blocks:
            motion_of(self.rule, block)
            if any(change.target == "vehicle" and change.pose for change in block.changes):
                raise InputError("over a clip, how others brake or overtake is not known: leave out the time")
        return plan

    def with_tolerances(self, tolerances: Mapping[str, Quantity]) -> RulePlan:
        """Return the plan with other δ: how far predictions of an output may differ and still be the same."""
        expectations = tuple(
            one.with_tolerance(tolerances[one.output]) if one.output in tolerances else one
            for one in self.expectations
        )
        return dataclasses.replace(self, expectations=expectations)

    def told_by(self, answer: Prediction | None) -> RulePlan:
        """Return the plan for a model with such answers: braking is judged by its brake, if it has one."""
        return dataclasses.replace(self, expectations=tuple(one.told_by(answer) for one in self.expectations))

    def with_smallest(self, pixels: float) -> RulePlan:
        """Return the plan with things so many pixels high at least, unless it says how high they are."""
        scenarios = tuple(
            ChangedScenario(tuple(_at_least(step, pixels) for step in one.steps)) for one in self.scenarios
        )
        return dataclasses.replace(self, scenarios=scenarios)

    def scaled(self, amount: float) -> RulePlan:
        """Return the plan with less of every change; 1 is all of it."""
        return dataclasses.replace(self, scenarios=tuple(one.scaled(amount) for one in self.scenarios))


def _at_least(step: Transform, pixels: float) -> Transform:
    if isinstance(step, AddedElsewhere):
        return dataclasses.replace(step, base=_at_least(step.base, pixels))
    return step.replace(smallest=pixels) if isinstance(step, Add) and not step.smallest else step


@dataclass(frozen=True)
class FollowUp:
    """A frame changed by a scenario, made in whichever process wants it.

    Attributes:
        original: The frame, or what makes it.
        scenario: What is changed.
        seed: The same seed gives the same bytes.
        alone: Whether no other relation speaks of the same thing: one that does not fit into a real frame, or
            hardly stands out, is drawn anew.
    """

    original: FrameSource
    scenario: ChangedScenario
    seed: int
    alone: bool = field(default=False, kw_only=True)

    @property
    def steps(self) -> tuple[Transform, ...]:
        """The changes, one after the other."""
        return self.scenario.steps

    def __call__(self) -> Frame:
        """Return the changed frame.

        Raises:
            NotApplicable: The frame does not qualify.
        """
        frame = self.original if isinstance(self.original, Frame) else self.original()
        # Less of a change is less of what all of it would be, so all of it must fit.
        things = tuple(one for one in map(_whole, self.steps) if isinstance(one, Add))
        for draw in range(_DRAWS if things and self.alone and not frame.drawn else 0):
            seed = int(rng_for(self.seed, draw).integers(2**63)) if draw else self.seed
            try:
                made = ChangedScenario(things)(frame, seed, measure=things == self.steps)
            except NotApplicable:
                continue
            return made if things == self.steps else self.scenario(frame, seed)
        return self.scenario(frame, self.seed)


def plan_for(
    rule: Rule,
    engines: Iterable[Engine] = (),
    *,
    gallery: str = "own",
    traffic: Traffic = "right",
    realism: str = REALISM[0],
) -> RulePlan:
    """Return how a rule is tried.

    Args:
        rule: The rule, as it was read.
        engines: Image engines that users bring; they go before what is built in.
        gallery: Where the cut-outs of things come from: "own", the data itself; "shipped"; folders or other
            data, joined by commas.
        traffic: The side of the road that one drives on: signs and lights for us stand there.
        realism: Whether real frames get only what is believable, or any.

    Raises:
        InputError: Something that the rule changes cannot be changed, or not so; says what would help.

    Example:
        >>> from roadworthy.rules import parse
        >>> rule = parse("If a pedestrian appears on the roadside, then the ego-vehicle should slow down. "
        ...              "If he gets closer to the ego-vehicle, then the speed should decrease more.")
        >>> [str(scenario) for scenario in plan_for(rule).scenarios]
        ['add(element=pedestrian)', 'add(element=pedestrian), closer']
    """
    for block in rule.blocks:
        kind = gauge_of(block.expectation.output).kind
        if block.after or kind in DRIVEN:
            what = (
                f"'after {block.after:g} s' is said of a drive"
                if block.after
                else f"{block.expectation} in a drive"
            )
            raise InputError(f"{what}, and images show none: add --drive world:town, or drive: in a suite")
    make = _TransformFinder(tuple(engines), gallery, traffic, realism)
    blocks: list[list[_Made]] = []
    for block in rule.blocks:
        made: list[_Made] = []
        for change in sorted(block.changes, key=_order):
            same = sum(one.is_about(change) for one in made)
            before = next(filter(None, ([m for m in s if m.is_about(change)] for s in reversed(blocks))), [])
            try:
                # The second pedestrian of this block is the second one of the block before.
                made.append(make(change, before[min(same, len(before) - 1)] if before else None))
            except InputError as error:
                raise InputError(
                    f"the rule {rule.text!r} cannot be tried ({change}): {error}; image engines of your own "
                    "are given by --engines FILE"
                ) from error
        blocks.append(made)
    scenarios = tuple(ChangedScenario(tuple(one.transform for one in steps)) for steps in blocks)
    return RulePlan(
        rule, scenarios, tuple(block.expectation for block in rule.blocks), _words_of(rule), traffic=traffic
    )


def _words_of(rule: Rule) -> tuple[str, ...]:
    """Return what each block of a rule changes, in plain words."""
    return tuple(" and ".join(map(str, block.changes)) for block in rule.blocks)


def _order(change: SceneChange) -> int:
    return _LAST.index(change.target) if change.target in _LAST else -1


@dataclass(frozen=True)
class _Made:
    """A change with its comparative resolved, and the transform that makes it."""

    change: SceneChange
    transform: Transform

    def is_about(self, change: SceneChange) -> bool:
        """Return whether a later change may refer to it."""
        return (self.change.op, self.change.target) == (change.op, change.target)


@dataclass(frozen=True)
class _TransformFinder:
    """Finds the transforms that make changes."""

    engines: tuple[Engine, ...]
    gallery: str
    traffic: Traffic
    realism: str

    def __call__(self, change: SceneChange, earlier: _Made | None) -> _Made:
        """Return a change with its transform; `earlier` is what a comparative refers to."""
        if change.comparative is None:
            return self._plain(change)
        if earlier is None:
            raise InputError(f"no earlier block says what it is {change.comparative} than")
        if change.comparative in ("heavier", "lighter"):
            return self._plain(levelled(change, earlier.change))
        if can_be_moved(earlier.transform):
            factors = CLOSER if change.comparative == "closer" else FARTHER
            return _Made(earlier.change, AddedElsewhere(earlier.transform, factors))
        # Whatever an engine of the user makes can be nearer only if the engine can make that, too.
        operation = operation_of(earlier.change, self.traffic)
        if isinstance(operation, AddOperation):
            nearer = dataclasses.replace(operation, relation=change.comparative)
            for engine in self.engines:
                if engine.supports(nearer):
                    return _Made(earlier.change, engine.transform(nearer))
        raise InputError(f"only a thing that is added can be {change.comparative}, and not by every engine")

    def _plain(self, change: SceneChange) -> _Made:
        operation = operation_of(change, self.traffic)
        transform = transform_for(operation, self.engines, gallery=self.gallery)
        chosen = {"realism": self.realism, "traffic": self.traffic}
        known = {one.name for one in transform.parameters()}
        transform = transform.replace(**{name: value for name, value in chosen.items() if name in known})
        return _Made(change, transform)


def operation_of(change: SceneChange, traffic: Traffic = "right") -> Operation:
    """Return the operation on images that a change of a rule asks for.

    Args:
        change: The change.
        traffic: The side of the road that one drives on: signs and lights for us stand there.

    Raises:
        InputError: The change makes no sense, or is one of some things of a kind only.

    Example:
        >>> sign = operation_of(SceneChange("add", "traffic sign", {"type": "stop"}, "on", "sidewalk"))
        >>> sign.element, sign.relation, sign.reference, sign.side
        ('stop sign', 'on', 'roadside', 'right')
        >>> operation_of(SceneChange("replace", "weather", {"level": "heavy"}, replacement="rainy"))
        ReplaceOperation(element='weather', by='downpour', part='all')
    """
    # All that a camera sees is in front of the ego-vehicle.
    on_side = change.part == "" and change.chosen_part != "all"
    if change.chooses and not on_side and (change.position, change.reference) != ("front", "ego-vehicle"):
        raise InputError("all things of a kind are changed, wherever they are")
    if change.op == "remove":
        return RemoveOperation(_words(change.target, change.properties), change.chosen_part)
    if change.op == "replace":
        assert change.replacement is not None
        old, new = (
            _words(change.target, change.target_properties),
            _words(change.replacement, change.properties),
        )
        return ReplaceOperation(old, new, change.chosen_part)
    properties = dict(change.properties)
    around = dict(change.reference_properties)
    if around.get("direction") == "reverse":
        # Those who come towards us drive, and walk, on the other side.
        around["position"] = "left" if traffic == "right" else "right"
        if change.reference != "lane":
            del around["direction"]
    # "On the left side": lanes have positions, and roadsides have sides.
    if change.pose == "overtaking":
        around.setdefault("position", "left" if traffic == "right" else "right")
    side = around.pop("position", None) or (
        properties.pop("position", None) if change.target != "lane" else None
    )
    relation, reference = _place(change, around)
    if side is None and reference == "roadside" and _is_for_drivers(change.target):
        side = traffic
    what = _words(change.target, properties)
    far = change.distance, change.within
    company = "group" if change.group else "any"
    return AddOperation(what, relation, reference, side or "either", *far, company, change.pose or "any")


def _is_for_drivers(element: str) -> bool:
    return ontology().is_a(element, "traffic infrastructure")


def _place(change: SceneChange, around: Mapping[str, str]) -> tuple[str, str]:
    """Return where a thing is added, in the words of the transform that adds it."""
    position, reference = change.position, change.reference
    if change.pose == "overtaking":
        return "on", "lane"
    if reference is None:
        if position is None and (change.pose == "crossing" or change.target == "traffic cone"):
            return "on", "road"
        if position == "front" or (position is None and ontology().is_a(change.target, "vehicle")):
            return _AHEAD
        if position in (None, "on", "in", "beside"):
            return _ROADSIDE
        reference = "ego-vehicle"
    if reference == "sidewalk" and position in (None, "on", "in", "beside"):
        # Rules do not tell the sidewalk from the roadside, and not every road has a sidewalk.
        return _ROADSIDE
    if reference in _OUR_WAY and position != "above" and _is_for_drivers(change.target):
        # "A stop sign ahead" stands at the roadside, and not in our lane.
        return _ROADSIDE
    return _RELATIONS.get(position or "on", str(position)), _words(reference, around)


def _words(element: str, properties: Mapping[str, str]) -> str:
    return str(ElementDescription(element, FrozenDict(properties)))
