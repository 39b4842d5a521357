"""The group of commands about coverage, and the options that several of them take."""

from __future__ import annotations

import typer

from roadworthy.cli._commands import Group

IDLE_TRAINING = (
    "--training is for multisection, boundary, strong-activation and the surprises: name one of them with "
    "-c, or leave it out"
)

HELP = "Measure what images make a network do, search for changes that break it, and retrain it."

app = typer.Typer(cls=Group, no_args_is_help=True, help=HELP)


@app.callback()
def _group() -> None:
    """Measure what images make a network do, search for changes that break it, and retrain it."""
