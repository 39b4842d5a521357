"""Draw the pictures of docs/reliability.md, all from the built-in world. Run it with ``make docs``."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from roadworthy.datasets import load
from roadworthy.frames import Frame
from roadworthy.images import write_image
from roadworthy.models import load_model
from roadworthy.papers.reliability import study_levels
from roadworthy.papers.reliability_figures import distribution_figure, range_figure
from roadworthy.reliability import (
    PAPER_TRANSFORMATIONS,
    Preservation,
    ReliabilityMethod,
    SampledFrame,
    SignalWithin,
    transformation_named,
)
from roadworthy.report import Image, Tile, contact_sheet
from roadworthy.report.drawing import draw_frame
from roadworthy.report.plots import Held, held_figure, save
from roadworthy.runs import read_rows, run_several
from roadworthy.visual_change.tolerance import tolerance_of

PICTURES = Path(__file__).parent / "pictures"


def tolerated_sheet(frame: Frame) -> Image:
    """Return a frame under the paper's changes, a row for each, at places of the tolerated range."""
    tiles, places = [], (0.25, 0.5, 0.75, 1.0)
    for name in PAPER_TRANSFORMATIONS:
        limit = tolerance_of(name).correctness
        for place in places:
            made = SampledFrame(frame, transformation_named(name), limit, place, 1)()
            told = f"Δv {made.visual_change:.2f}/{limit:g}"
            tiles.append(Tile(draw_frame(made, (), 256 / frame.width), name, told))
    return contact_sheet(tiles, len(places))


def draw(folder: Path = PICTURES) -> None:
    """Write the four pictures into a folder."""
    folder.mkdir(exist_ok=True)
    frame = load("world:town", count=8, seed=3)[5]
    write_image(folder / "reliability-changes.jpg", tolerated_sheet(frame))
    kinds = [transformation_named(name) for name in PAPER_TRANSFORMATIONS]
    studies = study_levels(load("world:coast,village", count=30, seed=5), kinds, versions=10)
    save(range_figure(studies), folder / "reliability-ranges.png")
    save(distribution_figure(studies), folder / "reliability-distributions.png")
    _held(folder / "reliability-held.png")


def _held(path: Path) -> None:
    """Draw how the steering of two networks holds over the visual change."""
    import numpy as np

    systems = [load_model("dave2"), load_model("epoch")]
    asked = {
        name: Preservation.published("prediction", name, SignalWithin("steering"), versions=6)
        for name in PAPER_TRANSFORMATIONS
    }
    with TemporaryDirectory() as folder:
        found = run_several(
            ReliabilityMethod(),
            [one.requirement() for one in asked.values()],
            load("world:coast,village", count=40, seed=5),
            systems,
            out=Path(folder) / "run",
            images="none",
        )
        panels: dict[str, list[Held]] = {}
        for name, one in asked.items():
            for system in systems:
                result = found.results[one.id, system.name]
                assert result.folder is not None
                rows = list(read_rows(result.folder))
                changes, likeness = (
                    np.array([float(str(row[column])) for row in rows])
                    for column in ("visual_change", "measure.similarity")
                )
                required = float(str(result.outcome.measures["required"]))
                panels.setdefault(name, []).append(Held(system.name, changes, likeness, required))
    limits = {name: one.limit for name, one in asked.items()}
    save(held_figure(panels, limits, "steering stays within 1.39°"), path)


if __name__ == "__main__":
    draw()
