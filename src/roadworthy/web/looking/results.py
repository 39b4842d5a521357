"""What a run found, as its own page shows it: requirement by requirement, the worst first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roadworthy.cases import Requirement, Status
from roadworthy.report.results import Result, Whole, results_of, whole_of
from roadworthy.runs.store import StoredRun, notes_of
from roadworthy.web.looking.showing import shown

__all__ = ["Found", "Group", "found_in"]

_REASONS = 8


@dataclass(frozen=True)
class Group:
    """One requirement on all models.

    Attributes:
        requirement: The requirement.
        results: What was found, the worst first.
    """

    requirement: Requirement
    results: tuple[Result, ...]


@dataclass(frozen=True)
class Found:
    """What a run found.

    Attributes:
        groups: What was found of each requirement, the worst first.
        whole: What all of it says.
        worst: Violations as the page shows them: the worst of each requirement, then the second worst …
        reasons: Why cases do not apply, with how many there are.
        notes: What to know about the run and its models, a sentence each.
    """

    groups: tuple[Group, ...]
    whole: Whole
    worst: tuple[dict[str, Any], ...]
    reasons: tuple[tuple[str, int], ...]
    notes: tuple[str, ...] = ()

    @property
    def texts(self) -> Mapping[str, str]:
        """What the requirements say, by their ids."""
        return {one.requirement.id: one.requirement.text for one in self.groups}

    @property
    def methods(self) -> frozenset[str]:
        """Of which kinds the requirements are."""
        return frozenset(one.requirement.method for one in self.groups)

    @property
    def models(self) -> int:
        """How many models were tested."""
        return len({one.system for group in self.groups for one in group.results})


def found_in(folder: Path, count: int = 0) -> Found:
    """Return what the run in a folder found.

    Args:
        folder: The folder of the run.
        count: How many violations at most; with none of them and no reasons it takes no time to speak of.

    Raises:
        InputError: There is no run in it, or it cannot be read.
    """
    run = StoredRun.open(folder)
    results = sorted(results_of(run), key=lambda one: (one.order, one.requirement.id, one.system))
    grouped: dict[str, list[Result]] = {}
    for one in results:
        grouped.setdefault(one.requirement.id, []).append(one)
    groups = tuple(Group(some[0].requirement, tuple(some)) for some in grouped.values())
    reached = count > 0 and bool(groups)
    return Found(
        groups,
        whole_of(results),
        tuple(_worst(run, list(grouped), count)) if reached else (),
        tuple(_reasons(run)) if reached else (),
        tuple(notes_of(run.manifest)),
    )


def _worst(run: StoredRun, ids: Sequence[str], count: int) -> list[dict[str, Any]]:
    """Return the worst of each requirement, then the second worst: their margins have different units."""
    rows = run.query(
        "SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY requirement "
        'ORDER BY margin NULLS LAST, system, "case") AS rank FROM cases WHERE status = $1) WHERE rank <= $2',
        [str(Status.VIOLATED), count],
    )
    place = {id: number for number, id in enumerate(ids)}
    rows.sort(key=lambda row: (int(str(row["rank"])), place[str(row["requirement"])]))
    return [shown(row) for row in rows[:count]]


def _reasons(run: StoredRun) -> list[tuple[str, int]]:
    rows = run.query(
        "SELECT reason, count(*) AS number FROM cases WHERE status = $1 "
        "GROUP BY reason ORDER BY number DESC, reason LIMIT $2",
        [str(Status.NOT_APPLICABLE), _REASONS],
    )
    return [(str(row["reason"]), int(str(row["number"]))) for row in rows]
