"""``roadworthy driving``: models that drive in simulators, and how well they do.

Options:
    settings (FILE): Settings of the metrics: targets, conditions, bins …; YAML with what differs from the
        defaults.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from roadworthy._files import write_text
from roadworthy._yaml import read_yaml
from roadworthy.cli._answer import FAILED, Answer
from roadworthy.cli._commands import Group, command
from roadworthy.cli._console import make_folder, parse_options, tracked
from roadworthy.cli._road import RunOptions, answer_of, planned, run_plan, suite_document
from roadworthy.cli.options import numbers
from roadworthy.cli.studies import clips
from roadworthy.errors import InputError
from roadworthy.result_tables import ResultTable

if TYPE_CHECKING:
    from roadworthy.cli._answer import Shown
    from roadworthy.driving.drives import Drive
    from roadworthy.driving.metrics import MetricSettings
    from roadworthy.driving.requirements import Collection
    from roadworthy.report.drive_tables import DriveReport
    from roadworthy.runs.suites import SuiteResult


app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    help="Let models drive in simulators, measure how well they drive, and learn oracles.",
)


def settings_of(path: Path | None) -> MetricSettings:
    """Return the settings of a file, or those that come with the package."""
    from roadworthy.driving.metrics import MetricSettings

    return MetricSettings.standard() if path is None else MetricSettings.load(path)


USUAL = Path("drive-out")


@command(app)
def drive(
    how: RunOptions,
    model: str = "dave2",
    simulator: str = "world:meadow",
    option: list[str] | None = None,
    model_option: list[str] | None = None,
    laps: int = 1,
    seconds: float = 600.0,
    metres: float | None = None,
    end_at: list[str] | None = None,
    metric: str = "LP",
    video: str = "failing",
    video_format: str = "mp4",
    frames: bool = False,
    oracle: Path | None = None,
    settings: Path | None = None,
) -> Answer:
    """Let a model drive in a simulator, record the drive, measure it and draw it.

    Writes drive.parquet, metrics.csv with a row for each sector, drive.json, drive.png and a video, beside
    report.html, junit.xml, evidence, and suite.yaml, which `roadworthy run` takes. If the model or the
    simulator fails, the drive up to that point is still written.

    The exit code is 1 if the vehicle crashed, crossed a line or stood still for good in any sector, if a
    threshold of the oracle is passed or if the model failed; 2 if the simulator failed; 3 if nothing could be
    judged.

    Options:
        model (MODEL): Who drives: a name, kind:path or a model.yaml.
        simulator (-s SIMULATOR): Where: name or name:what, see `roadworthy list simulators`.
        option (-o KEY=VALUE): An option of the simulator; repeatable.
        model_option (-m KEY=VALUE): An option of the model; repeatable.
        laps (N): Laps; 0 does not count them.
        seconds (S): The longest drive, in the simulator.
        metres (M): The farthest drive.
        end_at (EVENT): End at this event; repeatable. crash if left out; or none.
        metric (NAME): What colours the way in drive.png, such as LP or SD(SA).
        video (WHAT): failing: the first sector that failed; all; none; or a sector's name.
        video_format (NAME): mp4; webm, which browsers show; or gif.
        frames: Keep what the camera saw in frames.zip, for clips to be rated.
        oracle (FILE): What `driving oracle --json` wrote: its thresholds must hold as well.

    Examples:
        roadworthy driving drive --model dave2 --simulator world:town
        roadworthy driving drive --model chauffeur -s world:mountain -o weather=rain -o traffic=0 --laps 2
        roadworthy driving drive --model mine/model.yaml -s udacity:127.0.0.1:4567 --seconds 120
        roadworthy driving drive --model dave2 -s donkey:127.0.0.1:9091 -o scene=generated_track
        roadworthy driving drive --model dave2 -s world:town --end-at 'line crossing' --video all
        roadworthy driving drive --model mutants/GF-0.03 -s world:town --frames --out drives/GF-0.03
        roadworthy driving drive --model dave2 -s world:town --oracle oracle.json
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


