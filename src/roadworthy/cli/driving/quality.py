"""``roadworthy driving metrics``, ``mutate`` and ``oracle``: how good driving is, and what notices faults."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roadworthy._files import write_text
from roadworthy.cli._answer import Answer
from roadworthy.cli._commands import command, flag, opt
from roadworthy.cli._console import make_folder, parse_options, tracked
from roadworthy.cli.driving._group import SettingsFile, app, settings_of
from roadworthy.errors import InputError
from roadworthy.result_tables import ResultTable

if TYPE_CHECKING:
    from roadworthy.cli._answer import Shown
    from roadworthy.driving.drives import Drive
    from roadworthy.driving.metrics import MetricSettings
    from roadworthy.driving.requirements import Collection

_LENGTHS = ("drive", "sector", "step")
Rows = list[dict[str, Any]]


@command(
    app,
    "roadworthy driving metrics --list",
    "roadworthy driving metrics --list udacity-sim:driving_log.csv",
    "roadworthy driving metrics drive-out --per sector --csv sectors.csv",
    "roadworthy driving metrics donkey:tub --cut-seconds 10 --per sector",
    "roadworthy driving metrics table:log.csv -o mapping=columns.yaml --metric 'SD(LP)'",
    "roadworthy driving metrics drive-out --per step --metric LP --metric 'DevT(SP)' --csv steps.csv",
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
    listed: Annotated[bool, flag("--list", "List all metrics; with a log, which of them it allows.")] = False,
    metric: Annotated[list[str] | None, opt("NAME", "Only this metric, such as SD(LP); repeatable.")] = None,
    per: Annotated[str, opt("WHAT", "drive, sector or step: what a number is for.")] = "drive",
    option: Annotated[
        list[str] | None, opt("KEY=VALUE", "An option of the reader; repeatable.", "--option", "-o")
    ] = None,
    cut_seconds: Annotated[float | None, opt("SECONDS", "Cut the drive into sectors this long.")] = None,
    cut_metres: Annotated[float | None, opt("METRES", "Cut the drive into sectors this long.")] = None,
    settings: SettingsFile = None,
    csv: Annotated[Path | None, opt("FILE", "Write the numbers as CSV.")] = None,
) -> Answer:
    """Measure the quality of a drive by the 127 metrics of the literature, or list them.

    A metric is an operator applied to something measured: SD(LP) is the standard deviation of the lateral
    position. docs/driving.md defines all of them.
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


@command(
    app,
    "roadworthy driving mutate --model dave2 --out mutants",
    "roadworthy driving mutate --model dave2 --drive meadow --out mutants",
    "roadworthy driving mutate --model chauffeur --operators NEB,NS --ratios 0.03 --seed 4 --out more",
    "roadworthy driving mutate --model dave2 --operators LD --list",
    "roadworthy driving mutate --again mutants/GF-0.03/mutant.json --out again",
    "roadworthy driving drive --model mutants/GF-0.03",
)
def mutate(
    model: Annotated[str, opt("MODEL", "The network: a shipped one, or a trained file or folder.")] = "dave2",
    operators: Annotated[str, opt("NAMES", "The operators, comma-separated.")] = "GF,WS,NEB,NAI,NS,LR,LA,LD",
    ratios: Annotated[str, opt("SHARES", "Of weights (GF), neurons (WS, NEB, NAI, NS).")] = "0.01,0.03,0.05",
    layers: Annotated[int, opt("N", "How many layers LR, LA and LD change, each in a mutant.")] = 3,
    sigma: Annotated[float, opt("SHARE", "The noise of GF, as a share of the layer's own spread.")] = 1.0,
    seed: Annotated[int, opt("N", "Chooses layers, weights, neurons and noise.")] = 0,
    again: Annotated[Path | None, opt("FILE", "Make the mutant of this mutant.json again.")] = None,
    listed: Annotated[bool, flag("--list", "List the layers each operator can change, or why not.")] = False,
    drive: Annotated[str | None, opt("TRACK", "Let every mutant drive a lap of this track.")] = None,
    out: Annotated[Path, opt("FOLDER", "Where everything is written.")] = Path("mutants"),
) -> Answer:
    """Make mutants of a trained network, as DeepMutation++ does: faults to try an oracle on.

    Every mutant becomes a folder that all commands open as a model, with a mutant.json to make it again.
    mutants.csv says what became of each: equivalent to the original on all probe images, crashing, or alive.
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
        shares = _shares(ratios)
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


def _shares(text: str) -> list[float]:
    try:
        return [float(one) for one in text.split(",") if one.strip()]
    except ValueError:
        raise InputError(f"--ratios are numbers joined by commas, such as 0.01,0.05, got {text!r}") from None


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


def _drives(help: str) -> Any:
    return opt("DRIVE", f"{help}; a drive's folder, or one that holds several. Repeatable.")


@command(
    app,
    "roadworthy driving oracle --nominal drives/dave2 --mutants drives/mutants --give-up 1",
    "roadworthy driving oracle --nominal drives/dave2 --mutants drives/mutants --metric 'SD(SA)' "
    "--metric 'Max(LP)' --smtlib problem.smt2",
    "roadworthy driving oracle --nominal drives/dave2 --mutants drives/dave2-mutants --test-nominal "
    "drives/chauffeur --test-mutants drives/chauffeur-mutants",
)
def oracle(
    nominal: Annotated[list[Path] | None, _drives("Drives of the model that drives well")] = None,
    mutants: Annotated[list[Path] | None, _drives("Drives of its mutants")] = None,
    test_nominal: Annotated[list[Path] | None, _drives("Drives of another model, to test oracles on")] = None,
    test_mutants: Annotated[list[Path] | None, _drives("Drives of that model's mutants")] = None,
    metric: Annotated[
        list[str] | None, opt("NAME", "Use this metric; repeatable. Default: those of Table II.")
    ] = None,
    down: Annotated[list[str] | None, opt("NAME", "A metric where less is worse, unlike usual.")] = None,
    up: Annotated[list[str] | None, opt("NAME", "A metric where more is worse, unlike usual.")] = None,
    size: Annotated[int | None, opt("N", "Use the N metrics with the top variance scores.", min=1)] = None,
    give_up: Annotated[int, opt("K", "In how many nominal sectors an alarm is allowed.", min=0)] = 0,
    partial: Annotated[bool, flag("--partial", "Also use the sectors that drives do not finish.")] = False,
    seconds: Annotated[float | None, opt("SECONDS", "For each fit at most; then a bound is told.")] = None,
    smtlib: Annotated[Path | None, opt("FILE", "Write the problem for other solvers, as SMT-LIB.")] = None,
    settings: SettingsFile = None,
) -> Answer:
    """Find thresholds of metrics that raise an alarm in as many sectors of mutants as possible.

    The nominal driver raises none, but in the sectors that are given up. Mutants that crash or cross a line
    are left out: they need no metric. So is the sector in the middle of which a drive ends. With drives of
    another model and its mutants, oracles of every size up to --size and for every number of sectors up to
    --give-up are tried on them.
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
