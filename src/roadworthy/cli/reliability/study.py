"""``roadworthy reliability study``: the studies of the paper that need no model."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roadworthy.cli._answer import print_tables, write_document
from roadworthy.cli._commands import Command, Group
from roadworthy.cli._console import console, examples, make_folder, print_json, progress
from roadworthy.cli.options import AsJson, FewFrames, Options, frames_of
from roadworthy.cli.reliability._group import app
from roadworthy.cli.reliability._options import Data, Out, Seed, Study, Transforms

if TYPE_CHECKING:
    from roadworthy.papers.reliability import LevelStudy
    from roadworthy.result_tables import ResultTable


studies = typer.Typer(cls=Group, no_args_is_help=True, help="Do the paper's studies on images of your own.")
app.add_typer(studies, name="study")


@studies.callback()
def _studies() -> None:
    """Do the paper's studies on images of your own."""


@studies.command(
    cls=Command,
    epilog=examples(
        "roadworthy reliability study levels --data world --sample 50",
        "roadworthy reliability study levels --data folder:images -t frost -t jpeg",
    ),
)
def levels(
    data: Data = "world",
    option: Options = None,
    transform: Transforms = None,
    sample: FewFrames = 50,
    versions: Annotated[
        int, typer.Option(metavar="N", help="How many changed images are drawn of each frame.")
    ] = 5,
    study: Study = "imagenet",
    seed: Seed = 0,
    out: Out = Path("reliability-levels"),
    as_json: AsJson = False,
) -> None:
    """Say how well the five levels of ImageNet-C cover the range of changes that people tolerate (RQ2).

    For each transformation: the range of the visual change at the five levels, which share of the tolerated
    range they cover, and which share of their images is outside of it; the same for parameters drawn as the
    paper's authors do, and for images drawn evenly over the visual change. The folder gets ranges.png (Figure
    5), distributions.png (Figure 6), tables.md and result.json.
    """
    from roadworthy.papers.reliability import study_levels
    from roadworthy.papers.reliability_figures import distribution_figure, range_figure
    from roadworthy.reliability import PAPER_TRANSFORMATIONS, transformation_named
    from roadworthy.report.plots import save

    kinds = [transformation_named(one) for one in transform or PAPER_TRANSFORMATIONS]
    frames = frames_of(data, option, [], sample)
    make_folder(out)
    done = count(1)
    with progress("Measuring", len(kinds)) as told:
        found = study_levels(
            frames, kinds, versions=versions, study=study, seed=seed, progress=lambda: told(next(done))
        )
    save(range_figure(found), out / "ranges.png")
    save(distribution_figure(found), out / "distributions.png")
    document = {
        "data": frames.name,
        "frames": len(frames),
        "study": study,
        "seed": seed,
        "transformations": [_document(one) for one in found],
    }
    tables = [_table(found)]
    write_document(out, document, tables)
    if as_json:
        print_json({"folder": str(out), **document})
    else:
        print_tables(tables)
        console().print(f"Wrote {out}", soft_wrap=True)


def _document(one: LevelStudy) -> dict[str, Any]:
    return {
        "transformation": one.transformation,
        "t_c": one.correctness,
        "t_p": one.prediction,
        "levels": None if one.range is None else list(one.range),
        "levels_mean": one.levels.mean(axis=1).round(4).tolist() if one.levels.size else [],
        "levels_beyond": one.beyond,
        "covered": {
            "levels": one.covered(one.levels),
            "published": one.covered(one.published),
            "even": one.covered(one.even),
        },
        "largest_even": float(one.even.max()) if one.even.size else None,
    }


def _table(found: list[LevelStudy]) -> ResultTable:
    from roadworthy.result_tables import ResultTable

    columns = ("change", "t_c", "t_p", "Δv of levels", "beyond", "levels cover", "published", "even")
    rows = []
    for one in found:
        limits = ("-" if end is None else f"{end:g}" for end in (one.correctness, one.prediction))
        levels = ["-"] * 3
        if one.range is not None and one.beyond is not None:
            low, high = one.range
            levels = [f"{low:.2f} to {high:.2f}", f"{one.beyond:.0%}", f"{one.covered(one.levels):.0%}"]
        drawn = (f"{one.covered(values):.0%}" if values.size else "-" for values in (one.published, one.even))
        rows.append((one.transformation, *limits, *levels, *drawn))
    note = (
        "Covered are those tenths of the range up to the larger limit that hold one in a hundred images or "
        "more: of ImageNet-C's levels, of parameters drawn as published, of draws that are even over Δv. "
        "Beyond are images of the levels outside of it."
    )
    return ResultTable("ImageNet-C's levels and the range that people tolerate", columns, tuple(rows), note)
