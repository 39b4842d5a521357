"""``roadworthy driving drive``: let a model drive in a simulator and look at how it did."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roadworthy._files import write_json
from roadworthy.cli._answer import show
from roadworthy.cli._commands import Command
from roadworthy.cli._console import (
    console,
    examples,
    make_new_folder,
    parse_options,
    print_json,
    print_note,
    print_rows,
)
from roadworthy.cli.driving._group import SettingsFile, app, settings_of
from roadworthy.cli.options import AsJson, Out
from roadworthy.errors import InputError, SimulatorError, SystemUnderTestError

if TYPE_CHECKING:
    from roadworthy.driving.drives import Drive
    from roadworthy.driving.metrics import MetricSettings, MetricTable
    from roadworthy.driving.simulators import DriveLimits, DriveRecorder, Situation
    from roadworthy.report.driving import Film


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy driving drive --model dave2 --simulator world:town",
        "roadworthy driving drive --model chauffeur -s world:mountain -o weather=rain -o traffic=0 --laps 2",
        "roadworthy driving drive --model mine/model.yaml -s udacity:127.0.0.1:4567 --seconds 120",
        "roadworthy driving drive --model dave2 -s donkey:127.0.0.1:9091 -o scene=generated_track",
        "roadworthy driving drive --model dave2 -s world:town --end-at 'line crossing' --video all",
        "roadworthy driving drive --model mutants/GF-0.03 -s world:town --frames --out drives/GF-0.03",
    ),
)
def drive(
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
    settings: SettingsFile = None,
    out: Out = Path("drive-out"),
    as_json: AsJson = False,
) -> None:
    """Let a model drive in a simulator, record the drive, measure it and draw it.

    Writes drive.parquet, metrics.csv with a row for each sector, drive.json, drive.png and a video. If the
    model or the simulator fails, what was driven until then is written all the same. The exit code is 0
    whatever happened on the road: a drive is a measurement, and an oracle judges it.
    """
    from roadworthy.driving.metrics import parse_metric
    from roadworthy.driving.simulators import DriveLimits, DriveRecorder, open_simulator
    from roadworthy.driving.simulators import drive as closed_loop
    from roadworthy.models import load_model
    from roadworthy.report.driving import FILM_ENDINGS, FRAMES_FILE, Film

    told = settings_of(settings)
    parse_metric(metric)
    limits = DriveLimits(
        laps=laps or None,
        seconds=seconds,
        metres=metres,
        events=() if end_at == ["none"] else tuple(end_at or ["crash"]),
    )
    if f".{video_format}" not in FILM_ENDINGS:
        raise InputError(f"--video-format is mp4, webm or gif, got {video_format!r}")
    system = load_model(model, **parse_options(model_option or [], "-m threads=1"))
    place = open_simulator(simulator, **parse_options(option or []))
    recorder, film = DriveRecorder(system.name), Film()
    folder = make_new_folder(out)
    try:
        with _progress(limits, recorder) as shown:

            def watch(situation: Situation) -> None:
                if video != "none" or frames:
                    film.add(situation.frame, situation.time)
                shown(situation)

            try:
                driven = closed_loop(system, place, limits=limits, recorder=recorder, watch=watch)
            except (SystemUnderTestError, SimulatorError, KeyboardInterrupt) as error:
                _keep_what_there_is(recorder, place.notes, error, folder)
                raise
    finally:
        place.close()
    _write(driven, told, metric, folder)
    if frames:
        film.save(folder / FRAMES_FILE)
    shot, problem = None, None
    try:
        shot = _film(film, driven, video, folder, video_format)
    except InputError as error:
        problem = error  # told at the end: what was measured must not be lost for it
    asked = {"simulator": place.name, "options": parse_options(option or []), "model": model}
    _report(driven, asked, told, folder, shot, as_json)
    if problem is not None:
        raise problem


@contextmanager
def _progress(limits: DriveLimits, recorder: DriveRecorder) -> Iterator[Callable[[Situation], None]]:
    """Show on a terminal how far the vehicle is."""
    from rich.progress import Progress, TextColumn, TimeElapsedColumn

    err = console(stderr=True)
    columns = (TextColumn("Driving {task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        bar = progress.add_task("", total=limits.seconds)

        def shown(situation: Situation) -> None:
            words = f"{recorder.metres:.0f} m in {situation.time:.1f} s"
            progress.update(bar, completed=situation.time, description=words)

        yield shown


def _keep_what_there_is(
    recorder: DriveRecorder, notes: tuple[str, ...], error: BaseException, folder: Path
) -> None:
    """Write the drive until the failure."""
    from roadworthy.driving.drives.readers import write_drive
    from roadworthy.driving.drives.readers.recorded import DRIVE_FILE

    if not len(recorder):
        return
    if isinstance(error, KeyboardInterrupt):
        why = "the drive was interrupted"
    else:
        why = "the simulator failed" if isinstance(error, SimulatorError) else "the model failed"
    write_drive(recorder.finished(f"{why}: {error}" if str(error) else why, notes), folder / DRIVE_FILE)
    rows = "1 row was" if len(recorder) == 1 else f"{len(recorder)} rows were"
    console(stderr=True).print(
        f"{rows} recorded until {why}: see {folder / DRIVE_FILE}.", markup=False, soft_wrap=True
    )


def _write(driven: Drive, settings: MetricSettings, metric: str, folder: Path) -> None:
    """Write the drive, its metrics and its picture."""
    from roadworthy.driving.drives.drive import partial_sectors
    from roadworthy.driving.drives.readers import write_drive
    from roadworthy.driving.drives.readers.recorded import DRIVE_FILE
    from roadworthy.report.drive_tables import sector_rows, write_rows
    from roadworthy.report.driving import drive_figure, failing_sectors
    from roadworthy.report.plots import save

    write_drive(driven, folder / DRIVE_FILE)
    partial = partial_sectors(driven)
    write_rows(sector_rows(_measured(driven, settings), partial), folder / "metrics.csv")
    figure = drive_figure(driven, metric, alarms=failing_sectors(driven), settings=settings)
    save(figure, folder / "drive.png")


def _measured(driven: Drive, settings: MetricSettings, *, whole: bool = False) -> MetricTable:
    from roadworthy.driving.metrics import compute

    return compute(driven, whole=whole, settings=settings)


def _film(film: Film, driven: Drive, what: str, folder: Path, ending: str) -> Path | None:
    """Write the video that was asked for; return its path."""
    from roadworthy.report.driving import failing_sectors

    if what == "none":
        return None
    sector: str | None = None
    if what == "failing":
        failed = failing_sectors(driven)
        if not failed:
            return None
        sector = failed[0]
    elif what != "all":
        sector = what
    path = folder / f"{(sector or 'drive').replace('/', '-').replace(' ', '-')}.{ending}"
    film.write(path, driven, sector=sector)
    return path


def _report(
    driven: Drive,
    asked: Mapping[str, object],
    settings: MetricSettings,
    folder: Path,
    shot: Path | None,
    as_json: bool,
) -> None:
    """Write and show the summary."""
    from roadworthy.driving.drives.drive import partial_sectors
    from roadworthy.report.drive_tables import drive_facts, sector_rows, sector_table
    from roadworthy.report.driving import failing_sectors

    whole = sector_rows(_measured(driven, settings, whole=True))[0]
    failed = failing_sectors(driven)
    document = {
        **drive_facts(driven),
        **asked,
        "failing_sectors": list(failed),
        "metrics": {name: value for name, value in whole.items() if name not in ("drive", "sector")},
        "folder": str(folder),
        "video": None if shot is None else shot.name,
    }
    write_json(folder / "drive.json", document)
    if as_json:
        print_json(document)
        return
    out = console()
    metres = document["metres"]
    far = f"{metres:.0f} m in " if isinstance(metres, float) else ""
    out.print(
        f"{driven.name} in {asked['simulator']}: {driven.ended}, {far}{driven.duration:.1f} s",
        markup=False,
        soft_wrap=True,
    )
    for note in driven.notes:
        print_note(f"{note}.")
    show(sector_table(_measured(driven, settings), partial=partial_sectors(driven)))
    print_rows(
        {
            "failing sectors": ", ".join(failed) or "none",
            "written": f"{folder}: drive.parquet, metrics.csv, drive.json, drive.png"
            + (f", {shot.name}" if shot else "")
            + (", frames.zip" if (folder / "frames.zip").is_file() else ""),
        }
    )
