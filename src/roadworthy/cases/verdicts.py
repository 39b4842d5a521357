"""What a case showed, and what all cases together say about a requirement."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial

from roadworthy._frozen import frozen
from roadworthy.cases.requirements import Case, Decision, Requirement, Scalar, as_enum, as_scalars, check_text
from roadworthy.errors import DO_IT_ANYWAY, HOW_ANYWAY, InputError, check_number, without_remedy
from roadworthy.statistics import FEWEST_CLUSTERS, ClusteredRate, ClusterTally, SequentialRate


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


@dataclass(frozen=True)
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
        cluster: The drive, clip, lap, scene or frame that the case comes from; that of its own if empty. The
            runner fills it in from the case.
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
    cluster: str = ""
    clue: object = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_text("a verdict's case_id", self.case_id)
        check_text("the requirement_id of case %r", self.requirement_id, self.case_id)
        if type(self.status) is not Status:
            status = as_enum("the status of case %r", Status, self.status, self.case_id)
            object.__setattr__(self, "status", status)
        measures = as_scalars("the measures of case %r", self.measures, self.case_id)
        object.__setattr__(self, "measures", measures)
        if self.margin is not None and type(self.margin) is not float:
            object.__setattr__(self, "margin", float(self.margin))
        if self.visual_change is not None:
            object.__setattr__(self, "visual_change", float(self.visual_change))
        self._check_margin()

    def _check_margin(self) -> None:
        margin, status = self.margin, self.status
        wrong = ""
        if status is not Status.PASSED and status is not Status.VIOLATED:
            if margin is None:
                check_text(f"the reason why case %r is {status}", self.reason, self.case_id)
            else:
                wrong = f"is {status}, so it must have no margin"
        elif margin is None or math.isnan(margin):
            wrong = f"is {status}, so its margin must be a number"
        elif margin < 0 and status is Status.PASSED:
            wrong = "passed, so its margin must be 0 or more"
        elif margin > 0 and status is Status.VIOLATED:
            wrong = "is violated, so its margin must be 0 or less"
        if wrong:
            raise InputError(f"case {self.case_id!r} {wrong}, got {margin}")

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
        check_number(f"the rate of {what}", self.rate, least=0, most=1)

    @property
    def unanswered(self) -> bool:
        """Whether the model could not be tried: nothing was measured, and nothing concluded from cases."""
        return self.status is OutcomeStatus.VIOLATED and not self.measures

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
        cases = "1 case, which says" if count == 1 else f"{count} cases, which say"
        told = f"{self.summary}; an image engine failed in {cases} nothing about the model: {first}"
        return replace(self, status=status, summary=told)


def conclude_rate(requirement: Requirement, verdicts: Iterable[Verdict]) -> Outcome:
    """Conclude from the rate of failing cases; verdicts are read once and not kept.

    A case fails when it is violated or when the system under test gave no usable answer (an error);
    cases that are not applicable do not count. With the requirement's `Acceptance` it is

    - passed when the upper bound of the rate is at most ``max_rate``;
    - violated when the lower bound is above it, or with `Decision.ESTIMATE` the rate seen;
    - inconclusive otherwise: too few cases or clusters, or no applicable one.

    With a ``max_rate`` of 0, which no finite number of cases can show, it is about the cases tried and not
    about a rate: passed when none of them failed, violated when one did.

    Args:
        requirement: The requirement that the verdicts are about.
        verdicts: The verdicts of its cases, in any order; for an early decision, in that of the run.

    Example:
        >>> from roadworthy.cases import Acceptance
        >>> requirement = Requirement("R1", "The lane is kept", "lanes", acceptance=Acceptance(0.05))
        >>> verdicts = [Verdict(str(n), "R1", Status.PASSED, 1.0) for n in range(100)]
        >>> conclude_rate(requirement, verdicts).summary
        '0 of 100 cases failed (0.0%; with 95% confidence at most 3.0%); 5.0% accepted'
        >>> conclude_rate(requirement, verdicts[:10]).status.value
        'inconclusive'
        >>> none_may = Requirement("R1", "The lane is kept", "lanes")
        >>> conclude_rate(none_may, verdicts).summary
        'none of these 100 cases failed, and none may'
        >>> drives = [Verdict(str(n), "R1", Status.PASSED, 1.0, cluster=f"{n // 20}") for n in range(100)]
        >>> conclude_rate(requirement, drives).summary
        '0 of 100 cases failed (0.0%; with 95% confidence at most 45.1%, from 5 clusters worth 5 independent \
cases); 5.0% accepted'
    """
    tally = RateTally(requirement)
    worst = math.inf
    for verdict in verdicts:
        tally.add(verdict)
        if verdict.margin is not None and verdict.margin < worst:
            worst = verdict.margin
    outcome = tally.outcome()
    # A case that is an error has no margin.
    if outcome.rate is not None and worst < math.inf:
        return replace(outcome, measures={**outcome.measures, "worst_margin": worst})
    return outcome


class RateTally:
    """What the cases of a requirement come to by the rate of those that fail, as they are added.

    Args:
        requirement: The requirement.

    Example:
        >>> from roadworthy.cases import Acceptance
        >>> tally = RateTally(Requirement("R1", "The lane is kept", "lanes", acceptance=Acceptance(0.1)))
        >>> for number in range(30):
        ...     tally.add(Verdict(str(number), "R1", Status.PASSED, 1.0))
        >>> tally.outcome().status.value
        'passed'
    """

    def __init__(self, requirement: Requirement) -> None:
        self.requirement = requirement
        self.counts = dict.fromkeys(Status, 0)
        self._reasons: Counter[str] = Counter()
        self._doubted = False
        self._clusters = ClusterTally()
        accepted = requirement.acceptance
        self._looks = SequentialRate(accepted.max_rate, accepted.confidence)
        self._open: tuple[str, int, int] | None = None
        self._closed: set[str] = set()

    def add(self, verdict: Verdict) -> None:
        """Take in the verdict on a case."""
        if verdict.requirement_id != self.requirement.id:
            raise InputError(
                f"expected verdicts on {self.requirement.id!r}, got one on {verdict.requirement_id!r}"
            )
        self.counts[verdict.status] += 1
        if verdict.status is Status.NOT_APPLICABLE:
            self._reasons[without_remedy(verdict.reason)] += 1
            self._doubted = self._doubted or DO_IT_ANYWAY in verdict.reason
        if not verdict.status.is_judged:
            return
        cluster, failed = verdict.cluster or verdict.case_id, verdict.status is not Status.PASSED
        self._clusters.add(cluster, failed=failed)
        if self.requirement.acceptance.early:
            self.look(cluster)
            _, cases, failures = self._open or (cluster, 0, 0)
            self._open = cluster, cases + 1, failures + failed

    def look(self, cluster: str | None = None) -> bool:
        """Close the cluster that the cases of another follow, or none; return whether it is decided early."""
        if self._open is not None and self._open[0] != cluster:
            closed, cases, failures = self._open
            if closed in self._closed:
                raise InputError(
                    f"cluster {closed!r} comes twice, and an early decision needs its cases one after the "
                    "other: leave out 'early'"
                )
            self._looks.add(cases=cases, failures=failures)
            self._closed.add(closed)
            self._open = None
        judged = sum(number for status, number in self.counts.items() if status.is_judged)
        # As in the outcome: a few clusters say nothing about a rate, a few cases may.
        if len(self._closed) < FEWEST_CLUSTERS and judged > len(self._closed):
            return False
        return self._looks.shows_at_most or self._looks.shows_at_least

    def outcome(self) -> Outcome:
        """Return the outcome of what was added."""
        accepted, counts = self.requirement.acceptance, self.counts
        measures: dict[str, Scalar] = {"max_rate": accepted.max_rate}
        named = partial(Outcome, self.requirement.id, notes=self._notes())
        if not any(count for status, count in counts.items() if status.is_judged):
            summary = f"no case was applicable ({counts[Status.NOT_APPLICABLE]} were not)"
            return named(OutcomeStatus.INCONCLUSIVE, counts, None, summary, measures)
        found = self._clusters.rate()
        measures |= {"clusters": found.clusters, "effective_cases": round(found.effective, 1)}
        if found.correlation is not None:
            measures["correlation"] = found.correlation
        if not accepted.max_rate:
            of = f"these {found.cases} cases" if found.cases > 1 else "this 1 case"
            of += f" ({found.worth})" if found.worth else ""
            summary = f"{found.failures or 'none'} of {of} failed, and none may"
            status = OutcomeStatus.VIOLATED if found.failures else OutcomeStatus.PASSED
            return named(self._unless_engines_failed(status), counts, found.rate, summary, measures)
        if accepted.early:
            self.look()
            lower, upper = self._looks.lower(), self._looks.upper()
        else:
            lower, upper = found.lower(accepted.confidence), found.upper(accepted.confidence)
        measures |= {"confidence": accepted.confidence, "upper_bound": upper, "lower_bound": lower}
        status = OutcomeStatus.INCONCLUSIVE
        if accepted.decide is Decision.ESTIMATE and found.rate > accepted.max_rate:
            status = OutcomeStatus.VIOLATED
        elif found.few:
            pass
        elif upper <= accepted.max_rate:
            status = OutcomeStatus.PASSED
        elif lower > accepted.max_rate:
            status = OutcomeStatus.VIOLATED
        summary = self._summary(found, lower, upper)
        return named(self._unless_engines_failed(status), counts, found.rate, summary, measures)

    def _notes(self) -> tuple[str, ...]:
        """Return why most cases say nothing, if so, and what helps."""
        judged = sum(count for status, count in self.counts.items() if status.is_judged)
        left_out = self.counts[Status.NOT_APPLICABLE]
        if left_out <= judged:
            return ()
        ((reason, times),) = self._reasons.most_common(1)
        what, helps = (
            f"only {judged} of {judged + left_out} cases",
            "More cases (a larger --sample, more drives, a longer search) or other data give more.",
        )
        if not judged:
            what, helps = f"none of {left_out} cases", "Try other data, or another requirement."
        if self._doubted:
            helps += f" {HOW_ANYWAY}"
        most = "" if times == left_out else f", most often ({times}) "
        return (f"{what} could be judged; {left_out} could not{most or ' '}because: {reason}. {helps}",)

    def _unless_engines_failed(self, status: OutcomeStatus) -> OutcomeStatus:
        """Return the status where an engine may have kept cases from being tried."""
        if self.counts[Status.ENGINE_ERROR] and status is OutcomeStatus.PASSED:
            return OutcomeStatus.INCONCLUSIVE
        return status

    def _summary(self, found: ClusteredRate, lower: float, upper: float) -> str:
        accepted = self.requirement.acceptance
        # To tell one of them by what was seen would be wrong twice as often as either: both are told, unless
        # a rate can be no less or no more.
        ends = [f"at least {lower:.1%}"] * (lower > 0) + [f"at most {upper:.1%}"] * (upper < 1)
        sure = f"with {100 * accepted.confidence:.12g}% confidence"
        bound = f"{' and '.join(ends)}, each {sure}" if len(ends) == 2 else f"{sure} {' '.join(ends)}"
        if found.worth:
            bound += f", from {found.worth}"
        if accepted.early:
            bound += ", at whichever look it was stopped"
        text = f"{found.failures} of {found.cases} cases failed ({found.rate:.1%}; {bound}); "
        text += f"{accepted.max_rate:.1%} accepted"
        if found.few:
            clusters = found.worth.partition(" worth")[0]
            text += (
                f"; {found.cases} cases of {clusters} (drives, laps, scenes) say too little about a rate: "
                f"{FEWEST_CLUSTERS} are needed"
            )
        return text
