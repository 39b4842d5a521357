"""What a run found, as reports of every kind tell it, and numbers as people read them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from roadworthy.cases import Outcome, Requirement, Scalar, Severity, Status
from roadworthy.errors import InputError
from roadworthy.statistics import clusters_needed

if TYPE_CHECKING:
    from roadworthy.runs.store import StoredPair, StoredRun


class Standing(StrEnum):
    """What is known about a requirement on a system, the worst first."""

    VIOLATED = "violated"
    UNFINISHED = "unfinished"
    INCONCLUSIVE = "inconclusive"
    PASSED = "passed"


_UNKNOWN_CORRELATION = 0.5
SEARCHES = ("coverage", "driving-search")
"""The methods that find as many failures as they can, so that their share says nothing."""
_STANDINGS, _SEVERITIES = tuple(Standing), tuple(reversed(Severity))


@dataclass(frozen=True)
class Result:
    """What was found about one requirement on one system.

    Attributes:
        requirement: The requirement.
        system: The name of the system.
        standing: What is known; unfinished where the run has no outcome yet, or an image engine failed.
        counts: The number of cases per status.
        summary: The outcome in one sentence.
        measures: The figures of the outcome.
        folder: Where its rows are, seen from the folder of the run.
        notes: What a reader should know before relying on it, a sentence each.
    """

    requirement: Requirement
    system: str
    standing: Standing
    counts: Mapping[Status, int]
    summary: str
    measures: Mapping[str, Scalar]
    folder: str
    notes: tuple[str, ...] = ()

    @property
    def failures(self) -> int:
        """Cases that are violated or in which the system gave no usable answer."""
        return self.counts[Status.VIOLATED] + self.counts[Status.ERROR]

    @property
    def judged(self) -> int:
        """Cases that say something about the system."""
        return self.failures + self.counts[Status.PASSED]

    @property
    def rate(self) -> float | None:
        """The share of failures among the cases judged; None for a search, which finds as many as it can."""
        estimate = _number(self.measures.get("estimate"))
        # Searches of before told a rate, with its bound.
        if estimate is not None or (self.requirement.method in SEARCHES and self.bound is None):
            return estimate
        return self.failures / self.judged if self.judged else None

    @property
    def bound(self) -> float | None:
        """The upper bound of the rate; None where the method concludes in another way."""
        return _number(self.measures.get("upper_bound"))

    @property
    def lower(self) -> float | None:
        """The lower bound of the rate; older runs do not know it."""
        return _number(self.measures.get("lower_bound")) if self.bound is not None else None

    @property
    def bounds(self) -> str:
        """Both bounds, as a table shows them."""
        if self.lower is None:
            return percent(self.bound)
        return f"{percent(self.lower)} to {percent(self.bound)}"

    @property
    def clusters(self) -> int | None:
        """How many clusters (drives, laps, scenes or frames) the judged cases come from, where known."""
        found = _number(self.measures.get("clusters"))
        return None if found is None else int(found)

    @property
    def effective(self) -> float | None:
        """How many independent cases would say as much."""
        return _number(self.measures.get("effective_cases"))

    @property
    def confidence(self) -> float | None:
        """The confidence of each bound."""
        return _number(self.measures.get("confidence"))

    @property
    def accepted(self) -> float | None:
        """The largest rate that the requirement accepts; None where the method concludes in another way."""
        return _number(self.measures.get("max_rate"))

    @property
    def order(self) -> tuple[int, int, bool, float]:
        """What results are sorted by: what stands worst, then what is most severe, then what fails most.

        A search comes after its equals: it fails as often as it can, so its rate says less than theirs.
        """
        return (
            _STANDINGS.index(self.standing),
            _SEVERITIES.index(self.requirement.severity),
            self.requirement.method in SEARCHES,
            -(self.rate or 0.0),
        )


@dataclass(frozen=True)
class RunSize:
    """How large a run must be to show a rate.

    Attributes:
        requirement: The requirement of the pilot run; empty without one.
        system: Its model.
        expected: The rate that is thought to be true; None where nothing tells.
        size: How many cases a cluster has.
        correlation: How alike these are.
        clusters: How many clusters are needed; None where it cannot be shown.
        cases: How many cases that are.

    Example:
        >>> RunSize("", "", None, 30, 0.2).planned(0.05, 0.01).cells()[-2:]
        ('87', '2,610')
    """

    requirement: str
    system: str
    expected: float | None
    size: int = 1
    correlation: float = 0.0
    clusters: int | None = None
    cases: int | None = None

    @classmethod
    def of_pilot(cls, run: StoredRun) -> list[RunSize]:
        """Return what a pilot run tells of each requirement that is about a rate.

        Raises:
            InputError: It has no case to tell from.
        """
        found = [
            cls(
                one.requirement.id,
                one.system,
                one.rate,
                size := max(1, round(one.judged / one.clusters)),
                # Where all cases end alike, nobody knows how alike they are.
                0.0 if size == 1 else _number(one.measures.get("correlation", _UNKNOWN_CORRELATION)) or 0.0,
            )
            for one in results_of(run)
            if one.clusters and one.rate is not None and "max_rate" in one.measures
        ]
        if not found:
            raise InputError(f"{run.folder} has no rate to plan from: give a run in which cases were judged")
        return found

    def planned(
        self,
        rate: float,
        expected: float | None = None,
        *,
        confidence: float = 0.95,
        power: float = 0.8,
        seed: int = 0,
    ) -> RunSize:
        """Return it with the numbers that are needed for a rate; see `clusters_needed`."""
        true = expected if expected is not None else self.expected or 0.0
        if not self.requirement or true < rate:
            number = clusters_needed(
                rate,
                expected=true,
                size=self.size,
                correlation=0.99 if 0.99 < self.correlation <= 1 else self.correlation,
                confidence=confidence,
                power=power,
                seed=seed,
            )
            return replace(self, expected=true, clusters=number, cases=number * self.size)
        return replace(self, expected=true)

    def cells(self) -> tuple[str, ...]:
        """Return it as a line of a table."""
        needed = (
            ("not to be shown", "")
            if self.clusters is None
            else (count(self.clusters), count(self.cases or 0))
        )
        shown = percent(self.expected), f"{self.correlation:.2f}", count(self.size)
        return (self.requirement, self.system, *shown, *needed)


@dataclass(frozen=True)
class Whole:
    """What all results together say.

    Attributes:
        standing: The worst of all.
        sentence: The same in words.
        requirements: The number of requirements by the worst standing of each.
        cases: The number of cases per status.
    """

    standing: Standing
    sentence: str
    requirements: Mapping[Standing, int]
    cases: Mapping[Status, int]


def results_of(run: StoredRun) -> list[Result]:
    """Return what a run found, in the order in which it is stored."""
    found = [_result(run, pair) for pair in run.pairs]
    stored = {(one.requirement.id, one.system) for one in found}
    # Of what could not even begin, nothing is stored but why.
    return found + [
        Result(requirement, pair[1], Standing.UNFINISHED, dict.fromkeys(Status, 0), _untried(problem), {}, "")
        for pair, (requirement, problem) in run.problems.items()
        if pair not in stored
    ]


def _untried(problem: str) -> str:
    return f"it could not be tried: {problem}"


def ranked(run: StoredRun) -> list[Result]:
    """Return what a run found, the worst first."""
    return sorted(results_of(run), key=lambda one: (one.order, one.requirement.id, one.system))


def by_requirement(results: Iterable[Result]) -> dict[str, list[Result]]:
    """Return results by the id of their requirement, in their order."""
    grouped: dict[str, list[Result]] = {}
    for one in results:
        grouped.setdefault(one.requirement.id, []).append(one)
    return grouped


def _result(run: StoredRun, pair: StoredPair) -> Result:
    outcome = pair.outcome
    place = pair.folder.relative_to(run.folder).as_posix()
    _, problem = run.problems.get((pair.requirement.id, pair.system), (None, ""))
    unfinished = _untried(problem) if problem else "the run did not finish"
    return Result(
        pair.requirement,
        pair.system,
        _standing(outcome),
        pair.counts,
        unfinished if outcome is None else outcome.summary,
        {} if outcome is None else outcome.measures,
        place,
        () if outcome is None else outcome.notes,
    )


def _standing(outcome: Outcome | None) -> Standing:
    if outcome is None:
        return Standing.UNFINISHED
    standing = Standing(outcome.status.value)
    # Where an image engine failed, more cases of the same would not decide it.
    is_open = standing is Standing.INCONCLUSIVE and outcome.counts[Status.ENGINE_ERROR]
    return Standing.UNFINISHED if is_open else standing


def whole_of(results: Sequence[Result]) -> Whole:
    """Return what all results together say.

    Example:
        >>> requirement = Requirement("R1", "The lane is kept", "lanes")
        >>> counts = dict.fromkeys(Status, 0) | {Status.PASSED: 9}
        >>> whole_of([Result(requirement, "dave2", Standing.PASSED, counts, "", {}, ".")]).sentence
        'The requirement held in every case tried.'
    """
    worst: dict[str, Standing] = {}
    cases = dict.fromkeys(Status, 0)
    for one in results:
        known = worst.get(one.requirement.id, Standing.PASSED)
        worst[one.requirement.id] = min(known, one.standing, key=_STANDINGS.index)
        for status, number in one.counts.items():
            cases[status] += number
    numbers = Counter(worst.values())
    standing = min(numbers, key=_STANDINGS.index, default=Standing.UNFINISHED)
    counted = {one: numbers[one] for one in Standing}
    return Whole(standing, _sentence(counted, sum(numbers.values()), cases), counted, cases)


def _sentence(counted: Mapping[Standing, int], all_of: int, cases: Mapping[Status, int]) -> str:
    if not all_of:
        return "Nothing was tested."
    parts = []
    words = {
        Standing.VIOLATED: ("is violated", "are violated"),
        Standing.UNFINISHED: ("was not fully tested", "were not fully tested"),
        Standing.INCONCLUSIVE: ("needs more cases to decide", "need more cases to decide"),
    }
    for standing, (one, several) in words.items():
        if number := counted[standing]:
            parts.append(f"{number:,} of {all_of:,} requirements {one if number == 1 else several}")
    if not parts:
        # How many cases there are stands beside the sentence, and reports of before have it there alone.
        failed = cases[Status.VIOLATED] + cases[Status.ERROR]
        what = "The requirement" if all_of == 1 else f"All {all_of:,} requirements"
        return f"{what} held {'as often as required' if failed else 'in every case tried'}."
    if all_of == 1:
        return f"The requirement {parts[0].partition('requirements ')[2]}."
    first, *others = parts
    return "; ".join([first, *(part.replace(f" of {all_of:,} requirements", "", 1) for part in others)]) + "."


def _number(value: Scalar) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def clipped(text: str, most: int = 300) -> str:
    """Return text on one line that is not longer than so many characters.

    Example:
        >>> clipped("one  two", 20), clipped("abcdef", 4)
        ('one two', 'abc…')
    """
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most and len(text) <= 4 * most else f"{line[: most - 1]}…"


MINUS = "−"  # as wide as a plus, unlike a hyphen


def count(value: int) -> str:
    """Return a whole number with its thousands apart.

    Example:
        >>> count(1234567)
        '1,234,567'
    """
    return f"{value:,}"


def percent(share: float | None) -> str:
    """Return a share in percent, with two digits that say something; never 0% or 100% for what is not.

    Example:
        >>> [percent(one) for one in (0.675, 0.0312, 0.00012, 0.0, 1.0, 0.99999, None)]
        ['67.5%', '3.1%', '0.012%', '0%', '100%', '>99.9%', '–']
    """
    if share is None:
        return "–"
    if share in (0.0, 1.0):
        return f"{share:.0%}"
    if share >= 0.9995:
        return ">99.9%"
    if share < 5e-9:
        return "<0.000001%"
    digits = 1 if share >= 0.01 else 1 - math.floor(math.log10(100 * share))
    return f"{100 * share:.{min(digits, 6)}f}%"


def number(value: float) -> str:
    """Return a number in three digits, or four where it has four before the point.

    Example:
        >>> [number(one) for one in (3.47934, -0.00123, 411.4967, 12345.6, 1e-9, float("-inf"), 2.0)]
        ['3.48', '−0.00123', '411', '12,346', '1e−09', '−∞', '2']
    """
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    if math.isnan(value):
        return "no number"
    size = abs(value)
    forms = ((1e7, ".4g"), (1000, ",.0f"), (100, ".0f"), (0, ".3g"))
    form = next(form for least, form in forms if size >= least)
    return f"{value:{form}}".replace("-", MINUS)


def signed(value: float) -> str:
    """Return a number with its sign, plus too.

    Example:
        >>> signed(0.4), signed(-3.0), signed(0.0)
        ('+0.4', '−3', '0')
    """
    return f"+{number(value)}" if value > 0 else number(value)
