"""``roadworthy demo``: the main job on the built-in world, with nothing to download."""

from __future__ import annotations

import shutil
from pathlib import Path

import typer

from roadworthy.cli._answer import Answer
from roadworthy.cli._commands import command
from roadworthy.cli._console import make_folder, tracked
from roadworthy.cli._road import RunOptions, answer_of, outcome_lines, planned, run_plan
from roadworthy.errors import InputError

app = typer.Typer()


@command(app)
def demo(out: Path = Path("demo-out")) -> Answer:
    """Draw the built-in world, and test the shipped networks by requirements of all five kinds.

    Options:
        out (FOLDER): Where to write.

    Examples:
        roadworthy demo
        roadworthy demo --out pictures --json
    """
    from roadworthy.report.world_tour import WorldTour

    make_folder(out)
    folder = _emptied(out / "run")
    tour = WorldTour(tracked)
    paths = tour.write(out)
    how = RunOptions(out=folder)
    published = run_plan(planned(demo_suite(), how, folder), how, folder)
    suite = answer_of(published, how)
    shown = [
        tour.table(),
        *(f"Wrote {path}" for path in paths.values()),
        f"A suite with requirements of all five kinds, from {demo_suite()}:",
        *outcome_lines(published.result),
        *suite.shown,
        _NEXT_STEPS,
    ]
    sheets = {name: str(path) for name, path in paths.items()}
    document = {"sheets": sheets, "counterfactuals": tour.document(), "suite": suite.document}
    return Answer(document, shown, suite.notes, suite.report)


_NEXT_STEPS = (
    "The networks are small ones from the papers: what is violated above are faults that they really have. "
    "After the report, try a sentence of your own, or the page to look at failures:\n"
    "  roadworthy rules run --model dave2 --rule "
    '"If a pedestrian appears on the roadside, the ego-vehicle should slow down."\n'
    "  roadworthy serve"
)


def demo_suite() -> Path:
    """Return the suite of the demonstration: an example that comes with the package."""
    package = Path(__file__).parents[1]
    shipped, source = package / "examples", package.parents[1] / "examples"
    return (shipped if shipped.is_dir() else source) / "demo.suite.yaml"


def _emptied(folder: Path) -> Path:
    """Return a folder without what an earlier demonstration left in it.

    Raises:
        InputError: It holds something else.
    """
    if not folder.exists():
        return folder
    if not (folder / "manifest.json").is_file():
        raise InputError(f"{folder} is not from an earlier demonstration: choose another --out")
    shutil.rmtree(folder)
    return folder
