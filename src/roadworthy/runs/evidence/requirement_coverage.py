"""Which requirements, tags and clauses were tried, and which parts of the operating domain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from roadworthy.cases import Dataset, Scalar, Status
from roadworthy.coverage.functional import FunctionalCoverage
from roadworthy.runs.evidence.pairs import TestedPair


def coverage_record(one: TestedPair) -> dict[str, Scalar]:
    """Return how a requirement was tried on a system, as a row."""
    return {
        "requirement": one.requirement.id,
        "system": one.system,
        "method": one.requirement.method,
        "severity": str(one.requirement.severity),
        "tags": "; ".join(one.requirement.tags),
        "tried": "yes" if one.applicable else "no",
        "cases": sum(one.counts.values()),
        "applicable": one.applicable,
        "clusters": one.measure("clusters"),
        "effective_cases": one.measure("effective_cases"),
        "failed": one.failed,
        "errors": one.counts.get(Status.ERROR, 0),
        "not_applicable": one.counts.get(Status.NOT_APPLICABLE, 0),
        "status": one.status,
        "rate": one.failed / one.applicable if one.applicable else None,
        "accepted": one.accepted,
        "summary": one.summary,
    }


@dataclass(slots=True)
class TagCoverage:
    """What was tried of the requirements with one tag.

    Attributes:
        tag: An operating-domain term, or a standard with its clause.
        requirements: The ids of those that have it.
        tried: Those of them that at least one applicable case tried.
        applicable: How many cases that were.
        violated: Those that are violated.
    """

    tag: str
    requirements: list[str] = field(default_factory=list)
    tried: list[str] = field(default_factory=list)
    applicable: int = 0
    violated: list[str] = field(default_factory=list)

    def record(self) -> dict[str, object]:
        """Return it as JSON can hold it."""
        return {
            "tag": self.tag,
            "requirements": self.requirements,
            "tried": self.tried,
            "untried": [one for one in self.requirements if one not in self.tried],
            "applicable": self.applicable,
            "violated": self.violated,
        }


def tag_coverage(tested: Sequence[TestedPair]) -> list[TagCoverage]:
    """Return what was tried of each tag, in the order in which requirements name them.

    Example:
        >>> from roadworthy.cases import Requirement
        >>> night = Requirement("R1", "Slow down at night", "rules", tags=("night", "ISO 21448 clause 7"))
        >>> found = tag_coverage([TestedPair(night, "dave2", None, {Status.PASSED: 4}, "runs/r1/dave2")])
        >>> [(one.tag, one.tried, one.applicable) for one in found]
        [('night', ['R1'], 4), ('ISO 21448 clause 7', ['R1'], 4)]
    """
    found: dict[str, TagCoverage] = {}
    for one in tested:
        id = one.requirement.id
        for tag in one.requirement.tags:
            row = found.setdefault(tag, TagCoverage(tag))
            row.applicable += one.applicable
            for listed, belongs in (
                (row.requirements, True),
                (row.tried, one.applicable > 0),
                (row.violated, one.status == "violated"),
            ):
                if belongs and id not in listed:
                    listed.append(id)
    return list(found.values())


_NOTE = (
    "Of the frames as they were recorded or made. What requirements change in them, such as the weather, "
    "is in triggering_conditions.csv."
)


def functional_coverage(data: Iterable[Dataset], *, domain: Path | None = None) -> FunctionalCoverage:
    """Return which cells of an operating domain the frames of data sets are in.

    It looks at the frames as they were recorded or made. What a method changed in them, such as rain that a
    rule asks for, is in the catalogue of triggering conditions instead.

    Args:
        data: The data sets.
        domain: The file that declares the domain; that of Roadworthy when left out.

    Example:
        >>> from roadworthy.datasets import load
        >>> functional_coverage([load("world:town", count=4)]).frames
        4
    """
    found = FunctionalCoverage(domain)
    for one in data:
        found.update(one)
    return found


def functional_document(found: FunctionalCoverage, data: Iterable[str]) -> dict[str, Any]:
    """Return it as JSON can hold it, with every cell in which there is no frame."""
    return {
        "note": _NOTE,
        "domain": found.domain.path.name,
        "data": list(data),
        "frames": found.frames,
        "covered": found.covered,
        "total": found.total,
        "share": found.value,
        "rows": [row._asdict() for row in found.rows()],
        "never_touched": found.holes("is in no recorded frame", "are in no recorded frame together"),
    }
