"""``roadworthy models train``: training a reference network."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roadworthy.cli._commands import Command
from roadworthy.cli._console import (
    console,
    examples,
    make_folder,
    parse_options,
    print_json,
    print_rows,
)
from roadworthy.cli._datasets import Options, opened
from roadworthy.cli.models._group import Data, app
from roadworthy.cli.models._measures import print_measures
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.cases import Dataset
    from roadworthy.models.training import Card, EpochResult, Settings, Watcher
    from roadworthy.models.zoo import Variant

__all__ = ["train"]

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
            metavar="NETWORK", help="dave2, epoch, chauffeur, rambo, vgg16, resnet101, …; see docs/zoo.md."
        ),
    ],
    data: Data = "world",
    option: Options = None,
    output: Annotated[
        str | None,
        typer.Option(
            metavar="WORDS", help="What it shall answer: speed, steering or both, joined by commas."
        ),
    ] = None,
    network_option: Annotated[
        list[str] | None,
        typer.Option(
            "--network-option",
            "-m",
            metavar="KEY=VALUE",
            help="A size of the network such as hidden=128; repeatable.",
        ),
    ] = None,
    small: Annotated[bool, typer.Option("--small", help="Its small form.")] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where to write; trained/NETWORK when left out.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the training in the folder.")] = False,
    weights: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Weights to start from: a name, an ONNX file or a folder."),
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
    seed: Annotated[int, typer.Option(metavar="N", help="Chooses all that is random.")] = 0,
    device: Annotated[
        str, typer.Option(metavar="DEVICE", help="cpu, cuda:0, …; auto for a GPU if there is one.")
    ] = "auto",
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Processes that read; one per core when left out.")
    ] = None,
    memory: Annotated[float, typer.Option(metavar="GIB", help="What the images may take.")] = 8.0,
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON document.")] = False,
) -> None:
    """Train a reference network and write it as ONNX, with its card and a model.yaml."""
    from roadworthy.models.training import Settings
    from roadworthy.models.training import train as trained_on
    from roadworthy.models.zoo import architecture

    words = None if output is None else [word.strip() for word in output.split(",") if word.strip()]
    variant = architecture(name).variant(words, parse_options(network_option or []), small=small)
    settings = Settings(
        epochs=epochs,
        batch=batch,
        learning_rate=lr,
        decay=decay,  # type: ignore[arg-type]
        patience=patience,
        mirror=mirror,
        validation_share=val_share,
        seed=seed,
        device=device,
        workers=workers or os.cpu_count() or 1,
        memory=memory,
    )
    sources = _data(data, option, val_data, variant, settings)
    folder = make_folder(out or Path("trained") / name)
    _check_folder(folder, resume)
    with _watching(settings) as watcher:
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


def _check_folder(folder: Path, resume: bool) -> None:
    from roadworthy.models.training import CHECKPOINT

    if not resume and (folder / CHECKPOINT).exists():
        raise InputError(
            f"{folder} already holds a training: go on with it with --resume, or choose another folder with "
            "--out"
        )


@dataclass(frozen=True)
class _Sources:
    """Training and validation data, with what they are called; without the latter, the end of the former."""

    training: Dataset
    validation: Dataset | None = None
    names: tuple[str, str] | None = None


def _data(
    reference: str, given: list[str] | None, val_reference: str | None, variant: Variant, settings: Settings
) -> _Sources:
    from roadworthy.datasets import options_of
    from roadworthy.registry import datasets

    given = given or []
    chosen = parse_options(given)
    # Frames of drives have their history before them; single ones must be read with it.
    history = None if "sequence" in chosen else variant.spec.input.history or None
    training = opened(reference, given, history=history)
    usual = {one.name: one.default for one in options_of(datasets.get(reference.partition(":")[0]))}
    if val_reference is None and "seed" not in usual:
        return _Sources(training)
    others = list(given)
    if val_reference is None:
        # Data that is made has no end that is unlike its start, but another seed is another world.
        seed = int(str(chosen.get("seed", usual["seed"]))) + _OTHER_SEED
        count = max(1, round(len(training) * settings.validation_share))
        others = [text for text in given if text.partition("=")[0].strip() not in ("seed", "count")]
        others += [f"seed={seed}", *([f"count={count}"] if "count" in usual else [])]
    validation = opened(val_reference or reference, others, history=history)
    names = " ".join([reference, *given]), " ".join([val_reference or reference, *others])
    return _Sources(training, validation, names)


@contextmanager
def _watching(settings: Settings) -> Iterator[Watcher]:
    """Show a training on a terminal, and nothing in a pipe."""
    from rich.progress import Progress

    from roadworthy.models.training import Watcher

    err = console(stderr=True)
    with Progress(console=err, transient=True, disable=not err.is_terminal) as progress:
        bars: dict[str, Any] = {}

        def advance(what: str, done: int, total: int) -> None:
            if what not in bars:
                bars[what] = progress.add_task(what, total=total)
            progress.update(bars[what], completed=done, total=total)

        class Shown(Watcher):
            def reading(self, done: int, total: int) -> None:
                advance("Reading frames", done, total)

            def step(self, epoch: int, step: int, steps: int) -> None:
                advance("Training", (epoch - 1) * steps + step, settings.epochs * steps)

            def epoch(self, result: EpochResult) -> None:
                if err.is_terminal:
                    progress.console.print(_line(result))

        yield Shown()


def _line(result: EpochResult) -> str:
    errors = ", ".join(str(one) for one in result.measures if one.name.endswith("MAE"))
    best = ", the best so far" if result.best else ""
    return f"epoch {result.epoch}: validation loss {result.validation_loss:.4f}, {errors}{best}"


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
    print_measures(card.measures)
    out.print(Text.assemble("Wrote ", (str(folder), "cyan")), soft_wrap=True)
    out.print(Text.assemble("Try it: ", (f"roadworthy models try {folder}", "cyan")), soft_wrap=True)
