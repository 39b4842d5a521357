"""``roadworthy rules run``: rules tried on models, with tables, rows, images and the worst violations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roadworthy._files import file_name
from roadworthy.cli._answer import print_tables, write_document
from roadworthy.cli._campaigns import data_form
from roadworthy.cli._commands import Command
from roadworthy.cli._console import (
    console,
    examples,
    make_folder,
    print_json,
    print_note,
    print_report,
    tracked,
)
from roadworthy.cli.options import (
    USUAL,
    AsJson,
    Options,
    Workers,
    frames_of,
    opened_models,
    processes_for,
    share,
)
from roadworthy.cli.rules._group import (
    AllowCommands,
    CutOuts,
    Data,
    Engines,
    Models,
    Out,
    Rules,
    RulesFile,
    Same,
    Sample,
    Seed,
    Traffic,
    app,
)
from roadworthy.cli.rules._inputs import plans_of, read_engines_file, settings_of, tolerances
from roadworthy.cli.rules._running import Campaign, exit_code, write_report
from roadworthy.cli.rules._sheets import write_sheets
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.rules.shrinking import Shrunk
    from roadworthy.rules.tables import ResultTable
    from roadworthy.runs import SeveralResults


Worst = Annotated[
    int, typer.Option(metavar="N", help="Violations on each sheet, the worst ones; 0 draws no sheets.")
]
Passes = Annotated[
    int,
    typer.Option(metavar="N", help="About so many frames that pass are stored with images, for a study."),
]
Allow = Annotated[
    str, typer.Option(metavar="SHARE", help="The share of frames that may violate a rule, such as 5%.")
]
Images = Annotated[
    str,
    typer.Option(metavar="WHICH", help="Of which frames images are stored: failures, sample, all or none."),
]


@app.command(
    cls=Command,
    epilog=examples(
        'roadworthy rules run --rule "If a pedestrian appears on the roadside, the car should slow down."',
        "roadworthy rules run --rules examples/rules/paper.rules --model dave2 --model epoch --sample 100",
        "roadworthy rules run --rules mine.rules --threshold 0,10%,20% --shrink 3 --allow 5%",
        "roadworthy rules run --rules paper.rules --only R5 --data camvid:path --model dave2-udacity",
    ),
)
def run(
    rule: Rules = None,
    rules: RulesFile = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Of the rules, only this one; repeatable.")
    ] = None,
    data: Data = "world",
    option: Options = None,
    model: Models = None,
    out: Out = Path("rules-out"),
    threshold: Annotated[
        str, typer.Option(metavar="LIST", help="Thresholds to judge at as well, such as 0,10%,20%.")
    ] = "",
    sample: Sample = None,
    seed: Seed = 0,
    allow: Allow = "0",
    same: Same = None,
    shrink: Annotated[
        int,
        typer.Option(
            metavar="N", help="Shrink the N worst violations of each rule and model to the least change."
        ),
    ] = 0,
    worst: Worst = 6,
    images: Images = "failures",
    passes: Passes = 100,
    gallery: CutOuts = "shipped",
    traffic: Traffic = "right",
    engines: Engines = None,
    allow_commands: AllowCommands = False,
    skip: Annotated[
        bool, typer.Option("--skip", help="Leave out rules whose changes nothing here can make.")
    ] = False,
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Try rules on models: make the images, ask the models, judge their answers, show what violates.

    All models see the same images, and so do rules about the same change. The folder gets the rows of every
    rule and model, the images of the violations, sheets with the worst of them, report.html, tables.md and
    result.json.
    The exit code is 1 if a rule is violated by more frames than are allowed, 0 if none is.
    """
    for name, value in (("--shrink", shrink), ("--worst", worst), ("--passes", passes)):
        if value < 0:
            raise InputError(f"{name} must be 0 or more, got {value}")
    known_engines = read_engines_file(engines, allow_commands=allow_commands)
    plans, skipped = plans_of(
        rule or [],
        rules or [],
        only=only or [],
        engines=known_engines,
        same=tolerances(same or []),
        gallery=gallery,
        traffic=traffic,
        skip=skip,
    )
    systems = opened_models(model)
    campaign = Campaign(
        plans,
        systems,
        frames_of(data, option, systems, sample),
        out,
        seed,
        share("--allow", allow),
        [share("--threshold", one) for one in threshold.split(",") if one.strip()],
        settings_of(sample, same, gallery, traffic, engines),
        known_engines,
    )
    found = campaign.run(
        images=images,  # type: ignore[arg-type]  # checked where it is used
        passes=passes,
        processes=processes_for(workers, campaign.images),
    )
    tables = _tables(campaign, found)
    campaign.write_suite(model or USUAL, data_form(data, option, sample=sample), engines)
    document = campaign.document(found) | {"skipped": skipped}
    document["sheets"] = write_sheets(campaign, found, worst if images != "none" else 0)
    shrunk = _shrunk(campaign, found, shrink)
    document["shrunk"] = shrunk
    if shrunk:
        tables.append(_shrunk_table(shrunk))
    write_document(out, document, tables)
    report = write_report(out)
    if as_json:
        print_json({"folder": str(out), "report": str(report), **document})
    else:
        print_tables(tables)
        _print_notes(campaign, document)
        print_report(report)
    raise typer.Exit(exit_code(found))


