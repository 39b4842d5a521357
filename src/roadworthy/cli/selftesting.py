"""``roadworthy selftest``: does the tool find faults that are known to be there?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roadworthy._files import write_json, write_text
from roadworthy.cli._console import console, examples, make_folder, plain_table, print_json, tracked
from roadworthy.cli._datasets import AsJson

if TYPE_CHECKING:
    from roadworthy.selftest import FaultResult, Report


EXAMPLES = examples(
    "roadworthy selftest",
    "roadworthy selftest --only bbsl --only evidence",
    "roadworthy selftest --out tool-confidence",
)

_STYLES = {
    "found": "green",
    "missed": "bold red",
    "false alarm": "bold red",
    "failed": "bold red",
}


def self_test(
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write selftest.json and selftest.md, to be filed, here."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METHOD",
            help="rules, coverage, reliability, bbsl, driving, labels, runs or evidence; repeatable.",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer sizes of each fault and less data: half a minute.")
    ] = False,
    seed: Annotated[int, typer.Option(metavar="N", help="The seed of all random numbers.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Seed known faults into models, labels and specifications, and report which the tool finds.

    Each fault comes in several sizes, so that the smallest that is found is told, and next to a sound
    counterpart about which nothing may be said. Faults that are known not to be found are listed as such. The
    exit code is 0 if all is found that must be and there is no false alarm, else 1.
    """
    from roadworthy.selftest import as_document, as_markdown, selftest

    report = selftest(
        only or (), quick=quick, seed=seed, progress=lambda faults: tracked(faults, "Seeding faults")
    )
    document = as_document(report)
    if out is not None:
        folder = make_folder(out)
        write_json(folder / "selftest.json", document)
        write_text(folder / "selftest.md", as_markdown(report))
    if as_json:
        print_json(document)
    else:
        _print(report)
        if out is not None:
            console().print(f"Wrote {out / 'selftest.json'} and {out / 'selftest.md'}", soft_wrap=True)
    raise typer.Exit(int(not report.passed))


def _print(report: Report) -> None:
    from rich.text import Text

    from roadworthy.selftest import FaultStanding, sentence

    shell = console()
    method = ""
    table = plain_table("seeded fault", "standing", "smallest found")
    for one in report.results:
        if one.fault.method != method:
            method = one.fault.method
            table.add_row(Text(method, style="bold"))
        name = Text(f"  {one.fault.id.partition('/')[2]}")
        table.add_row(
            name, Text(one.standing.value, style=_STYLES.get(one.standing.value, "yellow")), _from(one)
        )
    table.columns[1].no_wrap = True
    shell.print(table)
    shell.print("≤ is the smallest that was tried; smaller faults may be found as well.", style="dim")
    shell.print()
    for one in report.results:
        for line in _told(one):
            shell.print(line, soft_wrap=True, markup=False, style="red")
    for one in report.of(FaultStanding.KNOWN):
        shell.print(f"{one.fault.id}: {one.fault.limitation}", soft_wrap=True, markup=False, style="dim")
    for one in report.of(FaultStanding.NOT_RUN):
        shell.print(f"{one.fault.id} was not tried: {one.trouble}", soft_wrap=True, markup=False)
    shell.print()
    shell.print(sentence(report), style="bold" if report.passed else "bold red", soft_wrap=True)


def _from(result: FaultResult) -> str:
    """Return the smallest size that was found; nothing for a fault that is there or not."""
    if result.limit is None or not result.fault.unit:
        return ""
    at_most = "≤ " if result.limit == min(result.seen) else ""
    return f"{at_most}{result.fault.told(result.limit)}"


def _told(result: FaultResult) -> list[str]:
    """Return what is wrong with a result, with what the tool said."""
    name, fault = result.fault.id, result.fault
    if result.good:
        return []
    if result.trouble:
        return [f"{name}: {result.trouble}"]
    lines = []
    if result.sound is not None and result.sound.found:
        lines.append(f"{name}: false alarm about {fault.sound}: {result.sound.said}")
    expected = fault.expected
    lines += [
        f"{name}: {fault.told(size)} was missed: {seen.said}"
        for size, seen in result.seen.items()
        if expected is not None and size >= expected and not seen.found
    ]
    return lines
