"""Rules in a suite: sentences, and files of them."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import Field

from roadworthy.errors import InputError, RuleError, check_known
from roadworthy.frames import Signals
from roadworthy.models import Simulator
from roadworthy.models.recorded import SEES_NO_CHANGE, Truth
from roadworthy.runs.suites.forms import Count, EntryForm, Number, Some, Text, Tolerance
from roadworthy.runs.suites.kinds.base import Context, Kind, OtherTask, Part, other_task
from roadworthy.runs.suites.opening import Facts, OpenedData

if TYPE_CHECKING:
    from roadworthy.cases import Method, Scalar
    from roadworthy.rules.drives import DrivePlace, DrivePlan
    from roadworthy.rules.generation import RulePlan
    from roadworthy.rules.reading import Rule
    from roadworthy.transforms import Transform


P = TypeVar("P")
_DRIVES = {"drive", "seconds", "places", "seeds"}


class _RuleSettings(EntryForm):
    """What holds for one rule as for a file of them.

    Keys:
        same: How far answers that are the same may differ: {steering: 1.39, speed: 10%}, in degrees and m/s
            or as a share.
        gallery: Where things that are added come from: own, which is the data itself and what ships; shipped;
            galleries of cut-outs or other data, joined by commas.
        traffic: The side that one drives on.
        realism: Whether real frames get only changes that look real, or any that can be made.
        clip: Seconds of the clips on which it is tried, if not as many as its time asks for; a rule without a
            time must then hold in every frame of them.
        engines: A YAML file of image engines; or shipped, for the learned ones that come with Roadworthy, on
            frames of the built-in world; or migan, to remove things, once it is imported. Engines that run
            code or call services need --allow-commands.
        drive: A simulator, such as world:town: the model drives, and what the rule changes comes during the
            drive and lasts; the outcome is judged over the drive. No data is needed then.
        options: Options of the simulator, such as {weather: rainy, fps: 10}.
        seconds: How long a drive goes on after the change.
        places: From how many places of the track drives start; from the beginning of each sector if left out.
        seeds: With how many seeds of traffic from each place.
        frames: Of which drives what the camera saw is kept.
    """

    same: dict[Literal["steering", "speed"], Tolerance] = Field(default_factory=dict)
    gallery: Text = "own"
    traffic: Literal["right", "left"] = "right"
    realism: Literal["believable", "any"] = "believable"
    clip: Number | None = Field(default=None, gt=0, le=60)
    engines: Text | None = None
    drive: Text | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    seconds: Number = Field(default=15.0, gt=0, le=600)
    places: Count | None = None
    seeds: int = Field(default=1, ge=1, le=1000)
    frames: Literal["none", "failing", "all"] = "none"

    @property
    def drives_alone(self) -> dict[str, Any]:
        """What only drives have and is said here."""
        return self.model_dump(include={"options", "frames", *_DRIVES} - {"drive"}, exclude_defaults=True)


class RuleForm(_RuleSettings):
    """A rule: a sentence in plain English.

    Keys:
        rule: If …, then …
        by: What makes the rule's one change instead of what is built in: a transform such as rain:heavy, or
            engine:NAME.
        after: A change that is made first, and must itself do what the rule asks for: a transform such as
            rain:heavy, or engine:NAME.
    """

    key = "rule"
    sendable = EntryForm.sendable | {"rule", "same", "traffic", "realism", "clip"} | _DRIVES
    rule: Text
    by: Text | None = None
    after: Text | None = None


class RulesForm(_RuleSettings):
    """Every rule of a file, a requirement each; their ids come after that of the entry: paper/R1.

    Keys:
        rules: A file of rules, or several; paths count from the suite's folder.
        only: Only these of the file's rules, by their ids.
    """

    key = "rules"
    rules: Some
    only: Some | None = None


_STANDING = 1e9  # seconds; who stops for something may stand until the end
_BUILT_IN = "what is built in"
_SMALLEST = 20  # pixels that things are high, at least, where the model sees them


class _OfRules(Kind[RuleForm | RulesForm, P]):
    """A rule is a sentence; a file of rules stands for all of its rules."""

    def read_ahead(self, entries: Sequence[RuleForm | RulesForm], context: Context) -> None:
        """Read the sentences of many entries at once, each once."""
        texts = list(dict.fromkeys(_words(one.rule) for one in entries if isinstance(one, RuleForm)))
        if len(texts) > 1:
            from roadworthy.rules import parse_all

            context.known.update(zip((("rule", text) for text in texts), parse_all(texts), strict=True))

    def parts(self, entry: RuleForm | RulesForm, context: Context) -> Iterator[Part[P]]:
        """Yield a part for each rule."""
        if isinstance(entry, RuleForm):
            yield self._part("", entry.rule, entry, context)
            return
        from roadworthy.rules import read_rules

        texts: dict[str, tuple[str, str]] = {}
        for name in entry.rules:
            file = context.located(name)
            for one in read_rules(file):
                if one.id in texts:
                    raise InputError(f"{file}:{one.line}: the id {one.id!r} is used twice; give one another")
                texts[one.id] = one.text, f"{file}:{one.line}"
        for wanted in entry.only or ():
            check_known("only: the file has no rule", wanted, texts)
        for id, (text, where) in texts.items():
            if entry.only and id not in entry.only:
                continue
            try:
                yield self._part(id, text, entry, context)
            except RuleError as error:
                # The words that are underlined stand in the other file.
                raise InputError(f"{where}: {error}") from error

    @abstractmethod
    def _part(self, name: str, text: str, entry: RuleForm | RulesForm, context: Context) -> Part[P]:
        """Return the part of one rule of an entry."""

    def cases(self, part: Part[P], frames: int) -> int:
        """Return a case for each frame."""
        return frames


def _read(words: str, context: Context) -> Rule:
    """Return a rule that may have been read before."""
    from roadworthy.rules import parse

    rule: Rule | RuleError = context.known.get(("rule", words)) or parse(words)
    if isinstance(rule, RuleError):
        raise rule
    return rule


class RulesKind(_OfRules["RulePlan"]):
    """Rules on frames, and on clips of them."""

    name = "rules"
    forms = (RuleForm, RulesForm)

    def may_end_early(self, part: Part[RulePlan]) -> bool:
        """Return that rules on single frames may; clips of one drive overlap, whatever the data says."""
        return part.inside.timing is None

    def _part(self, name: str, text: str, entry: RuleForm | RulesForm, context: Context) -> Part[RulePlan]:
        from roadworthy.rules.expectation import Quantity, read_tolerance
        from roadworthy.rules.generation import plan_for
        from roadworthy.transforms.engines.engine import transform_named

        for key in entry.drives_alone:
            raise InputError(f"{key} is about drives: say where, as in drive: world:town, or leave it out")
        engines = () if entry.engines is None else context.read_engines(entry.engines)
        words = _words(text)
        rule = _read(words, context)
        usable = () if isinstance(entry, RuleForm) and entry.by else engines
        plan = plan_for(rule, usable, gallery=entry.gallery, traffic=entry.traffic, realism=entry.realism)
        if isinstance(entry, RuleForm) and entry.by:
            plan = plan.made_by(transform_named(entry.by, engines))
        if isinstance(entry, RuleForm) and entry.after:
            plan = plan.after(transform_named(entry.after, engines))
        same: dict[str, Quantity] = {output: read_tolerance(value) for output, value in entry.same.items()}
        plan = plan.over(entry.clip or 0.0)
        chosen = {"same", "gallery", "traffic", "realism", "engines", "by", "after", "clip"}
        parameters = entry.model_dump(include=chosen, exclude_defaults=True)
        return Part(name, words, parameters, plan.with_tolerances(same), plan.rule.notes)

    def misfit(self, part: Part[RulePlan], facts: Facts) -> str:
        """A rule needs a model that answers with what it speaks of, and frames of a road."""
        if facts.data is not None and "class" in facts.data.first.metadata:
            return OtherTask(f"{facts.data.name} are pictures of single things, and rules are about roads")
        if facts.data is not None and (reason := part.inside.misfit(facts.data.first)):
            return reason
        if facts.data is not None and part.inside.timing is not None:
            from roadworthy.rules.clips import misfit

            if reason := misfit(part.inside, facts.data.frames):
                return reason
        if isinstance(getattr(facts.model.system, "network", facts.model.system), Truth):
            return SEES_NO_CHANGE
        return _unanswered(part.inside.told_by(facts.known).outputs, facts)

    def variants(self, part: Part[RulePlan], facts: Facts) -> Sequence[Part[RulePlan]]:
        """Return the part for a model, with things that are large enough in what all see of real frames."""
        from roadworthy.transforms.objects.placement import usual_smallest

        plan = part.inside.told_by(facts.known)
        if plan != part.inside:
            told = {"outputs": list(plan.outputs)}
            part = replace(part, inside=plan, parameters={**part.parameters, **told})
        if facts.data is None or facts.data.first.drawn:
            return [part]
        pixels = math.ceil(_SMALLEST * facts.shrinks)
        sized = part.inside.with_smallest(pixels)
        if pixels <= usual_smallest(facts.data.first) or sized == part.inside:
            return [part]
        return [replace(part, inside=sized, parameters={**part.parameters, "smallest": pixels})]

    def signals(self, part: Part[RulePlan]) -> Collection[str]:
        """Return what the rule speaks of."""
        return part.inside.outputs

    def needs(self, part: Part[RulePlan]) -> Collection[str]:
        """Return what the rule's changes need, or look better with."""
        return {name for one in part.inside.scenarios for name in (*one.needs, *one.wants)}

    def steps(self, part: Part[RulePlan]) -> Collection[Transform]:
        """Return the changes of the rule."""
        return [step for one in part.inside.scenarios for step in one.steps]

    def notes(self, parts: Mapping[str, Part[RulePlan]], data: OpenedData) -> list[str]:
        """Return which engines made the images, what their cards warn of, and which are for other frames."""
        from roadworthy.transforms.learned import LearnedEngine

        used = dict.fromkeys(one for part in parts.values() for one in part.inside.engines)
        unfit = f"was not made for frames such as those of {data.name}: look at what it makes of them."
        return [
            *_makers(parts),
            *_clips(parts, data),
            *(
                f"{one.name}: {note}"
                for one in used
                if isinstance(one, LearnedEngine)
                for note in one.card.notes
            ),
            *(f"{one.name} {unfit}" for one in used if not one.is_for(data.first)),
        ]

    def method(self, parts: Mapping[str, Part[RulePlan]], context: Context) -> Method:
        """Return one method for all rules: they share frames."""
        from roadworthy.rules.method import RulesMethod

        return RulesMethod({id: part.inside for id, part in parts.items()})


