"""``roadworthy engines export``: the weights of an engine for PyTorch, to train on or to look into."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from roadworthy.cli._commands import Command
from roadworthy.cli._console import console, examples, make_folder, print_json
from roadworthy.cli._datasets import AsJson
from roadworthy.cli.engines._group import Which, app, opened_engine


@app.command(cls=Command, epilog=examples("roadworthy engines export day-to-night --out night.pt"))
def export(
    which: Which,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The file of weights to write.")],
    as_json: AsJson = False,
) -> None:
    """Write the weights of a learned engine as a file for PyTorch.

    `engines import` makes an engine of such a file again. The engine itself is its folder: copy that to
    use it elsewhere.
    """
    from roadworthy.training.engine_networks.checkpoint import read_checkpoint, write_checkpoint

    engine = opened_engine(which)
    found = read_checkpoint(engine.backend.files[1])
    make_folder(out.parent)
    write_checkpoint(out, found.network())
    weights = sum(one.numel() for one in found.state.values())
    if as_json:
        print_json(
            {
                "file": str(out),
                "architecture": found.settings.architecture,
                "settings": found.settings.as_dict(),
            }
        )
        return
    told = f"Wrote {out}: {found.settings.architecture}, {weights:,} numbers"
    console().print(told, soft_wrap=True, markup=False)
