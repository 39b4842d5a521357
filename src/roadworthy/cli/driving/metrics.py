"""``roadworthy driving metrics``: what there is to measure, and what a drive was like."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples, parse_options, plain_table, print_json, print_note
from roadworthy.cli.driving._group import SettingsFile, app, settings_of
from roadworthy.cli.driving._tables import (
    SHOWN,
    as_number,
    drive_facts,
    print_sectors,
    sector_rows,
    write_rows,
)
from roadworthy.cli.options import AsJson
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.driving.drives import Drive
    from roadworthy.driving.metrics import MetricSettings


Per = Literal["drive", "sector", "step"]
_LENGTHS = ("drive", "sector", "step")


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy driving metrics --list",
        "roadworthy driving metrics --list udacity-sim:driving_log.csv",
        "roadworthy driving metrics drive-out --per sector --csv sectors.csv",
        "roadworthy driving metrics donkey:tub --cut-seconds 10 --per sector",
        "roadworthy driving metrics table:log.csv -o mapping=columns.yaml --metric 'SD(LP)'",
        "roadworthy driving metrics drive-out --per step --metric LP --metric 'DevT(SP)' --csv steps.csv",
    ),
)
def metrics(
    log: Annotated[
        str | None,
        typer.Argument(
            metavar="[LOG]",
            help="The drive: the folder of `driving drive`, or format:path with udacity-sim, donkey, "
            "commonroad or table.",
            show_default=False,
        ),
    ] = None,
    listed: Annotated[
        bool,
        typer.Option("--list", help="List all metrics; with a log, which it allows and what others lack."),
    ] = False,
    metric: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this metric, such as SD(LP); repeatable."),
    ] = None,
    per: Annotated[
        str, typer.Option(metavar="WHAT", help="drive, sector or step: what a number is for.")
    ] = "drive",
    option: Annotated[
        list[str] | None,
        typer.Option("--option", "-o", metavar="KEY=VALUE", help="An option of the reader; repeatable."),
    ] = None,
    cut_seconds: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Cut the drive into sectors of so many seconds.")
    ] = None,
    cut_metres: Annotated[
        float | None, typer.Option(metavar="METRES", help="Cut the drive into sectors of so many metres.")
    ] = None,
    settings: SettingsFile = None,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the numbers as CSV.")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure the quality of a drive by the 127 metrics of the literature, or list them.

    A metric is an operator applied to something measured: SD(LP) is the standard deviation of the lateral
    position. docs/driving.md defines all of them.
    """
    if per not in _LENGTHS:
        raise InputError(f"--per is {', '.join(_LENGTHS[:2])} or {_LENGTHS[2]}, got {per!r}")
    told = settings_of(settings)
    drive = None if log is None else _cut(_read(log, option), cut_seconds, cut_metres)
    if listed:
        _list(drive, told, csv, as_json)
        return
    if drive is None:
        raise InputError("give the log of a drive, or --list to see what there is to measure")
    _measure(drive, metric, cast(Per, per), told, csv, as_json)


def _read(log: str, given: list[str] | None) -> Drive:
    """Read a drive with the options of the command line."""
    from roadworthy._options import checked_options
    from roadworthy.driving.drives.readers import FORMATS, read_drive

    options = parse_options(given or [])
    name = log.partition(":")[0]
    if name in FORMATS:
        options = checked_options(name, FORMATS[name], options)
    elif options:
        raise InputError(f"options belong to a format: write format:path before them, got {log!r}")
    return read_drive(log, **options)


def _cut(drive: Drive, seconds: float | None, metres: float | None) -> Drive:
    import numpy as np

    if seconds is not None and metres is not None:
        raise InputError("give --cut-seconds or --cut-metres, not both")
    if seconds is not None:
        return drive.cut_by_time(seconds)
    if metres is None:
        return drive
    if not metres > 0:
        raise InputError(f"--cut-metres must be above 0, got {metres}")
    driven = drive.signals.get("distance")
    furthest = 0.0 if driven is None else float(np.nanmax(driven))
    return drive.cut_by_distance(np.arange(metres, furthest + metres, metres).tolist())


def _list(drive: Drive | None, settings: MetricSettings, csv: Path | None, as_json: bool) -> None:
    """Show the catalogue, and what a drive allows."""
    from roadworthy.driving.metrics import CATALOGUE, availability, meaning_of, primitives, unit_of

    lacking = {} if drive is None else availability(drive, settings=settings)
    rows: list[dict[str, object]] = []
    for entry in CATALOGUE:
        name = str(entry.metric)
        one = primitives()[entry.metric.primitive]
        row: dict[str, object] = {
            "metric": name,
            "meaning": meaning_of(name),
            "block": one.group,
            "unit": unit_of(name),
            "uses": entry.uses,
        }
        if drive is not None:
            row |= {"computable": lacking[name] is None, "missing": lacking[name]}
        rows.append(row)
    if csv is not None:
        write_rows(rows, csv)
    if as_json:
        print_json({"metrics": rows} if drive is None else {**drive_facts(drive), "metrics": rows})
        return
    table = plain_table("metric", "meaning", "unit", "uses" if drive is None else "")
    for row in rows:
        last = (
            str(row["uses"]) if drive is None else ("ok" if row["computable"] else f"needs {row['missing']}")
        )
        table.add_row(*(str(row[name]) for name in ("metric", "meaning", "unit")), last)
    console().print(table)
    if drive is not None:
        _print_notes(drive)
        count = sum(what is None for what in lacking.values())
        console().print(f"{count} of {len(rows)} metrics can be computed from {drive.name}.", markup=False)


def _measure(
    drive: Drive,
    names: list[str] | None,
    per: Per,
    settings: MetricSettings,
    csv: Path | None,
    as_json: bool,
) -> None:
    from roadworthy.driving.drives.drive import partial_sectors
    from roadworthy.driving.metrics import compute, meaning_of, per_step, unit_of

    if per == "step":
        found = per_step(drive, names or ["SP", "LP", "SA"], settings=settings)
        steps = [
            {"time": float(time), **{key: as_number(float(found[key][row])) for key in found}}
            for row, time in enumerate(drive.time)
        ]
        if csv is not None:
            write_rows(steps, csv)
        if as_json or csv is None:
            print_json({**drive_facts(drive), "steps": steps})
        return
    table = compute(drive, names, whole=per == "drive", settings=settings)
    if names and table.missing:
        name, what = next(iter(table.missing.items()))
        raise InputError(f"{name} of drive {drive.name} needs {what}")
    partial = partial_sectors(drive) if per == "sector" else None
    rows = sector_rows(table, partial)
    if csv is not None:
        write_rows(rows, csv)
    if as_json:
        units = {name: unit_of(name) for name in table.values}
        print_json({**drive_facts(drive), "values": rows, "units": units, "missing": dict(table.missing)})
        return
    _print_notes(drive)
    if per == "sector":
        print_sectors(table, list(table.values) if names else SHOWN, partial)
    else:
        shown = plain_table("metric", "value", "unit", "meaning")
        shown.columns[1].justify = "right"
        for metric, values in table.values.items():
            shown.add_row(metric, f"{float(values[0]):.5g}", unit_of(metric), meaning_of(metric))
        console().print(shown)
    if table.missing:
        console().print(
            f"{len(table.missing)} metrics lack a signal: see --list with this log.", markup=False
        )


def _print_notes(drive: Drive) -> None:
    for note in drive.notes:
        print_note(f"{note}.")