class DrivenRulesKind(_OfRules["DrivePlan"]):
    """Rules whose entries say where to drive: a case is a drive from one place."""

    name = "rules-drive"
    forms = ()
    needs_data = False

    def _part(self, name: str, text: str, entry: RuleForm | RulesForm, context: Context) -> Part[DrivePlan]:
        from roadworthy.rules.drives import DrivePlan
        from roadworthy.rules.expectation import read_tolerance

        chosen = entry.model_dump(exclude_defaults=True)
        for key in ("gallery", "traffic", "realism", "clip", "engines", "by", "after"):
            if key in chosen:
                raise InputError(f"{key} is about single frames: leave it out where the rule drives")
        words = _words(text)
        rule = _read(words, context)
        expected = rule.blocks[0].expectation
        if (same := entry.same.get(expected.output)) is not None:  # type: ignore[call-overload]
            expected = expected.with_tolerance(read_tolerance(same))
        plan = DrivePlan(rule, expected, entry.seconds)
        parameters = {"drive": entry.drive, "same": entry.same, "seed": context.seed, **entry.drives_alone}
        places = tuple(_places(plan, entry, context))
        return Part(name, words, parameters, replace(plan, places=places), rule.notes)

    def misfit(self, part: Part[DrivePlan], facts: Facts) -> str:
        """A rule needs a model that drives, and itself decides on what the rule speaks of."""
        if reason := other_task(facts, "regression", "one must steer or choose a speed to drive"):
            return reason
        network = getattr(facts.model.system, "network", facts.model.system)
        answered = facts.known.as_dict() if isinstance(facts.known, Signals) else None
        answered = getattr(getattr(network, "output", None), "signals", answered)
        asked = ("steering",) if part.inside.steers else ("speed", "throttle")
        if answered is not None and not any(one in answered for one in asked):
            return f"{facts.model.name} does not predict {' or '.join(asked)}, and drives as another says"
        return ""

    def method(self, parts: Mapping[str, Part[DrivePlan]], context: Context) -> Method:
        """Return one method for all."""
        from roadworthy.rules.drives import DrivenRulesMethod

        return DrivenRulesMethod({id: part.inside for id, part in parts.items()})

    def simulator(self, part: Part[DrivePlan], keep: Path | None = None) -> Simulator | None:
        """Return what opens the simulators."""
        from roadworthy.driving.simulators import ScenarioDriver

        return ScenarioDriver(keep)

    def cases(self, part: Part[DrivePlan], frames: int) -> int:
        """Return a case for each place and seed."""
        return len(part.inside.places)


