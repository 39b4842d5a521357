"""Deriving again, from the rows of a run, all that was published of it: does it say what the rows say?"""

from __future__ import annotations

import base64
import csv
import html
import io
import json
import re
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from roadworthy._files import read_json, sha256_of
from roadworthy._tables import meant
from roadworthy._version import __version__
from roadworthy.cases import OutcomeStatus
from roadworthy.errors import InputError, RoadworthyError, shortened
from roadworthy.images import decode_image
from roadworthy.report.html import write_report
from roadworthy.report.kinds import FILE as KINDS
from roadworthy.report.publish import WRITERS
from roadworthy.result_tables import RESULT_FILE, TABLES_FILE, markdown_text
from roadworthy.runs.evidence.checking import Verification
from roadworthy.runs.evidence.documents import FOLDER, write_documents
from roadworthy.runs.evidence.sums import SUMS, files_below
from roadworthy.runs.store import StoredRun
from roadworthy.runs.store.manifest import FORMAT, MANIFEST, is_of_before, libraries
from roadworthy.runs.suites.reading import SUITE_FILE
from roadworthy.runs.suites.running import INCLUDED, REQUIREMENTS

# What a run records and nothing else gives.
_RECORDED = (REQUIREMENTS, MANIFEST, SUITE_FILE, INCLUDED, KINDS, "runs", "cases", "images", "drives")
_FUNCTIONAL, _REQIF = f"{FOLDER}/functional_coverage.json", f"{FOLDER}/requirements.reqif"
_PICTURE = re.compile(r"data:image/\w+;base64,([A-Za-z0-9+/=]*)")
# Small pictures, which other processors round otherwise, and why the data was not read.
_NOT_DERIVED = re.compile(f"{_PICTURE.pattern}|^- Operating domain: not measured, .*$", re.MULTILINE)
_ROUNDED = 16  # of 255, the mean of nine by nine pixels: what small pictures of one image differ by at most
# What is no fact of the run on a page: style, drawings, headings, what words mean, a speed in its other unit.
_UNSEEN = re.compile(
    r"<(style|svg|figure|title|h1|data)\b.*?</\1>|<dl class=.glossary.>.*?</dl>|<[^>]*>"
    r"|Images of \S+ of them are[^<.]*",
    re.DOTALL,
)
_FACT = re.compile(
    r"[-+−]?\d+(?:[.,]\d+)*%?|passed|violated|inconclusive|unfinished|n(?:ot|ever) (?:tried|applicable)"
    r"|[✅❌❔⏸]"
)
_MOST = 8  # files in a note


def check_documents(folder: Path, found: Verification) -> None:
    """Derive everything that was published of a run again, and compare; what differs is a finding.

    Where the same version of Roadworthy with the same libraries wrote it, it must be the same, and the small
    pictures of the report must look it. Another version may have other words: then tables must have the same
    cells, and pages the same numbers and verdicts in the same order.

    Args:
        folder: The folder of a run or a bundle.
        found: Where to add.

    Raises:
        InputError: The folder holds no run.
    """
    try:
        run = StoredRun.open(folder)
        with TemporaryDirectory(prefix="roadworthy-derived-") as name:
            derived = _derive(run, Path(name))
            known = {one.what for one in found.findings}
            for path in derived:
                if path not in known:
                    _compare(run, Path(name), path, found)
    except RoadworthyError as error:
        if found.passed:
            raise
        # What is broken was named before.
        found.notes.append(f"reports and tables were not derived again: {error}")
        return
    if "published" not in (run.manifest or {}):
        found.notes.append(
            f"{MANIFEST} does not say that reports were published: one that is gone is not missed"
        )
    _check_result(run, found)
    _check_tables(run, found)
    others = [
        path
        for path in files_below(folder)
        if path not in derived and path.split("/")[0] not in _RECORDED and path != _FUNCTIONAL
    ]
    if others:
        found.notes.append(f"not derived from the rows, so only hashed: {shortened(others, _MOST)}")


