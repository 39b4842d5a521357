"""``roadworthy engines train``: learned engines, from data with label maps or from two kinds of images."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from roadworthy.cli._commands import Command, Group
from roadworthy.cli._console import bars, console, examples, print_json, print_rows
from roadworthy.cli._datasets import AsJson, Data, Options, opened
from roadworthy.cli._training import Device, Precision, Resume, Workers, processes, training_folder
from roadworthy.cli._values import two_numbers
from roadworthy.cli.engines._settings import network_settings
from roadworthy.cli.engines._supports import Supports, parse_supports
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.training import Watcher
    from roadworthy.training.engines.settings import EngineSettings
    from roadworthy.training.settings import StepResult
    from roadworthy.transforms.learned.card import EngineCard


app = typer.Typer(
    cls=Group, no_args_is_help=True, help="Train an engine of your own; a GPU makes it bearable."
)

Out = Annotated[Path, typer.Option(metavar="FOLDER", help="The folder of the engine.")]
Name = Annotated[str | None, typer.Option(metavar="NAME", help="What to call it; as its folder if left out.")]
Size = Annotated[
    str | None,
    typer.Option(
        metavar="WIDTHxHEIGHT",
        help="The size to train at; 320 pixels wide and as high as the first frame has it if left out.",
    ),
]
Small = Annotated[bool, typer.Option("--small", help="Narrow networks: to try it out, or for a small GPU.")]
NetworkOptions = Annotated[
    list[str] | None,
    typer.Option("--network-option", "-m", metavar="KEY=VALUE", help="A setting of the network; repeatable."),
]
Steps = Annotated[int, typer.Option(metavar="N", help="Batches to learn from, at most.")]
Minutes = Annotated[
    float | None, typer.Option(metavar="MINUTES", help="How long it may learn; no limit if left out.")
]
Batch = Annotated[int, typer.Option(metavar="N", help="Images at a time.")]
Rate = Annotated[float, typer.Option("--lr", metavar="RATE", help="Adam's learning rate.")]
Game = Annotated[str, typer.Option("--loss", metavar="LOSS", help="Of the adversaries: lsgan or hinge.")]
Share = Annotated[
    float, typer.Option("--val-share", metavar="SHARE", help="How much of the data is measured on.")
]
Seed = Annotated[int, typer.Option(metavar="N", help="Chooses all that is random.")]
Half = Annotated[
    bool, typer.Option("--half", help="Store the weights with 16 bits, which halves the engine's file.")
]
Domain = Annotated[str, typer.Option(metavar="WORDS", help="What the engine is for, such as camvid.")]
License = Annotated[str, typer.Option(metavar="WORDS", help="Under which terms the data may be used.")]
Source = Annotated[str, typer.Option(metavar="WORDS", help="Where the data come from.")]

_STATE = "the state of the last checkpoint"
_WIDTH = 320
_ROUND = 32  # what sizes are rounded to when none is given; all networks take multiples of it


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy engines train synthesis --data camvid:CamVid --out engines/camvid",
        "roadworthy engines train synthesis --data world -o count=2000 --small --out mine --minutes 30",
        "roadworthy engines train synthesis --data camvid:CamVid --out engines/camvid --resume",
    ),
)
def synthesis(
    out: Out,
    data: Data = "world",
    option: Options = None,
    supports: Supports = None,
    name: Name = None,
    architecture: Annotated[
        str,
        typer.Option(metavar="NAME", help="pix2pixhd-global, pix2pixhd-local or small-synthesis."),
    ] = "pix2pixhd-global",
    network_option: NetworkOptions = None,
    small: Small = False,
    size: Size = None,
    context: Annotated[
        bool,
        typer.Option(
            "--context/--no-context", help="Whether it sees the image around what it paints, or labels alone."
        ),
    ] = True,
    edges: Annotated[bool, typer.Option("--edges", help="Show it the edges between things.")] = False,
    perceptual: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="What the perceptual loss sees with: detector for the one that comes with the package, or a "
            "file with the weights of VGG19.",
        ),
    ] = "detector",
    val_share: Share = 0.1,
    steps: Steps = 40_000,
    minutes: Minutes = None,
    batch: Batch = 4,
    lr: Rate = 2e-4,
    loss: Game = "lsgan",
    seed: Seed = 0,
    device: Device = "auto",
    precision: Precision = "auto",
    workers: Workers = None,
    resume: Resume = False,
    half: Half = False,
    domain: Domain = "",
    license: License = "",
    source: Source = "",
    as_json: AsJson = False,
) -> None:
    """Train an engine that paints what a label map says, in the manner of Pix2pixHD."""
    from roadworthy.training import CHECKPOINT
    from roadworthy.training.engines.train import Folder, train_synthesis
    from roadworthy.training.engines.writing import Purpose

    frames = opened(data, option)
    settings = _settings(
        steps=steps,
        batch=batch,
        learning_rate=lr,
        loss=loss,
        minutes=minutes,
        seed=seed,
        device=device,
        precision=precision,
    )
    done = parse_supports(supports or ("remove line", "replace building by tree"))
    with training_folder(out, CHECKPOINT, _STATE) as folder, _watching() as watcher:
        card = train_synthesis(
            frames,
            Purpose(name or folder.name, done, domain or data, license, source),
            Folder(folder, resume, workers=processes(workers)),
            size=_size(size, frames),
            architecture=architecture,
            network=_network(network_option, {"ngf": 16, "n_blocks": 4} if small else {}, architecture),
            context=context,
            edges=edges,
            validation_share=val_share,
            settings=settings,
            perceptual=perceptual,
            ndf=16 if small else 64,
            half=half,
            watcher=watcher,
        )
    _tell(folder, card, as_json)


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy engines train translation --from folder:day --to folder:night --out engines/night \\\n"
        '      --supports "replace time by night"',
        "roadworthy engines train translation --from world -o count=800 --to world \\\n"
        "      --to-option time=night --to-option count=800 --method ugatit --out night \\\n"
        '      --supports "replace time by night"',
    ),
)
def translation(
    out: Out,
    source_data: Annotated[
        str,
        typer.Option("--from", metavar="DATA", help="What is translated: a data set's name, or name:path."),
    ],
    target_data: Annotated[str, typer.Option("--to", metavar="DATA", help="What it shall look like.")],
    supports: Supports = None,
    option: Options = None,
    to_option: Annotated[
        list[str] | None,
        typer.Option("--to-option", metavar="KEY=VALUE", help="An option of --to; repeatable."),
    ] = None,
    name: Name = None,
    method: Annotated[Literal["unit", "ugatit"], typer.Option(help="How.")] = "unit",
    network_option: NetworkOptions = None,
    small: Small = False,
    size: Size = None,
    val_share: Share = 0.1,
    steps: Steps = 100_000,
    minutes: Minutes = None,
    batch: Batch = 1,
    lr: Rate = 1e-4,
    loss: Game = "lsgan",
    seed: Seed = 0,
    device: Device = "auto",
    precision: Precision = "auto",
    workers: Workers = None,
    resume: Resume = False,
    half: Half = False,
    domain: Domain = "",
    license: License = "",
    source: Source = "",
    as_json: AsJson = False,
) -> None:
    """Train an engine that turns one kind of images into another, from images that are no pairs."""
    from roadworthy.training import CHECKPOINT
    from roadworthy.training.engines.train import Folder, train_translation
    from roadworthy.training.engines.writing import Purpose

    if not supports:
        raise InputError('say what the engine does, such as --supports "replace time by night"')
    done = parse_supports(supports)
    before, after = opened(source_data, option), opened(target_data, to_option)
    settings = _settings(
        steps=steps,
        batch=batch,
        learning_rate=lr,
        weight_decay=1e-4,
        loss=loss,
        minutes=minutes,
        seed=seed,
        device=device,
        precision=precision,
    )
    narrow = {"unit": {"dim": 16, "n_res": 2}, "ugatit": {"ngf": 16, "n_blocks": 2, "light": True}}[method]
    with training_folder(out, CHECKPOINT, _STATE) as folder, _watching() as watcher:
        card = train_translation(
            before,
            after,
            Purpose(name or folder.name, done, domain or f"{source_data} to {target_data}", license, source),
            Folder(folder, resume, workers=processes(workers)),
            size=_size(size, before),
            method=method,
            network=_network(network_option, narrow if small else {}, method),
            validation_share=val_share,
            settings=settings,
            ndf=16 if small else 64,
            half=half,
            watcher=watcher,
        )
    _tell(folder, card, as_json)


def _settings(**given: Any) -> EngineSettings:
    from roadworthy.training.engines.settings import EngineSettings

    # Short trainings must leave a checkpoint and a sheet as well.
    often = max(1, min(500, given["steps"] // 10))
    return EngineSettings(**given, save_every=often, sheet_every=4 * often)


def _network(given: list[str] | None, narrow: dict[str, Any], architecture: str) -> dict[str, Any]:
    """Return settings of the network: those that were given, and those of a narrow one."""
    if architecture == "small-synthesis":
        narrow = {"width": 16} if narrow else {}
    elif architecture == "pix2pixhd-local" and narrow:
        narrow = {"ngf": 16, "n_blocks_global": 4}
    return {**narrow, **network_settings(given)}


def _size(given: str | None, data: Any) -> tuple[int, int]:
    """Return height and width to train at."""
    if given is not None:
        width, height = two_numbers(given, "--size must be WIDTHxHEIGHT, such as 320x160")
        return height, width
    height, width = data[0].image.shape[:2]
    wide = min(_WIDTH, max(_ROUND, width // _ROUND * _ROUND))
    return max(_ROUND, round(height * wide / width / _ROUND) * _ROUND), wide


@contextmanager
def _watching() -> Iterator[Watcher]:
    """Tell how a training goes on: by bars on a terminal, and by a line each time that it is measured."""
    from roadworthy.training import Watcher

    with bars() as shown:

        class Shown(Watcher):
            def reading(self, done: int, total: int) -> None:
                shown.show("Reading frames", done, total)

            def step(self, step: int, progress: float) -> None:  # noqa: ARG002
                shown.show("Training", progress, 1.0)

            def measured(self, result: StepResult) -> None:
                told = {**{f"loss {key}": one for key, one in result.losses.items()}, **result.measures}
                numbers = ", ".join(f"{key} {value:.4g}" for key, value in told.items())
                # In a pipe too: it goes on for hours, and whoever reads a log wants to know how.
                shown.tell(f"step {result.step}, {result.seconds:.0f} s: {numbers}", in_pipes=True)

        yield Shown()


def _tell(folder: Path, card: EngineCard, as_json: bool) -> None:
    from rich.text import Text

    if as_json:
        print_json({"folder": str(folder), **card.to_dict()})
        return
    out = console()
    note = card.training
    out.print(Text.assemble((card.name, "bold"), f", {card.architecture}"))
    print_rows(
        {
            "does": ", ".join(str(one) for one in card.operations()),
            "trained": f"{note.steps} steps on {note.device} in {note.seconds:.0f} s; "
            f"{note.settings.get('stopped', '')}",
            **{one.name: "unknown" if one.value is None else f"{one.value:.4g}" for one in card.metrics},
        }
    )
    out.print(Text.assemble("Wrote ", (str(folder), "cyan")), soft_wrap=True)
    out.print(Text.assemble("Use it: ", (f"roadworthy engines use {folder}", "cyan")), soft_wrap=True)
