"""Rules beside the transformations of others: ``rules compare`` and ``rules compose`` (RMT, RQ4)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roadworthy.cli._answer import print_tables, write_document
from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples, print_json, print_note, print_report
from roadworthy.cli.options import AsJson, Options, Workers, frames_of, opened_models, processes_for
from roadworthy.cli.rules._group import (
    AllowCommands,
    CutOuts,
    Data,
    Engines,
    Models,
    Out,
    Same,
    Sample,
    Seed,
    Traffic,
    app,
)
from roadworthy.cli.rules._inputs import plans_of, read_engines_file, settings_of, tolerances, transform_named
from roadworthy.cli.rules._running import Campaign, exit_code, write_report

if TYPE_CHECKING:
    from roadworthy.rules.tables import ResultTable


Rule = Annotated[str, typer.Option("--rule", "-r", metavar="SENTENCE", help="The rule.")]


@app.command(
    cls=Command,
    epilog=examples(
        'roadworthy rules compare --rule "If it rains, the steering angle should stay the same." '
        "--by rain:level-3 --by spatter",
        'roadworthy rules compare --rule "If it rains, the steering angle should stay the same." '
        "--engines mine.yaml --allow-commands --by engine:deeproad",
    ),
)
def compare(
    rule: Rule,
    by: Annotated[
        list[str],
        typer.Option(
            metavar="TRANSFORM", help="Makes the rule's change instead of ours; or engine:NAME; repeatable."
        ),
    ],
    data: Data = "world",
    option: Options = None,
    model: Models = None,
    out: Out = Path("rules-compared"),
    sample: Sample = None,
    seed: Seed = 0,
    same: Same = None,
    gallery: CutOuts = "shipped",
    traffic: Traffic = "right",
    engines: Engines = None,
    allow_commands: AllowCommands = False,
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Compare ways to make the one change of a rule: which of them shows more violations.

    As Table 10 of the RMT paper: a row for each model, a column for what is built in here and one for each
    transform or engine that is given.
    """
    known = read_engines_file(engines, allow_commands=allow_commands)
    ((name, plan),) = plans_of([rule], [], same=tolerances(same or []), gallery=gallery, traffic=traffic)[
        0
    ].items()
    plans = {"built in": plan, **{one: plan.made_by(transform_named(one, known)) for one in by}}

    def tables(campaign: Campaign) -> list[ResultTable | None]:
        from roadworthy.rules.tables import model_table, reasons_table

        return [
            model_table(name, campaign.models, list(plans), campaign.tallies),
            reasons_table(list(plans), campaign.models, campaign.tallies),
        ]

    systems = opened_models(model)
    campaign = Campaign(
        plans,
        systems,
        frames_of(data, option, systems, sample),
        out,
        seed,
        settings={"by": by, **settings_of(sample, same, gallery, traffic, engines)},
        engines=known,
        command="rules compare",
    )
    raise typer.Exit(_carry_out(campaign, workers, tables, as_json=as_json))


@app.command(
    cls=Command,
    epilog=examples(
        'roadworthy rules compose --rule "If a pedestrian appears on the roadside, slow down." '
        "--first rain:heavy --first fog:light",
    ),
)
def compose(
    rule: Rule,
    first: Annotated[
        list[str],
        typer.Option(metavar="TRANSFORM", help="A change that is made first; or engine:NAME; repeatable."),
    ],
    data: Data = "world",
    option: Options = None,
    model: Models = None,
    out: Out = Path("rules-composed"),
    sample: Sample = None,
    seed: Seed = 0,
    same: Same = None,
    gallery: CutOuts = "shipped",
    traffic: Traffic = "right",
    engines: Engines = None,
    allow_commands: AllowCommands = False,
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Try a rule on top of changes that others make: rain, and then a pedestrian.

    As Table 11 of the RMT paper: for each first change, how many frames violate the rule's relation under it
    alone, and how many do when the rule's own change comes in addition.
    """
    known = read_engines_file(engines, allow_commands=allow_commands)
    ((name, plan),) = plans_of(
        [rule], [], engines=known, same=tolerances(same or []), gallery=gallery, traffic=traffic
    )[0].items()
    plans = {f"{name} after {one}": plan.after(transform_named(one, known)) for one in first}

    def tables(campaign: Campaign) -> list[ResultTable | None]:
        from roadworthy.rules.tables import composition_table, reasons_table

        firsts = dict(zip(plans, first, strict=True))
        return [
            composition_table(name, campaign.models, firsts, campaign.tallies),
            reasons_table(list(plans), campaign.models, campaign.tallies),
        ]

    systems = opened_models(model)
    campaign = Campaign(
        plans,
        systems,
        frames_of(data, option, systems, sample),
        out,
        seed,
        settings={"first": first, **settings_of(sample, same, gallery, traffic, engines)},
        engines=known,
        command="rules compose",
    )
    raise typer.Exit(_carry_out(campaign, workers, tables, as_json=as_json))


def _carry_out(
    campaign: Campaign,
    workers: int | None,
    tables: Callable[[Campaign], list[ResultTable | None]],
    *,
    as_json: bool,
) -> int:
    """Try the rules, write and print what was found; return the exit code."""
    found = campaign.run(images="failures", passes=0, processes=processes_for(workers, campaign.images))
    drawn = [one for one in tables(campaign) if one is not None]
    document = campaign.document(found) | {"tables": [dataclasses.asdict(one) for one in drawn]}
    write_document(campaign.out, document, drawn)
    report = write_report(campaign.out)
    if as_json:
        print_json({"folder": str(campaign.out), "report": str(report), **document})
    else:
        print_tables(drawn)
        notes = document["notes"]
        assert isinstance(notes, list)
        for note in notes:
            print_note(note)
        console().print(f"Wrote {campaign.out} in {campaign.seconds:.1f} s", soft_wrap=True)
        print_report(report)
    return exit_code(found)
