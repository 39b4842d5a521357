"""What a case showed, and what all cases together say about a requirement."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from roadworthy._frozen import frozen
from roadworthy.cases.requirements import (
    Acceptance,
    Case,
    Requirement,
    Scalar,
    as_enum,
    as_scalars,
    check_text,
)
from roadworthy.errors import InputError
from roadworthy.intervals import clopper_pearson_upper


class Status(StrEnum):
    """What one case showed.

    ``ERROR`` means that the system under test crashed or answered unusably. It is kept apart from
    ``NOT_APPLICABLE``, because a crash says something about the system and an unusable frame does not, and
    from ``ENGINE_ERROR``: there it was an image engine that crashed, so that the system was never asked.
    """

    PASSED = "passed"
    VIOLATED = "violated"
    NOT_APPLICABLE = "not applicable"
    ERROR = "error"
    ENGINE_ERROR = "engine error"

    @property
    def is_judged(self) -> bool:
        """Whether such a case says something about the system."""
        return self not in (Status.NOT_APPLICABLE, Status.ENGINE_ERROR)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one case showed, with its margin.

    The margin is the distance from the border between pass and fail, in the requirement's own unit:
    positive when the case passes, negative when it violates, infinite where no border is near. At
    exactly 0 either may hold: "at least 30%" passes at 30%, a strict "slow down" fails at no change.

    Args:
        case_id: The case that was judged.
        requirement_id: The requirement that it tried.
        status: What it showed.
        margin: None exactly when the case is not applicable or an error of whatever kind.
        reason: Why; needed when there is no margin.
        measures: What was measured on the way: one flat row; None values are left out.
        visual_change: How much of the change a human sees (Δv); the runner fills it in from the frames.
        clue: What a search needs beyond scalars, such as a coverage bitmap: passed to ``feedback``, never
            stored and never compared.

    Example:
        >>> Verdict("drive/17", "R1", Status.PASSED, margin=-0.5)
        Traceback (most recent call last):
        ...
        roadworthy.errors.InputError: case 'drive/17' passed, so its margin must be 0 or more, got -0.5
    """

    case_id: str
    requirement_id: str
    status: Status
    margin: float | None = None
    reason: str = ""
    measures: Mapping[str, Scalar] = field(default_factory=dict)
    visual_change: float | None = None
    clue: object = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_text("a verdict's case_id", self.case_id)
        check_text(f"the requirement_id of case {self.case_id!r}", self.requirement_id)
        what = f"case {self.case_id!r}"
        object.__setattr__(self, "status", as_enum(f"the status of {what}", Status, self.status))
        object.__setattr__(self, "measures", as_scalars(f"the measures of {what}", self.measures))
        if self.margin is not None:
            object.__setattr__(self, "margin", float(self.margin))
        if self.visual_change is not None:
            object.__setattr__(self, "visual_change", float(self.visual_change))
        self._check_margin(what)

    def _check_margin(self, what: str) -> None:
        margin = self.margin
        if self.status not in (Status.PASSED, Status.VIOLATED):
            if margin is not None:
                raise InputError(f"{what} is {self.status}, so it must have no margin, got {margin}")
            check_text(f"the reason why {what} is {self.status}", self.reason)
        elif margin is None or math.isnan(margin):
            raise InputError(f"{what} is {self.status}, so its margin must be a number, got {margin}")
        elif self.status is Status.PASSED and margin < 0:
            raise InputError(f"{what} passed, so its margin must be 0 or more, got {margin}")
        elif self.status is Status.VIOLATED and margin > 0:
            raise InputError(f"{what} is violated, so its margin must be 0 or less, got {margin}")

    @classmethod
    def from_margin(
        cls,
        case: Case,
        margin: float,
        *,
        strict: bool = False,
        reason: str = "",
        measures: Mapping[str, Scalar] | None = None,
        clue: object = None,
    ) -> Verdict:
        """Judge a case by its margin alone: passed above 0, violated below.

        Args:
            case: The case that was judged.
            margin: The distance from the border, positive on the good side.
            strict: Whether a margin of exactly 0 violates the requirement.
            reason: What a reader should know about it.
            measures: What was measured on the way.
            clue: What a search needs beyond scalars.

        Example:
            >>> from roadworthy.cases import RecordDrive
            >>> case = Case("lap 1", "R1", (RecordDrive("oval"),))
            >>> Verdict.from_margin(case, 0.0).status.value
            'passed'
            >>> Verdict.from_margin(case, 0.0, strict=True).status.value
            'violated'
        """
        passed = margin > 0 or (margin == 0 and not strict)
        status = Status.PASSED if passed else Status.VIOLATED
        return cls(case.id, case.requirement_id, status, margin, reason, measures or {}, clue=clue)

    @classmethod
    def not_applicable(cls, case: Case, reason: str, measures: Mapping[str, Scalar] | None = None) -> Verdict:
        """Say that the case does not try the requirement, and why."""
        return cls(case.id, case.requirement_id, Status.NOT_APPLICABLE, None, reason, measures or {})

    @classmethod
    def error(cls, case: Case, reason: str, measures: Mapping[str, Scalar] | None = None) -> Verdict:
        """Say that the system under test crashed or answered unusably, and how."""
        return cls(case.id, case.requirement_id, Status.ERROR, None, reason, measures or {})

    @classmethod
    def engine_error(cls, case: Case, reason: str) -> Verdict:
        """Say that an image engine crashed, and how: the system was not asked."""
        return cls(case.id, case.requirement_id, Status.ENGINE_ERROR, None, reason)


