"""``roadworthy compare``: two runs case by case, to let a model update through or not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roadworthy.cli._console import console, examples, parse_options, plain_table, print_json, print_note
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from rich.text import Text

    from roadworthy.runs.comparison import Comparison, Difference
    from roadworthy.runs.store import StoredRun


EXAMPLES = examples(
    "roadworthy compare runs/before runs/after",
    "roadworthy compare runs/before runs/after --fail-on-regression --out compare.md",
    "roadworthy compare runs/a runs/b --systems dave2=dave2-retrained --out compare.html",
)

_SHOWN = 40
_STYLES = {"regression": "bold red", "improvement": "green", "gone": "yellow", "new": "cyan"}


def compare_runs(
    first: Annotated[Path, typer.Argument(metavar="RUN_A", help="The folder of the run before.")],
    second: Annotated[Path, typer.Argument(metavar="RUN_B", help="The folder of the run after.")],
    fail: Annotated[
        bool, typer.Option("--fail-on-regression", help="End with exit code 1 if something got worse.")
    ] = False,
    systems: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OLD=NEW", help="Compare this model with that one; repeatable. Else those of one name."
        ),
    ] = None,
    alpha: Annotated[float, typer.Option(metavar="P", help="The level of significance.")] = 0.05,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Compare runs with other data or seeds as well.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the comparison: an .html or .md file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON document.")] = False,
) -> None:
    """Compare two runs: what broke, what got fixed, and whether that is more than chance.

    Cases are paired by requirement, model and name. A regression is a requirement that passed and is violated
    now, or of which significantly more frames got worse than better (McNemar's exact test, Holm's correction
    over all requirements). Runs of other data or seeds are refused. The exit code is 0, or with
    --fail-on-regression 1 if there is a regression.
    """
    from roadworthy.report.comparison import as_document, write_comparison
    from roadworthy.runs.comparison import compare
    from roadworthy.runs.store import StoredRun

    before, after = StoredRun.open(first), StoredRun.open(second)
    if fail:
        _check_finished(after)
    given = {key: str(value) for key, value in parse_options(systems or [], "--systems dave2=epoch").items()}
    found = compare(before, after, systems=given or None, alpha=alpha, anyway=anyway)
    if out is not None:
        write_comparison(found, out, before, after)
    if as_json:
        print_json(as_document(found))
    else:
        _print(found)
        if out is not None:
            console().print(f"Wrote {out}", soft_wrap=True, markup=False)
    if fail and not found.regressions:
        _check_compared(found)
    raise typer.Exit(int(fail and bool(found.regressions)))


def _check_compared(found: Comparison) -> None:
    """Refuse to let a run through of which nothing could be compared."""
    from roadworthy.report.comparison import counted

    if not counted(found):
        raise InputError(
            "nothing could be compared, so the run cannot be let through: test the same requirements with "
            "the same data and seed, or leave --fail-on-regression out"
        )


def _check_finished(run: StoredRun) -> None:
    """Refuse to let a run through that did not test everything it was to test."""
    unfinished = [f"{one.requirement.id} on {one.system}" for one in run.pairs if one.outcome is None]
    if unfinished:
        more = f" and {len(unfinished) - 3} more" if len(unfinished) > 3 else ""
        raise InputError(
            f"{run.folder} was not finished and cannot be let through: {', '.join(unfinished[:3])}{more} "
            "lack an outcome; go on with `roadworthy run`, or leave --fail-on-regression out"
        )


def _print(found: Comparison) -> None:
    from roadworthy.report.comparison import sentence
    from roadworthy.report.results import signed

    out = console()
    table = plain_table(
        "requirement", "model", "verdict", "before", "after", "broken", "fixed", "p", "margins"
    )
    for one in found.differences[:_SHOWN]:
        table.add_row(*_cells(one))
    out.print(table)
    if len(found.differences) > _SHOWN:
        out.print(f"{len(found.differences) - _SHOWN} more, which stand no worse; --out writes more of them")
    out.print()
    for one in (*found.regressions, *found.improvements)[:_SHOWN]:
        out.print(
            f"{one.verdict}: {one.requirement.id}, {one.after}: {one.why}", soft_wrap=True, markup=False
        )
        for case in one.examples_broken[:3] if one.verdict == "regression" else ():
            moved = " → ".join(
                "none" if value is None else signed(value) for value in (case.before, case.after)
            )
            out.print(f"  broken: {case.case}, margin {moved}", soft_wrap=True, markup=False)
    out.print(sentence(found), style="bold red" if found.regressions else "bold", markup=False)
    for warning in found.warnings:
        print_note(warning)


def _cells(one: Difference) -> list[Text]:
    from rich.text import Text

    from roadworthy.report.results import percent, signed

    system = one.after or one.before or ""
    name = system if one.before in (None, system) else f"{one.before} → {system}"
    return [
        Text(one.requirement.id),
        Text(name),
        Text(one.verdict, style=_STYLES.get(one.verdict, "dim")),
        Text(percent(one.rate_before)),
        Text(percent(one.rate_after)),
        Text(str(one.broken), style="red" if one.broken else ""),
        Text(str(one.fixed)),
        Text("–" if one.p_adjusted is None else f"{one.p_adjusted:.2g}"),
        Text("–" if one.shift is None else signed(one.shift)),
    ]
