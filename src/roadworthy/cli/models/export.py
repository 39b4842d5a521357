"""``roadworthy models export``: writing a reference network as ONNX or TorchScript."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples, make_folder, parse_options, print_json
from roadworthy.cli.models._group import app
from roadworthy.errors import InputError

__all__ = ["export"]

_SUFFIXES = {".onnx": "onnx", ".pt": "torchscript", ".ts": "torchscript"}


@app.command(
    cls=Command,
    epilog=examples(
        "roadworthy models export trained/dave2 dave2.pt",
        "roadworthy models export net.pth net.onnx --network dave2 --output steering",
    ),
)
def export(
    source: Annotated[
        str,
        typer.Argument(
            metavar="WEIGHTS",
            help="A trained folder, an ONNX file, the name of a shipped network, or a state dict.",
        ),
    ],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write: .onnx, .pt or .ts.")],
    network: Annotated[
        str | None, typer.Option(metavar="NETWORK", help="The network, where a state dict does not tell.")
    ] = None,
    output: Annotated[
        str | None, typer.Option(metavar="WORDS", help="What that network answers, joined by commas.")
    ] = None,
    network_option: Annotated[
        list[str] | None,
        typer.Option("--network-option", "-m", metavar="KEY=VALUE", help="A size of it; repeatable."),
    ] = None,
    small: Annotated[bool, typer.Option("--small", help="Its small form.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON document.")] = False,
) -> None:
    """Write a reference network as ONNX or TorchScript, checked to answer like the original."""
    from roadworthy.datasets import load
    from roadworthy.models.training import export as exported
    from roadworthy.models.zoo import architecture, load_module, located_weights, read_variant

    format = _SUFFIXES.get(file.suffix.lower())
    if format is None:
        raise InputError(f"the file must end in {', '.join(_SUFFIXES)}, got {str(file)!r}")
    variant = None
    if network is not None:
        words = None if output is None else [word.strip() for word in output.split(",") if word.strip()]
        variant = architecture(network).variant(words, parse_options(network_option or []), small=small)
    module = load_module(source, variant=variant)
    known = variant or read_variant(located_weights(source))
    make_folder(file.parent)
    frames = list(load("world", count=3, history=known.spec.input.history))
    difference = exported(module, known, file, format=format, frames=frames)  # type: ignore[arg-type]
    if as_json:
        print_json({"file": str(file), "format": format, "network": known.name, "difference": difference})
    else:
        console().print(f"{known.name}: the answers differ by {difference:.1e} at most", markup=False)
        console().print(f"Wrote {file}", markup=False, soft_wrap=True)
