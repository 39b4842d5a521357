"""``roadworthy driving oracle``: thresholds that a good driver keeps and bad ones do not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples, plain_table, print_json
from roadworthy.cli._datasets import AsJson
from roadworthy.cli.driving._group import SettingsFile, app, settings_of
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.driving.collecting import Collection
    from roadworthy.driving.drives import Drive
    from roadworthy.driving.oracles import Direction, Oracle, OracleTable

__all__ = ["oracle"]

Folders = list[Path] | None


def _drives(help: str) -> Any:
    return typer.Option(
        metavar="DRIVE", help=f"{help}; a drive's folder, or one that holds several. Repeatable."
    )


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy driving oracle --nominal drives/dave2 --mutants drives/mutants --give-up 1",
        "roadworthy driving oracle --nominal drives/dave2 --mutants drives/mutants --metric 'SD(SA)' "
        "--metric 'Max(LP)' --smtlib problem.smt2",
        "roadworthy driving oracle --nominal drives/dave2 --mutants drives/dave2-mutants --test-nominal "
        "drives/chauffeur --test-mutants drives/chauffeur-mutants",
    ),
)
def oracle(
    nominal: Annotated[Folders, _drives("Drives of the model that drives well")] = None,
    mutants: Annotated[Folders, _drives("Drives of its mutants")] = None,
    test_nominal: Annotated[Folders, _drives("Drives of another model, to try the oracles on")] = None,
    test_mutants: Annotated[Folders, _drives("Drives of that model's mutants")] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Look at this metric; repeatable. Those of Table II if left out."),
    ] = None,
    down: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="This metric gets worse downwards, against what is usual."),
    ] = None,
    up: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="This metric gets worse upwards, against what is usual."),
    ] = None,
    size: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Look at the N metrics with the highest variance scores."),
    ] = None,
    give_up: Annotated[
        int, typer.Option(metavar="K", min=0, help="In how many nominal sectors an alarm is allowed.")
    ] = 0,
    seconds: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="For each fit at most; then a bound is told.")
    ] = None,
    smtlib: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the problem for other solvers, as SMT-LIB.")
    ] = None,
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Find thresholds of metrics that raise an alarm in as many sectors of mutants as possible.

    The nominal driver raises none, but in the sectors that are given up. Mutants that crash or cross a line
    are left out: they need no metric. With drives of another model and its mutants, oracles of every size up
    to --size and for every number of sectors up to --give-up are tried on them.
    """
    if not nominal or not mutants:
        raise InputError("give drives of the good driver with --nominal and of its mutants with --mutants")
    if bool(test_nominal) != bool(test_mutants):
        raise InputError("give both --test-nominal and --test-mutants, or neither")
    from roadworthy.driving.collecting import collect

    told = settings_of(settings)
    good = collect(_read(nominal), metric, settings=told, keep_fatal=True)
    bad = collect(_read(mutants), metric, settings=told)
    others = [
        collect(_read(folders), metric, settings=told, keep_fatal=number == 0)
        for number, folders in enumerate((test_nominal, test_mutants))
        if folders
    ]
    shared = [name for name in good.table.metrics if all(name in one.table.metrics for one in [bad, *others])]
    if not shared:
        raise InputError("no metric is known in every sector of all drives: name some with --metric")
    ranking = _ranking(good, bad, shared, metric, size)
    ways = _directions(ranking, up or [], down or [])
    if others:
        _try(good, bad, others, ranking, ways, give_up, seconds, as_json)
    else:
        _fit(good, bad, ranking, ways, give_up, seconds, as_json)
    if smtlib is not None:
        _export(good, bad, ranking, ways, give_up, smtlib)


def _read(places: Sequence[Path]) -> Iterator[Drive]:
    """Yield the drives of folders; a folder of folders stands for all drives in it."""
    from roadworthy.driving.drives.readers import read_drive
    from roadworthy.driving.drives.readers.recorded import DRIVE_FILE

    for place in places:
        if place.is_file() or (place / DRIVE_FILE).is_file():
            yield read_drive(str(place))
            continue
        found = sorted(place.rglob(DRIVE_FILE)) if place.is_dir() else []
        if not found:
            raise InputError(f"{place}: found no drive: expected {DRIVE_FILE}, as `driving drive` writes it")
        for file in found:
            yield read_drive(str(file.parent))


def _ranking(
    good: Collection, bad: Collection, shared: list[str], asked: list[str] | None, size: int | None
) -> list[str]:
    """Return the metrics to look at: as asked for, or by their variance scores."""
    import numpy as np

    from roadworthy.driving.analysis import variance_scores
    from roadworthy.driving.sectors import SectorTable

    if asked:
        ranked = shared
    else:
        values = np.concatenate([one.table.select(shared).values for one in (good, bad)])
        ranked = list(variance_scores(SectorTable.of(values, metrics=shared)).ranking)
    return ranked if size is None else ranked[:size]


