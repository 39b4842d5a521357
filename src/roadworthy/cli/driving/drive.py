"""``roadworthy driving drive``: let a model drive in a simulator and look at how it did."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roadworthy._yaml import read_yaml
from roadworthy.cli._answer import FAILED, Answer
from roadworthy.cli._commands import command
from roadworthy.cli._console import parse_options
from roadworthy.cli._road import RunOptions, answer_of, planned, run_plan, suite_document
from roadworthy.cli.driving._group import SettingsFile, app, settings_of
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.report.drive_tables import DriveReport
    from roadworthy.runs.suites import SuiteResult

USUAL = Path("drive-out")


@command(
    app,
    "roadworthy driving drive --model dave2 --simulator world:town",
    "roadworthy driving drive --model chauffeur -s world:mountain -o weather=rain -o traffic=0 --laps 2",
    "roadworthy driving drive --model mine/model.yaml -s udacity:127.0.0.1:4567 --seconds 120",
    "roadworthy driving drive --model dave2 -s donkey:127.0.0.1:9091 -o scene=generated_track",
    "roadworthy driving drive --model dave2 -s world:town --end-at 'line crossing' --video all",
    "roadworthy driving drive --model mutants/GF-0.03 -s world:town --frames --out drives/GF-0.03",
    "roadworthy driving drive --model dave2 -s world:town --oracle oracle.json",
)
def drive(
    how: RunOptions,
    model: Annotated[
        str, typer.Option(metavar="MODEL", help="Who drives: a name, kind:path or a model.yaml.")
    ] = "dave2",
    simulator: Annotated[
        str,
        typer.Option(
            "--simulator",
            "-s",
            metavar="SIMULATOR",
            help="Where: name or name:what, see `roadworthy list simulators`.",
        ),
    ] = "world:meadow",
    option: Annotated[
        list[str] | None,
        typer.Option("--option", "-o", metavar="KEY=VALUE", help="An option of the simulator; repeatable."),
    ] = None,
    model_option: Annotated[
        list[str] | None,
        typer.Option("--model-option", "-m", metavar="KEY=VALUE", help="An option of the model; repeatable."),
    ] = None,
    laps: Annotated[int, typer.Option(metavar="N", help="Laps; 0 does not count them.")] = 1,
    seconds: Annotated[float, typer.Option(metavar="S", help="The longest drive, in the simulator.")] = 600.0,
    metres: Annotated[float | None, typer.Option(metavar="M", help="The farthest drive.")] = None,
    end_at: Annotated[
        list[str] | None,
        typer.Option(metavar="EVENT", help="End at this event; repeatable. crash if left out; or none."),
    ] = None,
    metric: Annotated[
        str, typer.Option(metavar="NAME", help="What colours the way in drive.png, such as LP or SD(SA).")
    ] = "LP",
    video: Annotated[
        str,
        typer.Option(
            metavar="WHAT", help="failing: the first sector that failed; all; none; or a sector's name."
        ),
    ] = "failing",
    video_format: Annotated[
        str, typer.Option(metavar="NAME", help="mp4; webm, which browsers show; or gif.")
    ] = "mp4",
    frames: Annotated[
        bool, typer.Option("--frames", help="Keep what the camera saw in frames.zip, for clips to be rated.")
    ] = False,
    oracle: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="What `driving oracle --json` wrote: its thresholds must hold as well."
        ),
    ] = None,
    settings: SettingsFile = None,
) -> Answer:
    """Let a model drive in a simulator, record the drive, measure it and draw it.

    Writes drive.parquet, metrics.csv with a row for each sector, drive.json, drive.png and a video, beside
    report.html, junit.xml, evidence, and suite.yaml, which `roadworthy run` takes. If the model or the
    simulator fails, what was driven until then is written all the same.

    The exit code is 1 if the vehicle crashed, crossed a line or stood still for good in any sector, if a
    threshold of the oracle is passed or if the model failed; 2 if the simulator failed; 3 if nothing could be
    judged.
    """
    from roadworthy.driving.metrics import parse_metric
    from roadworthy.driving.requirements import WHOLE_DRIVE
    from roadworthy.report.driving import FILM_ENDINGS

    parse_metric(metric)
    if f".{video_format}" not in FILM_ENDINGS:
        raise InputError(f"--video-format is mp4, webm or gif, got {video_format!r}")
    settings_of(settings)
    changes = {} if settings is None else read_yaml(settings, "file of metric settings", "targets …").data
    # How many laps there will be, or which sectors, is not known beforehand.
    known = simulator.partition(":")[0] == "world" and laps
    kept = {"none": "none", "failing": "failing"}.get(video, "all")
    entry = {
        "driving": {} if oracle is None else str(oracle),
        "simulator": [simulator],
        "options": parse_options(option or []),
        "laps": laps,
        "seconds": seconds,
        "metres": metres,
        "end_at": [] if end_at == ["none"] else end_at,
        "sectors": None if known else [WHOLE_DRIVE],
        "frames": "all" if frames else kept,
        "settings": changes,
    }
    suite = suite_document("driving drive", {"drive": entry}, models=[model])
    options = parse_options(model_option or [], "-m threads=1")
    suite["models"] = {name: {"model": one, "options": options} for name, one in suite["models"].items()}
    plan = planned(suite, how, USUAL)
    reports: list[DriveReport] = []

    def write(result: SuiteResult) -> None:
        from roadworthy.report.drive_tables import DriveReport

        report = DriveReport(result)
        if report.driven:
            report.write(metric, video, video_format, frames=frames)
            reports.append(report)

    # One drive needs one process, and may take as long as it lasts in the simulator.
    one = replace(how, workers=how.workers or 1, timeout=how.timeout + seconds)
    published = run_plan(plan, one, USUAL, extras=write)
    if not reports:
        return answer_of(published, how)
    (report,) = reports
    facts = report.document()
    notes = [*facts.pop("notes"), *published.result.notes]
    answer = answer_of(published, how, shown=report.lines(), document={**facts, "notes": notes})
    if not report.problem:
        return replace(answer, notes=notes)
    return replace(
        answer,
        notes=notes,
        document={**answer.document, "exit_code": FAILED},
        exit_code=FAILED,
        conclusion=f"The film could not be written (exit code {FAILED})",
        errors=[report.problem],
    )
