"""``roadworthy suites``: checking the files of suites, and their JSON Schema for editors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from roadworthy._files import write_text
from roadworthy.cli._answer import FAILED, PASSED, Answer
from roadworthy.cli._commands import Group, command
from roadworthy.errors import InputError
from roadworthy.runs.suites import plan_suite, read_suite
from roadworthy.runs.suites.schema import schema_text, suite_schema

app = typer.Typer(cls=Group, no_args_is_help=True)


@command(app)
def check(suites: list[Path], allow_commands: bool = False) -> Answer:
    """Check suites without running them: their form, rules, specifications, models and data.

    Networks answer one frame; Python code of yours is not even imported: only whether file and function are
    there is checked. Every complaint names file, line and column. The exit code is 0 if all is well, else 2.

    Options:
        suites (SUITE…): The files.

    Examples:
        roadworthy suites check night.suite.yaml
        roadworthy suites check suites/*.suite.yaml --json
    """
    documents: list[dict[str, Any]] = []
    shown: list[str] = []
    errors: list[str] = []
    for path in suites:
        try:
            plan = plan_suite(read_suite(path), allow_commands=allow_commands, look_only=True)
        except InputError as error:
            complaints = [
                {"line": one.line, "message": one.message} for one in getattr(error, "complaints", ())
            ]
            found = complaints or [{"line": 0, "message": str(error)}]
            documents.append({"suite": str(path), "complaints": found})
            errors.append(str(error))
            continue
        counts = {"requirements": len(plan.trials), "pairs": len(plan.pairs)}
        documents.append({"suite": str(path), "complaints": [], "not_run": plan.unopened, **counts})
        shown.append(
            "{}: {requirements} requirements, {pairs} pairs of requirement and model".format(path, **counts)
        )
        if plan.unopened:
            shown.append(
                f"Not checked, because their code was not run: whether {', '.join(plan.unopened)} fit"
            )
    return Answer(documents, shown, errors=errors, exit_code=FAILED if errors else PASSED)


@command(app)
def schema(out: Path | None = None) -> Answer:
    """Print the JSON Schema of suites, with a description of every key, or write it to a file.

    Editors with a YAML language server complete and check suites that begin with the line
    # yaml-language-server: $schema=suite.schema.json

    Options:
        out (FILE): Where to write it; printed if left out.

    Examples:
        roadworthy suites schema
        roadworthy suites schema --out suite.schema.json
    """
    if out is None:
        return Answer(suite_schema(), [schema_text().rstrip()])
    write_text(out, schema_text())
    return Answer({"file": str(out)}, [f"Wrote {out}"])
