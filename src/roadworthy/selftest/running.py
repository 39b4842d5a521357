"""The self-test: faults are seeded one after the other, and the findings become tables and a page."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from roadworthy._files import rendered
from roadworthy._version import __version__
from roadworthy.errors import MissingExtraError, check_known
from roadworthy.result_tables import ResultTable, markdown_text
from roadworthy.runs.store.manifest import host, libraries
from roadworthy.selftest import faults

_HOME = {"evidence": "runs"}  # modules of methods that have none of their own

Progress = Callable[[Sequence[faults.SeededFault]], Iterable[faults.SeededFault]]


@dataclass(frozen=True)
class Report:
    """What the self-test found out about the tool.

    Attributes:
        results: One for each fault, in the order of the methods.
        seed: Of all that was drawn by lot.
        quick: Whether less was tried.
        seconds: How long it took.
    """

    results: tuple[faults.FaultResult, ...]
    seed: int
    quick: bool
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether every fault was found that must be, and nothing was said about a sound counterpart."""
        return all(one.good for one in self.results)

    @property
    def complete(self) -> bool:
        """Whether every fault of the whole self-test was tried."""
        return not self.quick and not self.of(faults.FaultStanding.NOT_RUN)

    def of(self, standing: faults.FaultStanding) -> tuple[faults.FaultResult, ...]:
        """Return the results that stand like this."""
        return tuple(one for one in self.results if one.standing is standing)


def faults_of(only: Sequence[str] = (), *, quick: bool = False) -> tuple[faults.SeededFault, ...]:
    """Return the faults that are seeded.

    Args:
        only: The methods; all when left out.
        quick: Only those of the quick self-test.

    Raises:
        InputError: There is no such method.

    Example:
        >>> {fault.method for fault in faults_of(["rules"])}
        {'rules'}
    """
    for name in only:
        check_known("there is no method", name, faults.METHODS)
    found: list[faults.SeededFault] = []
    for name in faults.METHODS:
        if not only or name in only:
            # Each loads what it tests: one method alone starts sooner.
            module = import_module(f"roadworthy.selftest.{_HOME.get(name, name)}")
            found += module.EVIDENCE_FAULTS if name == "evidence" else module.FAULTS
    return tuple(one for one in found if one.quick or not quick)


def selftest(
    only: Sequence[str] = (), *, quick: bool = False, seed: int = 0, progress: Progress = iter
) -> Report:
    """Seed known faults, and report which of them the tool finds.

    Args:
        only: The methods to test; all when left out.
        quick: Of every fault only the smallest size that must be found, with less data.
        seed: Of all that is drawn by lot.
        progress: Wraps the faults, to show how far it is.

    Raises:
        InputError: There is no such method.

    Example:
        >>> report = selftest(["evidence"], quick=True)
        >>> report.passed, report.of(faults.FaultStanding.KNOWN)[0].fault.id
        (True, 'evidence/forged run')
    """
    started = time.monotonic()
    results = tuple(_tried(fault, seed, quick) for fault in progress(faults_of(only, quick=quick)))
    return Report(results, seed, quick, time.monotonic() - started)


def _tried(fault: faults.SeededFault, seed: int, quick: bool) -> faults.FaultResult:
    started = time.monotonic()
    seen: dict[float, faults.Sighting] = {}
    sound = None
    trouble, crashed = "", False
    try:
        sound = _asked(fault, faults.SOUND, seed, quick)
        smallest = fault.sizes[-1] if fault.expected is None else fault.expected
        for size in [smallest] if quick else fault.sizes:
            seen[size] = _asked(fault, size, seed, quick)
    except MissingExtraError as error:
        trouble = str(error)
    except Exception as error:
        # Whatever it is, the tool did something that nobody expects of it, and that must not stop the rest.
        crashed, trouble = True, f"{type(error).__name__}: {error}"
    return faults.FaultResult(fault, sound, seen, time.monotonic() - started, trouble, crashed)


def _asked(fault: faults.SeededFault, size: float, seed: int, quick: bool) -> faults.Sighting:
    if fault.extra == "torch":
        from roadworthy.models.torch_module import imported_torch

        imported_torch(f"seed the fault {fault.id!r}")
    with TemporaryDirectory(prefix="roadworthy-selftest-") as folder:
        return fault.probe(size, faults.FaultBench(Path(folder), seed, quick))


