"""Draw the figures of coverage studies that docs/coverage.md shows, on the built-in world (`make docs`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from roadworthy.coverage.parameter_sets import parameter_sets
from roadworthy.datasets import load
from roadworthy.models import load_model
from roadworthy.papers.deeptest import (
    ask_models,
    observe_changes,
    study_change,
    study_deviation,
    study_directions,
    study_transformations,
)
from roadworthy.papers.deeptest.figures import (
    draw_change,
    draw_deviation,
    draw_directions,
    draw_transformations,
)
from roadworthy.report.plots import save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURES = Path(__file__).parent / "pictures"
MODELS = ("dave2", "epoch")
FRAMES, SEEDS = 300, 40


def figures() -> Iterator[tuple[str, Figure]]:
    """Every figure with its name."""
    models = [load_model(name) for name in MODELS]
    yield "coverage-directions", draw_directions(study_directions(models, load("world", count=FRAMES)))
    seeds = list(load("world", count=SEEDS))
    seen = observe_changes(models, seeds, parameter_sets(["simple"]))
    yield "coverage-transformations", draw_transformations(study_transformations(seen))
    yield "coverage-change", draw_change(study_change(seen))
    answers = ask_models(models, seeds, parameter_sets(["deeptest"]))
    yield "coverage-deviation", draw_deviation(study_deviation(answers))


def main() -> None:
    """Write all figures."""
    PICTURES.mkdir(exist_ok=True)
    for name, figure in figures():
        save(figure, PICTURES / f"{name}.png")


if __name__ == "__main__":
    main()
