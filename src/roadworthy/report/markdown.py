"""A summary of a run for pull requests: short, in Markdown."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from roadworthy._files import write_text
from roadworthy.report.html.formats import count, percent, signed
from roadworthy.report.results import Result, Standing, clipped, results_of, whole_of
from roadworthy.runs.store import notes_of

if TYPE_CHECKING:
    from roadworthy.runs.store import StoredRun

__all__ = ["escaped", "write_summary"]

_LINES = 30
_WORST = 3
_NOTES = 8
_SIGNS = {
    Standing.VIOLATED: "❌",
    Standing.UNFINISHED: "⏸️",
    Standing.INCONCLUSIVE: "❔",
    Standing.PASSED: "✅",
}


def write_summary(run: StoredRun, path: str | Path, *, report: str = "report.html") -> Path:
    """Write a summary of a run: what was found, a short table, the three worst failures.

    Args:
        run: The run.
        path: The file.
        report: Where the report is, seen from the summary.

    Raises:
        InputError: The file cannot be written.
    """
    path = Path(path)
    write_text(path, _summary(run, report))
    return path


def _summary(run: StoredRun, report: str) -> str:
    results = sorted(results_of(run), key=lambda one: (one.order, one.requirement.id, one.system))
    whole = whole_of(results)
    lines = [
        f"### {_SIGNS[whole.standing]} Roadworthy: {whole.standing}",
        "",
        whole.sentence,
        "",
        *_notes(run),
        "| | requirement | model | failing | at most | accepted | failed / judged |",
        "|---|---|---|---:|---:|---:|---:|",
        *(_line(one) for one in results[:_LINES]),
        "",
    ]
    if len(results) > _LINES:
        lines += [f"{count(len(results) - _LINES)} more, which stand no worse, are left out.", ""]
    worst = _worst(run, results)
    if worst:
        lines += ["**The worst failures**", "", *worst, ""]
    return "\n".join([*lines, f"[The whole report]({report})", ""])


def _notes(run: StoredRun) -> list[str]:
    """Return what to know before relying on the table."""
    notes = notes_of(run.manifest)
    lines = [f"- {escaped(note, 300)}" for note in notes[:_NOTES]]
    if len(notes) > _NOTES:
        lines.append(f"- {count(len(notes) - _NOTES)} more notes are in manifest.json")
    return [*lines, ""] if lines else []


def _line(result: Result) -> str:
    cells = (
        _SIGNS[result.standing],
        f"**{escaped(result.requirement.id, 60)}** {escaped(result.requirement.text, 90)}",
        escaped(result.system, 40),
        percent(result.rate),
        percent(result.bound),
        percent(result.accepted),
        f"{count(result.failures)} / {count(result.judged)}",
    )
    return f"| {' | '.join(cells)} |"


def _worst(run: StoredRun, results: list[Result]) -> list[str]:
    """Return the worst case of each of the requirements that stand worst, one for each."""
    lines: list[str] = []
    seen: set[str] = set()
    for one in results:
        if len(lines) == _WORST:
            break
        if not one.failures or one.requirement.id in seen:
            continue
        seen.add(one.requirement.id)
        for row in run.worst(one.requirement.id, one.system, 1):
            margin = row["margin"]
            told = (
                f"margin {signed(margin)}" if isinstance(margin, float) else escaped(str(row["reason"]), 120)
            )
            if isinstance(row["visual_change"], float):
                told += f", visual change {row['visual_change']:.2f}"
            image = str(row["images"] or "").split()[-1:]
            shown = f", [image](images/{image[0][:2]}/{image[0]}.png)" if image else ""
            name = f"{escaped(one.requirement.id, 60)}, {escaped(one.system, 40)}"
            lines.append(f"- {name}: {escaped(str(row['case']), 80)}, {told}{shown}")
    return lines


def escaped(text: str, most: int) -> str:
    r"""Return text as Markdown shows it: nothing in it is taken for a table, a link, a mention or HTML.

    Example:
        >>> escaped("<b>|[x](y)", 40)
        '&lt;b&gt;\\|\\[x\\](y)'
    """
    line = clipped(text, most).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # A space of no width after @ and #, so that nobody is called and no issue linked.
    line = re.sub(r"([@#])(?=\w)", "\\1\u200b", line)
    return re.sub(r"([\\`*_{}\[\]|~!])", r"\\\1", line)
