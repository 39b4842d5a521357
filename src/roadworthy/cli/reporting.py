"""``roadworthy report``: the report of a run, written again or for the first time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roadworthy.cli._console import console, examples, make_folder, print_json, tracked
from roadworthy.errors import InputError, suggest

if TYPE_CHECKING:
    from roadworthy.runs.store import StoredRun


EXAMPLES = examples(
    "roadworthy report rules-out",
    "roadworthy report runs/nightly --format junit --out build/reports",
    "roadworthy report runs/nightly --format html --json",
)

FORMATS = {"html": "report.html", "junit": "junit.xml", "csv": "results.csv", "markdown": "summary.md"}
"""What can be written, and the names of the files."""


def write_reports(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    formats: Annotated[
        list[str] | None,
        typer.Option(
            "--format", metavar="WHAT", help="html, junit, csv or markdown; repeatable. All if left out."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where to; the folder of the run if left out.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON document.")] = False,
) -> None:
    """Write the report of a run: one HTML page that needs no other file, JUnit XML, CSV and Markdown.

    Any folder with the rows of a run will do, also of one that is still going on or of a single method, such
    as rules-out. The exit code is 1 if a requirement is violated, 0 if none is.
    """
    from roadworthy.report.results import Standing, results_of, whole_of
    from roadworthy.runs.store import StoredRun

    wanted = list(dict.fromkeys(formats or FORMATS))
    for one in wanted:
        if one not in FORMATS:
            raise InputError(f"there is no format {one!r}: {suggest(one, FORMATS)}")
    stored = StoredRun.open(run)
    folder = run if out is None else make_folder(out)
    writers = _writers()
    written = [writers[one](stored, folder / FORMATS[one]) for one in tracked(wanted, "Writing the report")]
    whole = whole_of(results_of(stored))
    if as_json:
        print_json(
            {
                "status": whole.standing,
                "sentence": whole.sentence,
                "requirements": {str(name): number for name, number in whole.requirements.items()},
                "cases": {str(name): number for name, number in whole.cases.items()},
                "files": [str(path) for path in written],
            }
        )
    else:
        out_to = console()
        out_to.print(whole.sentence, soft_wrap=True, markup=False)
        for path in written:
            out_to.print(f"Wrote {path}", soft_wrap=True, markup=False)
    raise typer.Exit(int(whole.standing is Standing.VIOLATED))


def _writers() -> dict[str, Callable[[StoredRun, Path], Any]]:
    from roadworthy.report.html import write_report
    from roadworthy.report.result_files import write_junit, write_results, write_summary

    return {"html": write_report, "junit": write_junit, "csv": write_results, "markdown": write_summary}