def _tables(campaign: Campaign, found: SeveralResults) -> list[ResultTable]:
    from roadworthy.rules.tables import (
        cost_table,
        is_composed,
        reasons_table,
        threshold_table,
        violation_table,
    )

    plans, models, tallies = campaign.plans, campaign.models, campaign.tallies
    simple = [id for id in plans if not is_composed(plans[id])]
    composed = [id for id in plans if is_composed(plans[id])]
    tables: list[ResultTable | None] = []
    if simple:
        tables.append(violation_table("Violations", simple, models, tallies))
    if campaign.thresholds:
        tables.append(threshold_table(list(plans), models, tallies, campaign.thresholds))
    if composed:
        tables.append(violation_table("Violations of composed rules", composed, models, tallies))
    tables += [reasons_table(list(plans), models, tallies), cost_table(plans, *campaign.spent(found))]
    return [one for one in tables if one is not None]


def _shrunk(campaign: Campaign, found: SeveralResults, count: int) -> list[dict[str, object]]:
    """Shrink the worst violations of each rule and model; return what is left of the changes."""
    from roadworthy.cli.rules._sheets import shrunk_sheet
    from roadworthy.images import write_image
    from roadworthy.rules.shrinking import Shrinking, Violation
    from roadworthy.runs import run as run_one

    systems = {one.name: one for one in campaign.systems}
    shrunk: list[dict[str, object]] = []
    for (rule, model), result in tracked(
        list(found.results.items()) if count else [], "Shrinking violations"
    ):
        assert result.folder is not None
        rows = campaign.worst(result.folder, count)
        violations = [Violation(str(row["param.frame"]), int(str(row["param.seed"]))) for row in rows]
        if not violations:
            continue
        search = Shrinking(campaign.plans[rule], violations)
        folder = campaign.out / "shrunk" / f"{file_name(rule)}-{file_name(model)}"
        run_one(search, campaign.requirement(rule), campaign.data, systems[model], out=folder)
        # Where shrinking finds no violation at all, the model answers differently every time.
        ordered = [search.smallest[one.frame_id] for one in violations if one.frame_id in search.smallest]
        if ordered:
            path = campaign.out / "sheets" / f"{file_name(rule)}-{file_name(model)}-shrunk.png"
            make_folder(path.parent)
            title = f"{rule} · {model} · the least change that still violates it"
            write_image(path, shrunk_sheet(campaign.plans[rule], ordered, title=title))
        shrunk += [_shrunk_document(rule, model, one) for one in ordered]
    return shrunk


def _shrunk_table(shrunk: Sequence[Mapping[str, Any]]) -> ResultTable:
    from roadworthy.rules.tables import ResultTable

    rows = tuple(
        (one["rule"], one["model"], one["frame"], f"{one['amount']:.0%}", "; ".join(one["changes"]))
        for one in shrunk
    )
    columns = ("rule", "model", "frame", "amount", "what is left of the change")
    return ResultTable("The least change that still violates", columns, rows)


def _shrunk_document(rule: str, model: str, one: Shrunk) -> dict[str, object]:
    return {
        "rule": rule,
        "model": model,
        "frame": one.violation.frame_id,
        "seed": one.violation.seed,
        "amount": one.amount,
        "changes": list(one.changes),
        "predictions": {output: list(values) for output, values in one.predictions.items()},
        "margin": one.margin,
    }


def _print_notes(campaign: Campaign, document: dict[str, object]) -> None:
    out = console()
    notes, skipped = document["notes"], document["skipped"]
    assert isinstance(notes, list)
    assert isinstance(skipped, dict)
    for note in notes:
        print_note(note)
    for id, reason in skipped.items():
        out.print(f"{id} is left out: {reason}", soft_wrap=True)
    out.print(f"Wrote {campaign.out} in {campaign.seconds:.1f} s", soft_wrap=True)
    if document["sheets"]:
        out.print(f"Look at the worst violations in {campaign.out / 'sheets'}", soft_wrap=True)
