"""``roadworthy coverage study transformations`` and ``change``: RQ2 and Figure 5."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

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
    Transformations,
    app,
)
from roadworthy.cli.options import AsJson, Options

if TYPE_CHECKING:
    from roadworthy.cli.coverage.study._inputs import SeedImages
    from roadworthy.coverage.criteria import Scaling as ScalingName
    from roadworthy.papers.deeptest.activity import Activity


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy coverage study transformations --model dave2 --model epoch",
        "roadworthy coverage study transformations -t deeptest --sample 20",
    ),
)
def transformations(
    model: Models = None,
    data: Data = "world",
    option: Options = None,
    frames: Part = None,
    sample: Sample = 100,
    transformation: Transformations = None,
    counting: Counting = "distinct",
    threshold: Threshold = 0.2,
    scaling: Scaling = "outputs",
    seed: Seed = 0,
    batch: Batch = 64,
    out: Out = Path("coverage-study"),
    as_json: AsJson = False,
) -> None:
    """Do different transformations activate different neurons? RQ2, Figure 4.

    Jaccard distances between the neurons of changed images of one seed image, for every pair of
    transformations, and the coverage of a seed image as transformations are added.
    """
    from roadworthy.cli.coverage.study._output import about, give_out, records
    from roadworthy.papers.deeptest.figures import draw_transformations
    from roadworthy.papers.deeptest.transformations import study_transformations

    seeds, found = _observed(
        model, data, option, frames, sample, transformation, counting, threshold, scaling, seed, batch
    )
    study = study_transformations(found)
    document = {
        **about(seeds, [one.model for one in found], seed),
        "counted": study.how,
        "transformations": list(found[0].transformations),
        "distances": records(study.distances),
        "cumulative": records(study.growth),
    }
    give_out(
        out,
        "transformations",
        study.tables(),
        {"transformations": draw_transformations(study)},
        document,
        as_json=as_json,
        notes=seeds.notes(),
    )


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy coverage study change --model dave2 --model epoch",
        "roadworthy coverage study change --counting deeptest --model epoch --sample 50",
    ),
)
def change(
    model: Models = None,
    data: Data = "world",
    option: Options = None,
    frames: Part = None,
    sample: Sample = 100,
    transformation: Transformations = None,
    counting: Counting = "distinct",
    threshold: Threshold = 0.2,
    scaling: Scaling = "outputs",
    seed: Seed = 0,
    batch: Batch = 64,
    out: Out = Path("coverage-study"),
    as_json: AsJson = False,
) -> None:
    """By how much does each transformation change the coverage of a seed image? Figure 5.

    All images of a transformation together and single ones, against the seed image, with Wilcoxon's signed
    rank test and Cohen's d; beside them as many other seed images, unchanged.
    """
    from roadworthy.cli.coverage.study._output import about, give_out, records
    from roadworthy.papers.deeptest.figures import draw_change
    from roadworthy.papers.deeptest.transformations import study_change

    seeds, found = _observed(
        model, data, option, frames, sample, transformation, counting, threshold, scaling, seed, batch
    )
    study = study_change(found, seed=seed)
    document = {
        **about(seeds, study.counts, seed),
        "counted": study.how,
        "rows": records(study.rows),
    }
    give_out(
        out,
        "change",
        [study.table()],
        {"change": draw_change(study)},
        document,
        as_json=as_json,
        notes=seeds.notes(),
    )


def _observed(
    model: list[str] | None,
    data: str,
    option: list[str] | None,
    part: str | None,
    sample: int,
    names: list[str] | None,
    counting: str,
    threshold: float,
    scaling: ScalingName,
    seed: int,
    batch: int,
) -> tuple[SeedImages, list[Activity]]:
    from roadworthy.cli._console import progress
    from roadworthy.cli.coverage.study._inputs import seed_images
    from roadworthy.cli.options import opened_models
    from roadworthy.coverage.parameter_sets import parameter_sets
    from roadworthy.papers.deeptest.activity import HowCounted, observe_changes

    how = HowCounted(counting, threshold, scaling)
    sets = parameter_sets(names or ["simple"])
    systems = opened_models(model)
    seeds = seed_images(data, option, systems, sample=sample, part=part, seed=seed)
    with progress("Changing images", len(seeds)) as told:
        found = observe_changes(systems, seeds, sets, how=how, seed=seed, batch=batch, progress=told)
    return seeds, found
