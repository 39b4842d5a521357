"""``roadworthy list`` and ``roadworthy selftest``: what the tool has, and whether it works."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from roadworthy import registry
from roadworthy._files import write_json, write_text
from roadworthy._options import options_of
from roadworthy.cli._answer import PASSED, VIOLATED, Answer
from roadworthy.cli._commands import Group, command
from roadworthy.cli._console import make_folder, tracked
from roadworthy.errors import InputError, UnknownNameError, suggest
from roadworthy.registry import BUILT_IN, Entry
from roadworthy.result_tables import ResultTable

app = typer.Typer(cls=Group)

_MANY = 50  # of one kind, that are listed only when it is asked for


@command(app, name="list")
def list_all(kind: str | None = None) -> Answer:
    """List the data sets, transforms, models, metrics and simulators, plug-ins included.

    Options:
        kind ([KIND]): Only this kind: datasets, transforms, models, metrics or simulators.

    Examples:
        roadworthy list
        roadworthy list datasets
        roadworthy list --json
    """
    registries = [one for one in registry.all_registries() if kind in (None, one.kind)]
    if kind == "engines":
        raise UnknownNameError("engines are listed by: roadworthy engines list")
    if not registries:
        kinds = [one.kind for one in registry.all_registries()]
        raise UnknownNameError(f"there is no kind {kind!r} of things to list; {suggest(str(kind), kinds)}")
    document: dict[str, list[dict[str, Any]]] = {
        one.kind: [
            {
                "name": entry.name,
                "aliases": list(entry.aliases),
                "summary": entry.summary,
                "source": entry.source,
                "options": _options(entry),
            }
            for entry in one.entries()
        ]
        for one in registries
    }
    failures = [
        {"kind": failure.kind, "name": failure.name, "source": failure.source, "error": failure.error}
        for one in registries
        for failure in one.failures()
    ]
    tables = [
        ResultTable(
            name,
            ("", "", ""),
            (
                *_rows(name, entries, in_short=kind is None),
                *(
                    (one["name"] or "?", f"could not be loaded: {one['error']}", one["source"])
                    for one in failures
                    if one["kind"] == name
                ),
            ),
        )
        for name, entries in document.items()
    ]
    return Answer({**document, "failures": failures}, tables)


def _options(entry: Entry[Any]) -> dict[str, str]:
    """Return the options of a data set, transform or model and their defaults; others have none yet."""
    if entry.kind not in ("datasets", "models", "transforms"):
        return {}
    try:
        options = options_of(entry.object)
    except InputError:
        return {}
    # A spec is Python; on the command line its parts are written as input.… and output.…
    return {one.name: "" if one.required else str(one.default) for one in options if one.name != "spec"}


def _rows(kind: str, entries: list[dict[str, Any]], *, in_short: bool) -> Iterator[tuple[str, str, str]]:
    ours = [one["name"] for one in entries if one["source"] == BUILT_IN]
    in_short = in_short and len(ours) > _MANY
    if in_short:
        names = ", ".join(ours[:: len(ours) // 6])
        yield str(len(ours)), f"such as {names}: roadworthy list {kind}", ""
    for one in entries:
        if in_short and one["source"] == BUILT_IN:
            continue
        about = [one["summary"]]
        if one["aliases"]:
            about.append(f"also called {', '.join(one['aliases'])}")
        if one["options"]:
            about.append(" ".join(f"{name}={default}" for name, default in one["options"].items()))
        yield one["name"], "\n".join(about), one["source"]


@command(app, name="selftest")
def self_test(
    out: Path | None = None, only: list[str] | None = None, quick: bool = False, seed: int = 0
) -> Answer:
    """Seed known faults into models, labels and specifications, and report which the tool finds.

    Each fault comes in several sizes, to report the smallest that is found, and with a sound counterpart that
    must raise no alarm. Known limitations are listed as such. The exit code is 0 if every fault that must be
    found is found without a false alarm, else 1.

    Options:
        out (FOLDER): Write selftest.json and selftest.md here.
        only (METHOD): rules, coverage, reliability, bbsl, driving, labels, runs or evidence; repeatable.
        quick: Fewer sizes of each fault and less data: half a minute.

    Examples:
        roadworthy selftest
        roadworthy selftest --only bbsl --only evidence
        roadworthy selftest --out tool-confidence
    """
    from roadworthy.selftest import FaultStanding, as_document, as_markdown, fault_table, selftest, sentence

    report = selftest(
        only or (), quick=quick, seed=seed, progress=lambda faults: tracked(faults, "Seeding faults")
    )
    document, table = as_document(report), fault_table(report)
    written = []
    if out is not None:
        folder = make_folder(out)
        write_json(folder / "selftest.json", document)
        write_text(folder / "selftest.md", as_markdown(report))
        written.append(f"Wrote {out / 'selftest.json'} and {out / 'selftest.md'}")
    return Answer(
        document,
        [
            # What was tried and said of sound counterparts is in the files; here it would not fit.
            ResultTable(table.title, table.columns[:3], tuple(row[:3] for row in table.rows)),
            *(line for one in report.results for line in one.complaints()),
            *(f"{one.fault.id}: {one.fault.limitation}" for one in report.of(FaultStanding.KNOWN)),
            *(f"{one.fault.id} was not tried: {one.trouble}" for one in report.of(FaultStanding.NOT_RUN)),
            *written,
        ],
        exit_code=PASSED if report.passed else VIOLATED,
        conclusion=sentence(report),
    )
