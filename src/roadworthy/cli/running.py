"""``roadworthy run``: everything that a suite asks for, into one folder, with a report at the end."""

from __future__ import annotations

from pathlib import Path

import typer

from roadworthy._files import plain_name
from roadworthy.cli._answer import Answer
from roadworthy.cli._commands import command
from roadworthy.cli._console import working
from roadworthy.cli._road import RunOptions, answer_of, outcome_lines, planned, run_plan
from roadworthy.cli.options import processes

app = typer.Typer()


@command(app)
def run(
    suite: Path,
    how: RunOptions,
    only: list[str] | None = None,
    dry_run: bool = False,
    sample: int | None = None,
    seed: int | None = None,
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

    Examples:
        roadworthy run examples/demo.suite.yaml
        roadworthy run night.suite.yaml --dry-run
        roadworthy run night.suite.yaml --only fog --only R7 --sample 20 --out quick
        roadworthy run night.suite.yaml --executor ray --address auto --workers 64 --json
    """
    from roadworthy.runs.executors import executor_for
    from roadworthy.runs.suites import estimate_suite

    plan = planned(suite, how, Path(), only=only or (), sample=sample, seed=seed)
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
    published = run_plan(plan, how, Path(f"{plain_name(plan.suite.name) or 'suite'}-run"))
    return answer_of(published, how, shown=outcome_lines(published.result))
