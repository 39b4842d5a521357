"""``roadworthy engines import``: a checkpoint of a public network as an engine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from roadworthy._files import check_free
from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples, print_json
from roadworthy.cli._datasets import AsJson
from roadworthy.cli._values import two_numbers
from roadworthy.cli.engines._group import app
from roadworthy.cli.engines._settings import network_settings
from roadworthy.cli.engines._supports import Supports, parse_supports
from roadworthy.errors import InputError

Size = Annotated[
    str, typer.Option(metavar="WIDTHxHEIGHT", help="The size of the images that it was trained with.")
]


@app.command(
    "import",
    cls=Command,
    epilog=examples(
        'roadworthy engines import latest_net_G.pth --out city --channels cityscapes --supports "remove car"',
        'roadworthy engines import gen_01000000.pt --out night --supports "replace time by night"',
        'roadworthy engines import rain_params_0100000.pt --out rain --supports "replace weather by rain"',
    ),
)
def import_engine(
    checkpoint: Annotated[
        Path,
        typer.Argument(metavar="CHECKPOINT", help="Weights of Pix2pixHD, CycleGAN, UNIT, U-GAT-IT, or ours."),
    ],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="The folder of the engine.")],
    supports: Supports = None,
    channels: Annotated[
        str,
        typer.Option(
            metavar="CLASSES",
            help="Of a network that takes label maps, what its channels mean: cityscapes, or words of the "
            "ontology joined by commas, - for no class.",
        ),
    ] = "",
    edges: Annotated[
        bool | None,
        typer.Option(
            "--edges/--no-edges", help="Whether its last channel marks boundaries; found out by counting."
        ),
    ] = None,
    direction: Annotated[
        str, typer.Option(metavar="WAY", help="Of a file with both directions: a2b or b2a.")
    ] = "a2b",
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--setting", metavar="KEY=VALUE", help="What the weights do not tell of the network; repeatable."
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="What to call it; as its folder if left out.")
    ] = None,
    size: Size = "",
    most: Annotated[
        str,
        typer.Option(
            metavar="WIDTHxHEIGHT", help="The largest size to run it at; larger images are made smaller."
        ),
    ] = "",
    half: Annotated[bool, typer.Option("--half", help="Store weights with 16 bits.")] = False,
    domain: Annotated[str, typer.Option(metavar="WORDS", help="What it was trained for.")] = "",
    license_: Annotated[str, typer.Option("--license", metavar="WORDS", help="Of the weights.")] = "",
    source: Annotated[str, typer.Option(metavar="WORDS", help="Where the weights come from.")] = "",
    as_json: AsJson = False,
) -> None:
    """Make an engine of weights that you have: a folder with the network as ONNX, and a card.

    Weights are read without running any code. Their names and shapes tell which network they are of. Using
    the engine afterwards needs no torch.
    """
    from roadworthy.training.engines.writing import Import, channels_of, import_checkpoint

    if not supports:
        raise InputError('say what it does, by --supports "replace time by night"')
    if direction not in ("a2b", "b2a"):
        raise InputError(f"--direction must be a2b or b2a, got {direction!r}")
    check_free(out)
    card = import_checkpoint(
        checkpoint,
        out,
        Import(
            name or out.resolve().name,
            parse_supports(supports),
            channels=channels_of(channels) if channels else (),
            edges=edges,
            direction=direction,  # type: ignore[arg-type]  # checked above
            overrides=network_settings(setting),
            trained_at=_size("--size", size),
            most=_size("--most", most),
            half=half,
            domain=domain,
            license=license_,
            source=source,
        ),
    )
    if as_json:
        print_json({"folder": str(out), "card": card.to_dict()})
        return
    shell = console()
    shell.print(f"{card.name} is {card.architecture}, {card.kind}", soft_wrap=True, markup=False)
    for note in card.notes:
        shell.print(f"Note: {note}", soft_wrap=True, markup=False)
    shell.print(f"Wrote {out}; look at it by: roadworthy engines try {out}", soft_wrap=True, markup=False)


def _size(option: str, text: str) -> tuple[int, int] | None:
    """Return (height, width) of a size that is written WIDTHxHEIGHT."""
    if not text:
        return None
    width, height = two_numbers(text, f"{option} must be WIDTHxHEIGHT, such as 512x256")
    return height, width
