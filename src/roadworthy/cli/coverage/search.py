"""``roadworthy coverage search``: changed images that raise coverage, and those that the network fails on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from roadworthy.cli._answer import Answer
from roadworthy.cli._commands import command
from roadworthy.cli._road import RunOptions, answered, data_document, suite_document
from roadworthy.cli.coverage._group import app, seed_images
from roadworthy.cli.options import Data, Options
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.papers.deeptest.seeds import SeedImages
    from roadworthy.result_tables import ResultTable
    from roadworthy.runs.suites import SuiteResult

TRAINING = "training"
"""What the suite calls the training data."""


@command(
    app,
    "roadworthy coverage search --model dave2 --data world:town --tries 300",
    "roadworthy coverage search --search algorithm-1 -t deeptest --lambda 5 --seconds 60",
    'roadworthy coverage search --criterion "0.7*neuron + 0.3*top-k" -t rain -t "night:heavy"',
    "roadworthy coverage search --model dave2-udacity -d udacity-ch2:drive --frames 3600: --tries 5000",
    "roadworthy coverage search --out search-out --tries 2000",
)
def search(
    how: RunOptions,
    model: Annotated[
        str, typer.Option(metavar="MODEL", help="The network: a name, kind:path or a model.yaml.")
    ] = "dave2",
    data: Data = "world",
    option: Options = None,
    frames: Annotated[
        str | None,
        typer.Option(metavar="FROM:TO", help="Only these frames, such as 3600: to leave out the training."),
    ] = None,
    sample: Annotated[
        int,
        typer.Option("--sample", "-n", metavar="N", help="How many seed images, drawn at random; 0 for all."),
    ] = 50,
    search: Annotated[
        Literal["curious", "algorithm-1", "random", "random-deep"],
        typer.Option(help="What decides what is tried: our search, DeepTest's, or chance."),
    ] = "curious",
    criterion: Annotated[
        str,
        typer.Option(
            "--criterion", "-c", metavar="NAME", help="What guides it; several as in 0.7*neuron + 0.3*top-k."
        ),
    ] = "neuron",
    training: Annotated[
        str | None,
        typer.Option(
            metavar="DATA",
            help="Training data, for criteria that compare with it; the seed images if left out.",
        ),
    ] = None,
    transform: Annotated[
        list[str] | None,
        typer.Option(
            "--transform",
            "-t",
            metavar="NAME",
            help="simple, composite, deeptest, a transform, or one with its parameters; repeatable. simple "
            "if left out.",
        ),
    ] = None,
    tries: Annotated[int, typer.Option(metavar="N", help="Changed images to try at most.")] = 500,
    seconds: Annotated[
        float | None, typer.Option(metavar="S", help="Seconds to try for at most, if tries last longer.")
    ] = None,
    lam: Annotated[float, typer.Option("--lambda", metavar="λ", help="λ of Equation 2.")] = 5.0,
    reference: Annotated[
        Literal["mse", "rmse"], typer.Option(help="What λ multiplies: of the errors on the seed images.")
    ] = "mse",
    output: Annotated[
        Literal["steering", "speed"], typer.Option(help="Which answer is judged.")
    ] = "steering",
    max_failed_tries: Annotated[
        int, typer.Option(metavar="N", help="Of Algorithm 1: after how many more an image is given up.")
    ] = 10,
    again: Annotated[
        bool, typer.Option("--again", help="Of Algorithm 1: push the seeds again when the stack is empty.")
    ] = False,
    deepest: Annotated[
        int,
        typer.Option(metavar="N", help="Of curious and random-deep: transformations of an image, at most."),
    ] = 8,
    counting: Annotated[
        str,
        typer.Option(metavar="NAME", help="distinct: each neuron once; deeptest: as DeepTest's public code."),
    ] = "distinct",
    seed: Annotated[int, typer.Option(metavar="N", help="The same seed takes the same course.")] = 0,
    worst: Annotated[
        int, typer.Option(metavar="N", help="Findings on the sheet, the most different ones; 0 for none.")
    ] = 6,
    operating_domain: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Your operating domain, for what was never tried.")
    ] = None,
) -> Answer:
    """Search for changed images that show something new, and judge each by DeepTest's Equation 2.

    The folder gets a row for every try, the images of failures, growth.png, findings.png, search.json,
    report.html, junit.xml, evidence, tables.md, result.json and suite.yaml. A search that was stopped goes on
    when the same command is given again, and one that has ended goes on with a larger budget.
    """
    from roadworthy.coverage import OperatingDomain
    from roadworthy.coverage.search.settings import SearchSettings
    from roadworthy.models import load_model

    if worst < 0:
        raise InputError(f"--worst must be 0 or more, got {worst}")
    entry = SearchSettings(
        search=search,
        criterion=criterion,
        transforms=tuple(transform or ["simple"]),
        tries=tries,
        seconds=seconds,
        lam=lam,
        reference=reference,
        output=output,
        max_failed_tries=max_failed_tries,
        again=again,
        deepest=deepest,
    ).parameters()
    entry |= {"coverage": entry.pop("criterion"), "counting": counting}
    domain = OperatingDomain.load(operating_domain)
    drawn = seed_images(data, option, [load_model(model)], sample=sample, part=frames, seed=seed)
    document = suite_document(
        "coverage search",
        {"coverage": entry},
        models=[model],
        data=_drawn_document(data, option, drawn),
        seed=seed,
    )
    if training is not None:
        entry["training"] = TRAINING
        document["data"][TRAINING] = data_document(training, option)
    lines = drawn.notes()

    def made_of(result: SuiteResult) -> tuple[list[ResultTable], dict[str, Any]]:
        from roadworthy.report.searches import SearchReport

        report = SearchReport(result, domain)
        report.write(worst)
        lines.extend(report.lines())
        return report.tables(), {**report.document, "notes": [*drawn.notes(), *result.notes]}

    return answered(document, how, Path("coverage-search"), made_of, lines=lines)


def _drawn_document(reference: str, options: list[str] | None, drawn: SeedImages) -> dict[str, Any]:
    """Return the seed images as a suite has them: named, unless they are all that the data has."""
    from roadworthy.datasets import fitting_options
    from roadworthy.papers.deeptest.seeds import Seeds

    document = data_document(reference, options, frames=Seeds(drawn).ids)
    document["options"] = {**fitting_options(reference, count=drawn.count), **document["options"]}
    return document