class OutcomeStatus(StrEnum):
    """What all cases together say about a requirement."""

    PASSED = "passed"
    VIOLATED = "violated"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What all cases together say about a requirement.

    Args:
        requirement_id: The requirement.
        status: Whether it holds; inconclusive when the cases do not say.
        counts: The number of cases per status; every status is present.
        rate: The share of failing cases among the applicable ones; None when there were none.
        summary: The outcome in one sentence.
        measures: The method's own figures, such as a confidence bound or a reliability distance.
        notes: What a reader should know before relying on it, a sentence each.
    """

    requirement_id: str
    status: OutcomeStatus
    counts: Mapping[Status, int]
    rate: float | None
    summary: str
    measures: Mapping[str, Scalar] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        what = f"the outcome of {self.requirement_id!r}"
        object.__setattr__(self, "status", as_enum(f"the status of {what}", OutcomeStatus, self.status))
        counts = frozen({status: int(self.counts.get(status, 0)) for status in Status})
        object.__setattr__(self, "counts", counts)
        object.__setattr__(self, "measures", as_scalars(f"the measures of {what}", self.measures))
        if self.rate is not None and not 0 <= self.rate <= 1:
            raise InputError(f"the rate of {what} must be between 0 and 1, got {self.rate}")

    @property
    def counted(self) -> dict[str, int]:
        """The counts as files have them: engine errors only where there are any."""
        return {
            str(status): count
            for status, count in self.counts.items()
            if count or status is not Status.ENGINE_ERROR
        }

    def with_engine_errors(self, first: str) -> Outcome:
        """Return the outcome of a requirement that an engine kept from being tried in full.

        What it would be without those cases is not known, so it is not passed.

        Args:
            first: What the engine said first.
        """
        count = self.counts[Status.ENGINE_ERROR]
        status = OutcomeStatus.INCONCLUSIVE if self.status is OutcomeStatus.PASSED else self.status
        cases = "1 case" if count == 1 else f"{count} cases"
        told = (
            f"{self.summary}; an image engine failed in {cases}, which say nothing about the model: {first}"
        )
        return replace(self, status=status, summary=told)


def conclude_rate(requirement: Requirement, verdicts: Iterable[Verdict]) -> Outcome:
    """Conclude from the rate of failing cases; verdicts are read once and not kept.

    A case fails when it is violated or when the system under test gave no usable answer (an error);
    cases that are not applicable do not count. With the requirement's `Acceptance` it is

    - violated when the rate seen is above ``max_rate``;
    - passed when the upper bound of the rate is at most ``max_rate``; with a ``max_rate`` of 0, which
      no finite number of cases can show, when no case tried failed (the bound is reported);
    - inconclusive otherwise: too few cases, or no applicable one.

    Args:
        requirement: The requirement that the verdicts are about.
        verdicts: The verdicts of its cases, in any order.

    Example:
        >>> from roadworthy.cases import Acceptance
        >>> requirement = Requirement("R1", "The lane is kept", "lanes", acceptance=Acceptance(0.05))
        >>> verdicts = [Verdict(str(n), "R1", Status.PASSED, 1.0) for n in range(100)]
        >>> conclude_rate(requirement, verdicts).summary
        '0 of 100 applicable cases failed (0.0%, at most 3.0% with 95% confidence); 5.0% accepted'
        >>> conclude_rate(requirement, verdicts[:10]).status.value
        'inconclusive'
        >>> none_may = Requirement("R1", "The lane is kept", "lanes")
        >>> conclude_rate(none_may, verdicts).summary
        '0 of 100 applicable cases failed (0.0%, at most 3.0% with 95% confidence); none accepted'
    """
    max_rate, confidence = requirement.acceptance.max_rate, requirement.acceptance.confidence
    counts = dict.fromkeys(Status, 0)
    worst = math.inf
    for verdict in verdicts:
        if verdict.requirement_id != requirement.id:
            raise InputError(
                f"expected verdicts on {requirement.id!r}, got one on {verdict.requirement_id!r}"
            )
        counts[verdict.status] += 1
        if verdict.margin is not None:
            worst = min(worst, verdict.margin)
    failures = counts[Status.VIOLATED] + counts[Status.ERROR]
    trials = failures + counts[Status.PASSED]
    measures: dict[str, Scalar] = {"max_rate": max_rate, "confidence": confidence}
    if not trials:
        summary = f"no case was applicable ({counts[Status.NOT_APPLICABLE]} were not)"
        return Outcome(requirement.id, OutcomeStatus.INCONCLUSIVE, counts, None, summary, measures)
    rate = failures / trials
    bound = clopper_pearson_upper(failures, trials, confidence)
    measures["upper_bound"] = bound
    if trials > counts[Status.ERROR]:
        measures["worst_margin"] = worst
    # No number of cases can show that none ever fails, so the bound is not held against a rate of 0.
    summary = (
        f"{failures} of {trials} applicable cases failed ({rate:.1%}, at most {bound:.1%} with "
        f"{100 * confidence:.12g}% confidence); {f'{max_rate:.1%}' if max_rate else 'none'} accepted"
    )
    status = rate_status(counts, requirement.acceptance)
    return Outcome(requirement.id, status, counts, rate, summary, measures)


def rate_status(counts: Mapping[Status, int], acceptance: Acceptance) -> OutcomeStatus:
    """Return what `conclude_rate` makes of so many cases of each status.

    Example:
        >>> from roadworthy.cases import Acceptance
        >>> rate_status({Status.PASSED: 19, Status.VIOLATED: 1}, Acceptance(0.01)).value
        'violated'
    """
    failures = counts.get(Status.VIOLATED, 0) + counts.get(Status.ERROR, 0)
    trials = failures + counts.get(Status.PASSED, 0)
    if not trials:
        return OutcomeStatus.INCONCLUSIVE
    if failures / trials > acceptance.max_rate:
        return OutcomeStatus.VIOLATED
    bound = clopper_pearson_upper(failures, trials, acceptance.confidence)
    if counts.get(Status.ENGINE_ERROR):
        return OutcomeStatus.INCONCLUSIVE
    if bound <= acceptance.max_rate or (acceptance.max_rate == 0 and failures == 0):
        return OutcomeStatus.PASSED
    return OutcomeStatus.INCONCLUSIVE
