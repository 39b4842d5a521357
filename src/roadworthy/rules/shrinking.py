"""Shrinking: the smallest amount of a change with which a frame still violates a rule.

A search by halves, for many violations at a time: in every round each of them is tried with the amount half
way between the smallest that is known to violate and the largest that is known not to. ::

    search = Shrinking(plan, violations)
    run(search, requirement, data, model)
    search.smallest["town-000004"].amount
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from roadworthy.cases import (
    AWAIT_VERDICTS,
    Answers,
    AwaitVerdicts,
    BaseMethod,
    Case,
    Dataset,
    FrameSource,
    Predicted,
    Prediction,
    Requirement,
    Status,
    Verdict,
    originals,
)
from roadworthy.frames import Frame
from roadworthy.rules.generation import RulePlan
from roadworthy.rules.method import judged, rule_case

# The least amount of a change that a model must react to. A quarter of normal rain is half of light rain,
# and less does not count as rain; a thing four times as far away is as good as gone.
_STILL_A_CHANGE = 0.25
_ROUNDS = 6


@dataclass(frozen=True)
class Violation:
    """A frame that violates a rule, with the seed of the change."""

    frame_id: str
    seed: int


@dataclass(frozen=True, eq=False)
class Shrunk:
    """The smallest amount of a change that was found to violate a rule.

    Attributes:
        violation: The violation that was shrunk.
        amount: How much of the change is left; 1 is all of it, so that nothing smaller violates.
        changes: What is left, a scenario for each relation.
        frames: The original frame and its follow-ups.
        predictions: What is measured on the frames, by the outputs that the rule speaks of.
        answers: What the system answers to them.
        margin: Of the violation.
    """

    violation: Violation
    amount: float
    changes: tuple[str, ...]
    frames: tuple[Frame, ...]
    predictions: dict[str, tuple[float, ...]]
    answers: tuple[Prediction, ...]
    margin: float


def least_amount(plan: RulePlan) -> float:
    """Return the amount below which a rule does not speak of the change any more.

    What must stay the same must do so for the smallest change. But no reaction can be asked for to next to
    nothing.
    """
    return 0.0 if all(one.allows_no_change for one in plan.expectations) else _STILL_A_CHANGE


@dataclass(eq=False)
class _Bracket:
    """Between which amounts the smallest one lies."""

    violation: Violation
    original: FrameSource
    low: float  # does not violate, or is none
    high: float  # violates
    tries_low: bool  # whether the low end itself is tried first: then nothing smaller need be looked for

    @property
    def amount(self) -> float:
        return self.low if self.tries_low else (self.low + self.high) / 2


class Shrinking(BaseMethod):
    """Searches for the smallest amount of a rule's change with which each of some frames still violates it.

    The answer is as fine as 1/64 of the change. It is the smallest if less of the change never violates where
    more of it does not; otherwise another amount may be found, which violates as well. The data
    must have the frames of all violations; it is run for one system.

    Args:
        plan: How the rule is tried.
        violations: What to shrink.
        rounds: How often the amount is halved.

    Attributes:
        plan: How the rule is tried.
        smallest: What was found so far, by the ids of the frames.
        tried: All that was tried, by the ids of the frames: each amount with its verdict.
    """

    name = "rules"

    def __init__(self, plan: RulePlan, violations: Iterable[Violation], *, rounds: int = _ROUNDS) -> None:
        self.smallest: dict[str, Shrunk] = {}
        self.tried: dict[str, list[tuple[float, Verdict]]] = {}
        self.plan = plan
        self._violations = {one.frame_id: one for one in violations}
        self._rounds = rounds
        self._open: dict[str, _Bracket] = {}

    def cases(
        self,
        requirement: Requirement,
        data: Dataset,
        rng: np.random.Generator,  # noqa: ARG002 - the violations bring their seeds
    ) -> Iterator[Case | AwaitVerdicts]:
        """Yield, round by round, a case for every violation that is not yet shrunk."""
        least = least_amount(self.plan)
        for id, original in originals(data):
            if id in self._violations:
                self._open[id] = _Bracket(self._violations[id], original, 0.0, 1.0, tries_low=False)
        # All of the change comes first: it is what the others are smaller than.
        yield from self._round(requirement, dict.fromkeys(self._open, 1.0), 0)
        for bracket in self._open.values():
            bracket.low, bracket.tries_low = least, least > 0
        for number in range(1, self._rounds + 1):
            left = {
                id: one.amount for id, one in self._open.items() if id in self.smallest and one.high > one.low
            }
            yield from self._round(requirement, left, number)

    def _round(
        self, requirement: Requirement, amounts: dict[str, float], number: int
    ) -> Iterator[Case | AwaitVerdicts]:
        for id, amount in amounts.items():
            bracket = self._open[id]
            plan = self.plan.scaled(amount)
            case = rule_case(plan, requirement.id, id, bracket.original, bracket.violation.seed)
            known = {**case.parameters, "amount": amount}
            yield Case(f"{id} · {number}", case.requirement_id, case.asks, known)
        yield AWAIT_VERDICTS

    def judge(self, case: Case, answers: Answers) -> Verdict:
        """Return whether all relations hold."""
        return judged(self.plan, case, answers)

    def feedback(self, case: Case, verdict: Verdict) -> None:
        """Take the half in which the smallest amount lies."""
        id, amount = str(case.parameters["frame"]), float(str(case.parameters["amount"]))
        bracket = self._open[id]
        self.tried.setdefault(id, []).append((amount, verdict))
        if verdict.status is Status.VIOLATED:
            bracket.high = amount
            self.smallest[id] = self._shrunk(bracket.violation, amount, verdict)
        else:
            # A frame that does not qualify shows no violation either.
            bracket.low = amount
        bracket.tries_low = False

    def _shrunk(self, violation: Violation, amount: float, verdict: Verdict) -> Shrunk:
        predicted = verdict.clue
        assert isinstance(predicted, Predicted)
        assert verdict.margin is not None
        changes = tuple(str(one) for one in self.plan.scaled(amount).scenarios)
        said = predicted.predictions
        measured = _measured(self.plan.told_by(said[0]), verdict)
        return Shrunk(violation, amount, changes, predicted.frames, measured, said, verdict.margin)


def _measured(plan: RulePlan, verdict: Verdict) -> dict[str, tuple[float, ...]]:
    """Return what was measured on each frame, by output, as the verdict has it."""
    found: dict[str, list[float]] = {}
    for number, expectation in enumerate(plan.expectations, 1):
        before, after = (float(str(verdict.measures[f"{name}.{number}"])) for name in ("before", "after"))
        values = found.setdefault(expectation.output, [before] * number)
        values += [after] * (number + 1 - len(values))
    return {
        output: (*values, *values[-1:] * (len(plan.expectations) + 1 - len(values)))
        for output, values in found.items()
    }
