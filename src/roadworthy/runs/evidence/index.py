"""The page that opens an evidence bundle: what is in it, what was found, and what it does not claim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from roadworthy.result_tables import ResultTable
from roadworthy.runs.evidence.conditions import Condition
from roadworthy.runs.evidence.pairs import PairResult
from roadworthy.runs.evidence.requirement_coverage import tag_coverage
from roadworthy.runs.store import StoredRun, notes_of

__all__ = ["CLAIM", "index_text"]

CLAIM = (
    "This bundle supports evidence for ISO 21448, ISO/PAS 8800 and UL 4600. It records what was tried and "
    "what was found; what follows from it for the safety of a system is for those who make its safety case."
)

_ABOUT = {
    "README.md": "this page",
    "triggering_conditions.csv": "what was changed × by how much × how often the system failed",
    "triggering_conditions.json": "the same, for programs",
    "requirement_coverage.csv": "how many cases tried each requirement on each system, and what they said",
    "requirement_coverage.json": "the same, and the tags and clauses that nothing tried",
    "functional_coverage.json": "which cells of the operating domain the data touches, and which never",
    "gsn.json": "the argument in Goal Structuring Notation, with the SHA-256 of its evidence",
    "gsn.mmd": "the argument as a Mermaid diagram",
    "requirements.reqif": "requirements and outcomes for requirement management tools (ReqIF 1.2)",
}
_MOST = 20  # lines of a table here; the files have them all


def index_text(
    run: StoredRun,
    tested: Sequence[PairResult],
    found: Sequence[Condition],
    cases: int,
    names: Sequence[str],
    functional: Mapping[str, Any] | str,
) -> str:
    """Return the page as Markdown."""
    statuses = Counter(one.status for one in tested)
    counted = ", ".join(f"{count} {status}" for status, count in sorted(statuses.items()))
    lines = [
        "# Evidence",
        "",
        CLAIM,
        "",
        f"{len(tested)} pairs of requirement and system: {counted or 'none'}. {cases:,} cases.",
        "",
        _outcomes(tested).markdown(),
        _conditions(found).markdown(),
        *_notes(run),
        *_untried(tested, functional),
        "## Files",
        "",
        "- `../manifest.json`: what was tested, with what"
        if run.manifest is not None
        else "- there is no manifest: what was tested was not written down",
        "- `../trace.csv`: requirement → case → verdict → image, a line per case",
        *(f"- `{name}`: {_ABOUT.get(name, 'a part of the argument as a Mermaid diagram')}" for name in names),
        "- `../SHA256SUMS`: what every file hashes to; `sha256sum -c SHA256SUMS` or "
        "`roadworthy evidence verify` checks them",
        "",
        "Whoever can change a file can also change SHA256SUMS. Keep the SHA-256 of SHA256SUMS, which "
        "`roadworthy evidence bundle` prints, where the bundle is not, and give it to "
        "`roadworthy evidence verify --digest`.",
        "",
    ]
    return "\n".join(lines)


def _outcomes(tested: Sequence[PairResult]) -> ResultTable:
    order = ("violated", "not tried", "inconclusive", "passed")
    sorted_by_need = sorted(tested, key=lambda one: order.index(one.status))
    rows = tuple(
        (one.requirement.id, one.system, str(one.requirement.severity), one.status, one.summary)
        for one in sorted_by_need[:_MOST]
    )
    left = len(tested) - len(rows)
    note = f"{left} more are in requirement_coverage.csv." if left else ""
    return ResultTable(
        "What was found", ("requirement", "system", "severity", "status", "summary"), rows, note
    )


def _conditions(found: Sequence[Condition]) -> ResultTable:
    failing = [one for one in found if one.failures]
    failing.sort(
        key=lambda one: (-(one.lower or 0), one.requirement, one.system, one.condition, one.low or 0)
    )
    rows = tuple(
        (
            one.requirement,
            one.system,
            one.condition,
            _band(one),
            f"{one.failures} of {one.cases}",
            f"{one.lower:.1%} to {one.upper:.1%}",
        )
        for one in failing[:_MOST]
    )
    note = (
        "A condition under which cases failed is a potential triggering condition in the sense of ISO 21448: "
        "a specific condition of a scenario that may initiate a hazardous reaction of the system. Whether "
        "the reaction is hazardous is not decided here. Rates are among the cases tried, with two-sided 95% "
        "Clopper-Pearson intervals; a search (coverage) goes where failures are: its rates are no forecast."
    )
    if len(failing) > len(rows):
        note += f" {len(failing) - len(rows)} more are in triggering_conditions.csv."
    columns = ("requirement", "system", "condition", "amount", "failed", "failure rate")
    return ResultTable("Potential triggering conditions", columns, rows, note)


def _band(one: Condition) -> str:
    if one.low is None or one.high is None:
        return "-"
    amount = f"{one.low:g}" if one.low == one.high else f"{one.low:g} to {one.high:g}"
    return f"{one.quantity} {amount}"


def _notes(run: StoredRun) -> list[str]:
    """Return what a reader should know before relying on what was found."""
    notes = notes_of(run.manifest)
    return ["## Notes", "", *(f"- {' '.join(note.split())}" for note in notes), ""] if notes else []


def _untried(tested: Sequence[PairResult], functional: Mapping[str, Any] | str) -> list[str]:
    lines = ["## What was not tried", ""]
    untried = [f"{one.requirement.id} on {one.system or 'no system'}" for one in tested if not one.applicable]
    lines.append(f"- Requirements: {_listed(untried)}")
    tags = [one.tag for one in tag_coverage(tested) if not one.tried]
    lines.append(f"- Tags and clauses: {_listed(tags)}")
    if isinstance(functional, Mapping):
        lines.append(
            f"- Operating domain: {functional['covered']} of {functional['total']} cells are touched by "
            f"{functional['frames']} frames; functional_coverage.json lists the others"
        )
    else:
        lines.append(f"- Operating domain: not measured, {functional or 'it was not asked for'}")
    return [*lines, ""]


def _listed(names: Sequence[str]) -> str:
    if not names:
        return "none that was asked for"
    shown = ", ".join(names[:_MOST])
    return f"{shown}, and {len(names) - _MOST} more" if len(names) > _MOST else shown
