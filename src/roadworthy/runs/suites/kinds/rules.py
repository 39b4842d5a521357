"""Rules in a suite: sentences, and files of them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from roadworthy.errors import InputError, RuleError, check_known
from roadworthy.models.recorded import SEES_NO_CHANGE, Truth
from roadworthy.runs.suites.forms import EntryForm, Number, Some, Text, Tolerance
from roadworthy.runs.suites.kinds.base import Context, Kind, OtherTask, Part
from roadworthy.runs.suites.opening import Facts, OpenedData

if TYPE_CHECKING:
    from roadworthy.cases import Method
    from roadworthy.rules.generation import RulePlan
    from roadworthy.transforms import Transform


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
    """

    same: dict[Literal["steering", "speed"], Tolerance] = Field(default_factory=dict)
    gallery: Text = "own"
    traffic: Literal["right", "left"] = "right"
    realism: Literal["believable", "any"] = "believable"
    clip: Number | None = Field(default=None, gt=0, le=60)
    engines: Text | None = None


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
    sendable = EntryForm.sendable | {"rule", "same", "traffic", "realism", "clip"}
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


_BUILT_IN = "what is built in"
_SMALLEST = 20  # pixels that things are high, at least, where the model sees them


class RulesKind(Kind[RuleForm | RulesForm, "RulePlan"]):
    """A rule is a sentence; a file of rules stands for all of its rules."""

    name = "rules"
    forms = (RuleForm, RulesForm)

    def read_ahead(self, entries: Sequence[RuleForm | RulesForm], context: Context) -> None:
        """Read the sentences of many entries at once, each once."""
        texts = list(dict.fromkeys(_words(one.rule) for one in entries if isinstance(one, RuleForm)))
        if len(texts) > 1:
            from roadworthy.rules import parse_all

            context.known.update(zip((("rule", text) for text in texts), parse_all(texts), strict=True))

    def may_end_early(self, part: Part[RulePlan]) -> bool:
        """Return that rules on single frames may; clips of one drive overlap, whatever the data says."""
        return part.inside.timing is None

    def parts(self, entry: RuleForm | RulesForm, context: Context) -> Iterator[Part[RulePlan]]:
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

    def _part(self, name: str, text: str, entry: RuleForm | RulesForm, context: Context) -> Part[RulePlan]:
        from roadworthy.rules import parse
        from roadworthy.rules.expectation import Quantity, read_tolerance
        from roadworthy.rules.generation import plan_for
        from roadworthy.transforms.engines.engine import transform_named

        engines = () if entry.engines is None else context.read_engines(entry.engines)
        words = _words(text)
        rule = context.known.get(("rule", words)) or parse(words)
        if isinstance(rule, RuleError):
            raise rule
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

    def cases(self, part: Part[RulePlan], frames: int) -> int:
        """Return a case for each frame."""
        return frames


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
