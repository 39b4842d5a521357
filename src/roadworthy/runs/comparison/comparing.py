"""What became of each requirement between two runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from roadworthy.cases import OutcomeStatus, Requirement
from roadworthy.errors import InputError, check_number
from roadworthy.runs.comparison.pairing import (
    ABSENT,
    FAILED,
    JUDGED,
    ChangedCases,
    Key,
    PairedCases,
    conditions_of,
    match_systems,
    pair_up,
)
from roadworthy.runs.store.rows import storable
from roadworthy.runs.store.stored_run import Stoppable
from roadworthy.statistics import bonferroni, median_interval
from roadworthy.statistics.bounds import paired_difference

if TYPE_CHECKING:
    from roadworthy.runs.store import StoredPair, StoredRun


# Methods whose cases depend on the answers: one name in two runs is not one case.
_SEARCHES = frozenset({"coverage"})

_NOT = ("not applicable", "engine error")


class ComparisonVerdict(StrEnum):
    """What the comparison says about a requirement, the worst first."""

    REGRESSION = "regression"
    GONE = "gone"
    NEW = "new"
    NOT_COMPARED = "not compared"
    SAME = "no change shown"
    IMPROVEMENT = "improvement"


_VERDICTS = tuple(ComparisonVerdict)


@dataclass(frozen=True)
class Difference:
    """What became of one requirement on one system.

    Attributes:
        requirement: The requirement, as in the second run where it is there.
        before: The name of the system in the first run; None where it was not tested.
        after: Its name in the second.
        outcome_before: What the first run concluded; None where it did not.
        outcome_after: What the second concluded.
        paired: Cases that both runs judged and that were made alike: all that follows is about these.
        fixed: Of these, how many failed before and pass now.
        broken: How many passed before and fail now.
        still_failing: How many failed in both.
        new: Cases of the second run alone.
        gone: Cases of the first run alone.
        no_longer_judged: Cases that were judged before and are not applicable now.
        newly_judged: Cases that were not applicable before and are judged now.
        different: Cases of one name that were made differently, and so cannot be compared.
        clusters: How many clusters (drives, laps, scenes or frames) the paired cases come from.
        clusters_worse: Of these, in how many more cases broke than were fixed.
        clusters_better: In how many more were fixed than broke.
        rate_before: The share of failing cases among the paired ones, before.
        rate_after: The same, after.
        interval: For the difference of the rates, after less before; None without pairs. It, ``p`` and
            ``shift_interval`` are corrected for all requirements and systems compared.
        p: Of the test of clusters that nothing changed; McNemar's where every case is a cluster. It is
            significant where the interval excludes 0, or where more clusters got worse than better.
        shift: By how much margins went up: the median over clusters.
        shift_interval: For that median; None where there are too few.
        verdict: What it comes to.
        why: The reason for the verdict.
        examples_broken: The worst cases that are broken.
        examples_fixed: The worst cases that are fixed.
    """

    requirement: Requirement
    before: str | None
    after: str | None
    outcome_before: OutcomeStatus | None
    outcome_after: OutcomeStatus | None
    paired: int = 0
    fixed: int = 0
    broken: int = 0
    still_failing: int = 0
    new: int = 0
    gone: int = 0
    no_longer_judged: int = 0
    newly_judged: int = 0
    different: int = 0
    clusters: int = 0
    clusters_worse: int = 0
    clusters_better: int = 0
    rate_before: float | None = None
    rate_after: float | None = None
    interval: tuple[float, float] | None = None
    p: float | None = None
    shift: float | None = None
    shift_interval: tuple[float, float] | None = None
    verdict: ComparisonVerdict = ComparisonVerdict.SAME
    why: str = ""
    examples_broken: tuple[ChangedCases, ...] = ()
    examples_fixed: tuple[ChangedCases, ...] = ()

    @property
    def difference(self) -> float | None:
        """The rate after less the rate before: positive is worse."""
        if self.rate_before is None or self.rate_after is None:
            return None
        return self.rate_after - self.rate_before


@dataclass(frozen=True)
class Comparison:
    """What became of all requirements between two runs.

    Attributes:
        differences: One for each requirement and system, the worst first.
        systems: For each system of the first run that was compared, its name in the second.
        warnings: What should be known when reading it.
        alpha: The level of significance, of all comparisons together.
        comparisons: How many there are: intervals and p are corrected for them after Bonferroni.
    """

    differences: tuple[Difference, ...]
    systems: Mapping[str, str]
    warnings: tuple[str, ...]
    alpha: float
    comparisons: int = 0

    @property
    def correction(self) -> str:
        """How intervals and p are corrected for being several."""
        if self.comparisons < 2:
            return f"One comparison, {100 * (1 - self.alpha):.12g}% confidence"
        return (
            f"Intervals and p hold for all {self.comparisons} comparisons together "
            f"with {100 * (1 - self.alpha):.12g}% confidence (Bonferroni)"
        )

    @property
    def regressions(self) -> tuple[Difference, ...]:
        """What got worse."""
        return tuple(one for one in self.differences if one.verdict is ComparisonVerdict.REGRESSION)

    @property
    def improvements(self) -> tuple[Difference, ...]:
        """What got better."""
        return tuple(one for one in self.differences if one.verdict is ComparisonVerdict.IMPROVEMENT)


def compare(
    first: StoredRun,
    second: StoredRun,
    *,
    systems: Mapping[str, str] | None = None,
    alpha: float = 0.05,
    anyway: bool = False,
    examples: int = 5,
    stoppable: Stoppable | None = None,
) -> Comparison:
    """Compare two runs of the same requirements on the same data, case by case.

    A requirement on a system is a **regression** when it went from passed to violated, or when its failure
    rate rose, or more clusters got worse than better, significantly: by `paired_difference`, at ``alpha`` for
    all comparisons together (Bonferroni). An **improvement** is the reverse. A case fails when it is violated
    or an error.

    Args:
        first: The run before.
        second: The run after.
        systems: Which system of the second run each of the first is compared with; those of one name when
            left out.
        alpha: The level of significance; intervals have the confidence that it leaves.
        anyway: Whether to compare runs with other data or seeds.
        examples: How many broken and fixed cases of each requirement and system are named.
        stoppable: Is given what interrupts the comparison while it goes on, from another thread.

    Raises:
        InputError: The runs are of different data or seeds, or no system is in both.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from roadworthy.cases import Case, RecordDrive, Outcome, Verdict, conclude_rate
        >>> from roadworthy.runs.store import RunStore, StoredRun
        >>> requirement = Requirement("R1", "The lane is kept", "lanes")
        >>> def stored(folder, margins):
        ...     with RunStore(Path(folder), requirement, system="dave2") as store:
        ...         for number, margin in enumerate(margins):
        ...             case = Case(f"lap {number}", "R1", (RecordDrive("oval"),))
        ...             store.append(case, Verdict.from_margin(case, margin))
        ...     return StoredRun.open(folder)
        >>> with tempfile.TemporaryDirectory() as old, tempfile.TemporaryDirectory() as new:
        ...     found = compare(stored(old, [1.0] * 20), stored(new, [-1.0] * 8 + [1.0] * 12))
        >>> (one,) = found.regressions
        >>> one.broken, one.fixed, one.p
        (8, 0, 0.0078125)
    """
    check_number("alpha", alpha, above=0, below=1)
    matched = match_systems(_systems(first), _systems(second), systems)
    conditions = conditions_of(first, second, matched)
    if conditions.refusals and not anyway:
        raise InputError(
            "these runs are not of the same cases: " + "; ".join(conditions.refusals) + ". Run both with the "
            "same data and seed, or compare them anyway with --anyway"
        )
    tried = (one.requirement for one in (*first.pairs, *second.pairs))
    searched = {storable(one.id) for one in tried if one.method in _SEARCHES}
    # Rows are looked for by names as they are stored there: those of files may be no text.
    named = {storable(before): storable(after) for before, after in matched.items()}
    paired = pair_up(first, second, named, searched, examples, stoppable)
    differences = _differences(first.pairs, second.pairs, matched, others=not systems)
    # A requirement without a case that is judged in both runs is not compared.
    number = sum(1 for one in differences if (both := _pairs_of(one, paired)) is not None and both.kinds)
    ordered = sorted(
        (_concluded(_measured(one, paired, number, alpha), alpha) for one in differences),
        key=lambda one: (_VERDICTS.index(one.verdict), one.requirement.id, one.after or ""),
    )
    warnings = (*conditions.refusals, *conditions.warnings, *_remarks(ordered))
    return Comparison(tuple(ordered), matched, warnings, alpha, number)


def _systems(run: StoredRun) -> list[str]:
    return sorted({one.system for one in run.pairs})


def _differences(
    before: Sequence[StoredPair], after: Sequence[StoredPair], systems: Mapping[str, str], *, others: bool
) -> list[Difference]:
    """Return what is in both runs, and with ``others`` what is in either, without the numbers."""
    new = {(one.requirement.id, one.system): one for one in after}
    found = []
    for one in before:
        compared = one.system in systems
        other = new.pop((one.requirement.id, systems[one.system]), None) if compared else None
        if compared or others:
            found.append(_difference(one, other))
    matched = set(systems.values())
    return found + [_difference(None, one) for one in new.values() if others or one.system in matched]


def _difference(one: StoredPair | None, other: StoredPair | None) -> Difference:
    known = other or one
    assert known is not None
    said = ComparisonVerdict.SAME
    if one is None or other is None:
        said = ComparisonVerdict.NEW if one is None else ComparisonVerdict.GONE
    return Difference(
        known.requirement,
        None if one is None else one.system,
        None if other is None else other.system,
        None if one is None or one.outcome is None else one.outcome.status,
        None if other is None or other.outcome is None else other.outcome.status,
        verdict=said,
    )


def _pairs_of(one: Difference, pairs: Mapping[Key, PairedCases]) -> PairedCases | None:
    """Return the cases of a requirement that both runs have."""
    if one.before is None or one.after is None:
        return None
    return pairs.get((storable(one.requirement.id), storable(one.after)))


def _measured(
    one: Difference, pairs: Mapping[Key, PairedCases], comparisons: int, alpha: float
) -> Difference:
    if (found := _pairs_of(one, pairs)) is None:
        return one
    moves = found.moves
    judged = {move: number for move, number in moves.items() if set(move) <= set(JUDGED)}
    paired = sum(judged.values())
    failed = [sum(count for move, count in judged.items() if move[side] in FAILED) for side in (0, 1)]
    broken = sum(count for move, count in judged.items() if move[0] == "passed" and move[1] in FAILED)
    fixed = sum(count for move, count in judged.items() if move[0] in FAILED and move[1] == "passed")
    one = replace(
        one,
        paired=paired,
        fixed=fixed,
        broken=broken,
        still_failing=failed[0] - fixed,
        new=sum(count for move, count in moves.items() if move[0] == ABSENT),
        gone=sum(count for move, count in moves.items() if move[1] == ABSENT),
        no_longer_judged=sum(count for (was, now), count in moves.items() if was in JUDGED and now in _NOT),
        newly_judged=sum(count for (was, now), count in moves.items() if was in _NOT and now in JUDGED),
        different=found.different,
        examples_broken=tuple(found.broken),
        examples_fixed=tuple(found.fixed),
    )
    if not paired:
        return one
    kinds = sorted(found.kinds.items())
    sizes, changes = [size for (size, _), _ in kinds], [change for (_, change), _ in kinds]
    counts = [count for _, count in kinds]
    confidence = bonferroni(1 - alpha, comparisons)
    tested = paired_difference(sizes, changes, counts, confidence=confidence)
    shift, around = (
        median_interval(found.shifts, confidence=confidence) if len(found.shifts) else (None, None)
    )
    return replace(
        one,
        clusters=sum(counts),
        clusters_worse=sum(count for change, count in zip(changes, counts, strict=True) if change > 0),
        clusters_better=sum(count for change, count in zip(changes, counts, strict=True) if change < 0),
        rate_before=failed[0] / paired,
        rate_after=failed[1] / paired,
        interval=tested.interval,
        p=min(1.0, tested.p * comparisons),
        shift=shift,
        shift_interval=around,
    )


def _concluded(one: Difference, alpha: float) -> Difference:
    """Return it with its verdict."""
    if one.verdict in (ComparisonVerdict.NEW, ComparisonVerdict.GONE):
        run = "first" if one.verdict is ComparisonVerdict.NEW else "second"
        return replace(one, why=f"the {run} run does not test it")
    ways = one.outcome_before, one.outcome_after
    significant = one.p is not None and one.p <= alpha
    told = f"{_moved(one)}: p {one.p:.2g}" if significant else ""
    if ways == (OutcomeStatus.PASSED, OutcomeStatus.VIOLATED):
        return replace(one, verdict=ComparisonVerdict.REGRESSION, why="it passed and is violated now")
    if significant and _worse(one):
        return replace(one, verdict=ComparisonVerdict.REGRESSION, why=told)
    if ways == (OutcomeStatus.VIOLATED, OutcomeStatus.PASSED):
        return replace(one, verdict=ComparisonVerdict.IMPROVEMENT, why="it was violated and passes now")
    if significant:
        return replace(one, verdict=ComparisonVerdict.IMPROVEMENT, why=told)
    if not one.paired and one.requirement.method not in _SEARCHES:
        return replace(one, verdict=ComparisonVerdict.NOT_COMPARED, why="no case was judged in both runs")
    return replace(one, why=_unchanged(one))


def _unchanged(one: Difference) -> str:
    if one.requirement.method in _SEARCHES:
        return "a search tries other cases in every run, so only its outcomes are compared"
    if one.broken == one.fixed == 0:
        return "no case changed"
    return f"{_moved(one)}: as may happen by chance"


def _worse(one: Difference) -> bool:
    """Return which way a significant change goes: that of the rate, if its interval tells, or of clusters."""
    assert one.interval is not None
    lower, upper = one.interval
    return lower > 0 or (upper >= 0 and one.clusters_worse > one.clusters_better)


def _moved(one: Difference) -> str:
    told = f"{one.broken} broken, {one.fixed} fixed"
    if one.clusters < one.paired:
        told += f", {one.clusters_worse} of {one.clusters} clusters worse, {one.clusters_better} better"
    return told


def _remarks(differences: Sequence[Difference]) -> list[str]:
    different = [one for one in differences if one.different]
    if not different:
        return []
    number = sum(one.different for one in different)
    names = ", ".join(dict.fromkeys(one.requirement.id for one in different[:3]))
    return [
        f"{number} cases have one name in both runs but were made differently and are left out (of {names}"
        f"{' and others' if len(different) > 3 else ''}): the seed, the data or the requirement has changed"
    ]
