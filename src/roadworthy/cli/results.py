"""``roadworthy report``, ``compare`` and ``plan``: what runs show, how two differ, how large one must be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import typer

from roadworthy.cli._answer import FAILED, PASSED, VIOLATED, Answer
from roadworthy.cli._commands import Group, command
from roadworthy.cli._console import make_folder, parse_options, tracked
from roadworthy.cli.options import share
from roadworthy.errors import InputError, check_known, shortened
from roadworthy.report.comparison import as_document, cells_of, counted, models_of, sentence, write_comparison
from roadworthy.report.kinds import record_kinds
from roadworthy.report.publish import WRITERS
from roadworthy.report.results import RunSize, Standing, results_of, signed, whole_of
from roadworthy.result_tables import ResultTable
from roadworthy.runs.comparison import Comparison, compare
from roadworthy.runs.store import StoredRun

app = typer.Typer(cls=Group)

_FORMATS = {"html": "report", "junit": "junit", "csv": "results", "markdown": "summary"}
_WRITERS = {name: WRITERS[what] for name, what in _FORMATS.items()}
_MOST = 40  # lines of a comparison
_COLUMNS = ("requirement", "model", "verdict", "before", "after", "broken", "fixed", "p", "margins")


@command(app, name="report")
def write_reports(run: Path, formats: list[str] | None = None, out: Path | None = None) -> Answer:
    """Write the report of a run: one HTML page that needs no other file, JUnit XML, CSV and Markdown.

    Any run folder works, finished or not. The exit code is 1 if a requirement is violated, 0 if none is.

    Options:
        out (FOLDER): The output folder; the run's own by default.
        formats (--format WHAT): html, junit, csv or markdown; repeatable. All if left out.

    Examples:
        roadworthy report rules-out
        roadworthy report runs/nightly --format junit --out build/reports
        roadworthy report runs/nightly --format html --json
    """
    wanted = list(dict.fromkeys(formats or _WRITERS))
    for one in wanted:
        check_known("there is no format", one, _WRITERS)
    stored = StoredRun.open(run)
    folder = run if out is None else make_folder(out)
    files = []
    if out is None and "html" in wanted:
        record_kinds(stored)
    for one in tracked(wanted, "Writing the report"):
        name, write = _WRITERS[one]
        write(stored, folder / name)
        files.append(str(folder / name))
    whole = whole_of(results_of(stored))
    document = {
        "status": whole.standing,
        "sentence": whole.sentence,
        "requirements": {str(name): number for name, number in whole.requirements.items()},
        "cases": {str(name): number for name, number in whole.cases.items()},
        "files": files,
    }
    return Answer(
        document,
        [whole.sentence, *(f"Wrote {path}" for path in files)],
        exit_code=VIOLATED if whole.standing is Standing.VIOLATED else PASSED,
    )


@command(app, name="compare")
def compare_runs(
    first: Path,
    second: Path,
    fail: bool = False,
    systems: list[str] | None = None,
    alpha: float = 0.05,
    anyway: bool = False,
    out: Path | None = None,
) -> Answer:
    """Compare two runs: what broke, what got fixed, and whether that is more than chance.

    Cases are paired by requirement, model and name. A regression is a requirement that passed and is violated
    now, or that got significantly worse: by tests over clusters (drives, laps, scenes or frames), corrected
    for the number of comparisons as intervals are. Runs with different data or seeds are refused. The exit
    code is 0, or with --fail-on-regression 1 if there is a regression.

    Options:
        first (RUN_A): The folder of the run before.
        second (RUN_B): The folder of the run after.
        systems (OLD=NEW): Compare this model with that one; repeatable. Models of the same name by default.
        alpha (P): The level of significance, for all comparisons together.
        anyway: Compare even if data or seeds differ.
        out (FILE): Write the comparison: an .html or .md file.
        fail (--fail-on-regression): End with exit code 1 if something got worse.

    Examples:
        roadworthy compare runs/before runs/after
        roadworthy compare runs/before runs/after --fail-on-regression --out compare.md
        roadworthy compare runs/a runs/b --systems dave2=dave2-retrained --out compare.html
    """
    before, after = StoredRun.open(first), StoredRun.open(second)
    if fail:
        _check_finished(after)
    given = {key: str(value) for key, value in parse_options(systems or [], "--systems dave2=epoch").items()}
    found = compare(before, after, systems=given or None, alpha=alpha, anyway=anyway)
    written = [] if out is None else [f"Wrote {write_comparison(found, out, before, after)}"]
    errors = []
    if fail and not counted(found):
        errors.append(
            "nothing could be compared, so the run cannot be let through: test the same requirements with "
            "the same data and seed, or leave --fail-on-regression out"
        )
    rows = tuple(
        (one.requirement.id, models_of(one), one.verdict, *cells_of(one)) for one in found.differences[:_MOST]
    )
    return Answer(
        as_document(found),
        [
            ResultTable("", _COLUMNS, rows),
            *_lines(found),
            *([f"{found.correction}."] if found.comparisons else []),
            *written,
            sentence(found),
        ],
        found.warnings,
        errors=errors,
        exit_code=FAILED if errors else VIOLATED if fail and found.regressions else PASSED,
    )


def _check_finished(run: StoredRun) -> None:
    """Refuse to let a run through that did not test everything it was to test."""
    unfinished = [f"{one.requirement.id} on {one.system}" for one in run.pairs if one.outcome is None]
    if unfinished:
        raise InputError(
            f"{run.folder} was not finished and cannot be let through: {shortened(unfinished, 3)} "
            "lack an outcome; go on with `roadworthy run`, or leave --fail-on-regression out"
        )


def _lines(found: Comparison) -> Iterator[str]:
    """Yield what got worse and better, with some of the cases that broke."""
    if len(found.differences) > _MOST:
        yield f"{len(found.differences) - _MOST} more, which stand no worse; --out writes more of them"
    yield ""
    for one in (*found.regressions, *found.improvements)[:_MOST]:
        yield f"{one.verdict}: {one.requirement.id}, {one.after}: {one.why}"
        for case in one.examples_broken[:3] if one.verdict == "regression" else ():
            margins = " → ".join(
                "none" if value is None else signed(value) for value in (case.before, case.after)
            )
            yield f"  broken: {case.case}, margin {margins}"


@command(app, name="plan")
def plan_run(
    rate: str,
    run: Path | None = None,
    expected: str = "",
    size: int = 1,
    correlation: float = 0.0,
    confidence: str = "95%",
    power: str = "80%",
    seed: int = 0,
) -> Answer:
    """Say how many drives and frames it takes to show that at most so many cases fail.

    Frames of one drive are alike, so what counts is the number of drives, laps or scenes. A pilot run tells
    how alike they are, how many cases one has and how many fail.

    Options:
        rate (RATE): What shall be shown, such as 5%.
        run (FOLDER): A pilot run: each of its requirements is planned for.
        expected (SHARE): The rate that you think is true; that of the pilot run, or 0, if left out.
        size (N): Cases in a drive, lap or scene, without a pilot run.
        correlation (0…1): How alike these are, without a pilot run: 0 not at all, 1 all end the same.
        confidence (SHARE): How sure the run shall make you.
        power (SHARE): How sure you want to be that it ends with passed if the expected rate is true.

    Examples:
        roadworthy plan 5%
        roadworthy plan 5% --expected 1% --size 30 --correlation 0.2
        roadworthy plan 2% --run rules-out --confidence 99%
    """
    sure = share("--confidence", confidence)
    given = share("--expected", expected) if expected else None
    asked = [] if run is None else RunSize.of_pilot(StoredRun.open(run))
    planned = [
        one.planned(share("RATE", rate), given, confidence=sure, power=share("--power", power), seed=seed)
        for one in (asked or [RunSize("", "", None, size, correlation)])
    ]
    columns = ("requirement", "model", "expected", "correlation", "cases each", "clusters", "cases")
    rows = tuple(one.cells() for one in planned)
    told = (
        f"To show at most {rate}, with {confidence} confidence; a cluster is a drive, lap, scene or frame. "
        f"With 0% expected, none may fail; otherwise it is shown in {power} of such runs."
    )
    return Answer({"plans": [asdict(one) for one in planned]}, [ResultTable("", columns, rows), told])
