"""``roadworthy models evaluate``: how near a model's answers are to the truth."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer

from roadworthy.cli._answer import Answer
from roadworthy.cli._commands import command
from roadworthy.cli._console import bars, parse_options, tracked
from roadworthy.cli._datasets import Options
from roadworthy.cli._models import history_of, opened_for
from roadworthy.cli.models._group import Data, ModelOptions, Reference, app
from roadworthy.cli.models._measures import measures_table

if TYPE_CHECKING:
    from roadworthy.cases import Dataset
    from roadworthy.models import SystemUnderTest
    from roadworthy.models.scorers import Measure


@command(
    app,
    "roadworthy models evaluate trained/dave2 --data world:mountain -o count=500 -o seed=7",
    "roadworthy models evaluate recorded:answers.csv --data udacity-ch2:drive",
    "roadworthy models evaluate trained/dave2 --data world --lap meadow --lap town",
)
def evaluate(
    reference: Reference,
    data: Data = "world",
    option: Options = None,
    model_option: ModelOptions = None,
    lap: Annotated[
        list[str] | None,
        typer.Option(metavar="TRACK", help="Let it also drive a lap of this track; repeatable."),
    ] = None,
    batch: Annotated[int, typer.Option(metavar="N", help="Frames that it is asked about at a time.")] = 64,
) -> Answer:
    """Compare a model's answers with the truth of a whole data set."""
    from roadworthy.models import load_model
    from roadworthy.training import drive_lap

    system = load_model(reference, **parse_options(model_option or [], "-m threads=1"))
    dataset = opened_for(data, option, history_of(system))
    # A model that cannot drive says so in its first step, and all the data need not be waited for.
    laps = [drive_lap(system, track) for track in tracked(lap or [], "Driving")]
    measures = _measured(system, dataset, batch)
    document = {
        "model": system.name,
        "dataset": dataset.name,
        "measures": [{**dataclasses.asdict(one), "text": str(one)} for one in measures],
        "laps": [dataclasses.asdict(one) for one in laps],
    }
    title = f"{system.name} on {dataset.name}"
    return Answer(document, [title, measures_table(measures), *map(str, laps)])


def _measured(system: SystemUnderTest, dataset: Dataset, batch: int) -> list[Measure]:
    """Evaluate with a progress bar on a terminal, and nothing in a pipe."""
    from roadworthy.training import evaluate as evaluated

    with bars() as shown:
        return evaluated(system, dataset, batch=batch, progress=shown.showing("Asking the model"))