def _derive(run: StoredRun, place: Path) -> list[str]:
    """Write what a run must have of all that is published of one, and return the paths."""
    derived = []
    published = (run.manifest or {}).get("published", ())
    for name, write in WRITERS.values():
        if name in published or (run.folder / name).is_file():
            if write is write_report:
                write_report(run, place / name, linked=True)
            else:
                write(run, place / name)
            derived.append(name)
    if not (run.folder / SUMS).is_file():
        return derived
    functional = read_json(run.folder / _FUNCTIONAL) if (run.folder / _FUNCTIONAL).is_file() else ""
    if functional and not (isinstance(functional, dict) and {"covered", "total", "frames"} <= {*functional}):
        raise InputError(f"{_FUNCTIONAL} must say how many cells are covered, of how many, by which frames")
    kept = (path for path in files_below(run.folder) if path.split("/")[0] in ("runs", "cases"))
    digests = {path: sha256_of(run.folder / path) for path in kept}
    reqif = (run.folder / _REQIF).is_file()
    written = write_documents(run, place, digests, reqif=reqif, functional=functional)
    return [*derived, *(path for path in written.paths if path != _FUNCTIONAL)]


def _compare(run: StoredRun, place: Path, path: str, found: Verification) -> None:
    if not (run.folder / path).is_file():
        found.add("missing", path, "it was written for this run, and it is not there")
        return
    documents = [_read(one / path) for one in (run.folder, place)]
    there, rows_give = (_NOT_DERIVED.sub("", one) for one in documents)
    pictured = path != "report.html" or (run.folder / "images").is_dir()
    if there == rows_give:
        if pictured and (number := _other_picture(*documents)):
            told = f"picture {number} of {path} is not what the run's images give"
            if _same_writer(run.manifest):
                found.add("document", path, told)
            else:
                found.notes.append(told)
        return
    facts, given = _facts(path, there), _facts(path, rows_give)
    if is_of_before(run.manifest):
        given = _as_before(facts, given)
    if facts != given:
        found.add(
            "document",
            path,
            f"it does not say what the rows say: {_difference(facts, given, there, rows_give)}",
        )
    elif pictured and _same_writer(run.manifest):
        found.add("document", path, "its words are not those that this version writes from the rows")
    elif pictured:
        found.notes.append(
            f"{path} has other words than this version writes, and the same numbers and verdicts"
        )


def _other_picture(there: str, rows_give: str) -> int:
    """Return which of the small pictures of a page shows something else, counted from 1; 0 if none does."""
    import cv2

    for number, pair in enumerate(zip_longest(_PICTURE.findall(there), _PICTURE.findall(rows_give)), 1):
        if pair[0] == pair[1]:
            continue
        if None in pair:
            return number
        try:
            one, other = (decode_image(base64.b64decode(text)).astype(np.float32) for text in pair)
        except (ValueError, InputError):
            return number
        if one.shape != other.shape or cv2.blur(abs(one - other), (9, 9)).max() > _ROUNDED:
            return number
    return 0


def _same_writer(manifest: Mapping[str, Any] | None) -> bool:
    """Return whether this version with these libraries wrote a run, by its own account."""
    if manifest is None or manifest["format"] < FORMAT:
        return False
    used = [manifest, *manifest.get("continued", ())]
    last = next((one["libraries"] for one in reversed(used) if "libraries" in one), None)
    return manifest.get("tool") == {"name": "roadworthy", "version": __version__} and last == libraries()


