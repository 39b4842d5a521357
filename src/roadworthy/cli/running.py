"""``roadworthy run``: everything that a suite asks for, into one folder, with a report at the end."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from roadworthy._files import plain_name
from roadworthy.cli._answer import Answer
from roadworthy.cli._commands import command
from roadworthy.cli._console import console
from roadworthy.cli._road import RunOptions, answer_of, outcome_lines, planned, run_plan
from roadworthy.result_tables import ResultTable

if TYPE_CHECKING:
    from roadworthy.runs.suites import SuitePlan

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
    plan = planned(suite, how, Path(), only=only or (), sample=sample, seed=seed)
    if dry_run:
        return _dry_run(plan, how)
    usual = Path(f"{plain_name(plan.suite.name) or 'suite'}-run")
    published = run_plan(plan, how, usual)
    return answer_of(published, how, shown=outcome_lines(published.result))


def _dry_run(plan: SuitePlan, how: RunOptions) -> Answer:
    """Answer what would run: how many cases, how long, how large."""
    from roadworthy.runs.executors import executor_for
    from roadworthy.runs.store.estimate import readable_size
    from roadworthy.runs.suites import estimate_passes, passes_of

    err = console(stderr=True)
    with err.status("Trying a few cases") if err.is_terminal else nullcontext():
        # In one process, whose time is then divided.
        one = "serial" if how.executor == "serial" else "processes"
        with executor_for(one, workers=1, timeout_s=how.timeout) as executor:
            found = list(estimate_passes(passes_of(plan), how.images, executor))
    count = 1 if how.executor == "serial" else how.workers or os.cpu_count() or 1
    seconds = sum(one.seconds or 0.0 for one in found)
    likely, most = sum(one.image_bytes for one in found), sum(one.most_bytes for one in found)
    total = sum(one.cases for one in found)
    document = {
        "suite": plan.suite.name,
        "requirements": [
            {
                "id": trial.requirement.id,
                "kind": trial.kind.name,
                "data": trial.data,
                "models": list(trial.models),
                "cases_per_model": plan.cases(trial),
            }
            for trial in plan.trials
        ],
        "passes": [
            {
                "name": one.name,
                "requirements": one.requirements,
                "models": one.models,
                "cases": one.cases,
                "seconds": one.seconds,
                "probed_cases": one.probed,
                "image_bytes": one.image_bytes,
                "most_image_bytes": one.most_bytes,
                "problem": one.problem,
            }
            for one in found
        ],
        "cases": total,
        "seconds_one_process": seconds,
        "seconds_estimated": seconds / count,
        "workers": count,
        "image_bytes": likely,
        "most_image_bytes": most,
        "notes": plan.notes,
    }
    rows = tuple(
        (
            one.name,
            str(one.models),
            str(one.cases),
            "?" if one.seconds is None else _duration(one.seconds),
            readable_size(one.image_bytes),
        )
        for one in found
    )
    problems = [
        f"{one.name} could not be tried, so how long it takes is not known: {one.problem}"
        for one in found
        if one.problem
    ]
    conclusion = (
        f"About {total} cases in about {_duration(seconds / count)} with {count} "
        f"{'process' if count == 1 else 'processes'}; images will take about {readable_size(likely)}, at "
        f"most {readable_size(most)}. These are estimates from {sum(one.probed for one in found)} cases that "
        "were tried just now; starting workers, hashing the data, report and evidence come on top."
    )
    table = ResultTable("", ("what", "models", "cases", "one process", "images"), rows)
    return Answer(document, [table, *problems], plan.notes, conclusion=conclusion)


def _duration(seconds: float) -> str:
    """Return a time as people say it.

    Example:
        >>> _duration(0.4), _duration(75), _duration(9000)
        ('1 s', '75 s', '2.5 h')
    """
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
