"""The method of rules: every frame is changed as a rule says, and the answers must be as it says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import cv2

from roadworthy.cases import (
    Answers,
    Case,
    FrameSource,
    FramewiseMethod,
    Original,
    Outcome,
    Predict,
    Requirement,
    Scalar,
    Status,
    Verdict,
)
from roadworthy.frames import Frame
from roadworthy.rules.clips import as_chosen, clip_of, judged_clip
from roadworthy.rules.gauges import gauge_of
from roadworthy.rules.generation import RulePlan, plan_for
from roadworthy.seeding import rng_for
from roadworthy.transforms import Engine
from roadworthy.transforms.answers import stored_answers
from roadworthy.transforms.wording import added_things

CLOSE_CALL = 0.1
"""The margin, in m/s, degrees or m, below which a verdict is a close call: nobody would feel that."""
_CLOSE_SHARE = 0.02  # likewise, of overlaps, confidences and shares


def _close(outputs: Iterable[str]) -> float:
    """Return below which margin a verdict is a close call; numbers of things know none."""
    gauges = [gauge_of(one) for one in outputs]
    if any(one.kind == "count" for one in gauges):
        return 0.0
    return CLOSE_CALL if all(one.unit for one in gauges) else _CLOSE_SHARE


class RulesMethod(FramewiseMethod):
    """Tests rules: one case per frame, which asks for answers to the frame and to its follow-ups.

    Of a rule with a time a case is the clip that begins with the frame, see `judged_clip`.

    All relations of a rule must hold (Formula 2 of the RMT paper). The margin is the smallest of theirs. A
    row holds, for the n-th relation, what it is about (``output.n``), its value ``before.n`` and
    ``after.n``, ``margin.n``, the mean absolute difference of the follow-up from the original in grey levels
    (``pixels.n``) and its visual change (``visual_change.n``). The frame and the seed, which are parameters
    of the case, make the images of a single frame again: ``plan.frames(frame, seed)``.

    Args:
        plans: How requirements are tried, by their ids. One that is not among them is read from its text.
        engines: Image engines for those that are read.

    Example:
        >>> from roadworthy.cases import Acceptance
        >>> from roadworthy.datasets import load
        >>> from roadworthy.models import load_model
        >>> from roadworthy.runs import run
        >>> text = "If the driving time changes into night, then the ego-vehicle should slow down."
        >>> night = Requirement("Rule 7", text, "rules", acceptance=Acceptance(0.25))
        >>> result = run(RulesMethod(), night, load("world:town", count=4), load_model("dave2"))
        >>> sum(result.counts.values())
        4
    """

    name = "rules"

    def __init__(self, plans: Mapping[str, RulePlan] | None = None, engines: Iterable[Engine] = ()) -> None:
        self._plans: dict[str, RulePlan] = dict(plans or {})
        self._engines = tuple(engines)

    def plan(self, requirement: Requirement) -> RulePlan:
        """Return how a requirement is tried.

        Raises:
            RuleError: Its text is no rule.
            InputError: What it changes cannot be changed.
        """
        return self._plan(requirement.id, requirement.text)

    def _plan(self, id: str, text: str) -> RulePlan:
        if id not in self._plans:
            from roadworthy.rules import parse

            self._plans[id] = plan_for(parse(text), self._engines).over(0.0)
        return self._plans[id]

    def frame_cases(self, requirement: Requirement, id: str, original: FrameSource, key: int) -> list[Case]:
        """Return the one case of a frame; of a rule with a time, the clip that begins with it."""
        plan, seed = self.plan(requirement), int(rng_for(key, id).integers(2**63))
        if plan.timing is not None and isinstance(original, Original):
            original = replace(original, data=as_chosen(original.data))
        return [rule_case(plan, requirement.id, id, original, seed)]

    def judge(self, case: Case, answers: Answers) -> Verdict:
        """Return whether all relations hold.

        Raises:
            NotApplicable: A relation says nothing about these answers: a percentage of 0.
            SystemUnderTestError: The system does not predict what the rule speaks of.
        """
        # The text comes along because this may be another process than that of `cases`.
        plan = self._plan(case.requirement_id, str(case.parameters["rule"]))
        asked = plan, case, answers
        return judged(*asked) if plan.timing is None else judged_clip(*asked, judged)

    def conclude(self, requirement: Requirement, verdicts: Iterable[Verdict]) -> Outcome:
        """Return the outcome from the rate of failures; notes say how close verdicts were to the border.

        They also say where less was tested than the words of the rule ask for, and where more was asked for
        than any answer could give.
        """
        plan = self.plan(requirement)
        close = unreachable = 0
        border = _close(plan.outputs)

        def watched() -> Iterator[Verdict]:
            nonlocal close, unreachable
            for verdict in verdicts:
                close += verdict.margin is not None and abs(verdict.margin) < border
                unreachable += verdict.status is Status.VIOLATED and _is_out_of_reach(plan, verdict)
                yield verdict

        outcome = super().conclude(requirement, watched())
        verdicts_given = outcome.counts[Status.PASSED] + outcome.counts[Status.VIOLATED]
        notes = [*plan.rule.notes, *outcome.notes]
        if unreachable:
            notes.append(out_of_reach(unreachable, verdicts_given))
        if close:
            notes.append(close_calls(close, verdicts_given, plan.outputs))
        found = {"close_calls": close, "out_of_reach": unreachable}
        return replace(outcome, measures={**outcome.measures, **found}, notes=tuple(notes))


def close_calls(close: int, judged: int, outputs: Sequence[str]) -> str:
    """Return how many verdicts a hair would have turned, in words.

    Example:
        >>> close_calls(7, 40, ["speed"])
        '7 of 40 verdicts were decided by less than 0.1 m/s.'
    """
    units = dict.fromkeys(gauge_of(one).unit for one in outputs)
    were = f"{'verdict' if judged == 1 else 'verdicts'} {'was' if close == 1 else 'were'}"
    return (
        f"{close} of {judged} {were} decided by less than {_close(outputs):g} {' or '.join(units)}".rstrip()
        + "."
    )


def out_of_reach(frames: int, judged: int) -> str:
    """Return in how many frames a rule asks for more than any answer could give, in words.

    Example:
        >>> out_of_reach(26, 40)
        '26 of 40 speeds before are lower than the decrease asked for: no answer could hold there.'
    """
    are = f"{'speed' if judged == 1 else 'speeds'} before {'is' if frames == 1 else 'are'}"
    return f"{frames} of {judged} {are} lower than the decrease asked for: no answer could hold there."


def _is_out_of_reach(plan: RulePlan, verdict: Verdict) -> bool:
    """Return whether any relation of a plan could not have held, whatever the answer to the change."""
    return any(
        expectation.relation.is_out_of_reach(before)
        for number, expectation in enumerate(plan.expectations, 1)
        if isinstance(before := verdict.measures.get(f"before.{number}"), int | float)
    )


def rule_case(plan: RulePlan, requirement_id: str, frame_id: str, original: FrameSource, seed: int) -> Case:
    """Return the case that tries a plan on a frame; with a time, on the clip that begins with it."""
    told = {f"change.{number}": str(one) for number, one in enumerate(plan.scenarios, 1)}
    told |= {f"output.{number}": one.output for number, one in enumerate(plan.expectations, 1)}
    known: dict[str, Scalar] = {"rule": plan.rule.text, "frame": frame_id, "seed": seed, **told}
    if plan.timing is None:
        return Case(frame_id, requirement_id, (Predict(plan.sources(original, seed)),), known)
    sources, drive = clip_of(plan, original, seed)
    return Case(frame_id, requirement_id, (Predict(sources),), {**known, "clip": plan.clip_length}, drive)


def judged(plan: RulePlan, case: Case, answers: Answers) -> Verdict:
    """Return whether all relations of a plan hold between the answers to its frames.

    Raises:
        NotApplicable: A relation says nothing about these answers: a percentage of 0.
        SystemUnderTestError: The system does not predict what a relation speaks of.
    """
    predicted = answers.predicted()
    plan = plan.told_by(predicted.predictions[0])
    measures: dict[str, Scalar] = {}
    margins: list[float] = []
    holds = True
    for number, expectation in enumerate(plan.expectations, 1):
        frames, said = predicted.frames, predicted.predictions
        before, after, margin = expectation.judged(
            (frames[number - 1], frames[number]), (said[number - 1], said[number])
        )
        margins.append(margin)
        holds &= expectation.holds(before, after)
        frame = predicted.frames[number]
        measures |= {
            f"before.{number}": before,
            f"after.{number}": after,
            f"margin.{number}": margins[-1],
            f"pixels.{number}": mean_difference(predicted.frames[0], frame),
            f"visual_change.{number}": frame.visual_change,
            **_placed(frame, number),
        }
    measures |= stored_answers(predicted, violated=not holds)
    margin = min(margins)
    # Exactly on the border the margin may have lost its sign to rounding; whether it holds is what counts.
    margin = max(margin, 0.0) if holds else min(margin, 0.0)
    status = Status.PASSED if holds else Status.VIOLATED
    return Verdict(case.id, case.requirement_id, status, margin, measures=measures, clue=predicted)


def mean_difference(before: Frame, after: Frame) -> float:
    """Return the mean absolute difference of two images of one size, in grey levels.

    Example:
        >>> import numpy as np
        >>> black, grey = (Frame("a", np.full((2, 2, 3), level, np.uint8)) for level in (0, 9))
        >>> mean_difference(black, grey)
        9.0
    """
    return float(cv2.norm(before.image, after.image, cv2.NORM_L1)) / before.image.size


def _placed(frame: Frame, number: int) -> dict[str, Scalar]:
    """Return how far away what was added stands, where something was; also times as far as before."""
    notes = added_things(frame)
    told = ("distance", "times") if notes else ()
    return {f"{name}.{number}": float(notes[-1][name]) for name in told if name in notes[-1]}
