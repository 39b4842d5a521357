"""``roadworthy rules run``, ``rules compare`` and ``rules compose``: rules tried on models."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roadworthy.cli._answer import Answer
from roadworthy.cli._commands import command
from roadworthy.cli._console import parse_options, tracked
from roadworthy.cli._road import RunOptions, answered, data_document, suite_document
from roadworthy.cli.options import Data, Options, Sample, share
from roadworthy.cli.rules._group import CutOuts, Engines, Models, Rules, RulesFile, Same, Seed, Traffic, app
from roadworthy.errors import InputError, suggest

if TYPE_CHECKING:
    from roadworthy.report.rules import RulesReport
    from roadworthy.result_tables import ResultTable
    from roadworthy.runs.suites import SuiteResult

USUAL = ("dave2",)
Rule = Annotated[str, typer.Option("--rule", "-r", metavar="SENTENCE", help="The rule.")]


@command(
    app,
    'roadworthy rules run --rule "If a pedestrian appears on the roadside, the car should slow down."',
    "roadworthy rules run --rules examples/rules/paper.rules --model dave2 --model epoch --sample 100",
    "roadworthy rules run --rules mine.rules --threshold 0,10%,20% --shrink 3 --allow 5%",
    "roadworthy rules run --rules paper.rules --only R5 --data camvid:path --model dave2-udacity",
)
def run(
    how: RunOptions,
    rule: Rules = None,
    rules: RulesFile = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Of the rules, only this one; repeatable.")
    ] = None,
    data: Data = "world",
    option: Options = None,
    model: Models = None,
    threshold: Annotated[
        str, typer.Option(metavar="LIST", help="Thresholds to judge at as well, such as 0,10%,20%.")
    ] = "",
    sample: Sample = None,
    seed: Seed = 0,
    allow: Annotated[
        str, typer.Option(metavar="SHARE", help="The share of frames that may violate a rule, such as 5%.")
    ] = "0",
    same: Same = None,
    shrink: Annotated[
        int,
        typer.Option(
            metavar="N", help="Shrink the N worst violations of each rule and model to the least change."
        ),
    ] = 0,
    worst: Annotated[
        int, typer.Option(metavar="N", help="Violations on the sheet of each rule and model; 0 for none.")
    ] = 6,
    passes: Annotated[
        int,
        typer.Option(
            metavar="N", help="Frames that pass whose images are stored as well, for each rule and model."
        ),
    ] = 100,
    gallery: CutOuts = "shipped",
    traffic: Traffic = "right",
    engines: Engines = None,
    skip: Annotated[
        bool, typer.Option("--skip", help="Leave out rules whose changes nothing here can make.")
    ] = False,
) -> Answer:
    """Try rules on models: make the images, ask the models, judge their answers, show what violates.

    All models see the same images, and so do rules about the same change. The folder gets the rows of every
    rule and model, the images of the violations, sheets with the worst of them, report.html, junit.xml,
    evidence, tables.md, result.json, and suite.yaml, which `roadworthy run` takes.
    """
    for name, value in (("--shrink", shrink), ("--worst", worst), ("--passes", passes)):
        if value < 0:
            raise InputError(f"{name} must be 0 or more, got {value}")
    thresholds = [share("--threshold", one) for one in threshold.split(",") if one.strip()]
    settings = _settings(same, gallery, traffic, engines)
    texts, skipped = _chosen(_texts(rule or [], rules or []), only or [], settings, how, skip=skip)
    allowed = share("--allow", allow)
    entries = {id: {"rule": text, **settings, "accept": allowed or None} for id, text in texts.items()}

    lines = [f"{id} is left out: {reason}" for id, reason in skipped.items()]

    def made_of(result: SuiteResult) -> tuple[list[ResultTable], dict[str, Any]]:
        from roadworthy.report.rules import RulesReport, shrunk_table

        report = RulesReport(result, thresholds, tracked)
        shrunk = report.shrink(shrink)
        sheets = report.write_sheets(worst if how.images != "none" else 0)
        tables = [*report.tables(), *([shrunk_table(shrunk)] if shrunk else [])]
        if sheets:
            lines.append(f"Look at the worst violations in {result.folder / 'sheets'}")
        more = {"allow": allowed, "skipped": skipped, "sheets": sheets, "shrunk": shrunk}
        return tables, {**report.document(), **more}

    frames = data_document(data, option, sample)
    document = suite_document("rules run", entries, models=model or USUAL, data=frames, seed=seed)
    document["passes"] = 0 if how.images == "none" else passes
    return answered(document, how, Path("rules-out"), made_of, lines=lines)


def _texts(sentences: Sequence[str], files: Sequence[Path]) -> dict[str, str]:
    """Return the rules that are given, by their ids."""
    from roadworthy.rules import read_rules

    texts = {f"rule {number}": text for number, text in enumerate(sentences, 1)}
    for file in files:
        for one in read_rules(file):
            if one.id in texts:
                raise InputError(f"{file}:{one.line}: the id {one.id!r} is used twice; give one another")
            texts[one.id] = one.text
    if not texts:
        raise InputError('give a rule by --rule "If …, then …", or a file of rules by --rules FILE')
    return texts


def _chosen(
    texts: Mapping[str, str], only: Sequence[str], settings: Mapping[str, Any], how: RunOptions, *, skip: bool
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the rules that are tried, and why others cannot be."""
    for name in only:
        if name not in texts:
            raise InputError(f"--only: there is no rule {name!r}; {suggest(name, texts)}")
    chosen = {id: text for id, text in texts.items() if not only or id in only}
    if not skip:
        return chosen, {}
    from roadworthy.runs.suites.kinds import KINDS, Context
    from roadworthy.runs.suites.kinds.rules import RuleForm

    skipped: dict[str, str] = {}
    context = Context(Path(), allow_commands=how.allow_commands)
    for id, text in chosen.items():
        given = {key: value for key, value in settings.items() if value is not None}
        try:
            list(KINDS["rules"].parts(RuleForm(rule=text, **given), context))
        except InputError as error:
            if type(error) is not InputError:  # a sentence that is not understood is a mistake
                raise InputError(f"{id}: {error}") from error
            skipped[id] = str(error)
    if len(skipped) == len(chosen):
        raise InputError("none of the rules can be tried: " + "; ".join(skipped.values()))
    return {id: text for id, text in chosen.items() if id not in skipped}, skipped