_LENGTHS = ("drive", "sector", "step")
Rows = list[dict[str, Any]]


@command(app)
def metrics(
    log: str | None = None,
    listed: bool = False,
    metric: list[str] | None = None,
    per: str = "drive",
    option: list[str] | None = None,
    cut_seconds: float | None = None,
    cut_metres: float | None = None,
    settings: Path | None = None,
    csv: Path | None = None,
) -> Answer:
    """Measure the quality of a drive by the 127 metrics of the literature, or list them.

    A metric is an operator applied to something measured: SD(LP) is the standard deviation of the lateral
    position. docs/driving.md defines all of them.

    Options:
        log ([LOG]): The drive: the folder of `driving drive`, or format:path with udacity-sim, donkey,
            commonroad or table.
        listed (--list): List all metrics; with a log, which of them it allows.
        metric (NAME): Only this metric, such as SD(LP); repeatable.
        per (WHAT): drive, sector or step: what a number is for.
        option (-o KEY=VALUE): An option of the reader; repeatable.
        cut_seconds (SECONDS): Cut the drive into sectors this long.
        cut_metres (METRES): Cut the drive into sectors this long.
        csv (FILE): Write the numbers as CSV.

    Examples:
        roadworthy driving metrics --list
        roadworthy driving metrics --list udacity-sim:driving_log.csv
        roadworthy driving metrics drive-out --per sector --csv sectors.csv
        roadworthy driving metrics donkey:tub --cut-seconds 10 --per sector
        roadworthy driving metrics table:log.csv -o mapping=columns.yaml --metric 'SD(LP)'
        roadworthy driving metrics drive-out --per step --metric LP --metric 'DevT(SP)' --csv steps.csv
    """
    from roadworthy.report.drive_tables import write_rows

    if per not in _LENGTHS:
        raise InputError(f"--per is {', '.join(_LENGTHS[:2])} or {_LENGTHS[2]}, got {per!r}")
    chosen = settings_of(settings)
    drive = None if log is None else _cut(_read(log, option), cut_seconds, cut_metres)
    if listed:
        rows, answer = _catalogue(drive, chosen)
    elif drive is None:
        raise InputError("give the log of a drive, or --list to see what there is to measure")
    elif per == "step":
        rows, answer = _steps(drive, metric, chosen, shown=csv is None)
    else:
        rows, answer = _values(drive, metric, chosen, sectors=per == "sector")
    if csv is not None:
        write_rows(rows, csv)
    return answer


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


def _catalogue(drive: Drive | None, settings: MetricSettings) -> tuple[Rows, Answer]:
    """Return what there is to measure, and what a drive allows."""
    from roadworthy.report.drive_tables import catalogue_rows, drive_facts

    rows = catalogue_rows(drive, settings)

    def last(row: Mapping[str, object]) -> str:
        if drive is None:
            return str(row["uses"])
        return "ok" if row["computable"] else f"needs {row['missing']}"

    cells = tuple((str(row["metric"]), str(row["meaning"]), str(row["unit"]), last(row)) for row in rows)
    table = ResultTable("", ("metric", "meaning", "unit", "uses" if drive is None else ""), cells)
    if drive is None:
        return rows, Answer({"metrics": rows}, [table])
    count = sum(bool(row["computable"]) for row in rows)
    conclusion = f"{count} of {len(rows)} metrics can be computed from {drive.name}."
    document = {**drive_facts(drive), "metrics": rows}
    return rows, Answer(document, [table], _notes(drive), conclusion=conclusion)


def _steps(
    drive: Drive, names: list[str] | None, settings: MetricSettings, *, shown: bool
) -> tuple[Rows, Answer]:
    from roadworthy.driving.metrics import per_step
    from roadworthy.report.drive_tables import as_number, drive_facts

    found = per_step(drive, names or ["SP", "LP", "SA"], settings=settings)
    rows: Rows = [
        {"time": float(time), **{key: as_number(float(found[key][row])) for key in found}}
        for row, time in enumerate(drive.time)
    ]
    document = {**drive_facts(drive), "steps": rows}
    return rows, Answer(document, [json.dumps(document, indent=2, ensure_ascii=False)] if shown else [])


