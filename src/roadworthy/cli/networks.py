"""``roadworthy networks``: public networks, imported once and then used by name."""

from __future__ import annotations

from pathlib import Path

import typer

from roadworthy.cli._answer import Answer
from roadworthy.cli._commands import Group, command
from roadworthy.models.networks import PublicNetwork, import_files, networks_folder, public_networks
from roadworthy.result_tables import ResultTable
from roadworthy.transforms.engines import is_named

app = typer.Typer(cls=Group, no_args_is_help=True)


@command(app, name="import")
def import_networks(files: list[Path]) -> Answer:
    """Import public networks: files known by SHA-256 are copied into your folder, and then used by name.

    The folder is roadworthy/networks among your data (~/.local/share, or XDG_DATA_HOME), or what
    ROADWORTHY_NETWORKS says. Nothing is downloaded.

    Options:
        files (FILE…): The files; `networks list` says which are known, and how to get them.

    Examples:
        roadworthy networks import yolox_nano.onnx
        roadworthy networks import dist/sam2_hiera_tiny_encoder.with_runtime_opt.ort
            dist/sam2_hiera_tiny_decoder_pr1.onnx
    """
    found = import_files(files)
    shown = [
        (f"{one.title}: {one.does}", {"license": one.license, "source": one.source, **_state(one)})
        for one in found
    ]
    return Answer(
        {"folder": str(networks_folder()), "networks": [{**one.card(), **_state(one)} for one in found]},
        [part for pair in shown for part in pair],
    )


def _state(network: PublicNetwork) -> dict[str, str]:
    """Return where a network is, or what is missing, and how it is used."""
    if network.missing:
        return {"still missing": ", ".join(network.missing), "get it": network.get}
    use = f"--model {network.name}" if network.describe else f"{network.opened_by}({network.name!r})"
    if is_named(network.name):
        use = f"--engines {network.name}, to remove things from images; {use}"
    return {"imported to": str(network.folder), "use it": use}


@command(app, name="list")
def list_networks() -> Answer:
    """List the public networks that can be imported, with licence and how to get each.

    Examples:
        roadworthy networks list
        roadworthy networks list --json
    """
    every = public_networks().values()
    rows = tuple((one.name, one.does, one.license, "no" if one.missing else "yes") for one in every)
    note = f"Imported ones lie in {networks_folder()}"
    return Answer(
        [{**one.card(), **_state(one)} for one in every],
        [
            ResultTable("Public networks", ("network", "does", "license", "imported"), rows, note),
            "How to get them",
            {one.name: one.get for one in every},
        ],
    )
