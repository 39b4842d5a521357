"""``roadworthy coverage study guided``: RQ3, coverage by combining transformations."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from roadworthy._files import file_name
from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples
from roadworthy.cli.coverage.study._group import (
    Counting,
    Data,
    Models,
    Out,
    Part,
    Sample,
    Seed,
    Threshold,
    Transformations,
    app,
)
from roadworthy.cli.options import AsJson, Options
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.cli.coverage._seeds import Seeds
    from roadworthy.coverage.observed import Observed
    from roadworthy.coverage.search.findings import CoverageGrowth
    from roadworthy.coverage.search.settings import SearchSettings
    from roadworthy.papers.deeptest.comparison import Reached


_SEARCHES = ("random", "algorithm-1", "curious")


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy coverage study guided --model dave2 --model epoch --sample 20",
        "roadworthy coverage study guided --model dave2-udacity -d udacity-ch2:drive --frames 3600:",
        "roadworthy coverage study guided --tries 500 --lambda 3 --counting deeptest --out strict",
    ),
)
def guided(
    model: Models = None,
    data: Data = "world",
    option: Options = None,
    frames: Part = None,
    sample: Sample = 20,
    transformation: Transformations = None,
    tries: Annotated[
        int,
        typer.Option(metavar="N", help="Tries of each search; 0 for as many as all transformations make."),
    ] = 0,
    lam: Annotated[float, typer.Option("--lambda", metavar="λ", help="λ of Equation 2.")] = 5.0,
    reference: Annotated[Literal["mse", "rmse"], typer.Option(help="What λ multiplies.")] = "mse",
    counting: Counting = "distinct",
    threshold: Threshold = 0.2,
    seed: Seed = 0,
    out: Out = Path("coverage-study"),
    as_json: AsJson = False,
) -> None:
    """Can coverage be increased further by combining transformations? RQ3, Table 6.

    The seed images alone, every transformation of every seed image with every parameter, and searches that
    combine transformations: by chance, DeepTest's Algorithm 1, and ours. Each search has as many tries as all
    transformations make images, and begins again with its seeds when it has nothing left to try.
    """
    from roadworthy.cli.coverage._seeds import Seeds
    from roadworthy.cli.coverage.study._inputs import seed_images
    from roadworthy.cli.coverage.study._output import about, give_out, records
    from roadworthy.cli.options import opened_models
    from roadworthy.coverage import Observed
    from roadworthy.coverage.search.settings import SearchSettings
    from roadworthy.models import Network
    from roadworthy.papers.deeptest.comparison import GuidedStudy
    from roadworthy.report.plots import draw_growth

    if tries < 0:
        raise InputError(f"--tries must be 0 or more, got {tries}")
    systems = opened_models(model)
    drawn = seed_images(data, option, systems, sample=sample, part=frames, seed=seed)
    seeds = Seeds(drawn)
    criterion = f"neuron(threshold={threshold})"
    transforms = tuple(transformation or ["simple"])
    base = SearchSettings(
        criterion=criterion, transforms=transforms, lam=lam, reference=reference, again=True
    )
    budget = tries or len(seeds) * sum(len(one) for one in base.space().sets)
    rows: list[Reached] = []
    figures = {}
    for system in systems:
        if not isinstance(system, Network):
            raise InputError(f"{system.name} does not show its layers: give a network of torch or ONNX")
        watched: Observed[Any] = Observed(system, counting)
        rows += _unguided(watched, seeds, base, seed)
        growths: dict[str, CoverageGrowth] = {}
        for name in _SEARCHES:
            folder = _folder(out, system.name, name)
            reached, growth = _searched(watched, seeds, base, name, budget, folder, seed)
            rows.append(reached)
            growths[name] = growth
        figures[f"guided-{file_name(system.name)}"] = draw_growth(growths)
    note = (
        f"{len(seeds)} seed images; neurons are counted {counting!r}, activated above {threshold:g}; the "
        f"coverage of searches includes the seed images; kept are images that raised coverage; failures "
        f"violate Equation 2 with λ = {lam:g} and the {reference.upper()} of the seed images, and all "
        "findings of a model are counted together."
    )
    study = GuidedStudy(_with_findings(rows, out), note)
    document = {
        **about(drawn, [one.name for one in systems], seed),
        "tries": budget,
        "rows": records(study.rows),
    }
    give_out(out, "guided", [study.table()], figures, document, as_json=as_json, notes=drawn.notes())


def _unguided(watched: Observed[Any], seeds: Seeds, settings: SearchSettings, seed: int) -> list[Reached]:
    """Return what the seed images cover, and what all their transformations cover."""
    from roadworthy.coverage.criteria import parse_mixture
    from roadworthy.papers.deeptest.comparison import BASELINE, CUMULATIVE, Reached, add_every_change

    made: Any = None
    for frame in seeds:
        _, seen = watched.observe([frame])
        made = made or parse_mixture(settings.criterion).make(seen.layers)
        made.update(seen)
    baseline = Reached(watched.name, BASELINE, len(seeds), made.covered, made.total)
    # The seed images are not among the transformed ones in the paper either.
    fresh = parse_mixture(settings.criterion).make(made.layers)
    with console(stderr=True).status(f"{watched.name}: all transformations"):
        count = add_every_change(watched, seeds, settings.space().sets, fresh, seed=seed)
    return [baseline, Reached(watched.name, CUMULATIVE, count, fresh.covered, fresh.total)]


def _searched(
    watched: Observed[Any],
    seeds: Seeds,
    base: SearchSettings,
    name: str,
    tries: int,
    folder: Path,
    seed: int,
) -> tuple[Reached, CoverageGrowth]:
    from roadworthy.cases import Requirement
    from roadworthy.cli._console import progress
    from roadworthy.coverage.method import CoverageMethod
    from roadworthy.coverage.search.findings import growth_of
    from roadworthy.papers.deeptest.comparison import Reached
    from roadworthy.runs import read_rows, run

    settings = replace(base, search=name, tries=tries)
    method = CoverageMethod()
    requirement = Requirement(name, "RQ3", method.name, settings.parameters())
    with progress(f"{watched.name}: {name}", tries + len(seeds)) as told:
        run(
            method,
            requirement,
            seeds,
            watched,
            out=folder,
            seed=seed,
            images="none",
            progress=lambda counts: told(sum(counts.values())),
            resume=folder.exists(),
        )
    criterion = method.originals.criterion
    growth = growth_of(read_rows(folder), criterion.value)
    reached = Reached(
        watched.name,
        name,
        len(growth.coverage) - 1,
        criterion.covered,
        criterion.total,
        kept=sum(after > before for before, after in pairwise(growth.coverage)),
        failures=growth.failures[-1],
    )
    return reached, growth


def _folder(out: Path, model: str, search: str) -> Path:
    return out / "runs" / f"{file_name(model)}-{search}"


def _with_findings(rows: list[Reached], out: Path) -> tuple[Reached, ...]:
    """Return the rows with the distinct findings of the searches of each model."""
    from roadworthy.papers.deeptest.comparison import distinct_failures
    from roadworthy.runs import read_rows

    found: dict[tuple[str, str], int] = {}
    for model in dict.fromkeys(row.model for row in rows):
        counts = distinct_failures({name: read_rows(_folder(out, model, name)) for name in _SEARCHES})
        found.update({(model, name): count for name, count in counts.items()})
    return tuple(replace(row, findings=found.get((row.model, row.way))) for row in rows)