def _places(plan: DrivePlan, entry: RuleForm | RulesForm, context: Context) -> Iterator[DrivePlace]:
    """Yield where a rule is tried.

    Raises:
        InputError: The simulator cannot be opened, or cannot make the change.
    """
    from roadworthy.driving.simulators import CaseScenario, DriveLimits, open_simulator
    from roadworthy.driving.simulators.loop import checked_simulator, refused_change
    from roadworthy.registry import simulators
    from roadworthy.rules.drives import DrivePlace, RuleChange

    where = str(entry.drive)
    checked_simulator(where, **entry.options)
    if reason := refused_change(simulators.get(where.partition(":")[0]), where):
        raise InputError(reason)
    for number, (name, place, options) in enumerate(_starts(where, entry, context)):
        change = RuleChange(plan.rule, context.seed + int(options.get("seed", 0)))
        if not number and where.startswith("world"):
            # Others wait for a connection when they are opened.
            simulator: Any = open_simulator(where, **options)
            simulator.check_change(change)
        limits = DriveLimits(laps=None, seconds=change.after + entry.seconds, standing=_STANDING)
        asked = CaseScenario(
            where, options, limits, entry.frames, requirement="", number=2 * number + 1, change=change
        )
        before = replace(asked, change=None, number=2 * number + 2, frames="none") if plan.compares else None
        told = {f"option.{key}": str(value) for key, value in options.items()}
        known: dict[str, Scalar] = {"simulator": where, "change.1": change.words, "drive": asked.number}
        yield DrivePlace(name, place, {**told, **known}, before, asked)


