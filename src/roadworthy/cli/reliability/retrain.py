"""``roadworthy reliability retrain``: a reference network learns what a human still sees."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roadworthy.cli._answer import show
from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples, print_json
from roadworthy.cli.models import chosen_variant, measures_table
from roadworthy.cli.options import AsJson, Options, frames_of, free_folder
from roadworthy.cli.reliability._group import app
from roadworthy.cli.reliability._options import Data, Limit, Seed, Study, Transforms

if TYPE_CHECKING:
    from roadworthy.training.retraining.material import WithChanges


_OTHER_SEED = 1_000_003  # what is added to the seed of changes and of data that is made, for validation


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy reliability retrain classifier --data world-crops -o count=2000 -t gaussian-noise",
        "roadworthy reliability rank --model classifier --model retrained/classifier -t gaussian-noise",
        "roadworthy reliability retrain dave2 --data world -o count=4000 -o seed=11 --out sturdy",
    ),
)
def retrain(
    network: Annotated[
        str,
        typer.Argument(metavar="NETWORK", help="dave2, epoch, detector or classifier.", show_default=False),
    ],
    data: Data = "world-crops",
    option: Options = None,
    transform: Transforms = None,
    limit: Limit = None,
    study: Study = "imagenet",
    versions: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Changed versions of each frame; one for each transformation if left out."
        ),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Weights to start from; the shipped ones if left out, or none."),
    ] = None,
    epochs: Annotated[int, typer.Option(metavar="N", help="The most epochs.")] = 10,
    lr: Annotated[float, typer.Option(metavar="RATE", help="Adam's learning rate, which falls to 0.")] = 1e-3,
    minutes: Annotated[
        float | None, typer.Option(metavar="N", help="No epoch is started that would end later.")
    ] = None,
    workers: Annotated[int, typer.Option(metavar="N", help="Processes that make images.")] = 1,
    seed: Seed = 11,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where to write; retrained/NETWORK, or the next, if left out."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Train a reference network on, with images changed inside the range that people tolerate.

    Each frame is followed by changed versions of it, whose visual change is even over the tolerated range.
    Validation data is made alike: with another seed where data is made, or the end of what was recorded. The
    folder is opened like any model; check it with frames and a seed that it was not trained with.
    """
    from roadworthy.training import Settings, train

    variant = chosen_variant(network, None, None, small=network in ("epoch", "chauffeur"))
    training = _changed(data, option, transform, limit, study, versions, seed)
    made = data.partition(":")[0] in ("world", "world-crops")
    validation = _changed(data, option, transform, limit, study, versions, seed, other=True) if made else None
    folder = out or free_folder(Path("retrained") / network)
    start = None if weights == "none" else weights or network
    settings = Settings(
        epochs=epochs,
        learning_rate=lr,
        decay="cosine",
        seed=seed,
        minutes=minutes,
        workers=workers,
        patience=epochs,
    )
    trained = train(variant, training, validation=validation, settings=settings, start=start, folder=folder)
    if as_json:
        measures = {one.name: one.value for one in trained.card.measures}
        print_json(
            {"folder": str(folder), "data": training.name, "frames": len(training), "measures": measures}
        )
        return
    show(measures_table(trained.card.measures))
    console().print(f"Wrote {folder}: a network that has seen {training.name}", soft_wrap=True)


def _changed(
    data: str,
    option: list[str] | None,
    transform: list[str] | None,
    limit: float | None,
    study: str,
    versions: int | None,
    seed: int,
    *,
    other: bool = False,
) -> WithChanges:
    """Return the frames with their changed versions; others for validation."""
    from roadworthy.cli._console import parse_options
    from roadworthy.reliability import PAPER_TRANSFORMATIONS, transformation_named
    from roadworthy.training.retraining.material import WithChanges
    from roadworthy.visual_change.tolerance import tolerance_of

    kinds = [transformation_named(one) for one in transform or PAPER_TRANSFORMATIONS]
    known = [tolerance_of(one.name, study=study) if limit is None else None for one in kinds]
    limits = [1.0 if one is None else max(one.correctness, one.prediction) for one in known]
    if limit is not None:
        limits = [limit] * len(kinds)
    given = list(option or [])
    if other:
        chosen = parse_options(given)
        own = int(str(chosen.get("seed", 0))) + _OTHER_SEED
        count = max(1, int(str(chosen.get("count", 150))) // 5)
        given = [one for one in given if one.partition("=")[0].strip() not in ("seed", "count")]
        given += [f"seed={own}", f"count={count}"]
    frames = frames_of(data, given, [], None)
    return WithChanges(frames, kinds, limits, versions, seed + (_OTHER_SEED if other else 0))