def _settings(same: Sequence[str] | None, gallery: str, traffic: str, engines: Path | None) -> dict[str, Any]:
    """Return how rules are tried, as entries of a suite say it."""
    if traffic not in ("right", "left"):
        raise InputError(f"--traffic must be right or left, got {traffic!r}")
    return {
        "same": _tolerances(same or []),
        "gallery": gallery,
        "traffic": traffic,
        "engines": None if engines is None else str(engines),
    }


def _tolerances(given: Sequence[str]) -> dict[str, float | str]:
    """Return δ by output, as --same gives them."""
    from roadworthy.rules.expectation import TOLERANCES, read_tolerance

    found: dict[str, float | str] = {}
    for output, text in parse_options(given, "--same speed=5%").items():
        if output not in TOLERANCES:
            raise InputError(f"--same: unknown output {output!r}; {suggest(output, TOLERANCES)}")
        words = str(text).strip()
        try:
            found[output] = words if words.endswith("%") else float(words)
            read_tolerance(found[output])
        except (ValueError, InputError):
            raise InputError(
                f"--same {output} must be a number in degrees or m/s, or a percentage, got {text!r}"
            ) from None
    return found


@command(
    app,
    'roadworthy rules compare --rule "If it rains, the steering angle should stay the same." '
    "--by rain:level-3 --by spatter",
    'roadworthy rules compare --rule "If it rains, the steering angle should stay the same." '
    "--engines mine.yaml --allow-commands --by engine:deeproad",
)
def compare(
    how: RunOptions,
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
    sample: Sample = None,
    seed: Seed = 0,
    same: Same = None,
    gallery: CutOuts = "shipped",
    traffic: Traffic = "right",
    engines: Engines = None,
) -> Answer:
    """Compare ways to make the one change of a rule: which of them shows more violations.

    As Table 10 of the RMT paper: a row for each model, a column for what is built in here and one for each
    transform or engine that is given.
    """
    settings = {"rule": rule, **_settings(same, gallery, traffic, engines)}
    entries = {"built in": {**settings, "engines": None}, **{one: {**settings, "by": one} for one in by}}

    def made_of(result: SuiteResult) -> tuple[list[ResultTable], dict[str, Any]]:
        from roadworthy.report.rules import RulesReport
        from roadworthy.rules.tables import model_table

        report = RulesReport(result)
        columns = dict(zip(report.plans, entries, strict=True))
        drawn = model_table("rule 1", report.models, list(report.plans), report.tallies)
        named = dataclasses.replace(drawn, columns=(drawn.columns[0], *columns.values()))
        return _with_reasons(named, report)

    frames = data_document(data, option, sample)
    document = suite_document("rules compare", entries, models=model or USUAL, data=frames, seed=seed)
    return answered(document, how, Path("rules-compared"), made_of)


@command(
    app,
    'roadworthy rules compose --rule "If a pedestrian appears on the roadside, slow down." '
    "--first rain:heavy --first fog:light",
)
def compose(
    how: RunOptions,
    rule: Rule,
    first: Annotated[
        list[str],
        typer.Option(metavar="TRANSFORM", help="A change that is made first; or engine:NAME; repeatable."),
    ],
    data: Data = "world",
    option: Options = None,
    model: Models = None,
    sample: Sample = None,
    seed: Seed = 0,
    same: Same = None,
    gallery: CutOuts = "shipped",
    traffic: Traffic = "right",
    engines: Engines = None,
) -> Answer:
    """Try a rule on top of changes that others make: rain, and then a pedestrian.

    As Table 11 of the RMT paper: for each first change, how many frames violate the rule's relation under it
    alone, and how many do when the rule's own change comes in addition.
    """
    settings = {"rule": rule, **_settings(same, gallery, traffic, engines)}
    entries = {f"rule 1 after {one}": {**settings, "after": one} for one in first}

    def made_of(result: SuiteResult) -> tuple[list[ResultTable], dict[str, Any]]:
        from roadworthy.report.rules import RulesReport
        from roadworthy.rules.tables import composition_table

        report = RulesReport(result)
        firsts = dict(zip(report.plans, first, strict=True))
        return _with_reasons(composition_table("rule 1", report.models, firsts, report.tallies), report)

    frames = data_document(data, option, sample)
    document = suite_document("rules compose", entries, models=model or USUAL, data=frames, seed=seed)
    return answered(document, how, Path("rules-composed"), made_of)


def _with_reasons(table: ResultTable, report: RulesReport) -> tuple[list[ResultTable], dict[str, Any]]:
    tables = [table, *([reasons] if (reasons := report.reasons()) else [])]
    return tables, {**report.document(), "tables": [dataclasses.asdict(one) for one in tables]}
