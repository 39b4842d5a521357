"""``roadworthy models train``: training a reference network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roadworthy.cli._answer import show
from roadworthy.cli._commands import Command
from roadworthy.cli._console import bars, console, examples, parse_options, print_json, print_rows
from roadworthy.cli._datasets import AsJson, Options
from roadworthy.cli._models import opened_for
from roadworthy.cli._out import free_folder
from roadworthy.cli._training import Device, Precision, Resume, Workers, processes, training_folder
from roadworthy.cli.models._group import Data, app
from roadworthy.cli.models._measures import measures_table
from roadworthy.cli.models._networks import NetworkOptions, Outputs, Small, chosen_variant
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.cases import Dataset
    from roadworthy.models.zoo import Variant
    from roadworthy.training import Card, EpochResult, Settings, Watcher


_OTHER_SEED = 1_000_003  # what is added to the seed of data that is made, for validation


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy models train dave2 --data world -o count=4000 -o jitter=3",
        "roadworthy models train epoch --small --output steering --data udacity-ch2:drive",
        "roadworthy models train chauffeur --small --data world -o count=6000 -o sequence=12",
        "roadworthy models train dave2 --data world -o count=4000 -o jitter=3 --resume",
        "roadworthy models try trained/dave2 --data world:town",
    ),
)
def train(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NETWORK",
            help="dave2, epoch, chauffeur, rambo, vgg16, resnet101, detector or classifier.",
        ),
    ],
    data: Data = "world",
    option: Options = None,
    output: Outputs = None,
    network_option: NetworkOptions = None,
    small: Small = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where to write; trained/NETWORK, or the next, if left out."),
    ] = None,
    resume: Resume = False,
    weights: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Weights to start from: a trained folder, an ONNX file, the name of a shipped network, or a "
            "state dict.",
        ),
    ] = None,
    val_data: Annotated[
        str | None,
        typer.Option(
            metavar="DATA",
            help="Validation data, with the same options. When left out: the end of recorded data, "
            "and another seed of data that is made.",
        ),
    ] = None,
    val_share: Annotated[
        float, typer.Option(metavar="SHARE", help="How much of the data is for validation.")
    ] = 0.2,
    epochs: Annotated[int, typer.Option(metavar="N", help="The most epochs.")] = 50,
    patience: Annotated[
        int, typer.Option(metavar="N", help="Stop after so many epochs without a smaller validation loss.")
    ] = 8,
    batch: Annotated[int, typer.Option(metavar="N", help="Images at a time.")] = 64,
    lr: Annotated[float, typer.Option(metavar="RATE", help="Adam's learning rate.")] = 1e-4,
    decay: Annotated[
        str, typer.Option(metavar="HOW", help="How the learning rate falls: none or cosine.")
    ] = "none",
    mirror: Annotated[float, typer.Option(metavar="SHARE", help="Of images that are mirrored.")] = 0.5,
    brightness: Annotated[
        float, typer.Option(metavar="SHARE", help="By how much images get brighter or darker.")
    ] = 0.2,
    seed: Annotated[int, typer.Option(metavar="N", help="Chooses all that is random.")] = 0,
    device: Device = "auto",
    precision: Precision = "auto",
    workers: Workers = None,
    memory: Annotated[
        float, typer.Option(metavar="GIB", help="What the images may take; twice that while they are read.")
    ] = 8.0,
    as_json: AsJson = False,
) -> None:
    """Train a reference network and write it as ONNX, with its card and a model.yaml."""
    from roadworthy.training import Settings
    from roadworthy.training import train as trained_on

    variant = chosen_variant(name, output, network_option, small)
    settings = Settings(
        epochs=epochs,
        batch=batch,
        learning_rate=lr,
        decay=decay,  # type: ignore[arg-type]
        patience=patience,
        mirror=mirror,
        brightness=brightness,
        validation_share=val_share,
        seed=seed,
        device=device,
        precision=precision,  # type: ignore[arg-type]
        workers=processes(workers),
        memory=memory,
    )
    place = out or free_folder(Path("trained") / name, resume=resume)
    sources = _data(data, option, val_data, variant, settings)
    with _folder(place, resume) as folder, _watching() as watcher:
        result = trained_on(
            variant,
            sources.training,
            validation=sources.validation,
            settings=settings,
            names=sources.names,
            start=weights,
            folder=folder,
            resume=resume,
            watcher=watcher,
        )
    if as_json:
        print_json({"folder": str(folder), **result.card.to_dict()})
    else:
        _print_summary(folder, result.card)


@contextmanager
def _folder(path: Path, resume: bool) -> Iterator[Path]:
    """Make the folder of a training, unless one lies there that is not to be gone on with."""
    from roadworthy.training import CHECKPOINT

    if not resume and (path / CHECKPOINT).exists():
        raise InputError(
            f"{path} already holds a training: go on with it with --resume, or choose another with --out"
        )
    with training_folder(path, CHECKPOINT, "the state after the last whole epoch") as folder:
        yield folder


@dataclass(frozen=True)
class _Sources:
    """Training and validation data, with what they are called; without the latter, the end of the former."""

    training: Dataset
    validation: Dataset | None
    names: tuple[str, str]


def _data(
    reference: str, given: list[str] | None, val_reference: str | None, variant: Variant, settings: Settings
) -> _Sources:
    from roadworthy.datasets import options_of, reader_for

    given = given or []
    history = variant.spec.input.history or None
    training = opened_for(reference, given, history)
    name = " ".join([reference, *given])
    usual = {one.name: one.default for one in options_of(reader_for(reference))}
    if val_reference is None and "seed" not in usual:
        return _Sources(training, None, (name, name))
    others = given if val_reference else _of_another_seed(given, usual, len(training), settings)
    validation = opened_for(val_reference or reference, others, history)
    return _Sources(training, validation, (name, " ".join([val_reference or reference, *others])))


def _of_another_seed(
    given: list[str], usual: Mapping[str, object], frames: int, settings: Settings
) -> list[str]:
    """Return the options of validation data that is made.

    Data that is made has no end that is unlike its start, but another seed is another world.
    """
    chosen = {**usual, **parse_options(given)}
    others = [text for text in given if text.partition("=")[0].strip() not in ("seed", "count")]
    others.append(f"seed={int(str(chosen['seed'])) + _OTHER_SEED}")
    if "count" in usual:
        drive = int(str(chosen.get("sequence", 1)))
        drives = max(1, round(frames * settings.validation_share / drive))
        others.append(f"count={drives * drive}")
    return others


@contextmanager
def _watching() -> Iterator[Watcher]:
    """Show a training on a terminal, and nothing in a pipe."""
    from roadworthy.training import Watcher

    with bars() as shown:

        class Shown(Watcher):
            def reading(self, done: int, total: int) -> None:
                shown.show("Reading frames", done, total)

            def step(self, step: int, progress: float) -> None:  # noqa: ARG002
                shown.show("Training", progress, 1.0)

            def epoch(self, result: EpochResult) -> None:
                shown.tell(_line(result))

        yield Shown()


def _line(result: EpochResult) -> str:
    parts = [f"epoch {result.epoch}: validation loss {result.validation_loss:.4f}"]
    parts += [str(one) for one in result.measures if one.name.endswith("MAE") or one.unit == "share"]
    return ", ".join([*parts, "the best so far"] if result.best else parts)


def _print_summary(folder: Path, card: Card) -> None:
    from rich.text import Text

    out = console()
    out.print(Text.assemble((card.variant.name, "bold"), f", {card.parameters:,} parameters"))
    print_rows(
        {
            "trained": f"{len(card.curve)} epochs on {card.device} in {card.seconds:.0f} s; {card.stopped}",
            "weights": f"of epoch {card.best_epoch}",
            **{one.role: f"{one.frames} samples of {one.name}" for one in card.data},
        }
    )
    show(measures_table(card.measures))
    out.print(Text.assemble("Wrote ", (str(folder), "cyan")), soft_wrap=True)
    out.print(Text.assemble("Try it: ", (f"roadworthy models try {folder}", "cyan")), soft_wrap=True)