def sentence(report: Report) -> str:
    """Return the result in a sentence or two.

    Example:
        >>> from roadworthy.selftest import selftest
        >>> sentence(selftest(["evidence"], quick=True)).partition(":")[0]
        'The self-test passed'
    """
    results = report.results
    ran = (one for one in results if one.standing is not faults.FaultStanding.NOT_RUN)
    must = [one for one in ran if one.fault.expected is not None]
    found = [one for one in must if one.standing is faults.FaultStanding.FOUND]
    sound = [one for one in results if one.sound is not None]
    alarms = [one for one in sound if one.sound is not None and one.sound.found]
    known = report.of(faults.FaultStanding.KNOWN)
    text = (
        f"The self-test {'passed' if report.passed else 'failed'}: {len(found)} of {len(must)} kinds of "
        f"faults that must be found are found, {len(alarms)} false alarms on {len(sound)} sound counterparts"
        f"; {len(known)} {'kind is' if len(known) == 1 else 'kinds are'} known not to be found"
    )
    if crashed := report.of(faults.FaultStanding.CRASHED):
        text += f"; {len(crashed)} could not be tried because of an error of the tool"
    if missing := report.of(faults.FaultStanding.NOT_RUN):
        text += f"; {len(missing)} were not tried because something is not installed"
    return f"{text}."


def fault_table(report: Report) -> ResultTable:
    """Return a row for each fault, with its detection limit."""
    rows = tuple(
        (
            one.fault.id,
            one.standing.value,
            "-" if one.limit is None else one.fault.told(one.limit),
            _span([one.fault.told(size) for size in sorted(one.seen)]),
            "" if one.sound is None else ("alarm" if one.sound.found else "quiet"),
        )
        for one in report.results
    )
    columns = ("seeded fault", "standing", "found from", "smallest and largest tried", "sound counterpart")
    return ResultTable("Seeded faults", columns, rows, name="faults")


def _span(sizes: Sequence[str]) -> str:
    return " to ".join(dict.fromkeys((sizes[0], sizes[-1]))) if sizes else "-"


def malfunction_table(report: Report) -> ResultTable:
    """Return a row for each way in which the tool could be wrong, with what was seeded against it."""
    rows = []
    for one in faults.MALFUNCTIONS.values():
        if one.id == faults.false_alarm_of(one.method):
            tried = [result.sound for result in report.results if result.fault.method == one.method]
            quiet = [seen for seen in tried if seen is not None and not seen.found]
            shown = f"{len(quiet)} of {len(tried)} sound counterparts are quiet" if tried else ""
        else:
            results = [result for result in report.results if result.fault.malfunction == one.id]
            found = [result for result in results if result.limit is not None]
            shown = f"{len(found)} of {len(results)} kinds of faults found" if results else ""
        if shown:
            rows.append((one.id, one.kind, one.text, shown))
    columns = ("malfunction", "kind", "what would happen", "result")
    return ResultTable("Malfunctions of the tool", columns, tuple(rows), name="malfunctions")


def as_document(report: Report) -> dict[str, Any]:
    """Return everything as JSON can hold it."""
    return {
        "tool": {"name": "roadworthy", "version": __version__},
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "seed": report.seed,
        "quick": report.quick,
        "seconds": round(report.seconds, 1),
        "libraries": libraries(),
        "host": host(),
        "passed": report.passed,
        "complete": report.complete,
        "summary": sentence(report),
        "malfunctions": [asdict(one) for one in faults.MALFUNCTIONS.values()],
        "faults": [_document(one) for one in report.results],
    }


def _document(result: faults.FaultResult) -> dict[str, Any]:
    fault = result.fault
    return {
        "id": fault.id,
        "method": fault.method,
        "malfunction": fault.malfunction,
        "seeded": fault.text,
        "sound_counterpart": fault.sound,
        "standing": result.standing.value,
        "must_be_found_from": fault.expected,
        "found_from": result.limit,
        "unit": fault.unit,
        "limitation": fault.limitation,
        "trouble": result.trouble,
        "false_alarm": None if result.sound is None else result.sound.found,
        "said_of_sound": "" if result.sound is None else result.sound.said,
        "sizes": [
            {"size": size, "shown": fault.told(size), "found": seen.found, "said": seen.said}
            for size, seen in sorted(result.seen.items())
        ],
        "seconds": round(result.seconds, 2),
    }


def as_markdown(report: Report) -> str:
    """Return a page that can be filed: what was tried, on what, and every answer of the tool.

    Example:
        >>> from roadworthy.selftest import selftest
        >>> as_markdown(selftest(["evidence"], quick=True)).splitlines()[0]
        '# Self-test of Roadworthy ...'
    """
    document = as_document(report)
    facts = {
        "made": document["made"],
        "seed": str(report.seed),
        "extent": "quick: fewer sizes, less data" if report.quick else "whole",
        "seconds": f"{report.seconds:.0f}",
        **{name: str(value) for name, value in document["host"].items()},
        "libraries": ", ".join(f"{name} {version}" for name, version in document["libraries"].items()),
    }
    return rendered(
        Path(__file__).with_name("report.md.jinja"),
        version=__version__,
        summary=sentence(report),
        facts=facts,
        markdown_text=markdown_text,
        tables=[malfunction_table(report), fault_table(report)],
        results=sorted(report.results, key=lambda one: faults.METHODS.index(one.fault.method)),
        answer=_answer,
    )


def _answer(size: str, seen: faults.Sighting) -> str:
    found = "**found**" if seen.found else "not found"
    return f"- {markdown_text(size)}: {found}. {markdown_text(seen.said)}"