def _values(
    drive: Drive, names: list[str] | None, settings: MetricSettings, *, sectors: bool
) -> tuple[Rows, Answer]:
    from roadworthy.driving.drives.drive import partial_sectors
    from roadworthy.driving.metrics import compute, meaning_of, unit_of
    from roadworthy.report.drive_tables import SHOWN, drive_facts, sector_rows, sector_table

    table = compute(drive, names, whole=not sectors, settings=settings)
    if names and table.missing:
        name, what = next(iter(table.missing.items()))
        raise InputError(f"{name} of drive {drive.name} needs {what}")
    partial = partial_sectors(drive) if sectors else None
    rows: Rows = sector_rows(table, partial)
    units = {name: unit_of(name) for name in table.values}
    document = {**drive_facts(drive), "values": rows, "units": units, "missing": dict(table.missing)}
    if sectors:
        shown = sector_table(table, list(table.values) if names else SHOWN, partial)
    else:
        cells = tuple(
            (name, f"{float(values[0]):.5g}", units[name], meaning_of(name))
            for name, values in table.values.items()
        )
        shown = ResultTable("", ("metric", "value", "unit", "meaning"), cells)
    lacking = f"{len(table.missing)} metrics lack a signal: see --list with this log."
    return rows, Answer(document, [shown], _notes(drive), conclusion=lacking if table.missing else "")


def _notes(drive: Drive) -> list[str]:
    return [f"{note}." for note in drive.notes]


@command(app)
def mutate(
    model: str = "dave2",
    operators: str = "GF,WS,NEB,NAI,NS,LR,LA,LD",
    ratios: str = "0.01,0.03,0.05",
    layers: int = 3,
    sigma: float = 1.0,
    seed: int = 0,
    again: Path | None = None,
    listed: bool = False,
    drive: str | None = None,
    out: Path = Path("mutants"),
) -> Answer:
    """Make mutants of a trained network, as DeepMutation++ does: faults to try an oracle on.

    Every mutant becomes a folder that all commands open as a model, with a mutant.json to make it again.
    mutants.csv says what became of each: equivalent to the original on all probe images, crashing, or alive.

    Options:
        model (MODEL): The network: a shipped one, or a trained file or folder.
        operators (NAMES): The operators, comma-separated.
        ratios (SHARES): Of weights (GF), neurons (WS, NEB, NAI, NS).
        layers (N): How many layers LR, LA and LD change, each in a mutant.
        sigma (SHARE): The noise of GF, as a share of the layer's own spread.
        seed (N): Chooses layers, weights, neurons and noise.
        again (FILE): Make the mutant of this mutant.json again.
        listed (--list): List the layers each operator can change, or why not.
        drive (TRACK): Let every mutant drive a lap of this track.
        out (FOLDER): Where everything is written.

    Examples:
        roadworthy driving mutate --model dave2 --out mutants
        roadworthy driving mutate --model dave2 --drive meadow --out mutants
        roadworthy driving mutate --model chauffeur --operators NEB,NS --ratios 0.03 --seed 4 --out more
        roadworthy driving mutate --model dave2 --operators LD --list
        roadworthy driving mutate --again mutants/GF-0.03/mutant.json --out again
        roadworthy driving drive --model mutants/GF-0.03
    """
    from roadworthy.models.zoo import load_module, located_weights, read_variant
    from roadworthy.training import mutants
    from roadworthy.world import track

    if drive is not None:
        track(drive)
    names = [one.strip() for one in operators.split(",") if one.strip()]
    if again is not None:
        model, mutation = mutants.read_mutation(again)
    module, example = load_module(model), mutants.example_of(read_variant(located_weights(model)))
    if listed:
        found = [one for name in names for one in mutants.candidates(module, example, name)]
        cells = tuple(
            (
                one.operator,
                one.layer,
                one.kind,
                f"no: {one.refused}"
                if one.refused
                else one.note or (f"same: {one.equivalent}" if one.equivalent else ""),
            )
            for one in found
        )
        table = ResultTable("", ("operator", "layer", "kind", ""), cells)
        return Answer([vars(one) for one in found], [table])
    if again is not None:
        wanted = [mutation]
    else:
        shares = numbers("--ratios", ratios)
        wanted = mutants.plan(
            module, example, operators=names, ratios=shares, layers=layers, seed=seed, sigma=sigma
        )
    folder = make_folder(out)
    rows = mutants.make_mutants(model, tracked(wanted, "Making mutants"), folder, track=drive)
    document = {"mutants": rows, "table": str(mutants.write_table(folder, rows))}
    fates = Counter(row["fate"] or "not driven" for row in rows)
    summary = ", ".join(f"{count} {fate}" for fate, count in fates.items())
    notes = [] if drive else ["Only a drive shows which of them crash: give --drive meadow."]
    conclusion = f"{len(rows)} mutants of {model}: {summary}. Written to {folder}"
    return Answer(document, [_fates(rows, driven=drive is not None)], notes, conclusion=conclusion)