def _starts(
    where: str, entry: RuleForm | RulesForm, context: Context
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield what drives are called, from where they start, and by which options: evenly over the track."""
    from roadworthy.driving.simulators.world import world_sectors
    from roadworthy.world import track

    name, _, path = where.partition(":")
    starts: list[tuple[str, dict[str, Any]]] = [(where, {})]
    if name == "world" and "start" not in entry.options:
        names = world_sectors(road := track(path or "meadow"))
        length = road.length / len(names)
        starts = [(one, {"start": round(number * length, 3)}) for number, one in enumerate(names)]
    if (entry.places or 0) > len(starts):
        raise InputError(f"places: {where} has {len(starts)} to start from, got {entry.places}")
    most = min(entry.places or len(starts), context.sample or len(starts), len(starts))
    first = int(entry.options.get("seed", 0))
    seeds = (
        [{"seed": first + one} for one in range(entry.seeds)] if name == "world" or entry.seeds > 1 else [{}]
    )
    for number in range(most):
        place, told = starts[number * len(starts) // most]
        for seed in seeds:
            label = place if len(seeds) == 1 else f"{place} seed {seed['seed']}"
            yield label, place, {**entry.options, **told, **seed}


def _clips(parts: Mapping[str, Part[RulePlan]], data: OpenedData) -> Iterator[str]:
    """Yield what a reader should know about the clips of rules with a time."""
    from roadworthy.datasets import WorldDataset
    from roadworthy.rules.clips import timeline, whole_of
    from roadworthy.rules.language.times import motion_of

    rules = {id: part.inside.rule for id, part in parts.items() if part.inside.timing is not None}
    if not rules or isinstance(data.frames.data, WorldDataset):
        return
    if going := [id for id, one in rules.items() if any(motion_of(one, block) for block in one.blocks)]:
        yield f"Pedestrians stand in recorded frames, also where {', '.join(going)} lets them walk."
    if not timeline(whole_of(data.frames)).sorted:
        yield (
            f"The frames of {data.name} are not in the order of their time stamps: the clips of "
            f"{', '.join(rules)} follow the time stamps."
        )


def _makers(parts: Mapping[str, Part[RulePlan]]) -> list[str]:
    """Return who made the images of which rules, where engines of the user might have; one sentence."""
    from roadworthy.transforms.engines import EngineTransform

    asked = {id: part for id, part in parts.items() if part.parameters.get("engines")}
    rules: dict[str, list[str]] = {}
    for id, part in asked.items():
        plan = part.inside
        steps = (step for scenario in plan.scenarios for step in scenario.steps)
        built_in = any(not isinstance(step, EngineTransform) for step in steps)
        makers = [one.name for one in plan.engines] + [_BUILT_IN] * built_in
        rules.setdefault(" and ".join(makers), []).append(id)
    rest = rules.pop(_BUILT_IN, [])
    told = [f"{makers} made the images of {', '.join(ids)}" for makers, ids in rules.items()]
    if rest:
        told.append(f"no engine does {', '.join(rest)}: {_BUILT_IN} made these images")
    return [f"{'; '.join(told)}."] if told else []


def _words(text: str) -> str:
    """Return a sentence on one line, as YAML may have folded it."""
    return " ".join(text.split())


def _unanswered(outputs: Collection[str], facts: Facts) -> str:
    """Return what a rule speaks of and a model does not answer with; empty where it answers with all."""
    from roadworthy.rules.gauges import gauge_of

    gauges = [gauge_of(one) for one in outputs]
    for gauge in gauges:
        if facts.task is not None and facts.task not in gauge.tasks:
            return OtherTask(
                f"{facts.model.name} is a model for {facts.task}, and {gauge.misfit(facts.task, None)}"
            )
    if missing := [one.output for one in gauges if one.misfit(facts.task, facts.known)]:
        return f"{facts.model.name} does not predict {' and '.join(missing)}"
    network = getattr(facts.model.system, "network", facts.model.system)
    return next(filter(None, (one.unknown_to(network) for one in gauges)), "")
