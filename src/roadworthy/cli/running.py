"""``roadworthy run``: everything that a suite asks for, into one folder, with a report at the end."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Literal

import typer

from roadworthy._files import plain_name
from roadworthy.cli._console import examples, print_json
from roadworthy.cli._dry_run import dry_run_of
from roadworthy.cli._suites import as_document, exit_code, planned, run_plan, summarised, write_results
from roadworthy.errors import InputError

EXAMPLES = examples(
    "roadworthy run examples/demo.suite.yaml",
    "roadworthy run night.suite.yaml --dry-run",
    "roadworthy run night.suite.yaml --only fog --only R7 --sample 20 --out quick",
    "roadworthy run night.suite.yaml --executor ray --address auto --workers 64 --json",
)

SuiteFile = Annotated[Path, typer.Argument(metavar="SUITE", help="A YAML file; see docs/suites.md.")]
Only = Annotated[
    list[str] | None,
    typer.Option("--only", metavar="ID|TAG|KIND", help="Only requirements with this; repeatable."),
]
Sample = Annotated[
    int | None,
    typer.Option(
        "--sample",
        "-n",
        metavar="N",
        help="At most N frames of all data, tries of a search and drives; all if left out.",
    ),
]
Images = Annotated[
    Literal["failures", "sample", "all", "none"],
    typer.Option(help="Of which cases images are stored; a sample has some that pass as well."),
]
AllowCommands = Annotated[
    bool, typer.Option("--allow-commands", help="Let image engines of the suite run programs and code.")
]


def run(
    suite: SuiteFile,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Where everything is written. NAME-run if left out, or the next if that is of another run.",
        ),
    ] = None,
    only: Only = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Say what would run, how long and how large; try a few cases only."),
    ] = False,
    sample: Sample = None,
    executor: Annotated[
        Literal["serial", "processes", "ray"], typer.Option(help="Where it runs.")
    ] = "processes",
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Processes; as many as there are cores if left out.")
    ] = None,
    address: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Of the Ray cluster, such as auto.")
    ] = None,
    timeout: Annotated[
        float, typer.Option(metavar="S", help="Seconds that a batch may take before its case is given up.")
    ] = 600.0,
    images: Images = "failures",
    resume: Annotated[
        bool, typer.Option("--resume/--no-resume", help="Go on with a run of this suite in the folder.")
    ] = True,
    seed: Annotated[int | None, typer.Option(metavar="N", help="Instead of the suite's own.", min=0)] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit code 1 also where the cases do not suffice to tell.")
    ] = False,
    allow_commands: AllowCommands = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON document.")] = False,
) -> None:
    """Test everything that a suite asks for: models, data and requirements of all kinds from one file.

    The folder gets rows, images of failures, report.html, junit.xml, results.csv, summary.md and trace.csv. A
    run that was stopped in whatever way goes on when the command is given again; a changed suite, model or
    data set is another run and gets a folder of its own. The exit code is 0 if no requirement is violated, 1
    if one is, 2 if something is wrong with the suite or could not be tried.
    """
    from roadworthy.runs.executors import executor_for

    _check(out, executor, workers, address, timeout)
    plan = planned(suite, only=only or (), sample=sample, allow_commands=allow_commands, seed=seed)
    if dry_run:
        dry_run_of(plan, images, executor, workers, as_json=as_json)
        return
    usual = Path(f"{plain_name(plan.suite.name) or 'suite'}-run")
    with executor_for(executor, workers=workers, address=address, timeout_s=timeout) as chosen:
        result = run_plan(
            plan,
            out or usual,
            chosen,
            images=images,
            resume=resume,
            next_free=out is None,
            quiet=as_json,
        )
    written = write_results(result)
    if as_json:
        print_json(as_document(result, written))
    else:
        summarised(result, written)
    raise typer.Exit(exit_code(result, strict=strict))


def _check(out: Path | None, executor: str, workers: int | None, address: str | None, timeout: float) -> None:
    """Refuse at once what would be refused when models and data have been opened."""
    if out is not None and out.exists() and not out.is_dir():
        raise InputError(f"cannot make the folder {out}: a file has this name; choose another with --out")
    if workers is not None and workers < 1:
        raise InputError(f"--workers must be 1 or more, got {workers}")
    if address is not None and executor != "ray":
        raise InputError("--address is that of a Ray cluster: add --executor ray")
    if not 0 < timeout < math.inf:
        raise InputError(f"--timeout must be a number of seconds above 0, got {timeout:g}")