def _fates(rows: Rows, *, driven: bool) -> ResultTable:
    """Return what became of the mutants; where none drove, nothing is said about how they did."""
    known = any(row["fate"] for row in rows)
    columns = ["mutant", *(["fate", "why"] if known else []), "differs by", *(["lap"] if driven else [])]
    cells = [
        {
            "mutant": row["name"],
            "fate": row["fate"] or "",
            "why": row["reason"],
            "differs by": "" if row["difference"] is None else f"{row['difference']:.3g}",
            "lap": f"{row['lap']['share']:.0%}" if row["lap"] else "",
        }
        for row in rows
    ]
    return ResultTable("", tuple(columns), tuple(tuple(one[name] for name in columns) for one in cells))


@command(app)
def oracle(
    nominal: list[Path] | None = None,
    mutants: list[Path] | None = None,
    test_nominal: list[Path] | None = None,
    test_mutants: list[Path] | None = None,
    metric: list[str] | None = None,
    down: list[str] | None = None,
    up: list[str] | None = None,
    size: int | None = None,
    give_up: int = 0,
    partial: bool = False,
    seconds: float | None = None,
    smtlib: Path | None = None,
    settings: Path | None = None,
) -> Answer:
    """Find thresholds of metrics that raise an alarm in as many sectors of mutants as possible.

    The nominal driver raises none, but in the sectors that are given up. Mutants that crash or cross a line
    are left out: they need no metric. So is the sector in the middle of which a drive ends. With drives of
    another model and its mutants, oracles of every size up to --size and for every number of sectors up to
    --give-up are tried on them.

    Options:
        nominal (DRIVE): Drives of the model that drives well; a drive's folder, or one that holds several.
            Repeatable.
        mutants (DRIVE): Drives of its mutants; a drive's folder, or one that holds several. Repeatable.
        test_nominal (DRIVE): Drives of another model, to test oracles on; a drive's folder, or one that holds
            several. Repeatable.
        test_mutants (DRIVE): Drives of that model's mutants; a drive's folder, or one that holds several.
            Repeatable.
        metric (NAME): Use this metric; repeatable. Default: those of Table II.
        down (NAME): A metric where less is worse, unlike usual.
        up (NAME): A metric where more is worse, unlike usual.
        size (min=1 N): Use the N metrics with the top variance scores.
        give_up (min=0 K): In how many nominal sectors an alarm is allowed.
        partial: Also use the sectors that drives do not finish.
        seconds (SECONDS): For each fit at most; then a bound is told.
        smtlib (FILE): Write the problem for other solvers, as SMT-LIB.

    Examples:
        roadworthy driving oracle --nominal drives/dave2 --mutants drives/mutants --give-up 1
        roadworthy driving oracle --nominal drives/dave2 --mutants drives/mutants --metric 'SD(SA)' \
            --metric 'Max(LP)' --smtlib problem.smt2
        roadworthy driving oracle --nominal drives/dave2 --mutants drives/dave2-mutants --test-nominal \
            drives/chauffeur --test-mutants drives/chauffeur-mutants
    """
    if not nominal or not mutants:
        raise InputError("give drives of the good driver with --nominal and of its mutants with --mutants")
    if bool(test_nominal) != bool(test_mutants):
        raise InputError("give both --test-nominal and --test-mutants, or neither")
    from roadworthy.driving.drives.readers import drives_in
    from roadworthy.driving.oracles import fit_oracle, sweep_oracles, to_smtlib
    from roadworthy.driving.requirements import collect, directions_of

    chosen = settings_of(settings)

    def collected(places: list[Path], *, good: bool) -> Collection:
        drives = (drive for _, drive in drives_in(places))
        return collect(drives, metric, settings=chosen, keep_fatal=good, keep_partial=partial)

    good, bad = collected(nominal, good=True), collected(mutants, good=False)
    collections = [good, bad]
    if test_nominal and test_mutants:
        collections += [collected(test_nominal, good=True), collected(test_mutants, good=False)]
    shared = [name for name in good.table.metrics if all(name in one.table.metrics for one in collections)]
    if not shared:
        raise InputError("no metric is known in every sector of all drives: name some with --metric")
    ways = directions_of(shared, up or [], down or [])
    ranking = (shared if metric else _ranked(good, bad, shared))[:size]
    directions = {name: ways[name] for name in ranking}
    tables = [one.table.select(ranking) for one in collections]
    if smtlib is not None:
        write_text(smtlib, to_smtlib(tables[0], tables[1], give_up=give_up, directions=directions))
    exceptions: dict[str, Any] = {
        "left_out": {name: why for one in collections for name, why in one.left_out.items()},
        "bad_nominal": {name: why for one in collections for name, why in one.kept_fatal.items()},
        "not_known": sorted({name for one in collections for name in one.dropped}),
    }
    shown: list[Shown]
    if len(tables) > 2:
        sweep = sweep_oracles(
            tables[0],
            tables[1],
            test_nominal=tables[2],
            test_mutants=tables[3],
            ranking=ranking,
            give_up=range(give_up + 1),
            directions=directions,
            seconds=seconds,
        )
        document = {"ranking": ranking, "rows": [row.as_dict() for row in sweep.rows]}
        shown = [f"Metrics, the best first: {', '.join(ranking)}", str(sweep)]
        if not all(row.oracle.optimal for row in sweep.rows):
            shown.append("* not proved optimal within --seconds")
    else:
        found = fit_oracle(tables[0], tables[1], give_up=give_up, directions=directions, seconds=seconds)
        killed, drivers = found.killed(bad.table), list(dict.fromkeys(bad.table.drivers))
        document = {**found.as_dict(), "killed": killed, "mutants": drivers}
        proven = "proved optimal" if found.optimal else f"at most {found.bound} are possible"
        shown = [
            found.table(),
            f"Alarms in {found.alarms} of {found.sectors} sectors of mutants ({proven}); {len(killed)} of "
            f"{len(drivers)} mutants killed; {len(found.given_up)} of {len(good.table)} nominal sectors "
            "given up.",
        ]
    for words, drives in (
        ("Left out", exceptions["left_out"]),
        ("Nominal, but not driven well", exceptions["bad_nominal"]),
    ):
        if drives:
            reasons = ", ".join(f"{name} ({why})" for name, why in drives.items())
            shown.append(f"{words}, {len(drives)}: {reasons}")
    if exceptions["not_known"]:
        shown.append(f"Not known in every sector, so not looked at: {', '.join(exceptions['not_known'])}")
    return Answer({**document, **exceptions}, shown)


def _ranked(good: Collection, bad: Collection, shared: list[str]) -> list[str]:
    """Return the metrics by their variance scores, the best first."""
    import numpy as np

    from roadworthy.driving.sectors import SectorTable
    from roadworthy.studies.statistics import variance_scores

    values = np.concatenate([one.table.select(shared).values for one in (good, bad)])
    return list(variance_scores(SectorTable.of(values, metrics=shared)).ranking)


app.add_typer(clips, name="rate")
