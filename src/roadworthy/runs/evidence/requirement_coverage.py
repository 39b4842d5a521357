"""Requirement coverage: which requirements, tags and clauses were tried, and by how many cases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from roadworthy.cases import Scalar, Status
from roadworthy.runs.evidence.pairs import PairResult

__all__ = ["COLUMNS", "TagCoverage", "coverage_records", "tag_coverage"]

COLUMNS = (
    "requirement",
    "system",
    "method",
    "severity",
    "tags",
    "tried",
    "cases",
    "applicable",
    "failed",
    "errors",
    "not_applicable",
    "status",
    "rate",
    "accepted",
    "summary",
)


def coverage_records(tested: Iterable[PairResult]) -> list[dict[str, Scalar]]:
    """Return a row per requirement and system: how many cases tried it, and what they said."""
    return [
        {
            "requirement": one.requirement.id,
            "system": one.system,
            "method": one.requirement.method,
            "severity": str(one.requirement.severity),
            "tags": "; ".join(one.requirement.tags),
            "tried": "yes" if one.applicable else "no",
            "cases": sum(one.counts.values()),
            "applicable": one.applicable,
            "failed": one.failed,
            "errors": one.counts.get(Status.ERROR, 0),
            "not_applicable": one.counts.get(Status.NOT_APPLICABLE, 0),
            "status": one.status,
            "rate": one.failed / one.applicable if one.applicable else None,
            "accepted": one.accepted,
            "summary": one.summary,
        }
        for one in tested
    ]


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


def tag_coverage(tested: Sequence[PairResult]) -> list[TagCoverage]:
    """Return what was tried of each tag, in the order in which requirements name them.

    Example:
        >>> from roadworthy.cases import Requirement
        >>> night = Requirement("R1", "Slow down at night", "rules", tags=("night", "ISO 21448 clause 7"))
        >>> found = tag_coverage([PairResult(night, "dave2", None, {Status.PASSED: 4}, "runs/r1/dave2")])
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
