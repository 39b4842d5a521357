"""``roadworthy rules truth``: are the verdicts of rules true?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples, plain_table, print_json, tracked
from roadworthy.cli.options import AsJson
from roadworthy.cli.rules._group import app

if TYPE_CHECKING:
    from rich.table import Table

    from roadworthy.papers.truth_matrix import TruthMatrix, TruthRow


@app.command(
    cls=Command, epilog=examples("roadworthy rules truth", "roadworthy rules truth --sample 200 --json")
)
def truth(
    sample: Annotated[
        int, typer.Option("--sample", "-n", metavar="N", help="How many frames of the built-in world.")
    ] = 1000,
    seed: Annotated[int, typer.Option(metavar="N", help="The seed of all random numbers.")] = 0,
    reasons: Annotated[
        bool, typer.Option("--reasons", help="Also say why frames do not qualify for a rule.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Try rules on drivers of whom it is known what they do right and wrong.

    The careful driver of the built-in world must violate none of the rules. Each faulty driver lacks one
    ability: the rules that depend on it must catch the driver in at least 99% of the frames that qualify, and
    no other rule may. A frame qualifies if the change can be made and is seen in it. Ends with exit code 1
    where a driver is judged wrongly.
    """
    from roadworthy.papers.truth_matrix import truth_matrix

    matrix = truth_matrix(sample, seed=seed, progress=lambda numbers: tracked(numbers, "Driving"))
    if as_json:
        print_json(_document(matrix, seed))
    else:
        _print(matrix, reasons=reasons)
    if matrix.shortfalls:
        raise typer.Exit(1)


def _document(matrix: TruthMatrix, seed: int) -> dict[str, object]:
    from roadworthy.world.simulation import FAULTS

    drivers = []
    for name in matrix.drivers:
        (caught, of), (wrong, others) = matrix.caught(name), matrix.false_alarms(name)
        drivers.append(
            {
                "name": name,
                "summary": FAULTS[name].summary if name in FAULTS else "has no fault",
                "sensitivity": {
                    row.rule.id: row.rate(name) for row in matrix.rows if name in row.rule.caught
                },
                "caught": caught,
                "qualify": of,
                "false_alarms": wrong,
                "qualify_for_others": others,
            }
        )
    return {
        "frames": matrix.frames,
        "seed": seed,
        "passed": not matrix.shortfalls,
        "shortfalls": list(matrix.shortfalls),
        "drivers": drivers,
        "rules": [
            {
                "id": row.rule.id,
                "text": row.rule.text,
                "depends_on": list(row.rule.caught),
                "qualify": row.qualify,
                "violations": {name: row.violations[name] for name in matrix.drivers},
                "reasons": dict(row.reasons.most_common()),
            }
            for row in matrix.rows
        ],
    }


def _print(matrix: TruthMatrix, *, reasons: bool) -> None:
    from roadworthy.world.simulation import FAULTS

    shell = console()
    shell.print(f"Share of the frames that qualify in which a driver violates a rule; {matrix.frames} frames")
    shell.print(_table(matrix))
    shell.print()
    for name in matrix.drivers:
        if name in FAULTS:
            shell.print(f"[bold]{name}[/bold] {FAULTS[name].summary}")
    if reasons:
        shell.print("\nFrames that do not qualify")
        for row in matrix.rows:
            for reason, times in row.reasons.most_common():
                shell.print(f"  {row.rule.id}: {times} {reason}", soft_wrap=True, markup=False)
    shell.print()
    for line in matrix.shortfalls:
        shell.print(line, style="red", soft_wrap=True, markup=False)
    if not matrix.shortfalls:
        shell.print("All verdicts are true.")


def _table(matrix: TruthMatrix) -> Table:
    table = plain_table("rule", "frames", *(name.replace("-", "-\n") for name in matrix.drivers))
    table.columns[0].no_wrap = True
    for column in table.columns[1:]:
        column.justify = "right"
    for row in matrix.rows:
        table.add_row(row.rule.id, str(row.qualify), *(_cell(row, name) for name in matrix.drivers))
    table.add_section()
    sums = [matrix.caught(name) for name in matrix.drivers]
    table.add_row("sensitivity", "", *(_percent(caught / of) if of else "" for caught, of in sums))
    wrong = (matrix.false_alarms(name) for name in matrix.drivers)
    table.add_row("false alarms", "", *(f"{false}/{of}" for false, of in wrong))
    return table


def _cell(row: TruthRow, driver: str) -> str:
    rate, depends = row.rate(driver), driver in row.rule.caught
    if rate is None:
        return "–"
    if depends:
        return f"[bold]{_percent(rate)}[/bold]"
    return f"[bold red]{_percent(rate)}[/bold red]" if rate else "[dim]0[/dim]"


def _percent(share: float) -> str:
    """Return a share; one that is not whole never looks so."""
    if share in (0, 1):
        return f"{share:.0%}"
    return f"{min(max(share, 0.0001), 0.9999):.2%}"