def _directions(metrics: Sequence[str], up: Sequence[str], down: Sequence[str]) -> dict[str, Direction]:
    from roadworthy.driving.collecting import usual_direction
    from roadworthy.driving.metrics import parse_metric

    ways = {name: usual_direction(name) for name in metrics}
    ways |= {str(parse_metric(name)): "up" for name in up if str(parse_metric(name)) in ways}
    ways |= {str(parse_metric(name)): "down" for name in down if str(parse_metric(name)) in ways}
    return ways


def _fit(
    good: Collection,
    bad: Collection,
    ranking: list[str],
    ways: dict[str, Direction],
    give_up: int,
    seconds: float | None,
    as_json: bool,
) -> None:
    from roadworthy.driving.oracles import fit_oracle

    found = fit_oracle(
        good.table.select(ranking),
        bad.table.select(ranking),
        give_up=give_up,
        directions=ways,
        seconds=seconds,
    )
    killed = found.killed(bad.table)
    drivers = list(dict.fromkeys(bad.table.drivers))
    if as_json:
        print_json({**_facts(found), "killed": killed, "mutants": drivers, "left_out": dict(bad.left_out)})
        return
    table = plain_table("metric", "worse", "threshold", "may lie in")
    for name in found.metrics:
        threshold, interval = f"{found.thresholds[name]:.4g}", _interval(found.intervals[name])
        table.add_row(name, found.directions[name], threshold, interval)
    console().print(table)
    proven = "proved optimal" if found.optimal else f"at most {found.bound} are possible"
    console().print(
        f"Alarms in {found.alarms} of {found.sectors} sectors of mutants ({proven}); {len(killed)} of "
        f"{len(drivers)} mutants killed; {len(found.given_up)} of {len(good.table)} nominal sectors given up."
    )
    _print_left_out(bad)


def _try(
    good: Collection,
    bad: Collection,
    others: list[Collection],
    ranking: list[str],
    ways: dict[str, Direction],
    give_up: int,
    seconds: float | None,
    as_json: bool,
) -> None:
    from roadworthy.driving.oracles import sweep_oracles

    table: OracleTable = sweep_oracles(
        good.table,
        bad.table,
        test_nominal=others[0].table,
        test_mutants=others[1].table,
        ranking=ranking,
        give_up=range(give_up + 1),
        directions=ways,
        seconds=seconds,
    )
    if as_json:
        rows = [
            {
                "size": row.size,
                "give_up": row.give_up,
                "false_alarms": row.false_alarms,
                "killed": row.killed,
                **_facts(row.oracle),
            }
            for row in table.rows
        ]
        print_json({"ranking": ranking, "rows": rows, "left_out": dict(others[1].left_out)})
        return
    console().print(f"Metrics, the best first: {', '.join(ranking)}")
    console().print(str(table), highlight=False)
    _print_left_out(bad)
    _print_left_out(others[1])


def _export(
    good: Collection,
    bad: Collection,
    ranking: list[str],
    ways: dict[str, Direction],
    give_up: int,
    file: Path,
) -> None:
    import numpy as np

    from roadworthy.driving.oracles import to_smtlib

    signs = np.array([1.0 if ways[name] == "up" else -1.0 for name in ranking])
    good_rows, bad_rows = (one.table.select(ranking).values * signs for one in (good, bad))
    text = to_smtlib(good_rows, bad_rows, give_up=give_up)
    try:
        file.write_text(text, "utf-8")
    except OSError as error:
        raise InputError(f"{file}: cannot be written: {error.strerror}") from error


def _facts(found: Oracle) -> dict[str, object]:
    return {
        "thresholds": dict(found.thresholds),
        "directions": dict(found.directions),
        "intervals": {name: [_finite(end) for end in ends] for name, ends in found.intervals.items()},
        "given_up": found.given_up,
        "alarms": found.alarms,
        "sectors": found.sectors,
        "bound": found.bound,
        "optimal": found.optimal,
    }


def _finite(value: float) -> float | None:
    import math

    return value if math.isfinite(value) else None


def _interval(ends: tuple[float, float]) -> str:
    """Return where a threshold may lie; one without an end raises no alarm that another does not."""
    import math

    if not all(map(math.isfinite, ends)):
        return "alarms nowhere alone"
    return f"{ends[0]:.4g} to {ends[1]:.4g}"


def _print_left_out(collection: Collection) -> None:
    if collection.left_out:
        reasons = ", ".join(f"{name} ({why})" for name, why in collection.left_out.items())
        console().print(f"Left out, {len(collection.left_out)}: {reasons}")
