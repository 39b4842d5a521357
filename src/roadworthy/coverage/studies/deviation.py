"""RQ4 of DeepTest: erroneous behaviours, how far they deviate, and how many findings they are.

Tables 7 and 8 count the changed images whose answers violate Equation 2. Figure 6 compares the errors of
these images with the errors on their originals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from roadworthy.coverage.clusters import Failure, cluster
from roadworthy.coverage.oracle import UNFILTERED, Answers, Pair, Reference, Verdicts, judge
from roadworthy.coverage.oracle_tables import count_by_model, count_by_threshold
from roadworthy.coverage.studies.statistics import Statistic, p_text, signed_rank
from roadworthy.coverage.studies.tables import from_counts
from roadworthy.errors import InputError
from roadworthy.result_tables import ResultTable

__all__ = ["Deviation", "DeviationStudy", "Finding", "study_deviation"]


@dataclass(frozen=True)
class Deviation:
    """How far off the violating images of a model are, beside their originals.

    Attributes:
        model: Its name.
        changes: Which changed images: all simple ones, those that Equation 3 keeps, or one transformation.
        images: How many changed images there were.
        violations: How many of them violate Equation 2.
        inherited: How many of these violations are on originals that are answered as wrongly, beyond the
            bound and to the same side: there, not the change is to blame.
        findings: How many distinct findings the violations are; all that an original bequeaths are one.
        mse: The mean squared error of the violating images; None without any.
        mse_originals: That of their originals, each counted as often as it was violated.
        test: Wilcoxon's signed rank test of the absolute errors of both.
    """

    model: str
    changes: str
    images: int
    violations: int
    inherited: int
    findings: int
    mse: float | None
    mse_originals: float | None
    test: Statistic


@dataclass(frozen=True)
class Finding:
    """Violations that count as one.

    Attributes:
        id: What it is called.
        model: Whose.
        worst: The worst of the violations.
        violations: How many there are.
        label: What the driver steered there, in the unit of the data set.
        original: What the model answered on the original.
        answer: What it answered on the changed image.
        inherited: Whether the answer on the original is beyond the bound as well, to the same side; then the
            finding holds all violations on this original.
    """

    id: str
    model: str
    worst: Failure
    violations: int
    label: float
    original: float
    answer: float
    inherited: bool


@dataclass(frozen=True, eq=False)
class DeviationStudy:
    """What RQ4 found.

    Attributes:
        answers: Of each model.
        lam: λ.
        epsilon: ε, in the square of the unit.
        reference: What λ multiplies.
        statements: The relation of each model with its numbers and units.
        rows: One for each model and kind of changes.
        findings: Of the violations that Table 8 counts, the worst first.
        errors: For figures: for each model and kind of changes, the absolute errors of the violating images
            and of their originals.
    """

    answers: tuple[Answers, ...]
    lam: float
    epsilon: float
    reference: Reference
    statements: tuple[str, ...]
    rows: tuple[Deviation, ...]
    findings: tuple[Finding, ...] = field(repr=False)
    errors: dict[tuple[str, str], tuple[NDArray[np.float64], NDArray[np.float64]]] = field(repr=False)

    @cached_property
    def tables(self) -> tuple[ResultTable, ...]:
        """The violations with their deviations, and the shapes of the paper's Tables 7 and 8."""
        unit = self.answers[0].unit
        return (
            ResultTable(
                f"Violations of Equation 2, λ = {self.lam:g} * {self.reference.upper()}, and errors on their "
                f"originals; MSE in {unit}^2",
                (
                    "model",
                    "changes",
                    "images",
                    "violations",
                    "inherited",
                    "findings",
                    "MSE",
                    "MSE of originals",
                    "p",
                ),
                tuple(_cells(row) for row in self.rows),
                "Inherited: the original is beyond the bound itself, to the same side, so the change is not "
                "to blame; all of one original are one finding. Violations are chosen for their errors, so "
                "larger errors than those of the originals are no surprise; how much larger they are is the "
                "result. p: Wilcoxon's signed rank test of the absolute errors.",
                name="deviation",
            ),
            from_counts("erroneous-by-threshold", count_by_threshold(self.answers, reference=self.reference)),
            from_counts(
                "erroneous-by-model",
                count_by_model(self.answers, lam=self.lam, epsilon=self.epsilon, reference=self.reference),
            ),
        )

    def __str__(self) -> str:
        return "\n\n".join(["\n".join(self.statements), *map(str, self.tables)])


def _cells(row: Deviation) -> tuple[str, ...]:
    def number(value: float | None) -> str:
        return "-" if value is None else f"{value:.3g}"

    return (
        row.model,
        row.changes,
        str(row.images),
        str(row.violations),
        str(row.inherited),
        str(row.findings),
        number(row.mse),
        number(row.mse_originals),
        p_text(row.test.p) if not row.test.reason else f"not computable: {row.test.reason}",
    )


