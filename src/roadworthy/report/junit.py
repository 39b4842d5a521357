"""The results of a run as JUnit XML, which build servers show as tests: a suite for each system."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from roadworthy._files import replacing
from roadworthy.cases import Scalar, Status
from roadworthy.report.results import Result, Standing, clipped, results_of

if TYPE_CHECKING:
    from roadworthy.runs.store import StoredRun

__all__ = ["write_junit"]

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
    by_system: dict[str, list[Result]] = {}
    for one in results_of(run):
        by_system.setdefault(one.system, []).append(one)
    root = ElementTree.Element("testsuites", {"name": "roadworthy"})
    _count(root, [one for found in by_system.values() for one in found])
    left = _DETAILED
    for system, found in sorted(by_system.items()):
        suite = ElementTree.SubElement(root, "testsuite", {"name": _clean(system), "time": "0"})
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
    test = ElementTree.Element(
        "testcase",
        {
            "classname": _clean(f"{result.system}.{requirement.method}"),
            "name": _clean(name),
            "time": "0",
        },
    )
    if result.standing is Standing.VIOLATED:
        failure = ElementTree.SubElement(
            test, "failure", {"message": _clean(clipped(result.summary)), "type": str(requirement.severity)}
        )
        failure.text = _clean(_details(run, result, detailed=detailed))
    elif result.standing is Standing.UNFINISHED:
        ElementTree.SubElement(
            test, "error", {"message": _clean(clipped(result.summary)), "type": "unfinished"}
        )
    elif result.standing is Standing.INCONCLUSIVE:
        ElementTree.SubElement(
            test, "skipped", {"message": _clean(f"inconclusive: {clipped(result.summary)}")}
        )
    return test


def _details(run: StoredRun, result: Result, *, detailed: bool) -> str:
    requirement = result.requirement
    lines = [clipped(requirement.text, 600), result.summary, *result.notes]
    if result.rate is not None:
        told = f"rate {result.rate:.6g}, {result.failures} of {result.judged} cases judged"
        if result.bound is not None:
            told += f"; upper bound {result.bound:.6g}; accepted {result.accepted:.6g}"
        lines.append(told)
    lines.append(
        f"not applicable {result.counts[Status.NOT_APPLICABLE]}, errors {result.counts[Status.ERROR]}"
    )
    lines.append(f"severity {requirement.severity}" + _listed(requirement.tags))
    rows = run.worst(requirement.id, result.system, _WORST) if detailed else []
    for row in rows:
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
    images = str(row["images"] or "").split()
    return [
        f"worst: {clipped(str(row['case']), 120)}: {clipped(told)}",
        *(f"  image: images/{one[:2]}/{one}.png" for one in images),
    ]


def _clean(text: str) -> str:
    r"""Return text without what XML cannot hold: such characters become escapes.

    Example:
        >>> _clean("a\x00b")
        'a\\x00b'
    """
    return _NOT_XML.sub(lambda found: found[0].encode("unicode_escape", "backslashreplace").decode(), text)
