"""The results of a run as files for other tools: JUnit XML, a Markdown summary, one flat CSV."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from roadworthy._files import replacing, write_text
from roadworthy._tables import csv_text
from roadworthy.cases import Scalar, Status
from roadworthy.labelling import estimated_by
from roadworthy.report.results import (
    Result,
    Standing,
    clipped,
    count,
    percent,
    ranked,
    results_of,
    signed,
    whole_of,
)
from roadworthy.result_tables import markdown_text
from roadworthy.runs.store import MEASURE, notes_of, shown_images

if TYPE_CHECKING:
    from roadworthy.runs.store import StoredRun


_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WORST = 3
_DETAILED = 100  # failing tests whose worst cases are looked up


def write_junit(run: StoredRun, path: str | Path) -> Path:
    """Write the results of a run as JUnit XML.

    There is a ``testsuite`` for each system and in it a ``testcase`` for each requirement. One that is
    violated has a ``failure`` with rate, bound and the worst cases with the paths of their images. One that
    was not tested to the end has an ``error``. One that is inconclusive is ``skipped``, with the reason: it
    is neither shown to hold nor to fail. Systems are in the order of their names.

    Args:
        run: The run.
        path: The file.

    Raises:
        InputError: The file cannot be written.
    """
    results = results_of(run)
    root = _element("testsuites", name="roadworthy")
    _count(root, results)
    left = _DETAILED
    for system in sorted({one.system for one in results}):
        found = [one for one in results if one.system == system]
        suite = _element("testsuite", name=system, time="0")
        root.append(suite)
        _count(suite, found)
        for result in found:
            detailed = result.standing is Standing.VIOLATED and left > 0
            left -= detailed
            suite.append(_test(run, result, detailed=detailed))
    ElementTree.indent(root)
    content = ElementTree.tostring(root, "utf-8", xml_declaration=True)
    path = Path(path)
    with replacing(path) as unfinished:
        unfinished.write_bytes(content + b"\n")
    return path


def _count(element: ElementTree.Element, results: Sequence[Result]) -> None:
    standings = [one.standing for one in results]
    element.set("tests", str(len(standings)))
    element.set("failures", str(standings.count(Standing.VIOLATED)))
    element.set("errors", str(standings.count(Standing.UNFINISHED)))
    element.set("skipped", str(standings.count(Standing.INCONCLUSIVE)))


def _test(run: StoredRun, result: Result, *, detailed: bool) -> ElementTree.Element:
    requirement = result.requirement
    name = f"{requirement.id}: {clipped(requirement.text, 160)}"
    test = _element("testcase", classname=f"{result.system}.{requirement.method}", name=name, time="0")
    message = clipped(result.summary)
    if result.standing is Standing.VIOLATED:
        failure = _element("failure", message=message, type=str(requirement.severity))
        failure.text = _clean(_details(run, result, detailed=detailed))
        test.append(failure)
    elif result.standing is Standing.UNFINISHED:
        test.append(_element("error", message=message, type="unfinished"))
    elif result.standing is Standing.INCONCLUSIVE:
        test.append(_element("skipped", message=f"inconclusive: {message}"))
    if worth := _worth(result):
        test.append(_element("system-out"))
        test[-1].text = f"{_counted(result.judged, 'case')} judged{worth}"
    return test


def _worth(result: Result) -> str:
    """Return what the cases come to; older runs do not know."""
    if result.effective is None:
        return ""
    told = f" in {_counted(result.clusters or 0, 'cluster')}, worth {result.effective:.6g} independent "
    return told + ("case" if result.effective == 1 else "cases")


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _element(tag: str, **attributes: str) -> ElementTree.Element:
    return ElementTree.Element(tag, {name: _clean(value) for name, value in attributes.items()})


def _details(run: StoredRun, result: Result, *, detailed: bool) -> str:
    requirement = result.requirement
    lines = [clipped(requirement.text, 600), result.summary, *result.notes]
    if result.rate is not None:
        told = f"rate {result.rate:.6g}, {result.failures} of {_counted(result.judged, 'case')} judged"
        told += _worth(result)
        if result.bound is not None:
            lower = "" if result.lower is None else f"lower bound {result.lower:.6g}, "
            told += f"; {lower}upper bound {result.bound:.6g}; accepted {result.accepted:.6g}"
        lines.append(told)
    counts = result.counts
    unmade = f", engine errors {number}" if (number := counts[Status.ENGINE_ERROR]) else ""
    lines.append(f"not applicable {counts[Status.NOT_APPLICABLE]}, errors {counts[Status.ERROR]}{unmade}")
    lines.append(f"severity {requirement.severity}" + _listed(requirement.tags))
    for row in run.worst(requirement.id, result.system, _WORST) if detailed else []:
        lines += _case(row)
    lines.append(f"rows: {result.folder}")
    return "\n" + "\n".join(lines) + "\n"


def _listed(tags: Sequence[str]) -> str:
    return "; tags " + ", ".join(clipped(tag, 60) for tag in tags[:12]) if tags else ""


def _case(row: dict[str, Scalar]) -> list[str]:
    margin = row["margin"]
    told = f"margin {float(margin):.6g}" if isinstance(margin, int | float) else f"error: {row['reason']}"
    change = row["visual_change"]
    if isinstance(change, float):
        told += f", visual change {change:.2f}"
    told += _estimated(row)
    return [
        f"worst: {clipped(str(row['case']), 120)}: {clipped(told)}",
        *(f"  image: images/{one[:2]}/{one}.png" for one in shown_images(row)),
    ]


def _estimated(row: Mapping[str, Scalar]) -> str:
    estimated = estimated_by(row, MEASURE)
    return f", {estimated}" if estimated else ""


def _clean(text: str) -> str:
    r"""Return text without what XML cannot hold: such characters become escapes.

    Example:
        >>> _clean("a\x00b")
        'a\\x00b'
    """
    return _NOT_XML.sub(lambda found: found[0].encode("unicode_escape", "backslashreplace").decode(), text)


_LINES = 30

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
    results = ranked(run)
    whole = whole_of(results)
    lines = [
        f"### {_SIGNS[whole.standing]} Roadworthy: {whole.standing}",
        "",
        whole.sentence,
        "",
        *_notes(run),
        "| | requirement | model | failing | bounds | accepted | failed / judged ≈ independent |",
        "|---|---|---|---:|---:|---:|---:|",
        *(_line(one) for one in results[:_LINES]),
        "",
    ]
    if len(results) > _LINES:
        lines += [f"{count(len(results) - _LINES)} more, none of them worse, are not shown.", ""]
    if worst := _worst(run, results):
        lines += ["**The worst failures**", "", *worst, ""]
    return "\n".join([*lines, f"[Full report]({report})", ""])


def _notes(run: StoredRun) -> list[str]:
    """Return what to know before relying on the table."""
    notes = notes_of(run.manifest)
    lines = [f"- {escaped(note, 300)}" for note in notes[:_NOTES]]
    if len(notes) > _NOTES:
        lines.append(f"- {count(len(notes) - _NOTES)} more in manifest.json")
    return [*lines, ""] if lines else []


def _line(result: Result) -> str:
    # Older runs do not know.
    worth = "" if result.effective is None else f" ≈ {count(round(result.effective))}"
    why = f" ({escaped(result.summary, 120)})" if result.standing is Standing.UNFINISHED else ""
    cells = (
        _SIGNS[result.standing],
        f"**{escaped(result.requirement.id, 60)}** {escaped(result.requirement.text, 90)}{why}",
        escaped(result.system, 40),
        percent(result.rate),
        result.bounds,
        percent(result.accepted),
        f"{count(result.failures)} / {count(result.judged)}{worth}",
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
            told += _estimated(row)
            image = shown_images(row)[-1:]
            shown = f", [image](images/{image[0][:2]}/{image[0]}.png)" if image else ""
            name = f"{escaped(one.requirement.id, 60)}, {escaped(one.system, 40)}"
            lines.append(f"- {name}: {escaped(str(row['case']), 80)}, {told}{shown}")
    return lines


def escaped(text: str, most: int) -> str:
    """Return text as Markdown shows it, see `markdown_text`, and not longer than so many characters."""
    return markdown_text(clipped(text, most))


_COLUMNS: Mapping[str, Callable[[Result], object]] = {
    "requirement": lambda one: one.requirement.id,
    "system": lambda one: one.system,
    "method": lambda one: one.requirement.method,
    "severity": lambda one: one.requirement.severity,
    "status": lambda one: one.standing,
    "rate": lambda one: one.rate,
    "lower_bound": lambda one: one.lower,
    "upper_bound": lambda one: one.bound,
    "confidence": lambda one: one.confidence,
    "max_rate": lambda one: one.accepted,
    "failures": lambda one: one.failures,
    "judged": lambda one: one.judged,
    "clusters": lambda one: one.clusters,
    "effective_cases": lambda one: one.effective,
    "passed": lambda one: one.counts[Status.PASSED],
    "violated": lambda one: one.counts[Status.VIOLATED],
    "not_applicable": lambda one: one.counts[Status.NOT_APPLICABLE],
    "errors": lambda one: one.counts[Status.ERROR],
    "worst_margin": lambda one: one.measures.get("worst_margin"),
    "tags": lambda one: " | ".join(one.requirement.tags),
    "text": lambda one: one.requirement.text,
    "summary": lambda one: one.summary,
    "folder": lambda one: one.folder,
}
COLUMNS = tuple(_COLUMNS)
"""What a line says; numbers are not rounded, and empty where the method does not give them."""


def write_results(run: StoredRun, path: str | Path) -> Path:
    """Write the results of a run, in the order in which they are stored.

    Args:
        run: The run.
        path: The file.

    Raises:
        InputError: The file cannot be written.
    """
    path = Path(path)
    lines = ([value(one) for value in _COLUMNS.values()] for one in results_of(run))
    write_text(path, csv_text(COLUMNS, lines))
    return path
