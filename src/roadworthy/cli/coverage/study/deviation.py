"""``roadworthy coverage study deviation`` and ``false-alarms``: RQ4, the oracle's reports."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples, print_json
from roadworthy.cli.coverage.study._group import (
    Batch,
    Data,
    Models,
    Out,
    Part,
    Sample,
    Seed,
    Transformations,
    app,
)
from roadworthy.cli.options import AsJson, Options


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy coverage study deviation --model dave2 --model epoch",
        "roadworthy coverage study deviation --model dave2-udacity -d udacity-ch2:drive --frames 3600:",
        "roadworthy coverage study deviation --lambda 3 --epsilon 0.02 --reference rmse",
        "roadworthy coverage study deviation --guided search-out",
    ),
)
def deviation(
    model: Models = None,
    data: Data = "world",
    option: Options = None,
    frames: Part = None,
    sample: Sample = 50,
    transformation: Transformations = None,
    lam: Annotated[float, typer.Option("--lambda", metavar="λ", help="λ of Equation 2.")] = 5.0,
    epsilon: Annotated[
        float,
        typer.Option(metavar="NUMBER", help="ε of Equation 3, in the square of the data set's unit."),
    ] = 0.03,
    reference: Annotated[
        Literal["mse", "rmse"], typer.Option(help="What λ multiplies: the originals' MSE or RMSE.")
    ] = "mse",
    radius: Annotated[
        float, typer.Option(metavar="NUMBER", help="How near violations are that count as one finding.")
    ] = 1.0,
    guided: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN",
            help="A run of `coverage search --images all` on this data: its images are judged too, and its "
            "seed images are added to the others.",
        ),
    ] = None,
    check: Annotated[
        int, typer.Option(metavar="N", help="Findings of each model that are drawn for checking by hand.")
    ] = 16,
    seed: Seed = 0,
    batch: Batch = 64,
    out: Out = Path("coverage-study"),
    as_json: AsJson = False,
) -> None:
    """Which changed images are answered wrongly, and by how much? RQ4, Figure 6, Tables 7 and 8.

    Errors, λ and ε are in the native unit of the data set, which the tables state. Violations that are alike
    count as one finding. checks-MODEL.png shows findings drawn at random and checks.csv waits for your
    judgement of them; `false-alarms` counts it.
    """
    from roadworthy.cli._console import progress
    from roadworthy.cli.coverage.study._checks import check_pairs, refuse_to_overwrite, write_checks
    from roadworthy.cli.coverage.study._guided import GuidedImages
    from roadworthy.cli.coverage.study._inputs import seed_images
    from roadworthy.cli.coverage.study._output import about, give_out, records
    from roadworthy.cli.options import opened_models
    from roadworthy.coverage.oracle import check_epsilon, check_lambda, check_radius
    from roadworthy.coverage.parameter_sets import parameter_sets
    from roadworthy.papers.deeptest.asking import add_images, ask_models
    from roadworthy.papers.deeptest.checking import choose_findings
    from roadworthy.papers.deeptest.deviation import study_deviation
    from roadworthy.papers.deeptest.figures import draw_deviation

    refuse_to_overwrite(out)
    check_lambda(lam)
    check_epsilon(epsilon)
    check_radius(radius)
    choose_findings([], check)
    sets = parameter_sets(transformation or ["deeptest"])
    systems = opened_models(model)
    seeds = seed_images(data, option, systems, sample=sample, part=frames, seed=seed)
    found = None if guided is None else GuidedImages(guided, seeds)
    if found is not None:
        seeds = found.with_originals(seeds)
    with progress("Asking models", len(seeds)) as told:
        answers = ask_models(systems, seeds, sets, units=seeds.units, seed=seed, batch=batch, progress=told)
    if found is not None:
        answers = add_images(systems, answers, "guided", found, units=seeds.units, batch=batch)
    notes = [*seeds.notes(), *([] if found is None else found.notes())]
    study = study_deviation(answers, lam=lam, epsilon=epsilon, reference=reference, radius=radius)
    chosen = choose_findings(study.findings, check, seed)
    written = write_checks(out, study, chosen, check_pairs(study, chosen, seeds, sets, seed, found))
    document = {
        **about(seeds, [one.model for one in answers], seed),
        "notes": notes,
        "unit": answers[0].unit,
        "lambda": lam,
        "epsilon": epsilon,
        "reference": reference,
        "statements": list(study.statements),
        "rows": records(study.rows),
        **{
            table.name: [dict(zip(table.columns, row, strict=True)) for row in table.rows]
            for table in study.tables[1:]
        },
        "findings": [
            {
                "id": one.id,
                "model": one.model,
                "violations": one.violations,
                "frame": one.worst.frame,
                "transformation": one.worst.transformation,
                "parameter": one.worst.parameter,
                "label": one.label,
                "original": one.original,
                "answer": one.answer,
                "inherited": one.inherited,
            }
            for one in study.findings
        ],
    }
    give_out(
        out,
        "deviation",
        study.tables,
        {"deviation": draw_deviation(study)},
        document,
        as_json=as_json,
        notes=[*study.statements, *notes],
        written=written,
    )


@app.command(
    "false-alarms",
    cls=Command,
    epilog=examples("roadworthy coverage study false-alarms coverage-study/checks.csv"),
)
def false_alarms(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="CHECKS", help="Tables of `study deviation` that were filled in."),
    ],
    as_json: AsJson = False,
) -> None:
    """How many of the findings that were checked by hand are false alarms? Figure 8, with bounds."""
    from roadworthy.papers.deeptest.checking import count_false_alarms, read_checks

    found = count_false_alarms([one for file in files for one in read_checks(file)])
    if as_json:
        rows = [
            {
                "model": one.model,
                "changes": one.changes,
                "true_faults": one.faults,
                "false_alarms": one.false_alarms,
                "unsure": one.unsure,
                "not_checked": one.unchecked,
                "rate": one.rate,
                "interval": one.interval,
                "at_most": one.worst,
            }
            for one in found.rows
        ]
        print_json({"rows": rows})
        return
    console().print(str(found), markup=False, soft_wrap=True)