def _facts(path: str, text: str) -> object:
    r"""Return what a document says, whatever words a version of Roadworthy has for it.

    Example:
        >>> _facts("summary.md", "### Violated: 3 of 40 fail (7.5%), 2 passed")
        ['3', '40', '7.5%', '2', 'passed']
        >>> _facts("trace.csv", "case,margin\n'=1+1,-0.5\n")
        [['case', 'margin'], ['=1+1', '-0.5']]
    """
    suffix = Path(path).suffix
    try:
        if suffix == ".csv":
            return [[meant(cell) for cell in row] for row in csv.reader(io.StringIO(text, newline=""))]
        if suffix == ".json":
            document = json.loads(text)
            # What says how to read a document is no fact of the run.
            return {**document, "about": "", "interval": ""} if isinstance(document, dict) else document
    except (ValueError, csv.Error):
        return text
    if suffix == ".html":
        text = html.unescape(_UNSEEN.sub(" ", text))
    return _FACT.findall(text) if suffix in (".html", ".md") else text


def _as_before(there: object, given: object) -> object:
    """Return what is given without the columns and keys that older documents do not have."""
    if isinstance(there, dict) and isinstance(given, dict):
        return {key: _as_before(there[key], one) for key, one in given.items() if key in there}
    if not (isinstance(there, list) and isinstance(given, list) and len(there) == len(given)):
        return given
    if there and isinstance(there[0], list):
        kept = [place for place, column in enumerate(given[0]) if column in there[0]]
        return [[row[place] for place in kept if place < len(row)] for row in given]
    return [_as_before(one, other) for one, other in zip(there, given, strict=True)]


def _difference(facts: object, again: object, there: str, rows_give: str) -> str:
    """Return the first place where two documents differ, for people."""
    if not isinstance(facts, list) or not isinstance(again, list):
        facts, again = there.splitlines(), rows_give.splitlines()
    for one, other in zip(facts, again, strict=False):
        if one != other:
            return f"{_shown(one)} where the rows give {_shown(other)}"
    return f"{len(facts)} values, and the rows give {len(again)}"


def _shown(fact: object) -> str:
    return repr(", ".join(fact) if isinstance(fact, list) else str(fact).strip())[:120]


def _check_result(run: StoredRun, found: Verification) -> None:
    """See that a command's own document has the outcomes of the run; times and options in it are its own."""
    path = run.folder / RESULT_FILE
    if not path.is_file():
        return
    outcomes = {
        (str(one.outcome.status), one.outcome.summary) for one in run.pairs if one.outcome is not None
    }
    try:
        said = set(_outcomes(read_json(path)))
    except InputError as error:
        found.add("document", RESULT_FILE, str(error))
        return
    for status, summary in sorted(said):
        if (status, summary) not in outcomes and (summary or status not in {one for one, _ in outcomes}):
            found.add(
                "document", RESULT_FILE, f"no outcome of the run is {status}: {summary or 'no summary'}"
            )


def _check_tables(run: StoredRun, found: Verification) -> None:
    """See that a line of a command's own tables that names a requirement or system has a verdict of it."""
    verdicts = set(map(str, OutcomeStatus))
    pairs = [
        (markdown_text(one.requirement.id), markdown_text(one.system), str(one.outcome.status))
        for one in run.pairs
        if one.outcome is not None
    ]
    for line in _read(run.folder / TABLES_FILE).splitlines():
        cells = {cell.strip() for cell in re.split(r"(?<!\\)\|", line)}
        ids, systems = {one[0] for one in pairs} & cells, {one[1] for one in pairs} & cells
        known = {
            status for id, system, status in pairs if id in (ids or {id}) and system in (systems or {system})
        }
        if (said := cells & verdicts) and not said <= known:
            found.add("document", TABLES_FILE, f"no outcome of the run is that of the line {line[:120]}")


def _outcomes(document: object) -> Iterator[tuple[str, str]]:
    if isinstance(document, Mapping):
        if document.get("status") in tuple(OutcomeStatus):
            yield str(document["status"]), str(document.get("summary") or "")
        for value in document.values():
            yield from _outcomes(value)
    elif isinstance(document, list):
        for value in document:
            yield from _outcomes(value)


def _read(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace") if path.is_file() else ""
