"""``roadworthy driving oracle``: thresholds that a good driver keeps and bad ones do not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples, plain_table, print_json
from roadworthy.cli.driving._group import SettingsFile, app, settings_of
from roadworthy.cli.driving._places import drives_in
from roadworthy.cli.options import AsJson
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.driving.drives import Drive
    from roadworthy.driving.oracles import Direction, Oracle
    from roadworthy.driving.requirements import Collection
    from roadworthy.driving.sectors import SectorTable


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
    partial: Annotated[
        bool,
        typer.Option("--partial", help="Take the sectors in the middle of which drives end as well."),
    ] = False,
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
    are left out: they need no metric. So is the sector in the middle of which a drive ends. With drives of
    another model and its mutants, oracles of every size up to --size and for every number of sectors up to
    --give-up are tried on them.
    """
    if not nominal or not mutants:
        raise InputError("give drives of the good driver with --nominal and of its mutants with --mutants")
    if bool(test_nominal) != bool(test_mutants):
        raise InputError("give both --test-nominal and --test-mutants, or neither")
    from roadworthy.driving.requirements import collect

    told = settings_of(settings)
    good, test_good = (
        collect(_read(folders), metric, settings=told, keep_fatal=True, keep_partial=partial)
        if folders
        else None
        for folders in (nominal, test_nominal)
    )
    bad, test_bad = (
        collect(_read(folders), metric, settings=told, keep_partial=partial) if folders else None
        for folders in (mutants, test_mutants)
    )
    assert good is not None
    assert bad is not None
    collections = [one for one in (good, bad, test_good, test_bad) if one is not None]
    shared = [name for name in good.table.metrics if all(name in one.table.metrics for one in collections)]
    if not shared:
        raise InputError("no metric is known in every sector of all drives: name some with --metric")
    ways = _directions(shared, up or [], down or [])
    ranking = _ranking(good, bad, shared, metric, size)
    dropped = sorted({name for one in collections for name in one.dropped})
    problem = _Problem(
        good.table, bad.table, ranking, {name: ways[name] for name in ranking}, give_up, seconds, dropped
    )
    if smtlib is not None:
        _export(problem, smtlib)
    if test_good is not None and test_bad is not None:
        _try(problem, test_good.table, test_bad.table, collections, as_json)
    else:
        _fit(problem, collections, as_json)


@dataclass(frozen=True)
class _Problem:
    """What an oracle is fitted to.

    Attributes:
        good: The sectors of the nominal driver.
        bad: Those of the mutants.
        ranking: The metrics to look at.
        ways: Whether each gets worse upwards or downwards.
        give_up: In how many nominal sectors an alarm is allowed.
        seconds: For each fit at most.
        dropped: The metrics of Table II that cannot be looked at, because some sector does not have them.
    """

    good: SectorTable
    bad: SectorTable
    ranking: list[str]
    ways: dict[str, Direction]
    give_up: int
    seconds: float | None
    dropped: list[str]


def _read(places: Sequence[Path]) -> Iterator[Drive]:
    return (drive for _, drive in drives_in(places))


def _ranking(
    good: Collection, bad: Collection, shared: list[str], asked: list[str] | None, size: int | None
) -> list[str]:
    """Return the metrics to look at: as asked for, or by their variance scores."""
    import numpy as np

    from roadworthy.driving.sectors import SectorTable
    from roadworthy.studies.statistics import variance_scores

    if asked:
        ranked = shared
    else:
        values = np.concatenate([one.table.select(shared).values for one in (good, bad)])
        ranked = list(variance_scores(SectorTable.of(values, metrics=shared)).ranking)
    return ranked if size is None else ranked[:size]


def _directions(metrics: Sequence[str], up: Sequence[str], down: Sequence[str]) -> dict[str, Direction]:
    from roadworthy.driving.metrics import parse_metric
    from roadworthy.driving.requirements import usual_direction

    ways = {name: usual_direction(name) for name in metrics}
    risen, fallen = ({str(parse_metric(name)) for name in given} for given in (up, down))
    for name in sorted(risen | fallen):
        if name not in ways:
            raise InputError(
                f"{name} has a direction but is not looked at: the metrics are {', '.join(metrics)}"
            )
        if name in risen & fallen:
            raise InputError(f"{name} gets worse upwards or downwards, not both: leave out --up or --down")
        ways[name] = "up" if name in risen else "down"
    return ways


