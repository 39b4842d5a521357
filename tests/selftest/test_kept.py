"""What the self-test seeds, what the tool says to it, and how that is filed: kept whole."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.kept import as_kept, defaults_of

from roadworthy._version import __version__
from roadworthy.runs.store.manifest import host
from roadworthy.selftest.faults import MALFUNCTIONS, FaultResult, SeededFault, Sighting
from roadworthy.selftest.running import (
    Report,
    _asked,
    as_document,
    as_markdown,
    fault_table,
    faults_of,
    malfunction_table,
    sentence,
)

KEPT = Path(__file__).with_name("kept")


def test_what_is_seeded_is_as_kept() -> None:
    lines = [f"{one.id} [{one.method}: {one.kind}] {one.text} / {one.harm}" for one in MALFUNCTIONS.values()]
    for one in faults_of():
        about = f"{one.id} of {one.malfunction}: sizes {one.sizes} {one.unit!r}, must find {one.expected}"
        lines += [f"{about}, quick {one.quick}, needs {one.extra!r}"]
        lines += [f"  {one.text} / {one.sound} / {one.limitation}"]
    as_kept(KEPT / "faults.txt", "\n".join(lines) + "\n")


def fault(id: str, malfunction: str, **others: object) -> SeededFault:
    return SeededFault(id, malfunction, f"what {id} breaks", "none", lambda *_: Sighting(True, ""), **others)  # type: ignore[arg-type]


@pytest.fixture
def report() -> Report:
    """One of each standing, with known answers."""
    sizes = {"sizes": (1.0, 2.0, 4.0), "unit": "px"}
    quiet, loud = Sighting(False, "nothing | said"), Sighting(True, "a <wolf>")
    some = {1.0: Sighting(False, "no"), 2.0: Sighting(True, "yes"), 4.0: Sighting(True, "yes *2*")}
    none = {1.0: Sighting(False, "no")}
    results = (
        FaultResult(fault("rules/a", "rules/lost", **sizes), quiet, some, 1.234, "", False),
        FaultResult(
            fault("rules/b", "rules/lost", **sizes, expected=2.0, limitation="too small"),
            quiet,
            some,
            2.0,
            "",
            False,
        ),
        FaultResult(
            fault("runs/c", "runs/lost", expected=None, limitation="nobody can"), quiet, none, 0.0, "", False
        ),
        FaultResult(fault("runs/d", "runs/lost"), loud, {1.0: loud}, 0.0, "", False),
        FaultResult(fault("runs/e", "runs/lost"), None, {}, 0.0, "torch | is missing", False),
        FaultResult(fault("runs/f", "runs/lost"), quiet, {}, 0.0, "ValueError: <x>", True),
    )
    return Report(results, 7, False, 61.26)


def plain(text: str) -> str:
    """Return a text without what is of this machine and this moment."""
    document = re.sub(r"\d{4}-\d\d-\d\dT[\d:+]+", "NOW", text).replace(__version__, "VERSION")
    kept = [line for line in document.splitlines() if not line.startswith(("| libraries", *HOST))]
    return "\n".join(kept) + "\n"


HOST = tuple(f"| {name}" for name in host())


def test_a_report_is_filed_as_kept(report: Report) -> None:
    document = as_document(report)
    for name in ("host", "libraries", "malfunctions"):
        assert document.pop(name)
    quick = Report(report.results[:1], 0, True, 0.04)
    parts = [
        json.dumps(document, indent=1, ensure_ascii=False),
        str([(one.standing, one.limit, one.good) for one in report.results]),
        str([(one.passed, one.complete) for one in (report, quick)]),
        sentence(report),
        sentence(quick),
        as_markdown(report),
        as_markdown(quick),
        str(fault_table(report)),
        str(malfunction_table(report)),
    ]
    as_kept(KEPT / "report.txt", plain("\n\n".join(parts)))


def test_what_is_done_when_nothing_is_said_is_as_kept() -> None:
    as_kept(KEPT / "defaults.txt", defaults_of("selftest"))


SLOW = (
    "bbsl/flickering track", "bbsl/shifted boxes", "rules/blind in some frames", "rules/brakes too little",
    "rules/too lax a rule", "runs/confidence of drives", "runs/stopped and resumed", "runs/model got worse",
    "runs/model hangs", "runs/worker dies", "coverage/breaks under a change", "driving/swerves once",
    "driving/pulls to one side", "reliability/distance", "reliability/breaks too early",
)  # fmt: skip


def test_what_the_tool_says_to_every_size_of_quick_faults_is_as_kept() -> None:
    """The quick self-test tries one size of each fault; here are the others of those that take no time."""
    lines = []
    for one in faults_of(quick=True):
        if len(one.sizes) > 1 and one.id not in SLOW:
            said = {size: _asked(one, size, 0, True) for size in one.sizes}
            lines += [f"{one.id}, {one.told(size)}: {seen.found}, {seen.said}" for size, seen in said.items()]
    as_kept(KEPT / "sizes.txt", re.sub(r"sha256 [0-9a-f]+", "sha256 ", "\n".join(lines)) + "\n")
