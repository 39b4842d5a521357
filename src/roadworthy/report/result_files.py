"""The results of a run as files for other tools: JUnit XML, a Markdown summary, one flat CSV."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from roadworthy._files import rendered, write_text
from roadworthy._tables import csv_text
from roadworthy._yaml import read_yaml
from roadworthy.labelling import estimated_by
from roadworthy.report.results import (
    Result,
    by_requirement,
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
_ESCAPES = {'"': "&quot;", "\r": "&#13;", "\n": "&#10;", "\t": "&#09;"}
_WORST = 3


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
    suites = {
        name: [one for one in results if one.system == name]
        for name in sorted({one.system for one in results})
    }
    text = _rendered(
        "junit.xml.jinja",
        results=results,
        suites=suites,
        clipped=clipped,
        worst=lambda one: run.worst(one.requirement.id, one.system, _WORST),
        content=lambda text: escape(_clean(text)),
        attribute=lambda text: escape(_clean(text), _ESCAPES),
    )
    path = Path(path)
    write_text(path, text)
    return path


def _rendered(template: str, **known: object) -> str:
    """Return what a template beside this module says of a run."""
    shown = {"estimated": lambda row: estimated_by(row, MEASURE), "shown_images": shown_images}
    return rendered(Path(__file__).with_name(template), **shown, **known)


def _clean(text: str) -> str:
    r"""Return text without what XML cannot hold: such characters become escapes.

    Example:
        >>> _clean("a\x00b")
        'a\\x00b'
    """
    return _NOT_XML.sub(lambda found: found[0].encode("unicode_escape", "backslashreplace").decode(), text)


def write_summary(run: StoredRun, path: str | Path, *, report: str = "report.html") -> Path:
    """Write a summary of a run: what was found, a short table, the three worst failures.

    Args:
        run: The run.
        path: The file.
        report: Where the report is, seen from the summary.

    Raises:
        InputError: The file cannot be written.
    """
    results = ranked(run)
    failing = by_requirement(one for one in results if one.failures)
    worst = (
        (one, row) for one, *_ in failing.values() for row in run.worst(one.requirement.id, one.system, 1)
    )
    text = _rendered(
        "summary.md.jinja",
        results=results,
        whole=whole_of(results),
        notes=notes_of(run.manifest),
        worst=list(islice(worst, _WORST)),
        report=report,
        count=count,
        escaped=escaped,
        percent=percent,
        signed=signed,
    )
    path = Path(path)
    write_text(path, text)
    return path


def escaped(text: str, most: int) -> str:
    """Return text as Markdown shows it, see `markdown_text`, and not longer than so many characters."""
    return markdown_text(clipped(text, most))


_COLUMNS: Mapping[str, str] = read_yaml(
    Path(__file__).with_suffix(".yaml"), "file of columns", "columns"
).data
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
    lines = ([_value(one, place) for place in _COLUMNS.values()] for one in results_of(run))
    write_text(path, csv_text(COLUMNS, lines))
    return path


def _value(result: Result, place: str) -> object:
    """Return what stands in a place of a result: an attribute of one, or an entry of a mapping."""
    value: Any = result
    for name in place.split("."):
        value = value.get(name) if isinstance(value, Mapping) else getattr(value, name)
    return " | ".join(value) if isinstance(value, tuple) else value
