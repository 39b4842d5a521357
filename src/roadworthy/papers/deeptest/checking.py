"""False alarms, checked by hand: a table to fill in beside the pictures, and what it says once it is filled.

Whether a reported behaviour is a fault is for people to say (Figure 8 of DeepTest). Findings are checked, not
violations: of each finding the worst violation is shown. Where there are many, a random sample is drawn, so
that the share of false alarms in it estimates that of all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from roadworthy._tables import Table, csv_text
from roadworthy.coverage.oracle import UNFILTERED
from roadworthy.errors import InputError, suggest
from roadworthy.papers.deeptest.deviation import DeviationFinding, percent
from roadworthy.result_tables import ResultTable
from roadworthy.seeding import rng_for
from roadworthy.statistics import ConfidenceInterval, clopper_pearson_interval, clopper_pearson_upper

Judgement: TypeAlias = Literal["true fault", "false alarm", "unsure"]
"""What a person says about a finding."""

CHECKS = "checks.csv"
_COLUMNS = (
    "finding",
    "model",
    "transformation",
    "parameter",
    "frame",
    "violations",
    "label",
    "original",
    "answer",
    "unit",
    "inherited",
    "judgement",
    "remark",
)
_CONFIDENCE = 0.95
_COUNTED = ("true_faults", "false_alarms", "unsure", "not_checked")


def choose_findings(
    findings: Sequence[DeviationFinding], count: int, seed: int = 0
) -> list[DeviationFinding]:
    """Return the findings to check: all of each model, or so many of each at random, in order.

    Raises:
        InputError: The count is less than one.
    """
    if count < 1:
        raise InputError(f"expected to check at least 1 finding of each model, got {count}")
    chosen = []
    for model in dict.fromkeys(one.model for one in findings):
        own = [one for one in findings if one.model == model]
        drawn = rng_for(seed, "check", model).permutation(len(own))[:count]
        chosen += [own[place] for place in sorted(drawn)]
    return chosen


def checks_csv(findings: Iterable[DeviationFinding], unit: str) -> str:
    """Return a table with an empty column for the judgement of each finding.

    Inherited findings are those where the answer on the original is beyond the bound as well.

    Args:
        findings: Those to check.
        unit: Of the angles.
    """
    rows = []
    for one in findings:
        worst = one.worst
        what = (one.id, one.model, worst.transformation, worst.parameter, worst.frame, one.violations)
        angles = (f"{value:.5g}" for value in (one.label, one.original, one.answer))
        rows.append([*what, *angles, unit, "yes" if one.inherited else "no", "", ""])
    return csv_text(_COLUMNS, rows)


@dataclass(frozen=True)
class Check:
    """What a person said about one finding; None where nothing was said yet.

    Attributes:
        finding: Its id.
        model: Whose finding it is.
        transformation: What changed the image.
        judgement: What was said.
    """

    finding: str
    model: str
    transformation: str
    judgement: Judgement | None


def refuse_to_overwrite(folder: Path) -> None:
    """Refuse to write over judgements that somebody has made.

    Raises:
        InputError: The folder has a table of checks with some.
    """
    path = folder / CHECKS
    if path.is_file() and any(one.judgement for one in read_checks(path)):
        raise InputError(f"{path} has judgements in it, which would be lost: choose another folder by --out")


def read_checks(path: Path) -> list[Check]:
    """Read a table of checks that was filled in.

    Raises:
        InputError: A column is missing, a finding is there twice, or a judgement is none of the three; names
            the line.
    """
    table = Table.read(path)
    table.require("finding", "model", "transformation", "judgement")
    known = {word.replace(" ", ""): word for word in get_args(Judgement)}
    checks: dict[str, Check] = {}
    for number, row in enumerate(table.rows):
        finding, model, transformation, said = (
            table.text(number, name) for name in ("finding", "model", "transformation", "judgement")
        )
        if finding in checks:
            raise InputError(f"{path}: line {row.line}: the finding {finding!r} is there twice")
        word = said.casefold().replace(" ", "").replace("-", "").replace("_", "")
        if word and word not in known:
            raise InputError(
                f"{path}: line {row.line}: judgement must be true fault, false alarm or unsure, or empty, "
                f"got {said!r}; {suggest(said, get_args(Judgement))}"
            )
        checks[finding] = Check(finding, model, transformation, known[word] if word else None)
    return list(checks.values())


@dataclass(frozen=True)
class FalseAlarmRate:
    """How many findings are false alarms.

    Attributes:
        model: Whose findings; "all" for all models.
        changes: Which of them: simple, fog, rain, guided, or all.
        true_faults: How many are true faults.
        false_alarms: How many are false alarms.
        unsure: About how many nobody is sure.
        not_checked: How many were not judged yet.
    """

    model: str
    changes: str
    true_faults: int
    false_alarms: int
    unsure: int
    not_checked: int

    @property
    def decided(self) -> int:
        """How many were judged for sure."""
        return self.true_faults + self.false_alarms

    @property
    def rate(self) -> float | None:
        """False alarms among those judged for sure; None where there are none."""
        return self.false_alarms / self.decided if self.decided else None

    @property
    def interval(self) -> ConfidenceInterval | None:
        """The two-sided Clopper-Pearson interval of the rate at 95%; None without a rate."""
        if not self.decided:
            return None
        return clopper_pearson_interval(self.false_alarms, self.decided, _CONFIDENCE)

    @property
    def worst(self) -> float | None:
        """The one-sided upper bound of the rate at 95% if all that are unsure were false alarms."""
        judged = self.decided + self.unsure
        return clopper_pearson_upper(self.false_alarms + self.unsure, judged, _CONFIDENCE) if judged else None

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        return {**asdict(self), "rate": self.rate, "interval": self.interval, "at_most": self.worst}


@dataclass(frozen=True)
class FalseAlarms:
    """The shape of DeepTest's Figure 8, with bounds.

    Attributes:
        rows: One for each model and kind of changes, the totals last.
    """

    rows: tuple[FalseAlarmRate, ...]

    def table(self) -> ResultTable:
        """Return the counts with the rate of false alarms."""
        return ResultTable.of(
            "Findings that were checked by hand",
            map(_cells, self.rows),
            "The interval is Clopper and Pearson's and holds for findings drawn at random; those nobody is "
            "sure about are left out of it, and count as false alarms in the last column, the one-sided "
            "bound at 95%.",
            name="false-alarms",
        )

    def __str__(self) -> str:
        return str(self.table())


def _cells(row: FalseAlarmRate) -> dict[str, str]:
    return {
        "model": row.model,
        "changes": row.changes,
        **{name.replace("_", " "): str(getattr(row, name)) for name in _COUNTED},
        "false-alarm rate": percent(row.rate),
        "95% interval": "-" if row.interval is None else " to ".join(map(percent, row.interval)),
        "at most": percent(row.worst),
    }


def count_false_alarms(checks: Sequence[Check]) -> FalseAlarms:
    """Return how many of the findings that people checked are false alarms.

    Raises:
        InputError: Nothing was judged.

    Example:
        >>> checks = [Check(f"dave2-{n}", "dave2", "rain", "true fault") for n in range(9)]
        >>> found = count_false_alarms([*checks, Check("dave2-9", "dave2", "blur", "false alarm")])
        >>> found.rows[-1].rate, round(found.rows[-1].interval[1], 3)
        (0.1, 0.445)
    """
    if not any(one.judgement for one in checks):
        raise InputError(
            "no finding was judged: write true fault, false alarm or unsure into the column judgement"
        )
    counts: dict[tuple[str, str], Counter[str]] = {}
    for one in checks:
        kind = one.transformation if one.transformation in UNFILTERED else "simple"
        for key in dict.fromkeys([(one.model, kind), (one.model, "all"), ("all", "all")]):
            counts.setdefault(key, Counter())[one.judgement or ""] += 1
    order = {kind: place for place, kind in enumerate(("simple", *UNFILTERED, "all"))}
    models = list(dict.fromkeys(one.model for one in checks))
    if len(models) == 1:
        del counts["all", "all"]
    keys = sorted(
        counts, key=lambda key: (models.index(key[0]) if key[0] in models else len(models), order[key[1]])
    )
    words = (*get_args(Judgement), "")
    return FalseAlarms(tuple(FalseAlarmRate(*key, *(counts[key][word] for word in words)) for key in keys))