def _fit(problem: _Problem, collections: Sequence[Collection], as_json: bool) -> None:
    from roadworthy.driving.oracles import fit_oracle

    found = fit_oracle(
        problem.good.select(problem.ranking),
        problem.bad.select(problem.ranking),
        give_up=problem.give_up,
        directions=problem.ways,
        seconds=problem.seconds,
    )
    killed = found.killed(problem.bad)
    drivers = list(dict.fromkeys(problem.bad.drivers))
    if as_json:
        facts = {**_facts(found), "killed": killed, "mutants": drivers}
        print_json({**facts, **_exceptions(problem, collections)})
        return
    table = plain_table("metric", "worse", "threshold", "may lie in")
    for name in found.metrics:
        threshold, interval = f"{found.thresholds[name]:.4g}", _interval(found.intervals[name])
        table.add_row(name, found.directions[name], threshold, interval)
    console().print(table)
    proven = "proved optimal" if found.optimal else f"at most {found.bound} are possible"
    console().print(
        f"Alarms in {found.alarms} of {found.sectors} sectors of mutants ({proven}); {len(killed)} of "
        f"{len(drivers)} mutants killed; {len(found.given_up)} of {len(problem.good)} nominal sectors given "
        "up."
    )
    _print_exceptions(problem, collections)


def _try(
    problem: _Problem,
    test_good: SectorTable,
    test_bad: SectorTable,
    collections: Sequence[Collection],
    as_json: bool,
) -> None:
    from roadworthy.driving.oracles import sweep_oracles

    table = sweep_oracles(
        problem.good,
        problem.bad,
        test_nominal=test_good,
        test_mutants=test_bad,
        ranking=problem.ranking,
        give_up=range(problem.give_up + 1),
        directions=problem.ways,
        seconds=problem.seconds,
    )
    if as_json:
        rows = [
            {
                "size": row.size,
                "give_up": row.give_up,
                "false_alarms": row.false_alarms,
                "accused": row.accused,
                "killed": row.killed,
                **_facts(row.oracle),
            }
            for row in table.rows
        ]
        print_json({"ranking": problem.ranking, "rows": rows, **_exceptions(problem, collections)})
        return
    console().print(f"Metrics, the best first: {', '.join(problem.ranking)}")
    console().print(str(table), highlight=False)
    if not all(row.oracle.optimal for row in table.rows):
        console().print("* not proved optimal within --seconds")
    _print_exceptions(problem, collections)


def _export(problem: _Problem, file: Path) -> None:
    from roadworthy._files import write_text
    from roadworthy.driving.oracles import to_smtlib

    text = to_smtlib(
        problem.good.select(problem.ranking),
        problem.bad.select(problem.ranking),
        give_up=problem.give_up,
        directions=problem.ways,
    )
    write_text(file, text)


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


def _exceptions(problem: _Problem, collections: Sequence[Collection]) -> dict[str, object]:
    """Return which drives and metrics are not as one would expect."""
    return {
        "left_out": {name: why for one in collections for name, why in one.left_out.items()},
        "bad_nominal": {name: why for one in collections for name, why in one.kept_fatal.items()},
        "not_known": problem.dropped,
    }


def _print_exceptions(problem: _Problem, collections: Sequence[Collection]) -> None:
    for one in collections:
        for words, drives in (("Left out", one.left_out), ("Nominal, but not driven well", one.kept_fatal)):
            if drives:
                reasons = ", ".join(f"{name} ({why})" for name, why in drives.items())
                console().print(f"{words}, {len(drives)}: {reasons}")
    if problem.dropped:
        console().print(f"Not known in every sector, so not looked at: {', '.join(problem.dropped)}")
