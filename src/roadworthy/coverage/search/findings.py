"""What a search found: failures that are alike count as one finding."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from roadworthy.cases import Scalar
from roadworthy.coverage.clusters import BrokenRelation, cluster
from roadworthy.coverage.search.originals import FINGERPRINT

Row = Mapping[str, Scalar]

GUIDED = "guided"
"""What the changes of a search are called among transformations: they are mixed, so none has the name."""

_NAME = re.compile(r"([\w-]+)\(")


@dataclass(frozen=True)
class FailureGroup:
    """Failures that are alike.

    Attributes:
        case: The try with the worst margin.
        simplest: The try with the fewest transformations; of these, the worst.
        failures: How many tries failed like it.
        error: How far the worst prediction is from the label, in the data set's unit.
        margin: The margin of the worst.
        originals: How many different originals fail like that.
        transformations: In which share of the failures each transformation was made last, the largest first.
        behaviour: What the network did, as numbers.
    """

    case: str
    simplest: str
    failures: int
    error: float
    margin: float
    originals: int
    transformations: tuple[tuple[str, float], ...]
    behaviour: tuple[float, ...]


@dataclass(frozen=True)
class CoverageGrowth:
    """How a search went.

    Attributes:
        coverage: After each try; the first is that of the originals.
        failures: How many tries had violated the requirement after each; as long.
    """

    coverage: Sequence[float]
    failures: Sequence[int]


def growth_of(rows: Iterable[Row], reached: float) -> CoverageGrowth:
    """Return how coverage and failures grew with the tries of a search.

    Args:
        rows: The stored rows; originals among them are passed over.
        reached: Coverage at the end: that of the originals, where no try was answered.

    Example:
        >>> row = {"param.transform": "blur", "status": "violated", "measure.coverage": 0.5}
        >>> growth_of([{**row, "measure.gain": 0.25}, {"param.transform": "rain", "status": "error"}], 0.5)
        CoverageGrowth(coverage=[0.25, 0.5, 0.5], failures=[0, 1, 1])
    """
    coverage: list[float] = []
    failures = [0]
    for row in rows:
        if not row.get("param.transform"):
            continue
        failures.append(failures[-1] + (row["status"] == "violated"))
        after, gain = row.get("measure.coverage"), row.get("measure.gain")
        if after is not None and gain is not None:
            # Tries before the first that was answered have changed nothing.
            missing = len(failures) - 1 - len(coverage)
            before = coverage[-1] if coverage else float(after) - float(gain)
            coverage += [before] * missing + [float(after)]
    last = coverage[-1] if coverage else reached
    return CoverageGrowth(coverage + [last] * (len(failures) - len(coverage)), failures)


def failures_of(rows: Iterable[Row]) -> list[tuple[Row, BrokenRelation]]:
    """Return the rows that violate the requirement, each as a failure to be clustered.

    They are told apart by what the network did, its error and its last hidden layer, and not by the names of
    transformations: two chains of changes that lead to the same fault are one finding.
    """
    found = []
    for row in rows:
        if row["status"] != "violated":
            continue
        features = sorted(
            (int(name.rpartition(".")[2]), float(str(value)))
            for name, value in row.items()
            if name.startswith(f"measure.{FINGERPRINT}") and value is not None
        )
        error, margin = float(str(row["measure.error"])), float(str(row["margin"]))
        if margin < 0:
            numbers = tuple(value for _, value in features)
            found.append((row, BrokenRelation(str(row["case"]), GUIDED, 0, error, margin, numbers)))
    return found


def findings_of(rows: Iterable[Row], *, radius: float = 1.0) -> list[FailureGroup]:
    """Return the distinct findings of a search, the one with the worst margin first.

    Args:
        rows: The stored rows.
        radius: How unlike failures of one finding may be; see :func:`~roadworthy.coverage.clusters.cluster`.

    Example:
        >>> row = {"case": "try 000001", "status": "violated", "margin": -2.0, "measure.error": 1.5,
        ...        "measure.seen.0": 0.3, "param.place": 4, "param.transform": "rotation(angle=6)"}
        >>> [(one.case, one.failures) for one in findings_of([row, {**row, "case": "try 000002"}])]
        [('try 000001', 2)]
    """
    failing = failures_of(rows)
    found = []
    for group in cluster([failure for _, failure in failing], radius=radius):
        members = [failing[place][0] for place in group.members]
        names = Counter(
            name for row in members for name in set(_NAME.findall(str(row.get("param.transform") or "")))
        )
        shares = sorted(((name, count / group.size) for name, count in names.items()), key=lambda x: -x[1])
        worst = group.representative
        found.append(
            FailureGroup(
                worst.frame,
                # Members come worst first, and the first of equals is taken.
                str(min(members, key=lambda row: int(str(row.get("param.depth") or 0)))["case"]),
                group.size,
                worst.error,
                worst.margin,
                len({row.get("param.place") for row in members}),
                tuple(shares),
                worst.features,
            )
        )
    return found


def most_different(findings: Sequence[FailureGroup], count: int) -> list[FailureGroup]:
    """Return so many findings that differ most: the worst, then always the one farthest from those chosen."""
    if len(findings) <= count:
        return list(findings)
    rows = np.array([(*one.behaviour, one.error) for one in findings], np.float64)
    spread = rows.std(axis=0)
    rows = rows / np.where(spread > 0, spread, 1.0)
    chosen = [0]
    nearest = np.linalg.norm(rows - rows[0], axis=1)
    while len(chosen) < count:
        chosen.append(int(np.argmax(nearest)))
        nearest = np.minimum(nearest, np.linalg.norm(rows - rows[chosen[-1]], axis=1))
    return [findings[place] for place in chosen]