def study_deviation(
    answers: Sequence[Answers],
    *,
    lam: float = 5,
    epsilon: float = 0.03,
    reference: Reference = "mse",
    radius: float = 1.0,
) -> DeviationStudy:
    """Judge the answers of models, count what violates the oracle, and compare it with the originals.

    Args:
        answers: What each model answered, by `ask_models`.
        lam: λ.
        epsilon: ε of Equation 3, in the square of the data set's unit.
        reference: What λ multiplies.
        radius: How near violations are that count as one finding; see `cluster`.

    Raises:
        InputError: There are no models, or a threshold is out of range.
    """
    if not answers:
        raise InputError("expected the answers of at least one model, got none")
    rows: list[Deviation] = []
    findings: list[Finding] = []
    statements: list[str] = []
    errors = {}
    for one in answers:
        verdicts = judge(one, lam=lam, reference=reference)
        statements.append(verdicts.statement)
        kept = one.kept(epsilon)
        for changes, pairs in _kinds(one, epsilon, kept).items():
            row, both = _deviation(verdicts, changes, pairs, radius)
            rows.append(row)
            errors[one.model, changes] = both
        findings += _findings(verdicts, kept, radius)
    return DeviationStudy(
        tuple(answers), lam, epsilon, reference, tuple(statements), tuple(rows), tuple(findings), errors
    )


def _kinds(answers: Answers, epsilon: float, kept: Sequence[Pair]) -> dict[str, list[Pair]]:
    """Return the kinds of changes that are told apart, with their pairs."""
    simple = [pair for pair in answers.changed if pair[0] not in UNFILTERED]
    kinds = {}
    if simple:
        kinds["simple, all"] = simple
        kinds[f"simple, ε = {epsilon:g}"] = [pair for pair in simple if pair in set(kept)]
    for name in UNFILTERED:
        if named := [pair for pair in answers.changed if pair[0] == name]:
            kinds[name] = named
    return kinds


def _deviation(
    verdicts: Verdicts, changes: str, pairs: Sequence[Pair], radius: float
) -> tuple[Deviation, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    answers = verdicts.answers
    originals = answers.originals - answers.labels
    after, before = [np.empty(0)], [np.empty(0)]
    for pair in pairs:
        bad = verdicts.margins[pair] < 0
        after.append(answers.errors(pair)[bad])
        before.append(originals[answers.seeds[pair]][bad])
    wrong, original = np.concatenate(after), np.concatenate(before)
    both = np.abs(wrong), np.abs(original)
    row = Deviation(
        answers.model,
        changes,
        sum(answers.changed[pair].size for pair in pairs),
        wrong.size,
        int(np.sum(_inherited(original, wrong, verdicts.bound))),
        len(_alike(verdicts, pairs, radius)),
        float(np.mean(wrong**2)) if wrong.size else None,
        float(np.mean(original**2)) if wrong.size else None,
        signed_rank(both[1], both[0]),
    )
    return row, both


def _inherited(original: Any, changed: Any, bound: float) -> Any:
    """Return whether the error on the original is beyond the bound itself, and to the same side."""
    return (original**2 > bound) & (original * changed > 0)


class _Alike(NamedTuple):
    """Violations that count as one finding."""

    worst: Failure
    violations: int
    inherited: bool


def _alike(verdicts: Verdicts, pairs: Sequence[Pair], radius: float) -> list[_Alike]:
    """Return the distinct findings, the worst first."""
    answers = verdicts.answers
    errors = dict(zip(answers.frames, (answers.originals - answers.labels).tolist(), strict=True))
    own: list[Failure] = []
    bequeathed: dict[str, list[Failure]] = {}
    for failure in verdicts.failures(pairs):
        if _inherited(errors[failure.frame], failure.error, verdicts.bound):
            bequeathed.setdefault(failure.frame, []).append(failure)
        else:
            own.append(failure)
    found = [_Alike(one.representative, one.size, False) for one in cluster(own, radius=radius)]
    found += [
        _Alike(min(failures, key=lambda one: one.margin), len(failures), True)
        for failures in bequeathed.values()
    ]
    return sorted(found, key=lambda one: one.worst.margin)


def _findings(verdicts: Verdicts, kept: Sequence[Pair], radius: float) -> list[Finding]:
    answers = verdicts.answers
    places = {name: place for place, name in enumerate(answers.frames)}
    found = []
    for number, (worst, violations, inherited) in enumerate(_alike(verdicts, kept, radius), 1):
        place = places[worst.frame]
        label = float(answers.labels[place])
        found.append(
            Finding(
                f"{answers.model}-{number:03d}",
                answers.model,
                worst,
                violations,
                label,
                float(answers.originals[place]),
                label + worst.error,
                inherited,
            )
        )
    return found
