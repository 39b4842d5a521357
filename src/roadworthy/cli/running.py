"""``roadworthy run``, ``merge`` and ``suites``: suites are run with a report at the end, and checked."""

from __future__ import annotations

from math import inf
from pathlib import Path
from typing import Any

import typer

from roadworthy._files import plain_name, write_text
from roadworthy.cli._answer import FAILED, PASSED, Answer
from roadworthy.cli._commands import Group, command
from roadworthy.cli._console import working
from roadworthy.cli._road import RunOptions, answer_of, outcome_lines, planned, run_plan
from roadworthy.cli.options import processes
from roadworthy.errors import InputError
from roadworthy.runs.suites import plan_suite, read_suite
from roadworthy.runs.suites.schema import schema_text, suite_schema

app = typer.Typer()


@command(app)
def run(
    suite: Path,
    how: RunOptions,
    only: list[str] | None = None,
    dry_run: bool = False,
    sample: int | None = None,
    seed: int | None = None,
    shard: str = "",
    budget: str = "",
    order: Path | None = None,
) -> Answer:
    """Test everything that a suite asks for: models, data and requirements of all kinds from one file.

    The folder gets rows, images of failures, report.html, junit.xml, results.csv, summary.md and evidence.
    Run the command again to continue a stopped run; with a changed suite, model or data set it starts a new
    run in a folder of its own. Exit codes: 0 everything passed, 1 something is violated, 2 wrong use or
    something could not be tried, 3 something is inconclusive.

    Options:
        suite (SUITE): A YAML file; see docs/suites.md.
        only (ID|TAG|KIND): Only requirements with this id, tag or kind; repeatable.
        dry_run: Estimate cases, time and size from a few cases, and run nothing.
        sample (-n N): At most N frames of all data, tries of a search and drives; all if left out.
        seed (min=0 N): Instead of the suite's own.
        budget (TIME): Begin no case after 90s, 30min or 2h; time goes to what is not decided yet.
        order (RUN): Try first what failed in this run, or nearly did, for the time that it takes.
        shard (I/N): Test one of N shares, here or on any machine; roadworthy merge makes one run of all.

    Examples:
        roadworthy run examples/demo.suite.yaml
        roadworthy run night.suite.yaml --dry-run
        roadworthy run night.suite.yaml --only fog --only R7 --sample 20 --out quick
        roadworthy run night.suite.yaml --executor ray --address auto --workers 64 --json
        roadworthy run night.suite.yaml --shard 2/4 --out night-2
        roadworthy run night.suite.yaml --budget 30min
        roadworthy run night.suite.yaml --order last-night --out tonight
    """
    from roadworthy.runs.executors import executor_for
    from roadworthy.runs.shards import Shard
    from roadworthy.runs.suites.estimating import estimate_suite, seconds_of
    from roadworthy.runs.suites.ordering import Order

    share = Shard.read(shard) if shard else None
    seconds = seconds_of(budget) if budget else inf
    first = Order(order) if order else None
    if budget and dry_run:
        raise InputError("--dry-run estimates all of a suite: leave out --budget")
    plan = planned(suite, how, Path(), only=only or (), sample=sample, seed=seed)
    if dry_run and share:
        raise InputError("--dry-run estimates all of a suite: leave out --shard, and divide")
    if dry_run:
        workers = 1 if how.executor == "serial" else processes(how.workers)
        # In one process, whose time is then divided.
        probing = "serial" if how.executor == "serial" else "processes"
        with (
            working("Trying a few cases"),
            executor_for(probing, workers=1, timeout_s=how.timeout) as executor,
        ):
            estimate = estimate_suite(plan, how.images, executor, workers=workers)
        return Answer(estimate.document(), estimate.lines(), plan.notes, conclusion=str(estimate))
    name = plain_name(plan.suite.name) or "suite"
    usual = Path(f"{name}-shard-{share.number}-of-{share.of}" if share else f"{name}-run")
    published = run_plan(plan, how, usual, shard=share, budget=seconds, order=first)
    return answer_of(published, how, shown=outcome_lines(published.result))


@command(app)
def merge(
    shards: list[Path],
    out: Path = Path("merged-run"),
    suite: Path | None = None,
    accept_inconclusive: bool = False,
    allow_commands: bool = False,
) -> Answer:
    """Make one run of all its shards: the rows, outcomes, report and evidence of a run that was not shared.

    Models and data are opened again as the suite names them; models are asked about a few frames only. Shards
    that are missing, incomplete, there twice or of another run are named. Exit codes are those of run.

    Options:
        shards (SHARD…): The folders that roadworthy run --shard wrote.
        out (FOLDER): The folder for the run.
        suite (FILE): The suite where it stands, if its paths do not lead anywhere from the shards.
        accept_inconclusive: Exit with 0, not 3, when a result is inconclusive.
        allow_commands: Let your image engines run programs and code.

    Examples:
        roadworthy merge night-1 night-2 night-3 night-4 --out night --suite night.suite.yaml
    """
    from roadworthy.runs.evidence.reopening import plan_of
    from roadworthy.runs.executors import default_executor
    from roadworthy.runs.shards import Shards

    merged = Shards(shards, default_executor())
    plan = plan_of(merged.first, suite, allow_commands=allow_commands)
    how = RunOptions(
        out, images=merged.settings["images"], resume=False, accept_inconclusive=accept_inconclusive
    )
    published = run_plan(plan, how, out, executor=merged)
    return answer_of(published, how, shown=outcome_lines(published.result))


suites = typer.Typer(cls=Group, no_args_is_help=True)


@command(suites)
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


@command(suites)
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
