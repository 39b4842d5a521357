"""``roadworthy coverage study directions``: RQ1, coverage and the steering angle."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from roadworthy.cli._commands import Command
from roadworthy.cli._console import examples
from roadworthy.cli.coverage.study._group import (
    Batch,
    Counting,
    Data,
    Models,
    Out,
    Part,
    Sample,
    Scaling,
    Seed,
    Threshold,
    app,
)
from roadworthy.cli.options import AsJson, Options


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy coverage study directions --model dave2 --model epoch",
        "roadworthy coverage study directions --model epoch-udacity -d udacity-ch2:drive --frames 3600:",
    ),
)
def directions(
    model: Models = None,
    data: Data = "world",
    option: Options = None,
    frames: Part = None,
    sample: Sample = 500,
    angle: Annotated[
        Literal["predicted", "recorded"],
        typer.Option(help="Whose steering angle: the network's, or the driver's."),
    ] = "predicted",
    counting: Counting = "distinct",
    threshold: Threshold = 0.2,
    scaling: Scaling = "outputs",
    seed: Seed = 0,
    batch: Batch = 64,
    out: Out = Path("coverage-study"),
    as_json: AsJson = False,
) -> None:
    """Does coverage change with what the network answers? RQ1, Table 5.

    Spearman's correlation of the coverage of single images with the steering angle, and a comparison of
    images steered to the left with images steered to the right.
    """
    from roadworthy.cli._console import progress
    from roadworthy.cli.coverage.study._inputs import seed_images
    from roadworthy.cli.coverage.study._output import about, give_out, records
    from roadworthy.cli.options import opened_models
    from roadworthy.papers.deeptest.activity import HowCounted
    from roadworthy.papers.deeptest.directions import study_directions
    from roadworthy.papers.deeptest.figures import draw_directions

    how = HowCounted(counting, threshold, scaling)
    systems = opened_models(model)
    seeds = seed_images(data, option, systems, sample=sample, part=frames, seed=seed)
    with progress("Watching", len(seeds)) as told:
        study = study_directions(systems, seeds, how=how, angle=angle, batch=batch, progress=told)
    document = {
        **about(seeds, study.coverage, seed),
        "counted": str(how),
        "angle": angle,
        "rows": records(study.rows),
    }
    give_out(
        out,
        "directions",
        [study.table()],
        {"directions": draw_directions(study)},
        document,
        as_json=as_json,
        notes=seeds.notes(),
    )
