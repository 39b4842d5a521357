"""``roadworthy suites check``: is everything that suites name there, and do requirements fit it?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples, print_error, print_json
from roadworthy.cli._datasets import AsJson
from roadworthy.cli.suites._group import app
from roadworthy.errors import InputError


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy suites check night.suite.yaml", "roadworthy suites check suites/*.suite.yaml --json"
    ),
)
def check(
    suites: Annotated[list[Path], typer.Argument(metavar="SUITE…", help="The files.")],
    allow_commands: Annotated[
        bool, typer.Option("--allow-commands", help="Open image engines that run programs and code.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check suites without running them: their form, rules, specifications, models and data.

    Every complaint names file, line and column. The exit code is 0 if all is well, else 2.
    """
    from roadworthy.runs.suites import plan_suite, read_suite

    documents: list[dict[str, object]] = []
    for path in suites:
        try:
            plan = plan_suite(read_suite(path), allow_commands=allow_commands)
        except InputError as error:
            complaints = getattr(error, "complaints", ())
            documents.append(
                {
                    "suite": str(path),
                    "complaints": [{"line": one.line, "message": one.message} for one in complaints]
                    or [{"line": 0, "message": str(error)}],
                }
            )
            if not as_json:
                print_error(str(error))
            continue
        pairs = len(plan.pairs)
        documents.append(
            {"suite": str(path), "complaints": [], "requirements": len(plan.trials), "pairs": pairs}
        )
        if not as_json:
            text = f"{path}: {len(plan.trials)} requirements, {pairs} pairs of requirement and model"
            console().print(text, markup=False, soft_wrap=True)
            for note in plan.notes:
                console().print(note, style="dim", markup=False, soft_wrap=True)
    if as_json:
        print_json(documents)
    if any(one["complaints"] for one in documents):
        raise typer.Exit(2)
