"""``roadworthy models export``: writing a reference network as ONNX or TorchScript."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples, make_folder, print_json
from roadworthy.cli._datasets import AsJson
from roadworthy.cli.models._group import app
from roadworthy.cli.models._networks import NetworkOptions, Outputs, Small, chosen_variant
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.training import ExportFormat


_FORMATS: dict[str, ExportFormat] = {".onnx": "onnx", ".pt": "torchscript", ".ts": "torchscript"}


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
        str | None,
        typer.Option(metavar="NETWORK", help="The network, for a state dict, which does not tell."),
    ] = None,
    output: Outputs = None,
    network_option: NetworkOptions = None,
    small: Small = False,
    as_json: AsJson = False,
) -> None:
    """Write a reference network as ONNX or TorchScript, checked to answer like the original.

    Beside FILE comes FILE.yaml, with which every command opens it.
    """
    from roadworthy.datasets import load
    from roadworthy.models.zoo import load_module, located_weights, read_variant
    from roadworthy.training import export as exported
    from roadworthy.training import write_description

    format = _FORMATS.get(file.suffix.lower())
    if format is None:
        raise InputError(f"the file must end in {', '.join(_FORMATS)}, got {str(file)!r}")
    weights = located_weights(source)
    if network is not None:
        variant = chosen_variant(network, output, network_option, small)
    elif output is not None or network_option or small:
        raise InputError("--output, --network-option and --small describe --network: give it too")
    elif weights.suffix.lower() != ".onnx":
        raise InputError(
            f"{weights}: a state dict does not tell its network: add --network NETWORK, with --output, "
            "--network-option and --small as they were when it was trained"
        )
    else:
        variant = read_variant(weights)
    module = load_module(source, variant=variant)
    make_folder(file.parent)
    frames = list(load("world", count=3, history=variant.spec.input.history))
    difference = exported(module, variant, file, format=format, frames=frames)
    described = file.with_name(f"{file.name}.yaml")
    write_description(described, variant, f"{format}:{file.name}")
    if as_json:
        document = {"file": str(file), "description": str(described), "format": format}
        print_json({**document, "network": variant.name, "difference": difference})
    else:
        out = console()
        out.print(f"{variant.name}: the answers differ by {difference:.1e} at most", markup=False)
        out.print(f"Wrote {file} and {described}", markup=False, soft_wrap=True)
        out.print(f"Try it: roadworthy models try {described}", markup=False, soft_wrap=True)
